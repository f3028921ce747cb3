#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test; ends with ctest's summary.
#
# usage: scripts/test.sh [CTEST ARGUMENTS...]      e.g. scripts/test.sh -L quick
. "$(dirname "$0")/common.sh"

"$NX_ROOT/scripts/install-deps.sh" --test
NX_VENV=$("$NX_ROOT/scripts/venv.sh" | tail -n 1)
export NX_VENV
configure "$NX_BUILD" -DNX_PYTHON_PACKAGES=ON
"$NX_ROOT/scripts/build.sh"

step "Fetching the models that the tests use"
"$NX_VENV/bin/python" "$NX_ROOT/scripts/fetch-models.py" "$NX_CACHE/models" magika rxnmap

step "Running the tests"
ctest --test-dir "$NX_BUILD" --output-on-failure -j "$NX_JOBS" "$@"
