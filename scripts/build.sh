#!/usr/bin/env bash
# Builds nx in Release into build/ (or $NX_BUILD).
#
# usage: scripts/build.sh [TARGET...]        default: everything
. "$(dirname "$0")/common.sh"

step "Building nx in $NX_BUILD"
configure "$NX_BUILD"
ninja -C "$NX_BUILD" -j "$NX_JOBS" "$@"
