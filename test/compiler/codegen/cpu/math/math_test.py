"""math_test.py NX-KERNELC [--report] [OPTIONS] [FUNCTION...]: errors of the math functions of kernels.

f32: a sweep over all bit patterns with a stride, against double precision. f64: random bit patterns
and random numbers of the interesting ranges, against long double. The largest error must be within
LIMITS (docs/math-functions.md has the same table), infinities, NaN and signed zeros exact.
"""
import ctypes
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "loops"))
from kernel_image import Image  # noqa: E402

LD = np.longdouble
_libm = ctypes.CDLL("libm.so.6")


def libm(name):
    """A long double function of the C library, for what numpy does not have."""
    function = getattr(_libm, name)
    function.restype, function.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble]
    return lambda x: np.array([function(float(v)) for v in x.reshape(-1)], dtype=LD)


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + LD(0.5)), x)


# name: (reference, ulp in f32, ulp in f64, range of interest)
UNARY = {
    "exp": (np.exp, 1.0, 1.0, (-745, 710)),
    "exp2": (np.exp2, 1.0, 1.5, (-1074, 1024)),
    "expm1": (np.expm1, 2.0, 2.0, (-40, 709)),
    "log": (np.log, 1.0, 1.0, (0, 1e3)),
    "log2": (np.log2, 1.0, 1.0, (0, 1e3)),
    "log10": (np.log10, 0.51, 1.0, (0, 1e3)),
    "log1p": (np.log1p, 1.5, 2.0, (-1, 1e2)),
    "sin": (np.sin, 0.51, 1.0, (-1e2, 1e2)),
    "cos": (np.cos, 0.51, 1.0, (-1e2, 1e2)),
    "tan": (np.tan, 0.51, 2.5, (-1e2, 1e2)),
    "asin": (np.arcsin, 1.5, 1.5, (-1, 1)),
    "acos": (np.arccos, 1.5, 1.5, (-1, 1)),
    "atan": (np.arctan, 2.0, 2.0, (-10, 10)),
    "sinh": (np.sinh, 0.51, 3.0, (-710, 710)),
    "cosh": (np.cosh, 0.51, 3.0, (-710, 710)),
    "tanh": (np.tanh, 5.0, 3.0, (-20, 20)),
    "asinh": (np.arcsinh, 0.51, 3.0, (-100, 100)),
    "acosh": (np.arccosh, 0.51, 3.0, (1, 100)),
    "atanh": (np.arctanh, 0.51, 3.0, (-1, 1)),
    "erf": (libm("erfl"), 1.5, 1.5, (-6, 6)),
    "erfc": (libm("erfcl"), 0.51, 8.0, (-6, 26)),
    "cbrt": (np.cbrt, 0.51, 1.0, (-1e3, 1e3)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, 1.5, (0, 1e3)),
    "sqrt": (np.sqrt, 0.5, 0.5, (0, 1e3)),
    "round": (half_away, 0, 0, (-1e3, 1e3)),
    "roundeven": (np.rint, 0, 0, (-1e3, 1e3)),
    "floor": (np.floor, 0, 0, (-1e3, 1e3)),
}
BINARY = {"powf": (np.power, 0.51, 1.5), "atan2": (np.arctan2, 0.51, 2.5)}
SLOW = ("erf", "erfc")  # the reference is a Python loop
FLUSHES = ("exp",)  # f32 results below the normal range become 0

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, -1.5, 1e-30, -1e-30,
           1e30, -1e30, 5e-324, -5e-324, 1e-40, -1e-40, 1e-310, 1.7e308, -1.7e308, 3.4e38, -3.4e38,
           np.pi, -np.pi, 22.0, 355.0, 1e15, 1e22, 4.9e16, 88.73, -87.4, -103.9, 709.78, -745.2, 127.5,
           -126.5, 6381956970095103.0 * 2.0**797]


def kernel(name, element, arity):
    t, shape = f"tensor<?x{element}>", "{nx.shape = affine_map<()[s0] -> (s0)>}"
    ids = "affine_map<(d0) -> (d0)>"
    args = ", ".join(f"%a{i}: {t} {shape}" for i in range(arity))
    block = ", ".join(f"%x{i}: {element}" for i in range(arity))
    call = ", ".join(f"%x{i}" for i in range(arity))
    return f"""func.func @{name}_{element}({args}) -> ({t} {shape}) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a0, %c0 : {t}
  %e = tensor.empty(%n) : {t}
  %r = linalg.generic {{indexing_maps = [{", ".join([ids] * (arity + 1))}], iterator_types = ["parallel"]}}
      ins({", ".join(f"%a{i}" for i in range(arity))} : {", ".join([t] * arity)}) outs(%e : {t}) {{
  ^bb0({block}, %o: {element}):
    %y = math.{name} {call} : {element}
    linalg.yield %y : {element}
  }} -> {t}
  return %r : {t}
}}
"""


def ulps(y, want, flushes):
    """Distance of y (f32 or f64) from want (wider) in units in the last place of y's type."""
    kind = y.dtype.type
    tiny = np.finfo(kind).tiny
    with np.errstate(all="ignore"):
        near = want.astype(kind)
        unit = np.spacing(np.abs(near)).astype(LD)
        top = LD(2) ** (np.finfo(kind).maxexp - np.finfo(kind).nmant - 1)
        unit = np.where(np.isfinite(near), unit, top)
        distance = np.abs(y.astype(LD) - want.astype(LD)) / unit
        same = (y == near) & (np.signbit(y) == np.signbit(near)) | np.isnan(y) & np.isnan(want)
        wrong_zero = (y == 0) & (near == 0) & (np.signbit(y) != np.signbit(near)) & (want == 0)
        distance = np.where(same & ~np.isfinite(near), 0, distance)
        distance = np.where(np.isnan(distance), np.inf, distance)
        distance = np.where(wrong_zero, np.inf, distance)
        if flushes:
            distance = np.where((np.abs(want) < tiny) & (np.abs(y) <= tiny), 0, distance)
    return distance


def call(kernel, *inputs):
    out = np.full_like(inputs[0], np.nan)
    n = inputs[0].size
    status = kernel.bind([np.ascontiguousarray(x) for x in inputs] + [out], [n])(0, kernel.sizes([n])[0])
    assert status == 0
    return out


def arguments(name, element, rng):
    special = np.array(SPECIAL)
    if element == "f32":
        stride = 10007 if name in SLOW else 257
        bits = np.arange(0, 2**32, stride, dtype=np.uint64).astype(np.uint32)
        with np.errstate(all="ignore"):
            return np.concatenate([bits.view(np.float32), special.astype(np.float32)])
    count = 20000 if name in SLOW else 200000
    lo, hi = UNARY[name][3]
    bits = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    near_one = 1 + rng.standard_normal(count) * 10.0 ** rng.uniform(-12, -1, count)
    return np.concatenate([bits, rng.uniform(lo, hi, count), rng.standard_normal(count), near_one, special])


def check(name, element, image, report):
    rng = np.random.default_rng(3)
    reference, limit32, limit64 = (UNARY.get(name) or BINARY[name])[:3]
    limit = limit32 if element == "f32" else limit64
    if name in UNARY:
        inputs = [arguments(name, element, rng)]
    else:
        kind = np.float32 if element == "f32" else np.float64
        n = 400000
        with np.errstate(all="ignore"):
            special = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).astype(kind)
            wild = rng.integers(0, 2**64, (2, n), dtype=np.uint64)
            wild = (wild >> np.uint64(32)).astype(np.uint32).view(kind) if kind == np.float32 else wild.view(kind)
            tame = np.stack([np.exp(rng.uniform(-9, 9, n)), rng.uniform(-50, 50, n)]).astype(kind)
            signed = np.stack([-tame[0], np.rint(tame[1])])
        inputs = list(np.concatenate([special, wild, tame, signed], 1))
    worst, at = 0.0, None
    for begin in range(0, inputs[0].size, 1 << 20):
        x = [np.ascontiguousarray(i[begin:begin + (1 << 20)]) for i in inputs]
        y = call(image[f"{name}_{element}"], *x)
        wide = np.float64 if element == "f32" and name not in SLOW else LD
        with np.errstate(all="ignore"):
            want = reference(*[i.astype(wide) for i in x])
        error = ulps(y, want, name in FLUSHES and element == "f32")
        k = int(error.argmax())
        if error[k] > worst or at is None:
            worst, at = float(error[k]), [float(i[k]) for i in x] + [float(y[k]), float(want[k])]
    if report or worst > limit:
        print(f"{name:10s} {element}  {worst:8.3f} ulp (limit {limit}) at {at[:-2]}: {at[-2]}, not {at[-1]}", flush=True)
    return worst <= limit


def main():
    tool, *rest = sys.argv[1:]
    report = "--report" in rest
    options = [o for o in rest if o.startswith("--") and o != "--report"]
    names = [o for o in rest if not o.startswith("--")] or list(UNARY) + list(BINARY)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "functions.mlir")
        with open(path, "w") as file:
            for name in names:
                for element in ("f32", "f64"):
                    file.write(kernel(name, element, 1 if name in UNARY else 2))
        image = Image(path, tool, options)
    failed = [n + " " + e for n in names for e in ("f32", "f64") if not check(n, e, image, report)]
    print(f"{2 * len(names)} functions, {len(failed)} beyond their limit")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
