#!/usr/bin/env bash
# Makes the virtual environment with the tests' oracles and prints its path on the last line.
#
# usage: scripts/venv.sh [--bench]
#   --bench   also the engines that test/bench compares with
#
# An environment that has everything is used as it is; NX_VENV names one (default: .venv here).
. "$(dirname "$0")/common.sh"

# The versions that the tests were written against. An environment with others works as long as they
# import: exports and reference results depend little on them.
oracles=(numpy==2.2.6 onnx==1.23.2 onnxruntime==1.32.0 torch==2.13.0 transformers==5.24.0 onnxscript==0.7.2)
# What builds and tests the Python packages.
packages=(nanobind==3.1.0 scikit-build-core==1.1.2 pytest==9.2.0 ml_dtypes==0.6.0)
bench=(openvino==2026.4.1)

wanted=("${oracles[@]}" "${packages[@]}")
[ "${1:-}" != --bench ] || wanted+=("${bench[@]}")
venv=${NX_VENV:-$NX_ROOT/.venv}
modules=$(printf '%s ' "${wanted[@]%%==*}")
modules=${modules//-/_} # as they are imported
if ! "$venv/bin/python" - $modules <<'PYTHON' 2>/dev/null
import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))
PYTHON
then
  step "Making the virtual environment $venv (${wanted[*]})" >&2
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || fail "python3 -m venv failed: is python3-venv installed?"
  "$venv/bin/pip" install --disable-pip-version-check -q "${wanted[@]}" >&2 || fail "pip could not install ${wanted[*]}"
fi
echo "$venv"
