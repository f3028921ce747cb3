#!/usr/bin/env bash
# Installs the build into a folder of its own and builds the examples against that alone, with CMake and
# with pkg-config, in C and in C++, shared and static; then runs them.
#
# usage: installed_tree.sh SOURCE BUILD SCRATCH CC CXX
set -euo pipefail
source=$1 build=$2 scratch=$3 cc=$4 cxx=$5
prefix=$scratch/prefix
rm -rf "$scratch"
mkdir -p "$scratch"

cmake --install "$build" --prefix "$prefix" >"$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
"$build/bin/nx-sample-executable" add "$scratch/add.nxe"

# The examples are copied away, so that nothing of the source tree can be found beside them.
for example in first-program magika; do
  cp -r "$source/examples/$example" "$scratch/$example"
  cmake -S "$scratch/$example" -B "$scratch/$example/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/$example/log" 2>&1 &&
    ninja -C "$scratch/$example/build" >>"$scratch/$example/log" 2>&1 ||
    { cat "$scratch/$example/log"; exit 1; }
done

pc=$(dirname "$(find "$prefix" -name nxrt.pc)")
export PKG_CONFIG_PATH=$pc
libdir=$(pkg-config --variable=libdir nxrt)
first=$scratch/first-program
"$cc" "$first/first.c" -o "$scratch/first-pkgconfig" $(pkg-config --cflags --libs nxrt) -Wl,-rpath,"$libdir"
# The static library is C++: its user links the C++ library.
"$cxx" -x c "$first/first.c" -x none -o "$scratch/first-static" \
  $(pkg-config --cflags nxrt) "$libdir/libnxrt.a" -lpthread

expect() { # EXPECTED COMMAND...
  local want=$1 got
  shift
  got=$(NXRT_SHARE_CORES=1 "$@")
  [ "$got" = "$want" ] || { printf '%s printed\n%s\nexpected\n%s\n' "$1" "$got" "$want" >&2; exit 1; }
}
zeros='out: f32[8] 0 0 0 0'
expect "$zeros" "$first/build/first-c" "$scratch/add.nxe"
expect 'out: f32 of rank 1, 32 bytes, from 0 to 0' "$first/build/first-cpp" "$scratch/add.nxe"
expect "$zeros" "$scratch/first-pkgconfig" "$scratch/add.nxe"
expect "$zeros" "$scratch/first-static" "$scratch/add.nxe"
expect 'run 0: out f32[2] = 0 0' "$prefix/bin/nx-run" "$scratch/add.nxe" --zeros --dim n=2

# The runtime has a versioned name, and a program that uses it needs it and the C and C++ libraries only.
readelf -d "$scratch/first-pkgconfig" | grep -q 'NEEDED.*libnxrt\.so\.[0-9]' ||
  { echo "the program does not need libnxrt by its versioned name" >&2; exit 1; }
strangers=$(ldd "$scratch/magika/build/magika" | awk '{print $1}' |
  grep -vE '^(linux-vdso|/.*ld-linux|libnxrt|libc|libm|libstdc\+\+|libgcc_s|libpthread)' || true)
[ -z "$strangers" ] || { echo "the magika example needs more than libnxrt: $strangers" >&2; exit 1; }
echo "installed tree: all programs built and ran"
