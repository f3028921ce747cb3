"""Whether a result is the expected one, by the tolerance of its element type."""
import numpy as np

# Relative and absolute, on top of the case's own. The narrow types allow one unit in the last place of a sum.
TOLERANCES = {"float64": (1e-6, 1e-7), "float32": (1e-4, 1e-5), "float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2),
              "float8_e4m3fn": (0.13, 2e-3), "float8_e4m3fnuz": (0.13, 1e-3), "float8_e5m2": (0.26, 1e-4),
              "float8_e5m2fnuz": (0.26, 1e-4), "float4_e2m1fn": (0, 0), "float8_e8m0fnu": (0, 0)}


def is_float(dtype):
    return dtype.name in TOLERANCES


def difference(got, want, rtol, atol, only_form=False):
    """What is wrong with `got`; empty when nothing is. `only_form`: values are random, shapes are not."""
    want = np.asarray(want)
    if got.dtype != want.dtype:
        return f"is {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"has shape {list(got.shape)}, expected {list(want.shape)}"
    if only_form or want.size == 0:
        return ""
    if not is_float(want.dtype):
        wrong = got != want
    else:
        own_rtol, own_atol = TOLERANCES[want.dtype.name]
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= max(atol, own_atol) + max(rtol, own_rtol) * np.abs(b)
        wrong = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return ""
    first = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    return (f"differs in {int(wrong.sum())} of {want.size} elements, first at {list(first)}: "
            f"{np.atleast_1d(got)[first]}, expected {np.atleast_1d(want)[first]}")
