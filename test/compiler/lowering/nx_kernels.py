"""Kernels of the nx level, with their references: what numeric_test.py compiles and runs.

`case(name, ...)` registers one kernel. Sizes are numbers or expressions over s0, s1, .. as strings.
"""
import math

import ml_dtypes  # comes with onnx
import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.dtype(ml_dtypes.bfloat16),
          "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "ui64": np.uint64,
          "ui32": np.uint32, "ui16": np.uint16, "ui8": np.uint8, "i1": np.bool_}
rng = np.random.default_rng(11)
CASES = {}


def size(dim, dims):
    """The value of a size expression for these values of the symbols."""
    if isinstance(dim, int):
        return dim
    names = {f"s{i}": v for i, v in enumerate(dims)}
    return eval(dim.replace("floordiv", "//").replace("mod", "%"), {}, names)


def type_text(element, shape):
    if all(isinstance(d, int) for d in shape):
        return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"
    sizes = "".join(f"{d}x" if isinstance(d, int) else "?x" for d in shape)
    return f"tensor<{sizes}{element}, #nx.dims<{', '.join(map(str, shape))}>>"


class Value:
    def __init__(self, name, element, shape):
        self.name, self.element, self.shape = name, element, list(shape)
        self.type = type_text(element, shape)


class Kernel:
    """The text of one kernel function, op by op."""

    def __init__(self, name):
        self.name, self.args, self.lines, self.makers, self.outs = name, [], [], [], []
        self.family = "loops"

    def arg(self, element, *shape, make=None):
        """An argument. `make(shape)` gives its data; default: normal, or small integers."""
        value = Value(f"%a{len(self.args)}", element, shape)
        self.args.append(value)
        self.makers.append(make)
        return value

    def op(self, name, operands, shape, element=None, attrs=""):
        element = element or operands[0].element
        value = Value(f"%{len(self.lines)}", element, shape)
        attrs = f" {{{attrs}}}" if attrs else ""
        types = f"({', '.join(o.type for o in operands)}) -> {value.type}"
        self.lines.append(f"{value.name} = nx.{name} {', '.join(o.name for o in operands)}{attrs} : {types}")
        return value

    def many(self, name, operands, results, attrs):
        """An operation of the scalar family; `results` are elements and shapes."""
        self.family = "scalar"
        base = f"%{len(self.lines)}"
        values = [Value(f"{base}#{i}" if len(results) > 1 else base, *result) for i, result in enumerate(results)]
        types = f"({', '.join(o.type for o in operands)}) -> ({', '.join(v.type for v in values)})"
        count = f":{len(results)}" if len(results) > 1 else ""
        self.lines.append(f"{base}{count} = nx.{name} {', '.join(o.name for o in operands)} {{{attrs}}} : {types}")
        return values

    def raw(self, text, element, shape):
        """`text` with {type} for the result's type."""
        value = Value(f"%{len(self.lines)}", element, shape)
        self.lines.append(f"{value.name} = {text.replace('{type}', value.type)}")
        return value

    def const(self, element, text, *shape):
        text = f"{text:e}" if isinstance(text, float) else text
        return self.raw(f"nx.constant dense<{text}> : {{type}}", element, shape)

    def text(self):
        args = ", ".join(f"{a.name}: {a.type}" for a in self.args)
        types = ", ".join(o.type for o in self.outs)
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f'func.func private @{self.name}({args}) -> ({types}) attributes {{nx.family = "{self.family}"}} {{\n{body}'
                f"  return {', '.join(o.name for o in self.outs)} : {types}\n}}\n")

    def data(self, dims):
        arrays = []
        for arg, make in zip(self.args, self.makers):
            shape = [size(d, dims) for d in arg.shape]
            dtype = DTYPES[arg.element]
            if make:
                data = make(tuple(shape))
            elif arg.element == "i1":
                data = rng.integers(0, 2, shape)
            elif arg.element[0] == "i":
                data = rng.integers(-9, 10, shape)
            elif arg.element[0] == "u":
                data = rng.integers(0, 19, shape)
            else:
                data = rng.standard_normal(shape)
            with np.errstate(over="ignore"):
                arrays.append(np.asarray(data).astype(dtype))
        return arrays


def case(name, build, reference, dims=((),), tolerance=None, status=0):
    """build(k) returns the results; reference(*arrays) their arrays, in float64 or exact, or is the
    status that the kernel returns."""
    kernel = Kernel(name)
    outs = build(kernel)
    kernel.outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
    assert name not in CASES, name
    CASES[name] = (kernel, reference, dims, tolerance, status)


def wide(x):
    return x.astype(np.float64) if x.dtype.kind not in "iub" else x


ODD = [(1,), (5,), (33,)]
EMPTY = ODD + [(0,)]

# --- Element-wise

erf = np.vectorize(math.erf, otypes=[np.float64])
sigmoid = lambda x: 1 / (1 + np.exp(-x))
positive = lambda s: np.abs(rng.standard_normal(s)) + 0.05
unit = lambda s: rng.uniform(-0.95, 0.95, s)
UNARY = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "exp": np.exp, "expm1": np.expm1,
    "log": (np.log, positive), "log1p": (np.log1p, positive), "sqrt": (np.sqrt, positive),
    "rsqrt": (lambda x: 1 / np.sqrt(x), positive), "reciprocal": (lambda x: 1 / x, positive),
    "sin": np.sin, "cos": np.cos, "tan": (np.tan, unit), "asin": (np.arcsin, unit), "acos": (np.arccos, unit),
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": (np.arccosh, lambda s: 1 + positive(s)), "atanh": (np.arctanh, unit), "erf": erf,
    "ceil": np.ceil, "floor": np.floor, "round": np.rint, "trunc": np.trunc,
    "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.log1p(np.exp(x)), "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
}
for op, spec in UNARY.items():
    fn, make = spec if isinstance(spec, tuple) else (spec, None)
    case(op, lambda k: k.op(op, [k.arg("f32", "s0", 7, make=make)], ["s0", 7]), lambda x, fn=fn: fn(wide(x)), ODD)
for op, attrs, fn in (
        ("gelu", "tanh", lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2),
        ("elu", "alpha = 0.75", lambda x: np.where(x > 0, x, 0.75 * np.expm1(x))),
        ("leaky_relu", "alpha = 0.125", lambda x: np.where(x >= 0, x, 0.125 * x)),
        ("hard_sigmoid", "alpha = 0.2, beta = 0.5", lambda x: np.clip(0.2 * x + 0.5, 0, 1))):
    case(f"{op}_attr", lambda k: k.op(op, [k.arg("f32", "s0", 7)], ["s0", 7],
                                      attrs=attrs.replace(" =", " =").replace(".75", ".75")),
         lambda x, fn=fn: fn(wide(x)), ODD)
specials = lambda s: rng.choice([0.0, 1.5, np.nan, np.inf, -np.inf, -2.0], s)
case("is_nan", lambda k: k.op("is_nan", [k.arg("f32", "s0", 5, make=specials)], ["s0", 5], "i1"), np.isnan, ODD)
case("is_inf", lambda k: k.op("is_inf", [k.arg("f32", "s0", 5, make=specials)], ["s0", 5], "i1", "negative = false"),
     lambda x: x == np.inf, ODD)
case("relu_nan", lambda k: k.op("relu", [k.arg("f32", "s0", make=specials)], ["s0"]), lambda x: np.maximum(x, 0), ODD)
case("not_bool", lambda k: k.op("not", [k.arg("i1", "s0")], ["s0"]), np.logical_not, EMPTY)
case("not_int", lambda k: k.op("not", [k.arg("i32", "s0")], ["s0"]), np.invert, ODD)

for op, fn in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
    for e in ("f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "ui8", "ui64"):
        case(f"{op}_{e}", lambda k: k.op(op, [k.arg(e, "s0", 7), k.arg(e, "s0", 7)], ["s0", 7]),
             (lambda x, y, fn=fn, e=e: fn(wide(x), wide(y)).astype(DTYPES[e])), EMPTY)
nonzero = lambda s: rng.integers(1, 6, s) * rng.choice([-1, 1], s)
anything = lambda s: rng.integers(-8, 9, s)
safe = lambda y: np.where(y == 0, 1, y)
case("div_f32", lambda k: k.op("div", [k.arg("f32", "s0"), k.arg("f32", "s0")], ["s0"]),
     lambda x, y: wide(x) / wide(y), ODD)
case("div_i32", lambda k: k.op("div", [k.arg("i32", "s0"), k.arg("i32", "s0", make=anything)], ["s0"]),
     lambda x, y: np.where(y == 0, 0, np.trunc(x / safe(y))).astype(np.int32), ODD)
case("floor_div_i64", lambda k: k.op("floor_div", [k.arg("i64", "s0"), k.arg("i64", "s0", make=nonzero)], ["s0"]),
     lambda x, y: x // y, ODD)
case("mod_i64", lambda k: k.op("mod", [k.arg("i64", "s0"), k.arg("i64", "s0", make=anything)], ["s0"]),
     lambda x, y: np.where(y == 0, 0, np.mod(x, safe(y))), ODD)
case("rem_f32", lambda k: k.op("rem", [k.arg("f32", "s0"), k.arg("f32", "s0", make=positive)], ["s0"]),
     lambda x, y: np.fmod(x, y), ODD)
case("mod_f32", lambda k: k.op("mod", [k.arg("f32", "s0"), k.arg("f32", "s0", make=positive)], ["s0"]),
     lambda x, y: np.mod(x, y), ODD)
ratios = lambda s: np.exp(rng.uniform(-80, 80, s)) * rng.choice([-1, 1], s)
for e in ("f32", "f64", "f16"):
    case(f"rem_far_{e}", lambda k: k.op("rem", [k.arg(e, "s0", make=ratios if e != "f16" else None), k.arg(e, "s0", make=ratios if e != "f16" else None)], ["s0"]),
         lambda x, y: np.fmod(x, y), [(5,), (333,)], 1e-30)
case("rem_specials", lambda k: k.op("rem", [k.arg("f32", "s0", make=specials), k.arg("f32", "s0", make=specials)], ["s0"]),
     lambda x, y: np.fmod(x, y), [(333,)], 1e-30)
case("pow_f32", lambda k: k.op("pow", [k.arg("f32", "s0", make=positive), k.arg("f32", "s0")], ["s0"]),
     lambda x, y: wide(x) ** wide(y), ODD)
case("pow_square", lambda k: k.op("pow", [k.arg("f32", "s0"), k.const("f32", 2.0)], ["s0"]),
     lambda x: wide(x) ** 2, ODD)
case("pow_i32", lambda k: k.op("pow", [k.arg("i32", "s0"), k.arg("i32", "s0", make=lambda s: rng.integers(0, 7, s))], ["s0"]),
     lambda x, y: x ** y, ODD)
for op, fn in (("max", np.maximum), ("min", np.minimum)):
    for e in ("f32", "f16", "i8", "ui8"):
        case(f"{op}_{e}", lambda k: k.op(op, [k.arg(e, "s0", make=specials if e[0] == "f" else None), k.arg(e, "s0")], ["s0"]),
             lambda x, y, fn=fn: fn(x, y), ODD)
for op, fn in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
    for e in ("i1", "i32"):
        case(f"{op}_{e}", lambda k: k.op(op, [k.arg(e, "s0"), k.arg(e, "s0")], ["s0"]),
             lambda x, y, fn=fn: fn(x, y), ODD)
shifts = lambda s: rng.integers(0, 10, s)
case("shl_i8", lambda k: k.op("shl", [k.arg("i8", "s0"), k.arg("i8", "s0", make=shifts)], ["s0"]),
     lambda x, y: np.where(y > 7, 0, x.astype(np.int64) << y).astype(np.int8), ODD)
case("shr_i8", lambda k: k.op("shr", [k.arg("i8", "s0"), k.arg("i8", "s0", make=shifts)], ["s0"]),
     lambda x, y: x.astype(np.int64) >> y, ODD)
case("shr_ui8", lambda k: k.op("shr", [k.arg("ui8", "s0"), k.arg("ui8", "s0", make=shifts)], ["s0"]),
     lambda x, y: x.astype(np.int64) >> y, ODD)
for p, fn in (("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)):
    for e in ("f32", "i64", "ui8", "f16"):
        case(f"compare_{p}_{e}",
             lambda k: k.op("compare", [k.arg(e, "s0", make=specials if e[0] == "f" else None), k.arg(e, "s0")], ["s0"], "i1",
                            f"predicate = #nx<compare_predicate {p}>"),
             lambda x, y, fn=fn: fn(x, y), ODD)
case("select", lambda k: k.op("select", [k.arg("i1", "s0", 1), k.arg("f32", "s0", 9), k.arg("f32", 9)], ["s0", 9], "f32"),
     lambda c, x, y: np.where(c, x, y), EMPTY)
case("select_bool", lambda k: k.op("select", [k.arg("i1", "s0"), k.arg("i1", "s0"), k.arg("i1", "s0")], ["s0"]),
     lambda c, x, y: np.where(c, x, y), ODD)

big = lambda s: rng.choice([0, 1.5, -1.5, 300.7, -300.7, 1e10, -1e10, 1e30, np.nan, np.inf, -np.inf], s)


def saturated(x, e):
    info = np.iinfo(DTYPES[e])
    with np.errstate(all="ignore"):
        y = np.nan_to_num(np.trunc(wide(x)), nan=0, posinf=np.inf, neginf=-np.inf)
    return np.array([info.min if v <= info.min else info.max if v >= info.max else int(v) for v in y.reshape(-1)],
                    dtype=DTYPES[e]).reshape(x.shape)


FLOATS, INTS = ("f64", "f32", "f16", "bf16"), ("i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8")
for a in FLOATS + INTS + ("i1",):
    for c in FLOATS + INTS + ("i1",):
        if a == c:
            continue
        if a in FLOATS and c in INTS:
            make, fn = big, lambda x, c=c: saturated(x, c)
        elif a in FLOATS and c == "i1":
            make, fn = specials, lambda x: wide(x) != 0
        elif a in FLOATS:
            make, fn = None, lambda x, c=c: wide(x).astype(DTYPES[c])
        else:
            make, fn = None, lambda x, c=c: x.astype(DTYPES[c])
        case(f"cast_{a}_{c}", lambda k: k.op("cast", [k.arg(a, "s0", make=make)], ["s0"], c), fn, [(33,)])
        # A rest of one lane, known when the kernel is compiled.
        case(f"cast_static_{a}_{c}", lambda k: k.op("cast", [k.arg(a, 33, make=make)], [33], c), fn)

# Broadcasting.
case("broadcast_mask", lambda k: k.op("add", [k.arg("f32", "s0", 12, "s1", "s2"), k.arg("f32", "s0", 1, 1, "s2")], ["s0", 12, "s1", "s2"]),
     lambda x, y: x + y, [(1, 5, 7), (3, 1, 1), (2, 4, 33), (0, 3, 3)])
case("broadcast_both", lambda k: k.op("mul", [k.arg("f32", "s0", 1, 5), k.arg("f32", 4, 1)], ["s0", 4, 5]), lambda x, y: x * y, EMPTY)
case("broadcast_scalar", lambda k: k.op("mul", [k.arg("f32", "s0", 5), k.arg("f32")], ["s0", 5]), lambda x, y: x * y, ODD)
case("rank0", lambda k: k.op("exp", [k.op("add", [k.arg("f32"), k.arg("f32")], [])], []), lambda x, y: np.exp(wide(x) + wide(y)))
case("broadcast", lambda k: k.op("broadcast", [k.arg("i64", 5, 1)], ["s0", 5, 3]), lambda x: np.broadcast_to(x, (D[0], 5, 3)), EMPTY)
case("broadcast_new", lambda k: k.op("broadcast", [k.arg("f32")], ["s0", 5]), lambda x: np.broadcast_to(x, (D[0], 5)), EMPTY)

# Chains: one rounding for each operation.
case("chain_bf16", lambda k: k.op("gelu", [k.op("add", [k.arg("bf16", "s0", 9), k.arg("bf16", 9)], ["s0", 9])], ["s0", 9]),
     lambda x, y: (lambda v: v * (1 + erf(v / np.sqrt(2))) / 2)(wide((x.astype(np.float32) + y.astype(np.float32)).astype(x.dtype))), ODD)


def mask_chain(k):
    m = k.arg("i64", "s0", 1, 1, "s1", make=lambda s: rng.integers(0, 2, s))
    f = k.op("cast", [m], m.shape, "f32")
    d = k.op("sub", [k.const("f32", 1.0), f], m.shape)
    return k.op("mul", [d, k.const("f32", -3.0e38)], m.shape)


case("mask_chain", mask_chain, lambda m: (np.float32(1) - m.astype(np.float32)) * np.float32(-3e38), [(1, 5), (3, 17), (2, 0)])

# --- Values made of nothing

case("constant_splat", lambda k: k.op("broadcast", [k.const("f32", 2.5, 3, 4)], [3, 4]), lambda: np.full((3, 4), 2.5))
case("constant_dense", lambda k: k.op("add", [k.arg("ui8", "s0", 3), k.const("ui8", "[1, 2, 250]", 3)], ["s0", 3]),
     lambda x: x + np.array([1, 2, 250], np.uint8), ODD)
case("constant_bool", lambda k: k.op("and", [k.arg("i1", "s0", 3), k.const("i1", "[true, false, true]", 3)], ["s0", 3]),
     lambda x: x & np.array([True, False, True]), ODD)
case("shape_value", lambda k: k.raw("nx.shape_value <s0, s1 * 2, 12, 64> : {type}", "i64", [4]),
     lambda: np.array([D[0], 2 * D[1], 12, 64]), [(3, 5)])
case("shape_value0", lambda k: k.raw("nx.shape_value <s0 * s1 + 1> : {type}", "f32", []),
     lambda: np.array(D[0] * D[1] + 1), [(3, 5)])
case("iota", lambda k: k.raw("nx.iota {axis = 0, start = #nx.dims<s1>, step = #nx.dims<-2>} : {type}", "i64", ["s0", 3]),
     lambda: np.broadcast_to((D[1] - 2 * np.arange(D[0]))[:, None], (D[0], 3)), [(5, 4), (0, 1), (1, 7)])
case("iota_f32", lambda k: k.raw("nx.iota {axis = 1, start = #nx.dims<0>, step = #nx.dims<3>} : {type}", "f32", ["s0", 19]),
     lambda: np.broadcast_to(3.0 * np.arange(19), (D[0], 19)), ODD)

# --- Reductions

KINDS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
for kind, fn in KINDS.items():
    for axes, keep in (((1,), True), ((0,), False), ((2,), False), ((0, 2), False), ((0, 1, 2), True), ((), False), ((1, 2), False)):
        shape = [1 if i in axes else d for i, d in enumerate(("s0", 6, "s1")) if keep or i not in axes]
        case(f"reduce_{kind}_{''.join(map(str, axes))}_{int(keep)}",
             lambda k: k.op("reduce", [k.arg("f32", "s0", 6, "s1")], shape,
                            attrs=f"kind = #nx<reduce_kind {kind}>, axes = array<i64{': ' + ', '.join(map(str, axes)) if axes else ''}>"
                                  + (", keep_dims" if keep else "")),
             (lambda x, fn=fn, axes=axes, keep=keep: fn(wide(x), axis=axes, keepdims=keep)), [(1, 1), (3, 5), (5, 33)], 5e-5)
for e in ("f64", "f16", "bf16", "i64", "i8", "ui8", "i1"):
    kinds = ("max", "min") if e == "i1" else ("sum", "max", "min")
    for kind in kinds:
        case(f"reduce_{kind}_{e}", lambda k: k.op("reduce", [k.arg(e, "s0", "s1")], ["s0"], attrs=f"kind = #nx<reduce_kind {kind}>, axes = array<i64: 1>"),
             lambda x, kind=kind: KINDS[kind](wide(x), axis=1).astype(x.dtype), [(3, 5), (5, 33), (1, 100)])
case("reduce_max_nan", lambda k: k.op("reduce", [k.arg("f32", "s0", "s1", make=specials)], ["s0"], attrs="kind = #nx<reduce_kind max>, axes = array<i64: 1>"),
     lambda x: x.max(1), [(3, 5), (33, 17)])
case("reduce_sum_empty", lambda k: k.op("reduce", [k.arg("f32", "s0", "s1")], ["s0"], attrs="kind = #nx<reduce_kind sum>, axes = array<i64: 1>"),
     lambda x: wide(x).sum(1), [(3, 0), (0, 3)])
case("reduce_mean_empty", lambda k: k.op("reduce", [k.arg("f32", "s0", "s1")], ["s0"], attrs="kind = #nx<reduce_kind mean>, axes = array<i64: 1>"),
     lambda x: np.full(D[0], np.nan), [(3, 0)])
case("reduce_mean_static_empty", lambda k: k.op("reduce", [k.arg("f32", 3, 0)], [3], attrs="kind = #nx<reduce_kind max>, axes = array<i64: 1>"),
     lambda x: np.full(3, -np.inf))
case("reduce_mean_i64", lambda k: k.op("reduce", [k.arg("i64", "s0", "s1")], ["s0"], attrs="kind = #nx<reduce_kind mean>, axes = array<i64: 1>"),
     lambda x: np.trunc(x.sum(1) / max(D[1], 1)).astype(np.int64), [(3, 7), (4, 0)])


def arg_reduce(x, kind, axis, last):
    x = wide(x)
    if last:
        return x.shape[axis] - 1 - arg_reduce(np.flip(x, axis), kind, axis, False)
    return (np.argmax if kind == "max" else np.argmin)(x, axis)


few = lambda s: rng.choice([0.0, 1.0, 2.0, -1.0], s)
for kind in ("max", "min"):
    for last in (False, True):
        for e, make in (("f32", few), ("f32", specials), ("i32", None), ("ui8", None), ("bf16", few)):
            for axis in (0, 1):
                name = f"arg_{kind}_{int(last)}_{e}_{'nan' if make is specials else 'n'}_{axis}"
                case(name, lambda k: k.op("arg_reduce", [k.arg(e, "s0", "s1", make=make)], [["s1", "s0"][axis]], "i64",
                                          f"kind = #nx<reduce_kind {kind}>, axis = {axis}" + (", select_last" if last else "")),
                     lambda x, a=(kind, axis, last): arg_reduce(x, *a), [(1, 1), (5, 33), (33, 5)])
case("arg_max_keep", lambda k: k.op("arg_reduce", [k.arg("f32", "s0", 9, 4)], ["s0", 1, 4], "i64", "kind = #nx<reduce_kind max>, axis = 1, keep_dims"),
     lambda x: x.argmax(1, keepdims=True), ODD)
case("arg_max_minus_inf", lambda k: k.op("arg_reduce", [k.arg("f32", "s0", make=lambda s: np.full(s, -np.inf))], [], "i64", "kind = #nx<reduce_kind max>, axis = 0"),
     lambda x: np.int64(0), ODD)


def cumsum(x, axis, exclusive, reverse):
    x = wide(x)
    x = np.flip(x, axis) if reverse else x
    y = x.cumsum(axis)
    y = y - x if exclusive else y
    return np.flip(y, axis) if reverse else y


for axis in (0, 1, 2):
    for exclusive in (False, True):
        for reverse in (False, True):
            case(f"cumsum_{axis}{int(exclusive)}{int(reverse)}",
                 lambda k: k.op("cumulative", [k.arg("f32", "s0", "s1", 5)], ["s0", "s1", 5],
                                attrs=f"axis = {axis}" + ", exclusive" * exclusive + ", reverse" * reverse),
                 lambda x, a=(axis, exclusive, reverse): cumsum(x, *a), [(3, 17), (1, 1), (9, 4)])
case("cumsum_i64", lambda k: k.op("cumulative", [k.arg("i64", "s0")], ["s0"], attrs="axis = 0"), lambda x: x.cumsum(), EMPTY)
case("cumsum_static_reverse", lambda k: k.op("cumulative", [k.arg("i32", 7, 3)], [7, 3], attrs="axis = 0, reverse"), lambda x: cumsum(x, 0, False, True))
case("cumsum_f16", lambda k: k.op("cumulative", [k.arg("f16", "s0")], ["s0"], attrs="axis = 0"), lambda x: wide(x).cumsum(), ODD, 4e-3)

# --- Normalizations


def softmax(x, axis, log=False):
    x = wide(x)
    with np.errstate(all="ignore"):
        d = x - x.max(axis, keepdims=True)
        s = np.exp(d).sum(axis, keepdims=True)
        return d - np.log(s) if log else np.exp(d) / s


SOFT = [(1, 1), (3, 5), (5, 33)]
for e in ("f32", "f16", "bf16", "f64"):
    for axis in (0, 1, 2):
        for log in (False, True):
            case(f"softmax_{e}_{axis}{int(log)}", lambda k: k.op("softmax", [k.arg(e, "s0", 6, "s1")], ["s0", 6, "s1"], attrs=f"axis = {axis}" + ", log" * log),
                 lambda x, a=(axis, log): softmax(x, *a), SOFT)
case("softmax_inf", lambda k: k.op("softmax", [k.arg("f32", 3, "s0", make=lambda s: np.where(np.arange(3)[:, None] == 1, -np.inf, rng.standard_normal(s)))], [3, "s0"], attrs="axis = 1"),
     lambda x: softmax(x, 1), [(1,), (9,), (33,)])


def scale_mask_softmax(k):
    x = k.arg("f32", "s0", 4, "s1", "s1")
    y = k.op("div", [x, k.const("f32", 8.0)], x.shape)
    z = k.op("add", [y, k.arg("f32", "s0", 1, 1, "s1")], x.shape)
    return k.op("softmax", [z], x.shape, attrs="axis = 3")


case("softmax_scale_mask", scale_mask_softmax, lambda x, m: softmax(wide(x) / 8 + m, 3), [(1, 1), (2, 5), (3, 33)])


def norm(x, axis, scale=1, bias=0, eps=1e-5):
    axes = tuple(range(axis, x.ndim))
    x = wide(x)
    d = x - x.mean(axes, keepdims=True)
    return d / np.sqrt((d * d).mean(axes, keepdims=True) + eps) * wide(np.asarray(scale)) + wide(np.asarray(bias))


EPS = "epsilon = 1.0e-5"
SEG = "operandSegmentSizes = array<i32: 1, 1, 1>"


def layer_norm(k, x, scale, bias, axis):
    operands = [v for v in (x, scale, bias) if v]
    return k.op("layer_norm", operands, x.shape,
                attrs=f"axis = {axis}, {EPS}, operandSegmentSizes = array<i32: 1, {int(bool(scale))}, {int(bool(bias))}>")


for e in ("f32", "f16", "bf16", "f64"):
    case(f"layer_norm_{e}", lambda k: layer_norm(k, k.arg(e, "s0", 77), k.arg(e, 77), k.arg(e, 77), 1),
         lambda x, s, b: norm(x, 1, s, b), EMPTY)
case("layer_norm_plain", lambda k: layer_norm(k, k.arg("f32", "s0", 6, "s1"), None, None, 1), lambda x: norm(x, 1), [(1, 3), (5, 33)], 5e-5)
case("layer_norm_bias", lambda k: layer_norm(k, k.arg("f32", "s0", "s1"), None, k.arg("f32", "s1"), 1),
     lambda x, b: norm(x, 1, 1, b), [(3, 5), (5, 33)], 5e-5)
case("layer_norm_all", lambda k: layer_norm(k, k.arg("f32", 4, "s0"), k.arg("f32", 4, 1), None, 0), lambda x, s: norm(x, 0, s), ODD, 5e-5)
case("layer_norm_offset", lambda k: layer_norm(k, k.arg("f32", "s0", 64, make=lambda s: 1000 + rng.standard_normal(s)), None, None, 1), lambda x: norm(x, 1), ODD, 1e-3)


def residual(k):
    x, y = k.arg("f32", "s0", 48), k.arg("f32", "s0", 48)
    z = k.op("add", [x, y], ["s0", 48])
    return [z, layer_norm(k, z, k.arg("f32", 48), k.arg("f32", 48), 1)]


case("add_layer_norm", residual, lambda x, y, s, b: [x + y, norm(x + y, 1, s, b)], ODD)


def embeddings(k):
    words, places = k.arg("f32", 50, 48), k.arg("f32", 30, 48)
    ids = k.arg("i64", "s0", "s1", make=lambda s: rng.integers(0, 50, s))
    where = k.arg("i64", "s0", "s1", make=lambda s: rng.integers(0, 30, s))
    shape = ["s0", "s1", 48]
    x = k.op("add", [k.op("gather", [words, ids], shape, attrs="axis = 0"), k.op("gather", [places, where], shape, attrs="axis = 0")], shape)
    return layer_norm(k, x, k.arg("f32", 48), k.arg("f32", 48), 2)


case("embeddings", embeddings, lambda w, p, i, j, s, b: norm(w[i] + p[j], 2, s, b), [(1, 1), (2, 5), (3, 33)], 5e-5)
case("rms_norm", lambda k: k.op("rms_norm", [k.arg("f32", "s0", 77), k.arg("f32", 77)], ["s0", 77], attrs="axis = 1, " + EPS),
     lambda x, s: wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-5) * s, EMPTY)
case("rms_norm_bf16", lambda k: k.op("rms_norm", [k.arg("bf16", "s0", 77)], ["s0", 77], attrs="axis = 1, " + EPS),
     lambda x: wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-5), ODD)


def group_norm(x, s, b, groups):
    n, c = x.shape[:2]
    y = norm(wide(x).reshape(n, groups, -1), 2).reshape(x.shape)
    shape = [1, c] + [1] * (x.ndim - 2)
    return y * s.reshape(shape) + b.reshape(shape)


for groups in (1, 3, 6):
    case(f"group_norm_{groups}", lambda k: k.op("group_norm", [k.arg("f32", "s0", 6, "s1", 5), k.arg("f32", 6), k.arg("f32", 6)], ["s0", 6, "s1", 5], attrs=f"groups = {groups}, {EPS}"),
         lambda x, s, b, g=groups: group_norm(x, s, b, g), [(1, 1), (2, 7)], 1e-4)
case("group_norm_flat", lambda k: k.op("group_norm", [k.arg("f32", "s0", 6), k.arg("f32", 6), k.arg("f32", 6)], ["s0", 6], attrs=f"groups = 2, {EPS}"),
     lambda x, s, b: group_norm(x, s, b, 2), ODD, 1e-4)

# --- Data movement

for i, perm in enumerate([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)]):
    for e in ("f32", "i8"):
        case(f"transpose_{i}_{e}", lambda k: k.op("transpose", [k.arg(e, "s0", 12, "s1")], [["s0", 12, "s1"][p] for p in perm], attrs=f"perm = array<i64: {', '.join(map(str, perm))}>"),
             lambda x, perm=perm: x.transpose(perm), [(1, 1), (5, 33), (0, 4)])
for i, (a, c) in enumerate([(["s0", 24], ["s0", 4, 6]), (["s0", 4, 6], ["s0", 24]), (["s0", 4, "s1"], ["s0 * 4", "s1"]), ([6, "s0"], ["s0", 6]),
                            (["s0", 12, 5], ["s0 * 2", 30]), (["s0", 4], [1, "s0", 1, 2, 2, 1]), ([1, 1], []), ([], [1, 1, 1]), (["s0", 0], [0, 7]), (["s0", "s1", 4], ["s1 * s0 * 2", 2])]):
    case(f"reshape_{i}", lambda k: k.op("reshape", [k.arg("f32", *a)], c), lambda x, c=c: x.reshape([size(d, D) for d in c]), [(1, 1), (5, 3)])
case("reshape_between", lambda k: k.op("exp", [k.op("reshape", [k.op("neg", [k.arg("f32", "s0", 12)], ["s0", 12])], ["s0 * 4", 3])], ["s0 * 4", 3]),
     lambda x: np.exp(-wide(x)).reshape(-1, 3), ODD)
case("slice", lambda k: k.op("slice", [k.arg("f32", "s0", 19)], ["s0", 6], attrs="starts = #nx.dims<0, 2>, steps = array<i64: 1, 3>"), lambda x: x[:, 2:19:3][:, :6], EMPTY)
case("slice_back", lambda k: k.op("slice", [k.arg("f32", "s0", 19)], ["s0", 9], attrs="starts = #nx.dims<s0 - 1, 18>, steps = array<i64: -1, -2>"), lambda x: x[::-1, 18:1:-2], ODD)
case("slice_rank", lambda k: k.op("slice", [k.arg("f32", "s0 * 4", 6)], ["s0", 6], attrs="starts = #nx.dims<s1 * s0, 0>, steps = array<i64: 1, 1>"),
     lambda x: x[D[0] * D[1]:][:D[0]], [(1, 3), (5, 2), (33, 0)])
case("slice_static_empty", lambda k: k.op("slice", [k.arg("f32", 4, 6)], [4, 0], attrs="starts = #nx.dims<0, 6>, steps = array<i64: 1, 1>"), lambda x: x[:, 6:])
case("slice_scaled", lambda k: k.op("mul", [k.op("slice", [k.arg("f32", "s0", 19)], ["s0", 8], attrs="starts = #nx.dims<0, 2>, steps = array<i64: 1, 2>"), k.arg("f32", 8)], ["s0", 8]),
     lambda x, y: x[:, 2:18:2] * y, ODD)
case("concat", lambda k: k.op("concat", [k.arg("f32", "s0", 5, 3), k.arg("f32", "s0", "s1", 3), k.arg("f32", "s0", 1, 3)], ["s0", "s1 + 6", 3], attrs="axis = 1"),
     lambda *a: np.concatenate(a, 1), [(1, 1), (3, 5), (5, 0), (0, 2)])
case("concat_first", lambda k: k.op("concat", [k.arg("i8", "s0", 5), k.arg("i8", 0, 5), k.arg("i8", "s0", 5)], ["s0 * 2", 5], attrs="axis = 0"), lambda *a: np.concatenate(a), EMPTY)
case("concat_same", lambda k: (lambda x: k.op("concat", [x, x], ["s0", 10], attrs="axis = 1"))(k.arg("f32", "s0", 5)), lambda x: np.concatenate([x, x], 1), EMPTY)
case("concat_computed", lambda k: k.op("relu", [k.op("concat", [k.op("neg", [k.arg("f32", "s0", 5)], ["s0", 5]), k.arg("f32", "s0", 4)], ["s0", 9], attrs="axis = 1")], ["s0", 9]),
     lambda x, y: np.maximum(np.concatenate([-x, y], 1), 0), ODD)


def rotary(k):
    x, c, s = k.arg("f32", "s0", 4, "s1", 16), k.arg("f32", "s1", 16), k.arg("f32", "s1", 16)
    half = ["s0", 4, "s1", 8]
    at = lambda i: f"starts = #nx.dims<0, 0, 0, {i}>, steps = array<i64: 1, 1, 1, 1>"
    a, b = k.op("slice", [x], half, attrs=at(0)), k.op("slice", [x], half, attrs=at(8))
    turned = k.op("concat", [k.op("neg", [b], half), a], x.shape, attrs="axis = 3")
    return k.op("add", [k.op("mul", [x, c], x.shape), k.op("mul", [turned, s], x.shape)], x.shape)


case("rotary", rotary, lambda x, c, s: x * c + np.concatenate([-x[..., 8:], x[..., :8]], -1) * s, [(1, 1), (2, 7)])

PADS = {"constant": {"constant_values": 0}, "edge": {}, "reflect": {}, "wrap": {}}
for mode in PADS:
    for i, (lo, hi) in enumerate([((0, 2), (0, 3)), ((1, 0), (2, 0)), ((0, -1), (0, -2)), ((0, -2), (0, 9)), ((3, 11), (1, 1))]):
        shape = [f"s0 + {lo[0] + hi[0]}" if lo[0] + hi[0] else "s0", 6 + lo[1] + hi[1]]
        def padded(x, lo=lo, hi=hi, mode=mode):
            cut = x[max(-lo[0], 0):x.shape[0] - max(-hi[0], 0), max(-lo[1], 0):x.shape[1] - max(-hi[1], 0)]
            if mode in ("constant",):
                return np.pad(cut, [(max(l, 0), max(h, 0)) for l, h in zip(lo, hi)])
            full = [np.pad(np.arange(n), (max(l, 0), max(h, 0)), mode=mode)[max(-l, 0):] for n, l, h in zip(x.shape, lo, hi)]
            full = [f[:n + l + h] for f, n, l, h in zip(full, x.shape, lo, hi)]
            return x[np.ix_(*full)]
        case(f"pad_{mode}_{i}", lambda k: k.op("pad", [k.arg("f32", "s0", 6)], shape, attrs=f"lo = #nx.dims<{lo[0]}, {lo[1]}>, hi = #nx.dims<{hi[0]}, {hi[1]}>, mode = #nx<pad_mode {mode}>"),
             padded, [(1,), (5,), (9,)])
case("pad_value", lambda k: k.op("pad", [k.arg("f32", "s0", 6), k.arg("f32")], ["s0 + s1", 6], attrs="lo = #nx.dims<s1, 0>, hi = #nx.dims<0, 0>, mode = #nx<pad_mode constant>"),
     lambda x, v: np.pad(x, ((D[1], 0), (0, 0)), constant_values=v), [(3, 4), (5, 0), (0, 3)])
case("pad_away", lambda k: k.op("pad", [k.arg("i32", 4)], [2], attrs="lo = #nx.dims<-5>, hi = #nx.dims<3>, mode = #nx<pad_mode constant>"), lambda x: np.zeros(2, np.int32))
case("pad_symbolic_cut", lambda k: k.op("pad", [k.arg("i32", "s0")], ["s0 - 1"], attrs="lo = #nx.dims<-2>, hi = #nx.dims<1>, mode = #nx<pad_mode constant>"),
     lambda x: np.concatenate([x[2:], np.zeros(1, np.int32)]), [(2,), (5,), (33,)])
case("pad_empty", lambda k: k.op("pad", [k.arg("i32", 0, 3)], [2, 3], attrs="lo = #nx.dims<1, 0>, hi = #nx.dims<1, 0>, mode = #nx<pad_mode constant>"), lambda x: np.zeros((2, 3), np.int32))

index = lambda n: lambda s: rng.integers(-n, n, s)
for e in ("i64", "i32"):
    case(f"gather_0_{e}", lambda k: k.op("gather", [k.arg("f32", 9, 48), k.arg(e, "s0", "s1", make=index(9))], ["s0", "s1", 48], attrs="axis = 0"), lambda x, i: x[i], [(1, 1), (3, 5), (0, 2)])
case("gather_1", lambda k: k.op("gather", [k.arg("f32", "s0", 9, 5), k.arg("i64", 4, "s1", make=index(9))], ["s0", 4, "s1", 5], attrs="axis = 1"), lambda x, i: x[:, i], [(1, 1), (3, 5)])
case("gather_last", lambda k: k.op("gather", [k.arg("bf16", "s0", 9), k.arg("i64", "s1", make=index(9))], ["s0", "s1"], attrs="axis = 1"), lambda x, i: x[:, i], [(1, 1), (3, 33)])
case("gather_scalar", lambda k: k.op("gather", [k.arg("f32", "s0", "s1", 6), k.const("i64", -1)], ["s0", 6], attrs="axis = 1"), lambda x: x[:, -1], [(1, 1), (3, 5)])
case("gather_scalar_arg", lambda k: k.op("gather", [k.arg("f32", "s0", 7), k.arg("i64", make=index(7))], ["s0"], attrs="axis = 1"), lambda x, i: x[:, i], ODD)
case("gather_const_list", lambda k: k.op("gather", [k.arg("f32", "s0", "s1"), k.const("i64", "[1, 0, -1]", 3)], ["s0", 3], attrs="axis = 1"), lambda x: x[:, [1, 0, -1]], [(1, 2), (3, 5)])
case("gather_low", lambda k: k.op("gather", [k.arg("f32", 9, 5), k.arg("i64", "s0", make=lambda s: np.full(s, -10))], ["s0", 5], attrs="axis = 0"), None, ODD, status=1)
case("gather_high", lambda k: k.op("gather", [k.arg("f32", 9, 5), k.arg("i32", "s0", make=lambda s: np.full(s, 9))], ["s0", 5], attrs="axis = 0"), None, ODD, status=1)
case("gather_const_high", lambda k: k.op("gather", [k.arg("f32", "s0", "s1"), k.const("i64", 5)], ["s0"], attrs="axis = 1"), None, [(3, 5), (2, 0)], status=1)
case("gather_const_low", lambda k: k.op("gather", [k.arg("f32", "s0", "s1"), k.const("i64", -6)], ["s0"], attrs="axis = 1"), None, [(3, 5), (2, 0)], status=1)
case("gather_elements_0", lambda k: k.op("gather_elements", [k.arg("f32", 9, 6), k.arg("i64", "s0", 6, make=index(9))], ["s0", 6], attrs="axis = 0"),
     lambda x, i: np.take_along_axis(x, i % 9, 0), EMPTY)
case("gather_elements_1", lambda k: k.op("gather_elements", [k.arg("i8", "s0", 9), k.arg("i32", "s0", 4, make=index(9))], ["s0", 4], attrs="axis = 1"),
     lambda x, i: np.take_along_axis(x, (i % 9).astype(np.int64), 1), EMPTY)
case("gather_nd", lambda k: k.op("gather_nd", [k.arg("f32", 5, 5, 6), k.arg("i64", "s0", 3, 2, make=index(5))], ["s0", 3, 6], attrs="batch_dims = 0"),
     lambda x, i: x[i[..., 0], i[..., 1]], EMPTY)
case("gather_nd_batch", lambda k: k.op("gather_nd", [k.arg("f32", "s0", 5, 6), k.arg("i64", "s0", 3, 1, make=index(5))], ["s0", 3, 6], attrs="batch_dims = 1"),
     lambda x, i: np.take_along_axis(x, i % 5, 1), EMPTY)
case("gather_nd_full", lambda k: k.op("gather_nd", [k.arg("i64", 5, 5), k.arg("i64", "s0", 2, make=index(5))], ["s0"], attrs="batch_dims = 0"), lambda x, i: x[i[:, 0], i[:, 1]], ODD)

# --- Contractions

MNK = [(1, 1, 1), (5, 33, 7), (3, 2, 0), (17, 5, 40)]
for e in ("f64", "f32", "f16", "bf16", "i32", "i8"):
    for tl in (0, 1):
        for tr in (0, 1):
            case(f"matmul_{e}_{tl}{tr}",
                 lambda k: k.op("matmul", [k.arg(e, *(["s2", "s0"] if tl else ["s0", "s2"])), k.arg(e, *(["s1", "s2"] if tr else ["s2", "s1"]))], ["s0", "s1"],
                                attrs=", ".join(["transpose_lhs"] * tl + ["transpose_rhs"] * tr)),
                 lambda x, y, t=(tl, tr): ((wide(x).T if t[0] else wide(x)) @ (wide(y).T if t[1] else wide(y))).astype(x.dtype), MNK)
case("matmul_batch", lambda k: k.op("matmul", [k.arg("f32", "s0", 1, 3, 5), k.arg("f32", 4, 5, 7)], ["s0", 4, 3, 7]), lambda x, y: wide(x) @ wide(y), ODD)


def attention(q, k, v, scale, mask=None, causal=None, zero=False):
    """causal(S, T) is the offset of the triangle. A query without keys is NaN, or 0 with `zero`."""
    q, k, v = wide(q), wide(k), wide(v)
    n = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, n, 1), np.repeat(v, n, 1)
    s = scale * q @ k.swapaxes(2, 3)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + wide(mask)
    S, T = s.shape[2:]
    if causal:
        s = np.where(np.arange(T) <= np.arange(S)[:, None] + causal(S, T), s, -np.inf)
    if T == 0:
        return np.zeros(s.shape[:3] + v.shape[3:])
    weights = softmax(s, 3)
    return (np.where(s.max(3, keepdims=True) == -np.inf, 0, weights) if zero else weights) @ v


BST = [(1, 1, 1), (2, 5, 7), (1, 17, 33)]


def attend(k, e="f32", heads=(4, 4), mask=None, causal=None, zero=False, make=None):
    q, key, value = k.arg(e, "s0", heads[0], "s1", 8), k.arg(e, "s0", heads[1], "s2", 8), k.arg(e, "s0", heads[1], "s2", 6)
    operands = [q, key, value]
    if mask:
        operands.append(k.arg(*mask, make=make or ((lambda s: rng.random(s) < 0.7) if mask[0] == "i1" else None)))
    attrs = "scale = 0.35" + (f", causal = #nx.dims<{causal}>" if causal else "") + ", zero_without_keys" * zero
    return k.op("attention", operands, ["s0", heads[0], "s1", 6], attrs=attrs)


for e in ("f32", "bf16", "f64"):
    case(f"attention_{e}", lambda k: attend(k, e), lambda q, k, v: attention(q, k, v, 0.35), BST)
case("attention_gqa", lambda k: attend(k, heads=(6, 2), mask=("f32", "s0", 6, "s1", "s2")), lambda q, k, v, m: attention(q, k, v, 0.35, m), BST)
case("attention_bool", lambda k: attend(k, mask=("i1", "s1", "s2")), lambda q, k, v, m: attention(q, k, v, 0.35, m), BST)
case("attention_mask_rows", lambda k: attend(k, mask=("f32", "s0", 1, 1, "s2")), lambda q, k, v, m: attention(q, k, v, 0.35, m), BST)
# Queries without keys: those before the triangle, those that the mask leaves nothing, and all when there are no keys.
KEYLESS = BST + [(1, 9, 4), (2, 3, 0)]
for zero in (False, True):
    for name, kind, offset in (("first", "0", lambda S, T: 0), ("last", "s2 - s1", lambda S, T: T - S),
                               ("past", "s2 - 3", lambda S, T: T - 3)):
        case(f"attention_causal_{name}_{zero:d}", lambda k: attend(k, causal=kind, zero=zero),
             lambda q, k, v, o=offset, z=zero: attention(q, k, v, 0.35, causal=o, zero=z), KEYLESS)
    drop = lambda s: (rng.random(s) < 0.7) & (np.arange(s[0]) % 3 != 1)[:, None]
    for e, make in (("i1", drop), ("f32", lambda s: np.where(drop(s), rng.random(s), -np.inf)),
                    ("f32", lambda s: np.where(drop(s), 0, np.finfo(np.float32).min))):
        case(f"attention_keyless_{e}_{len(CASES)}", lambda k: attend(k, mask=(e, "s1", "s2"), zero=zero, make=make),
             lambda q, k, v, m, z=zero: attention(q, k, v, 0.35, m, zero=z), KEYLESS)


def conv(x, w, b, strides, dilations, lo, hi, groups):
    x, w = wide(x), wide(w)
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(lo, hi)))
    spatial = x.ndim - 2
    out = [(x.shape[2 + i] - dilations[i] * (w.shape[2 + i] - 1) - 1) // strides[i] + 1 for i in range(spatial)]
    y = np.zeros([x.shape[0], w.shape[0]] + out, x.dtype)
    cg, og = w.shape[1], w.shape[0] // groups
    for tap in np.ndindex(*w.shape[2:]):
        where = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, out, strides))
        part = x[(slice(None), slice(None)) + where]
        for g in range(groups):
            y[:, g * og:(g + 1) * og] += np.einsum("nc...,oc->no...", part[:, g * cg:(g + 1) * cg], w[(slice(g * og, (g + 1) * og), slice(None)) + tap])
    return y if b is None else y + wide(b).reshape([-1] + [1] * spatial)


def array(values):
    return f"array<i64: {', '.join(map(str, values))}>"


def windowed(n, window, s, d, lo, hi):
    span = lo + hi - d * (window - 1) - 1
    if isinstance(n, int):
        return (n + span) // s + 1
    inner = f"{n} + {span}" if span > 0 else f"{n} - {-span}" if span else n
    return f"({inner}) floordiv {s} + 1" if s > 1 else f"{n} + {span + 1}" if span + 1 > 0 else f"{n} - {-span - 1}" if span + 1 else n


for i, (spatial, kernel, s, d, lo, hi, groups, bias, e) in enumerate([
        ([9, 11], [3, 3], [1, 1], [1, 1], [0, 0], [0, 0], 1, True, "f32"),
        ([9, 11], [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 1, False, "f32"),
        (["s1", 11], [3, 2], [2, 1], [1, 2], [1, 0], [0, 3], 2, True, "f32"),
        (["s1", "s1"], [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 4, True, "f32"),
        (["s1"], [5], [1], [1], [2], [2], 1, True, "f32"),
        ([5, 4, 6], [2, 3, 1], [1, 1, 2], [1, 1, 1], [0, 1, 0], [0, 1, 0], 2, False, "f32"),
        ([7, 7], [1, 1], [1, 1], [1, 1], [0, 0], [0, 0], 1, True, "bf16"),
        ([7, 7], [3, 3], [1, 1], [1, 1], [1, 1], [1, 1], 1, True, "i32"),
        ([6, 6], [4, 4], [4, 4], [1, 1], [0, 0], [0, 0], 1, True, "f64")]):
    shape = ["s0", 6] + [windowed(*a) for a in zip(spatial, kernel, s, d, lo, hi)]
    case(f"conv_{i}", lambda k: k.op("conv", [k.arg(e, "s0", 4, *spatial), k.arg(e, 6 if groups != 4 else 8, 4 // groups, *kernel)] + ([k.arg(e, 6 if groups != 4 else 8)] if bias else []),
                                     [shape[0], 6 if groups != 4 else 8] + shape[2:],
                                     attrs=f"strides = {array(s)}, dilations = {array(d)}, pads_lo = {array(lo)}, pads_hi = {array(hi)}, groups = {groups} : i64"),
         lambda x, w, *b, a=(s, d, lo, hi, groups): conv(x, w, b[0] if b else None, *a), [(1, 5), (3, 12)], 5e-2 if e == "bf16" else None)


def pool(x, kind, window, s, d, lo, hi, ceil, include):
    x = wide(x)
    spatial = x.ndim - 2
    size = [x.shape[2 + i] for i in range(spatial)]
    out = []
    for i in range(spatial):
        span = size[i] + lo[i] + hi[i] - d[i] * (window[i] - 1) - 1
        n = -(-span // s[i]) + 1 if ceil else span // s[i] + 1
        out.append(n - 1 if ceil and (n - 1) * s[i] >= size[i] + lo[i] else n)
    y = np.zeros(list(x.shape[:2]) + out, x.dtype)
    for place in np.ndindex(*out):
        axes, count = [], 1
        for i in range(spatial):
            at = [place[i] * s[i] + t * d[i] - lo[i] for t in range(window[i])]
            axes.append([p for p in at if 0 <= p < size[i]])
            count *= sum(-lo[i] <= p < size[i] + hi[i] for p in at) if include else len(axes[-1])
        part = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *axes)]
        over = tuple(range(2, x.ndim))
        y[(slice(None), slice(None)) + place] = part.max(over) if kind == "max" else part.sum(over) / count
    return y


for i, (spatial, window, s, d, lo, hi, ceil, e) in enumerate([
        ([9, 11], [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 0, "f32"),
        ([8, 8], [2, 2], [2, 2], [1, 1], [0, 0], [0, 0], 0, "f32"),
        (["s1", 11], [3, 2], [2, 1], [1, 2], [1, 0], [0, 1], 0, "f32"),
        ([8, 9], [3, 3], [2, 2], [1, 1], [0, 1], [0, 1], 1, "f32"),
        (["s1"], [3], [1], [1], [1], [1], 0, "bf16"),
        ([4, 5, 6], [2, 2, 2], [1, 2, 2], [1, 1, 1], [0, 0, 1], [0, 0, 1], 1, "f32")]):
    for kind, include in (("max", 0), ("avg", 0), ("avg", 1)):
        args = (window, s, d, lo, hi)
        shape = ["s0", 3] + [windowed(*a) for a in zip(spatial, *args)]
        if ceil:
            shape = ["s0", 3] + list(pool(np.zeros([1, 1] + spatial), "max", *args, True, False).shape[2:])
        case(f"pool_{i}_{kind}{include}", lambda k: k.op("pool", [k.arg(e, "s0", 3, *spatial)], shape,
                                                         attrs=f"kind = #nx<pool_kind {kind}>, window = {array(window)}, strides = {array(s)}, dilations = {array(d)}, pads_lo = {array(lo)}, pads_hi = {array(hi)}"
                                                               + ", ceil_mode" * ceil + ", count_include_pad" * include),
             lambda x, a=(kind,) + args + (ceil, include): pool(x, *a), [(1, 5), (3, 12)])
case("pool_i8", lambda k: k.op("pool", [k.arg("i8", "s0", 3, 6)], ["s0", 3, 6], attrs="kind = #nx<pool_kind max>, window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>"),
     lambda x: pool(x, "max", [3], [1], [1], [1], [1], 0, 0), ODD)

D = ()  # the symbols' values of the current run, for references that need them


def set_dims(dims):
    global D
    D = dims

# --- Cumulative, windows

for kind, fn in (("prod", np.cumprod), ("max", np.maximum.accumulate), ("min", np.minimum.accumulate)):
    for e in ("f32", "i32", "ui8", "f16"):
        case(f"cumulative_{kind}_{e}",
             lambda k: k.op("cumulative", [k.arg(e, "s0", 5)], ["s0", 5], attrs=f"axis = 1, kind = #nx<reduce_kind {kind}>"),
             lambda x, fn=fn: fn(wide(x), axis=1).astype(x.dtype if x.dtype.kind in "iu" else np.float64), EMPTY, 4e-3)


def windows_of(x, window, stride, lo, hi, fill):
    padded = np.pad(wide(x), [(0, 0), (0, 0), (lo, hi)], constant_values=fill)
    count = (padded.shape[2] - window) // stride + 1
    return np.stack([padded[:, :, i * stride:i * stride + window] for i in range(count)], 2)


WINDOW = ("window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, "
          "pads_hi = array<i64: 1>")
case("pool_sum", lambda k: k.op("pool", [k.arg("f32", 2, "s0", 9)], [2, "s0", 5], attrs=f"kind = #nx<pool_kind sum>, {WINDOW}"),
     lambda x: windows_of(x, 3, 2, 1, 1, 0).sum(-1), ODD)
few = lambda s: rng.choice([0.0, 1.0, 2.0, np.nan], s, p=[0.4, 0.3, 0.25, 0.05])


def arg_pool(x):
    w = windows_of(x, 3, 2, 1, 1, -np.inf)
    first_nan = np.where(np.isnan(w).any(-1), np.isnan(w).argmax(-1), np.nan_to_num(w, nan=0, neginf=-np.inf).argmax(-1))
    return first_nan + np.arange(w.shape[2]) * 2 - 1


case("arg_pool", lambda k: k.op("arg_pool", [k.arg("f32", 2, "s0", 9, make=few)], [2, "s0", 5], "i64", WINDOW), arg_pool, ODD)

# --- Narrow floats and integers

NARROW = {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3FNUZ": "float8_e4m3fnuz",
          "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu", "f4E2M1FN": "float4_e2m1fn"}
every_byte = lambda s: np.arange(256).astype(np.int8)
spread = lambda s: np.concatenate([np.exp(rng.uniform(-14, 12, 240)) * rng.choice([-1, 1], 240),
                                   [0.0, -0.0, 1e-30, np.inf, -np.inf, np.nan, 464, 463, -480, 61440, 7, 5, 2.5, 0.25, 0.75, -1.75]])


def narrowed(x, name):
    """What the type holds, infinities and larger numbers as its greatest one."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    greatest = float(ml_dtypes.finfo(dtype).max)
    return np.where(np.isnan(x), np.nan, np.clip(x, -greatest, greatest)).astype(dtype)


for e, name in NARROW.items():
    DTYPES[e] = np.dtype(getattr(ml_dtypes, name))
    if name != "float4_e2m1fn":
        case(f"cast_from_{e}", lambda k: k.op("cast", [k.arg(e, 256, make=lambda s, name=name: np.arange(256).astype(np.uint8).view(getattr(ml_dtypes, name)))], [256], "f32"),
             lambda x: x.astype(np.float64))
    if name.startswith("float8_e4") or name.startswith("float8_e5"):
        case(f"cast_to_{e}", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", 256, make=spread)], [256], e)], [256], "f32"),
             lambda x, name=name: narrowed(x, name).astype(np.float64))
        with_infinity = lambda x, name=name: x.astype(getattr(ml_dtypes, name)).astype(np.float64)
        case(f"cast_to_{e}_overflow", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", 256, make=spread)], [256], e, "overflow")], [256], "f32"),
             with_infinity)
case("cast_to_f4", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", "s0")], ["s0"], "f4E2M1FN")], ["s0"], "f32"),
     lambda x: narrowed(x, "float4_e2m1fn").astype(np.float64), ODD)
case("cast_power_up", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", "s0", make=positive)], ["s0"], "f8E8M0FNU")], ["s0"], "f32"),
     lambda x: 2 ** np.ceil(np.log2(x)), ODD)
case("cast_power_down", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", "s0", make=positive)], ["s0"], "f8E8M0FNU", 'round = "down"')], ["s0"], "f32"),
     lambda x: 2 ** np.floor(np.log2(x)), ODD)
large = lambda s: rng.integers(-100, 100, s)
for e, low, high in (("i4", -8, 7), ("ui4", 0, 15), ("i2", -2, 1), ("ui2", 0, 3)):
    span = high - low + 1
    case(f"cast_{e}_wraps", lambda k: k.op("cast", [k.op("cast", [k.arg("i32", "s0", make=large)], ["s0"], e)], ["s0"], "i32"),
         lambda x, low=low, span=span: (x - low) % span + low, ODD)
    case(f"cast_{e}_saturates", lambda k: k.op("cast", [k.op("cast", [k.arg("f32", "s0", make=large)], ["s0"], e)], ["s0"], "i32"),
         lambda x, low=low, high=high: np.clip(np.trunc(x), low, high).astype(np.int32), ODD)
case("bitcast_f32", lambda k: k.op("bitcast", [k.arg("f32", "s0", make=specials)], ["s0"], "i32"), lambda x: x.view(np.int32), ODD)
case("bitcast_f16", lambda k: k.op("bitcast", [k.arg("f16", "s0")], ["s0"], "ui16"), lambda x: x.view(np.uint16), ODD)
case("bitcast_to_bf16", lambda k: k.op("bitcast", [k.arg("i16", "s0")], ["s0"], "bf16"), lambda x: x.view(ml_dtypes.bfloat16), ODD)

# --- Scatter

COMBINE = {"set": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scatter_elements(x, i, u, axis, kind):
    y = wide(x).copy()
    for place in np.ndindex(*i.shape):
        to = list(place)
        to[axis] = i[place] + (x.shape[axis] if i[place] < 0 else 0)
        y[tuple(to)] = COMBINE[kind](y[tuple(to)], wide(u)[place])
    return y


def scatter_nd(x, i, u, kind):
    y = wide(x).copy()
    for place in np.ndindex(*i.shape[:-1]):
        to = tuple(i[place])
        y[to] = COMBINE[kind](y[to], wide(u)[place])
    return y


near = lambda s: rng.integers(-4, 4, s)
for kind in COMBINE:
    for e in ("f32", "f16", "ui8", "i64"):
        case(f"scatter_elements_{kind}_{e}",
             lambda k: k.many("scatter_elements", [k.arg(e, "s0", 4), k.arg("i64", "s0", 6, make=near), k.arg(e, "s0", 6)], [(e, ["s0", 4])],
                              f"axis = 1, reduction = #nx<scatter_kind {kind}>"),
             lambda x, i, u, kind=kind: scatter_elements(x, i, u, 1, kind).astype(x.dtype), EMPTY, 4e-3)
case("scatter_elements_part",
     lambda k: k.many("scatter_elements", [k.arg("f32", 4, 7), k.arg("i32", 2, 5, make=near), k.arg("f32", 2, 5)], [("f32", [4, 7])],
                      "axis = 0, reduction = #nx<scatter_kind set>"),
     lambda x, i, u: scatter_elements(x, i, u, 0, "set"))
case("scatter_elements_bool",
     lambda k: k.many("scatter_elements", [k.arg("i1", 4), k.arg("i32", 6, make=near), k.arg("i1", 6)], [("i1", [4])],
                      "axis = 0, reduction = #nx<scatter_kind max>"),
     lambda x, i, u: scatter_elements(x, i, u, 0, "max"))
case("scatter_elements_outside",
     lambda k: k.many("scatter_elements", [k.arg("f32", 3), k.arg("i64", 2, make=lambda s: np.array([0, 3])), k.arg("f32", 2)], [("f32", [3])],
                      "axis = 0, reduction = #nx<scatter_kind set>"), None, status=1)
case("scatter_nd_rows",
     lambda k: k.many("scatter_nd", [k.arg("f32", 4, "s0"), k.arg("i64", 3, 1, make=near), k.arg("f32", 3, "s0")], [("f32", [4, "s0"])],
                      "reduction = #nx<scatter_kind add>"),
     lambda x, i, u: scatter_nd(x, i, u, "add"), EMPTY + [(1500,)])
case("scatter_nd_points",
     lambda k: k.many("scatter_nd", [k.arg("i32", 4, 4), k.arg("i64", "s0", 2, make=near), k.arg("i32", "s0")], [("i32", [4, 4])],
                      "reduction = #nx<scatter_kind set>"),
     lambda x, i, u: scatter_nd(x, i, u, "set"), EMPTY)
case("scatter_nd_constant",
     lambda k: k.many("scatter_nd", [k.const("f32", 0.5, 4, 2), k.const("i64", "[[1], [1]]", 2, 1), k.arg("f32", 2, 2)], [("f32", [4, 2])],
                      "reduction = #nx<scatter_kind add>"),
     lambda u: scatter_nd(np.full((4, 2), 0.5, np.float32), np.array([[1], [1]]), u, "add"))
case("scatter_nd_outside",
     lambda k: k.many("scatter_nd", [k.arg("f32", 3), k.arg("i64", 1, 1, make=lambda s: np.array([[-4]])), k.arg("f32", 1)], [("f32", [3])],
                      "reduction = #nx<scatter_kind set>"), None, status=1)

# --- Order


def top_k(x, count, smallest):
    keys = wide(x) if smallest else -wide(x).astype(np.float64)
    # NaN is the greatest: last of the smallest, and first of the others.
    order = np.argsort(np.where(np.isnan(keys), np.inf if smallest else -np.inf, keys) if keys.dtype.kind == "f" else keys,
                       axis=1, kind="stable")[:, :count]
    return [np.take_along_axis(x, order, 1), order]


ties = lambda s: rng.integers(0, 4, s)
for e in ("f32", "i64", "ui8", "f16"):
    for smallest in (False, True):
        case(f"top_k_{e}_{int(smallest)}",
             lambda k: k.many("top_k", [k.arg(e, 3, "s0", make=ties)], [(e, [3, "s0"]), ("i64", [3, "s0"])],
                              "axis = 1, k = #nx.dims<s0>" + (", smallest" if smallest else "")),
             lambda x, s=smallest: top_k(x, x.shape[1], s), EMPTY + [(300,)])
case("top_k_nan",
     lambda k: k.many("top_k", [k.arg("f32", 2, "s0", make=few)], [("f32", [2, 1]), ("i64", [2, 1])], "axis = 1, k = #nx.dims<1>"),
     lambda x: top_k(x, 1, False), ODD)
case("top_k_outer",
     lambda k: k.many("top_k", [k.arg("i32", "s0", 3, make=ties)], [("i32", [2, 3]), ("i64", [2, 3])], "axis = 0, k = #nx.dims<2>, smallest"),
     lambda x: [a.T for a in top_k(x.T, 2, True)], [(5,), (40,)])

# --- Recurrence, matrices, regions


def rnn(x, r, h, lengths=None, reverse=False):
    steps, outs = x.shape[0], np.zeros(x.shape)
    last = wide(h).copy()
    for b in range(x.shape[1]):
        count = steps if lengths is None else int(np.clip(lengths[b], 0, steps))
        for i in range(count):
            t = count - 1 - i if reverse else i
            last[b] = np.tanh(wide(x)[t, b] + wide(r) @ last[b])
            outs[t, b] = last[b]
    return [outs, last, last]


def gru(x, r, h, bias, after):
    size, outs, last = h.shape[1], np.zeros((*x.shape[:2], h.shape[1])), wide(h).copy()
    rz, rr, rh = (wide(r)[i * size:(i + 1) * size] for i in range(3))
    for t in range(x.shape[0]):
        xz, xr, xh = (wide(x)[t][:, i * size:(i + 1) * size] for i in range(3))
        z, reset = sigmoid(xz + last @ rz.T), sigmoid(xr + last @ rr.T)
        new = np.tanh(xh + reset * (last @ rh.T + bias)) if after else np.tanh(xh + (reset * last) @ rh.T + bias)
        last = (1 - z) * new + z * last
        outs[t] = last
    return [outs, last, last]


def lstm(x, r, h, c, p):
    size, outs, h, c = h.shape[1], np.zeros((*x.shape[:2], h.shape[1])), wide(h), wide(c)
    for t in range(x.shape[0]):
        gates = wide(x)[t] + h @ wide(r).T
        i, o, f, g = (gates[:, n * size:(n + 1) * size] for n in range(4))
        i, f = sigmoid(i + p[:size] * c), sigmoid(f + p[2 * size:] * c)
        c = f * c + i * np.tanh(g)
        h = sigmoid(o + p[size:2 * size] * c) * np.tanh(c)
        outs[t] = h
    return [outs, h, c]


def layer(kind, functions, segments, more=""):
    names = {"rnn": ["Tanh"], "gru": ["Sigmoid", "Tanh"], "lstm": ["Sigmoid", "Tanh", "Tanh"]}[kind]
    quoted = ", ".join(f'"{name}"' for name in names)
    zeros = ", ".join(["0.0"] * (2 * len(names)))
    return (f"kind = #nx<recurrent_kind {kind}>, activations = [{quoted}], parameters = array<f64: {zeros}>, clip = 0.0{more}, "
            f"operandSegmentSizes = array<i32: {segments}>")


for e, tolerance in (("f32", None), ("f64", None), ("f16", 4e-3)):
    case(f"recurrent_rnn_{e}",
         lambda k: k.many("recurrent", [k.arg(e, "s0", 2, 5), k.arg(e, 5, 5), k.arg(e, 2, 5)],
                          [(e, ["s0", 2, 5]), (e, [2, 5]), (e, [2, 5])], layer("rnn", 1, "1, 1, 1, 0, 0, 0, 0")),
         lambda x, r, h: rnn(x, r, h), [(0,), (1,), (6,)], tolerance)
case("recurrent_lengths",
     lambda k: k.many("recurrent", [k.arg("f32", 6, 3, 9), k.arg("f32", 9, 9), k.arg("f32", 3, 9), k.arg("i32", 3, make=lambda s: np.array([6, 0, 4]))],
                      [("f32", [6, 3, 9]), ("f32", [3, 9]), ("f32", [3, 9])], layer("rnn", 1, "1, 1, 1, 0, 0, 0, 1", ", reverse")),
     lambda x, r, h, n: rnn(x, r, h, n, True))
for after in (False, True):
    case(f"recurrent_gru_{int(after)}",
         lambda k: k.many("recurrent", [k.arg("f32", 4, "s0", 9), k.arg("f32", 9, 3), k.arg("f32", "s0", 3), k.arg("f32", 3)],
                          [("f32", [4, "s0", 3]), ("f32", ["s0", 3]), ("f32", ["s0", 3])],
                          layer("gru", 2, "1, 1, 1, 0, 1, 0, 0", ", reset_after" if after else "")),
         lambda x, r, h, b, after=after: gru(x, r, h, b, after), EMPTY)
case("recurrent_lstm",
     lambda k: k.many("recurrent", [k.arg("f32", 4, "s0", 80), k.arg("f32", 80, 20), k.arg("f32", "s0", 20), k.arg("f32", "s0", 20), k.arg("f32", 60)],
                      [("f32", [4, "s0", 20]), ("f32", ["s0", 20]), ("f32", ["s0", 20])], layer("lstm", 3, "1, 1, 1, 1, 0, 1, 0")),
     lambda x, r, h, c, p: lstm(x, r, h, c, p), EMPTY, 1e-4)
case("det", lambda k: k.many("det", [k.arg("f32", "s0", 4, 4)], [("f32", ["s0"])], ""), lambda x: np.linalg.det(wide(x)), EMPTY, 1e-4)
case("det_singular", lambda k: k.many("det", [k.arg("f64", 3, 3, make=lambda s: np.array([[0, 0, 1], [0, 0, 2], [1, 2, 3]]))], [("f64", [])], ""),
     lambda x: 0.0)


def roi_align(x, rois, images, height, width, sampling, maximum):
    y = np.zeros((len(rois), x.shape[1], height, width))
    for n, (x1, y1, x2, y2) in enumerate(wide(rois) * 0.5 - 0.5):
        cell = np.array([(y2 - y1) / height, (x2 - x1) / width])
        counts = [sampling] * 2 if sampling else [int(max(np.ceil(c), 0)) for c in cell]
        for p in np.ndindex(height, width):
            samples = []
            for s in np.ndindex(*counts):
                at = [start + (p[d] + (s[d] + 0.5) / counts[d]) * cell[d] for d, start in enumerate((y1, x1))]
                corners = []
                for dy in (0, 1):
                    for dx in (0, 1):
                        weight, index = 1.0, []
                        for d, delta in ((0, dy), (1, dx)):
                            size = x.shape[2 + d]
                            if at[d] < -1 or at[d] > size:
                                weight = 0.0
                            position = min(max(at[d], 0), size - 1)
                            low = int(position)
                            index.append(min(low + delta, size - 1))
                            weight *= position - low if delta else 1 - (position - low)
                        corners.append(weight * wide(x)[images[n], :, index[0], index[1]])
                samples.append(np.max(corners, 0) if maximum else np.sum(corners, 0))
            if samples:
                y[n, :, p[0], p[1]] = np.max(samples, 0) if maximum else np.mean(samples, 0)
    return y


boxes = lambda s: np.sort(rng.uniform(-2, 18, (s[0], 2, 2)), 1).reshape(s[0], 4)
for sampling in (0, 2):
    for maximum in (False, True):
        case(f"roi_align_{sampling}_{int(maximum)}",
             lambda k: k.many("roi_align", [k.arg("f32", 2, 3, 8, 6), k.arg("f32", "s0", 4, make=boxes), k.arg("i64", "s0", make=lambda s: rng.integers(0, 2, s))],
                              [("f32", ["s0", 3, 2, 3])],
                              f"height = 2, width = 3, sampling = {sampling}, scale = 0.5, half_pixel" + (", maximum" if maximum else "")),
             lambda x, r, n, s=sampling, m=maximum: roi_align(x, r, n, 2, 3, s, m), [(0,), (1,), (5,)], 1e-4)
