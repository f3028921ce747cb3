#!/usr/bin/env bash
# Builds a part of nx with sanitizers, in a build tree of its own, and runs its tests.
#
#   address   the runtime, its tools and their tests with ASan and UBSan; with clang the fuzz targets too
#   thread    the same tests with TSan
#   import    the import of models with ASan and UBSan, its unit tests, and with clang its fuzz target
#
# The rest of the compiler is left out: MLIR's libraries come without sanitizers.
#
# usage: run.sh address|thread|import SOURCE BUILD FUZZ-SECONDS CC CXX
set -euo pipefail
kind=$1 source=$2 build=$3 fuzz_seconds=$4 cc=$5 cxx=$6
options=(-DNX_BUILD_COMPILER=OFF -DNX_SANITIZE="address;undefined")
targets=()
fuzz=no
if [ "$kind" != thread ] && "$cxx" --version | grep -q clang; then
  fuzz=yes
  options+=(-DNX_BUILD_FUZZERS=ON -DNX_FUZZ_SECONDS="$fuzz_seconds")
fi
# Each line of a report is worth more than the rest of the run.
export ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
case $kind in
  address)
    tests=(-L 'unit|lit')
    [ $fuzz = no ] || tests=(-L 'unit|lit|fuzz')
    ;;
  thread)
    options+=(-DNX_SANITIZE=thread)
    tests=(-L unit)
    ;;
  import)
    options+=(-DNX_BUILD_COMPILER=ON)
    targets=(import_onnx_test)
    [ $fuzz = no ] || targets+=(import_onnx_fuzzer)
    tests=(-R "/($(IFS='|'; echo "${targets[*]}"))\$")
    # LLVM's allocators poison what they have not handed out, but only where a header of theirs is compiled
    # with the sanitizer: its libraries allocate from the same memory without a word.
    ASAN_OPTIONS+=:allow_user_poisoning=0
    ;;
esac
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" "${options[@]}" >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; exit 1; }
ninja -C "$build" -j "$(nproc)" "${targets[@]}"
ctest --test-dir "$build" "${tests[@]}" --output-on-failure --no-tests=error
