# Sourced by the other scripts: where things are, and how progress is shown.
set -euo pipefail
NX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
NX_BUILD=${NX_BUILD:-$NX_ROOT/build}  # the product build
NX_CACHE=${NX_CACHE:-$NX_ROOT/.cache} # models and exports, kept between runs
export NX_ROOT NX_BUILD NX_CACHE
NX_JOBS=${NX_JOBS:-$(nproc)}

step() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# configure DIR [CMAKE ARGUMENTS...]: Release, with clang 22 where it is installed.
configure() {
  local dir=$1 compilers=()
  shift
  # A build folder keeps the compilers that it began with.
  if [ ! -f "$dir/CMakeCache.txt" ] && command -v clang++-22 >/dev/null; then
    compilers=(-DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22)
  fi
  mkdir -p "$dir"
  cmake -S "$NX_ROOT" -B "$dir" -G Ninja ${compilers[@]+"${compilers[@]}"} \
    -DCMAKE_BUILD_TYPE="${NX_BUILD_TYPE:-Release}" "$@" >"$dir/configure.log" 2>&1 ||
    { cat "$dir/configure.log" >&2; fail "CMake could not configure $dir"; }
}
