#!/usr/bin/env bash
# From a fresh machine to two compiled models that run.
#
# usage: scripts/demo.sh [FILE...]
#
# Installs what is missing, builds, fetches two trained models and compiles them. "magika" then names the
# content type of each FILE (default: some files of this repository) through a C++ program that links
# libnxrt only; "rxnmap", a transformer, runs on one and on two cores at several sequence lengths.
# A second run reuses the build and the downloads.
. "$(dirname "$0")/common.sh"

files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  files=("$NX_ROOT/README.md" "$NX_ROOT/CMakeLists.txt" "$NX_ROOT/scripts/demo.sh"
    "$NX_ROOT/scripts/fetch-models.py" "$NX_ROOT/runtime/include/nxrt/nxrt.h" "$NX_ROOT/examples/magika/magika.cpp")
fi
for file in "${files[@]}"; do
  [ -r "$file" ] || fail "cannot read '$file'"
done

"$NX_ROOT/scripts/install-deps.sh"
"$NX_ROOT/scripts/build.sh" nxcc nx-run nx-inspect magika
bin=$NX_BUILD/bin

step "Fetching the models"
python3 "$NX_ROOT/scripts/fetch-models.py" "$NX_CACHE/models" magika rxnmap
models=$NX_CACHE/models
out=$NX_CACHE/demo
mkdir -p "$out"

step "magika: a file-type classifier"
"$bin/nxcc" compile "$models/magika/model.onnx" -o "$out/magika.nxe"
"$bin/magika" "$out/magika.nxe" "$models/magika/config.min.json" "${files[@]}"

step "rxnmap: a transformer, compiled for 1 and for 2 cores"
for tp in 1 2; do
  "$bin/nxcc" compile "$models/rxnmap/model.onnx" -o "$out/rxnmap.tp$tp.nxe" --tp $tp --explain-plan
done
"$bin/nx-inspect" "$out/rxnmap.tp2.nxe"

step "rxnmap: one file runs every sequence length"
random=(--random 1 --range atoms=1:100 --range neighbors=0:10 --range distances=0:10 --range roles=1:3)
for length in 32 128 256; do
  echo "sequence length $length:"
  for tp in 1 2; do
    printf '  %s core(s): ' $tp
    # The results on one core are what those on two are compared with.
    compare=(--outputs "$out/want.npz")
    [ $tp = 1 ] || compare=(--expect "$out/want.npz" --rtol 1e-3 --atol 1e-5)
    "$bin/nx-run" "$out/rxnmap.tp$tp.nxe" "${random[@]}" --dim seq_len=$length --repeat 20 "${compare[@]}" |
      grep -v '^load_ms' | sed 's/^run 0: //; 2,$s/^/             /'
  done
done
step "Done. The executables are in $out; '$bin/nx-run --help' and docs/ say how to go on."
