#!/usr/bin/env bash
# Installs what nx needs on Debian 12 or 13, and only what is missing.
#
# usage: scripts/install-deps.sh [--test] [--list]
#   --test   also what only the tests need
#   --list   print the packages and install nothing
#
# docs/dependencies.md says what each package is for.
. "$(dirname "$0")/common.sh"

# Python with pip unpacks the demo's models from their packages.
packages=(
  cmake ninja-build pkg-config g++ clang-22 lld-22
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libzstd-dev
  flatbuffers-compiler libflatbuffers-dev libxxhash-dev
  libcli11-dev nlohmann-json3-dev zlib1g-dev
  python3 python3-pip python3-venv
)
# compiler-rt has the sanitizers' and libFuzzer's libraries.
test_packages=(python3-dev libgtest-dev libgmock-dev libclang-rt-22-dev qemu-user gcc-aarch64-linux-gnu)

list=false
for argument in "$@"; do
  case $argument in
    --test) packages+=("${test_packages[@]}") ;;
    --list) list=true ;;
    *) fail "unknown argument '$argument'" ;;
  esac
done
if $list; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

command -v dpkg-query >/dev/null || fail "this is no Debian: install these packages' counterparts: ${packages[*]}"
missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "as root (there is no sudo), run: apt-get install ${missing[*]}"
  root=(sudo)
fi
step "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
${root[@]+"${root[@]}"} apt-get update -q
${root[@]+"${root[@]}"} apt-get install -q -y --no-install-recommends "${missing[@]}" ||
  fail "apt-get could not install the packages above; LLVM 22 is in Debian's security archive of release 12 and 13: is it among your sources?"
