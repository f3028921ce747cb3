#!/usr/bin/env bash
# Builds the runtime, its tools and their tests with sanitizers (no compiler: MLIR's libraries come without
# them) and runs those tests; with address, the fuzz targets too where the compiler is clang.
#
# usage: run.sh address|thread SOURCE BUILD FUZZ-SECONDS CC CXX
set -euo pipefail
kind=$1 source=$2 build=$3 fuzz_seconds=$4 cc=$5 cxx=$6
options=()
labels=unit
case $kind in
  address)
    options+=(-DNX_SANITIZE="address;undefined")
    labels='unit|lit'
    if "$cxx" --version | grep -q clang; then
      options+=(-DNX_BUILD_FUZZERS=ON -DNX_FUZZ_SECONDS="$fuzz_seconds")
      labels="$labels|fuzz"
    fi
    ;;
  thread) options+=(-DNX_SANITIZE=thread) ;;
esac
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -DNX_BUILD_COMPILER=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "${options[@]}" >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; exit 1; }
ninja -C "$build" -j "$(nproc)"
# Each line of a report is worth more than the rest of the run.
export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
ctest --test-dir "$build" -L "$labels" --output-on-failure --no-tests=error
