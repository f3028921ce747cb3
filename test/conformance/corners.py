"""Corners of ONNX operators with values that are computed plainly here: where runtimes tend to differ or to break."""
import functools
import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cases import Case


class Maker:
    def __init__(self):
        self.rng = np.random.default_rng(23)
        self.cases = []

    def add(self, name, nodes, inputs, results, constants=None, opset=20):
        """`nodes` are (operator, inputs, outputs, attributes); inputs, results and constants are named arrays."""
        def info(item):
            return helper.make_tensor_value_info(item[0], helper.np_dtype_to_tensor_dtype(item[1].dtype), item[1].shape)

        made = [helper.make_node(op, ins, outs, **attributes) for op, ins, outs, attributes in nodes]
        weights = [numpy_helper.from_array(x, n) for n, x in (constants or {}).items()]
        graph = helper.make_graph(made, name, [info(x) for x in inputs.items()], [info(x) for x in results.items()], weights)
        model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])
        onnx.checker.check_model(model)
        self.cases.append(Case(name, model.SerializeToString(), [(list(inputs.values()), list(results.values()))], 1e-5, 1e-6))


def integers(m):
    """Division rounds to zero, Mod takes the divisor's sign, fmod the dividend's; what is too large wraps."""
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        bounds = np.iinfo(dtype)
        a = np.array([7, -7, 7, -7, bounds.max, bounds.min, 0, bounds.min], dtype)
        b = np.array([3, 3, -3, -3, -2, 7, -5, bounds.max], dtype)
        quotient = [int(math.trunc(abs(int(x)) // abs(int(y)))) * (1 if (int(x) < 0) == (int(y) < 0) else -1) for x, y in zip(a, b)]
        results = {"div": np.array(quotient, dtype),
                   "mod": np.array([int(x) - int(y) * (int(x) // int(y)) for x, y in zip(a, b)], dtype),
                   "rem": np.array([int(x) - int(y) * q for x, y, q in zip(a, b, quotient)], dtype)}
        m.add(f"integers_{dtype.__name__}", [("Div", ["a", "b"], ["div"], {}), ("Mod", ["a", "b"], ["mod"], {}),
                                             ("Mod", ["a", "b"], ["rem"], {"fmod": 1})], {"a": a, "b": b}, results)
        with np.errstate(over="ignore"):
            m.add(f"integers_wrap_{dtype.__name__}", [("Add", ["a", "a"], ["add"], {}), ("Mul", ["a", "b"], ["mul"], {}), ("Neg", ["a"], ["neg"], {})],
                  {"a": a, "b": b}, {"add": a + a, "mul": a * b, "neg": -a})


def nothing(m):
    """Reductions of no elements give the neutral element; empty tensors flow."""
    x, inf = np.zeros((2, 0, 3), np.float32), np.full((2, 3), np.inf, np.float32)
    zero = np.zeros((2, 3), np.float32)
    values = {"ReduceSum": zero, "ReduceProd": zero + 1, "ReduceMax": -inf, "ReduceMin": inf, "ReduceL1": zero, "ReduceL2": zero,
              "ReduceSumSquare": zero, "ReduceLogSum": -inf, "ReduceLogSumExp": -inf}
    m.add("nothing_reduced", [(op, ["x", "axes"], [op], {"keepdims": 0}) for op in values], {"x": x}, values,
          {"axes": np.array([1], np.int64)})
    w = m.rng.standard_normal((4, 2)).astype(np.float32)
    for rows in (0, 3):
        x = m.rng.standard_normal((rows, 4)).astype(np.float32)
        results = {"product": x @ w, "gram": x.T @ x, "joined": np.concatenate([x, w.T]), "sum": x.sum(0),
                   "running": np.cumsum(x, 0), "top": -np.sort(-x, 1)[:, :2], "at": np.argsort(-x, 1, kind="stable")[:, :2]}
        m.add(f"nothing_flows_{rows}",
              [("MatMul", ["x", "w"], ["product"], {}), ("Transpose", ["x"], ["t"], {}), ("MatMul", ["t", "x"], ["gram"], {}),
               ("Transpose", ["w"], ["wt"], {}), ("Concat", ["x", "wt"], ["joined"], {"axis": 0}),
               ("ReduceSum", ["x", "first"], ["sum"], {"keepdims": 0}), ("CumSum", ["x", "axis"], ["running"], {}),
               ("TopK", ["x", "k"], ["top", "at"], {})],
              {"x": x}, results, {"w": w, "first": np.array([0], np.int64), "axis": np.array(0, np.int64), "k": np.array([2], np.int64)})


def order(m):
    """Of equal elements the first comes first, for all types, both directions and any axis; NaN is the greatest."""
    arrays = {"float": np.array([[3, 1, 3, -0.0, 0.0, 1], [2, 2, 2, 2, 2, 2]], np.float32),
              "nan": np.array([[1, np.nan, 5, np.nan, -np.inf, np.inf]], np.float32),
              "int64": np.array([[5, np.iinfo(np.int64).min, 5, np.iinfo(np.int64).max, 0, 5]], np.int64),
              "uint8": np.array([[200, 3, 200, 255, 0, 3]], np.uint8)}
    for name, x in arrays.items():
        for largest in (0, 1):
            for axis in (0, 1):
                y = x.T if axis == 0 else x

                def before(row, i, j):
                    a, b = row[i], row[j]
                    if (a != a) != (b != b):
                        return -1 if (a != a) == bool(largest) else 1
                    if a == b or a != a:
                        return i - j
                    return -1 if (a > b) == bool(largest) else 1

                picked = np.array([sorted(range(len(row)), key=functools.cmp_to_key(functools.partial(before, row.tolist())))[:4] for row in x], np.int64)
                values = np.take_along_axis(x, picked, 1)
                if axis == 0:
                    values, picked = values.T, picked.T
                m.add(f"order_{name}_{largest}{axis}", [("TopK", ["x", "k"], ["v", "i"], {"axis": axis, "largest": largest})], {"x": np.ascontiguousarray(y)},
                      {"v": np.ascontiguousarray(values), "i": np.ascontiguousarray(picked)}, {"k": np.array([4], np.int64)})


def running(m):
    """Sums and products along each axis, with or without the element, from either end; the axis may be an input."""
    x = m.rng.integers(-4, 5, (2, 3, 4)).astype(np.int64)
    for op, fn, neutral in (("CumSum", np.add, 0), ("CumProd", np.multiply, 1)):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                for axis in (0, -1):
                    y = np.flip(x, axis) if reverse else x
                    y = fn.accumulate(y, axis)
                    if exclusive:
                        y = np.roll(y, 1, axis)
                        y[tuple(0 if d == axis % 3 else slice(None) for d in range(3))] = neutral
                    y = np.ascontiguousarray(np.flip(y, axis) if reverse else y)
                    m.add(f"running_{op}_{exclusive}{reverse}{axis}", [(op, ["x", "axis"], ["y"], {"exclusive": exclusive, "reverse": reverse})],
                          {"x": x, "axis": np.array(axis, np.int32)}, {"y": y}, opset=26)


def windows(m):
    """With ceil_mode no window begins behind the last element, and none divides by more than there is."""
    x = m.rng.permutation(2 * 7 * 8).reshape(1, 2, 7, 8).astype(np.float32) - 40
    for number, (kernel, strides, dilations, pads) in enumerate([
            ((3, 3), (2, 2), (1, 1), (0, 0, 0, 0)), ((2, 2), (3, 3), (1, 1), (1, 1, 1, 1)), ((3, 2), (2, 3), (2, 1), (1, 0, 2, 1)),
            ((1, 4), (4, 3), (1, 2), (0, 3, 0, 3))]):
        for ceil in (0, 1):
            for include in (0, 1):
                size = []
                for n, k, s, d, lo, hi in zip(x.shape[2:], kernel, strides, dilations, pads[:2], pads[2:]):
                    span = (n + lo + hi - d * (k - 1) - 1) / s
                    count = (math.ceil(span) if ceil else math.floor(span)) + 1
                    size.append(count - 1 if ceil and (count - 1) * s >= n + lo else count)
                mean, most, at = np.zeros((1, 2, *size)), np.zeros((1, 2, *size)), np.zeros((1, 2, *size), np.int64)
                for c, p, q in np.ndindex(2, *size):
                    inside, padded = [], 0
                    for i, j in np.ndindex(*kernel):
                        r, s = p * strides[0] + i * dilations[0] - pads[0], q * strides[1] + j * dilations[1] - pads[1]
                        if 0 <= r < 7 and 0 <= s < 8:
                            inside.append((x[0, c, r, s], (c * 7 + r) * 8 + s))
                        padded += -pads[0] <= r < 7 + pads[2] and -pads[1] <= s < 8 + pads[3]
                    mean[0, c, p, q] = sum(v for v, _ in inside) / (padded if include else len(inside))
                    most[0, c, p, q], at[0, c, p, q] = max(inside)
                common = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "ceil_mode": ceil}
                m.add(f"windows_{number}_{ceil}{include}",
                      [("AveragePool", ["x"], ["mean"], {**common, "count_include_pad": include}), ("MaxPool", ["x"], ["most", "at"], common)],
                      {"x": x}, {"mean": mean.astype(np.float32), "most": most.astype(np.float32), "at": at}, opset=22)


def padding(m):
    """Amounts of both signs; what is cut off goes before what is added."""
    x = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    for number, (lo, hi) in enumerate([(-1, 2), (2, -3), (-2, 0), (1, 1)]):
        cut = x[:, max(-lo, 0):3 - max(-hi, 0)]
        y = np.pad(cut, [(0, 0), (max(lo, 0), max(hi, 0)), (0, 0)], constant_values=99)
        m.add(f"padding_{number}", [("Pad", ["x", "p", "v", "a"], ["y"], {})], {"x": x}, {"y": y},
              {"p": np.array([lo, hi], np.int64), "v": np.array(99, np.int64), "a": np.array([-2], np.int64)})


def broadcasting(m):
    """Ranks and ones on either side, of two and three operands; PRelu's slope never makes the result larger."""
    shapes = [((3, 1), (1, 4)), ((4,), (2, 3, 1)), ((), (2, 2)), ((2, 1, 3), (5, 1)), ((1, 1), (1,))]
    for number, (a, b) in enumerate(shapes):
        x, y = m.rng.standard_normal(a).astype(np.float32), m.rng.standard_normal(b).astype(np.float32)
        m.add(f"broadcasting_{number}", [("Sub", ["x", "y"], ["d"], {}), ("Less", ["x", "y"], ["l"], {}), ("Where", ["l", "x", "y"], ["w"], {}),
                                         ("Max", ["x", "y", "d"], ["g"], {})],
              {"x": x, "y": y}, {"d": np.asarray(x - y), "l": np.asarray(x < y), "w": np.where(x < y, x, y), "g": np.maximum(np.maximum(x, y), x - y)})
    x = m.rng.standard_normal((2, 3, 4)).astype(np.float32)
    for number, shape in enumerate([(), (1,), (4,), (3, 1), (2, 1, 1)]):
        slope = m.rng.standard_normal(shape).astype(np.float32)
        m.add(f"broadcasting_prelu_{number}", [("PRelu", ["x", "s"], ["y"], {})], {"x": x, "s": slope}, {"y": np.where(x < 0, x * slope, x)})


def collect():
    maker = Maker()
    for kind in (integers, nothing, order, running, windows, padding, broadcasting):
        kind(maker)
    return maker.cases
