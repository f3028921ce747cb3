"""Models for hostile.test: small files whose meaning grows without bound.

usage: hostile_models.py FOLDER
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])


def save(name, nodes, inputs, output, weights=(), functions=(), kind=TensorProto.FLOAT):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in inputs],
        [helper.make_tensor_value_info(output, kind, None)],
        [numpy_helper.from_array(np.asarray(array), n) for n, array in weights])
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("own", 1)] if functions else [])
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


node = helper.make_node
INT64 = TensorProto.INT64

# A size, squared forty times.
nodes = [node("Shape", ["x"], ["s0"])]
nodes += [node("Mul", [f"s{i}", f"s{i}"], [f"s{i + 1}"]) for i in range(40)]
save("squares", nodes + [node("ConstantOfShape", ["s40"], ["y"])], [("x", ["N"])], "y")

# A product of twenty sums of two sizes: a million terms.
nodes, inputs = [], []
for i in range(20):
    inputs += [(f"a{i}", [f"A{i}"]), (f"b{i}", [f"B{i}"])]
    nodes += [node("Concat", [f"a{i}", f"b{i}"], [f"c{i}"], axis=0), node("Shape", [f"c{i}"], [f"n{i}"])]
    nodes.append(node("Mul", [f"p{i - 1}", f"n{i}"], [f"p{i}"]) if i else node("Identity", ["n0"], ["p0"]))
save("sums", nodes + [node("ConstantOfShape", ["p19"], ["y"])], inputs, "y")
# The same as the number of elements of one tensor.
nodes = nodes[:]
shapes = [n for n in nodes if n.op_type in ("Concat", "Shape")]
save("elements", shapes + [node("Concat", [f"n{i}" for i in range(20)], ["all"], axis=0),
                           node("ConstantOfShape", ["all"], ["t"]), node("Size", ["t"], ["y"])], inputs, "y", kind=INT64)

# A quotient plus a remainder of the one before: each is twice as long.
nodes = [node("Shape", ["x"], ["s0"])]
for i in range(40):
    nodes += [node("Div", [f"s{i}", "seven"], [f"q{i}"]), node("Mod", [f"s{i}", "five"], [f"r{i}"]),
              node("Add", [f"q{i}", f"r{i}"], [f"s{i + 1}"])]
save("remainders", nodes + [node("ConstantOfShape", ["s40"], ["y"])], [("x", ["N"])], "y",
     [("seven", np.array([7], np.int64)), ("five", np.array([5], np.int64))])

# Forty strided poolings: a quotient of a quotient of a quotient. That is a plain model.
nodes = [node("MaxPool", [f"x{i}"], [f"x{i + 1}"], kernel_shape=[3], strides=[2], pads=[1, 1]) for i in range(40)]
save("pools", nodes, [("x0", [1, 1, "N"])], "x40")

# Functions that each call the one before twice: 2^30 nodes.
functions = [helper.make_function("own", "f0", ["x"], ["y"], [node("Relu", ["x"], ["y"])], [helper.make_opsetid("", 17)])]
for i in range(1, 31):
    calls = [node(f"f{i - 1}", ["x"], ["m"], domain="own"), node(f"f{i - 1}", ["m"], ["y"], domain="own")]
    functions.append(helper.make_function("own", f"f{i}", ["x"], ["y"], calls,
                                          [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]))
save("calls", [node("f30", ["x"], ["y"], domain="own")], [("x", ["N"])], "y", functions=functions)

# A function with a weight, called ten thousand times under a long name: the weight is one parameter.
weight = helper.make_tensor("w", TensorProto.FLOAT, [1024], np.zeros(1024))
function = helper.make_function("own", "f", ["x"], ["y"], [node("Constant", [], ["w"], value=weight), node("Add", ["x", "w"], ["y"])],
                                [helper.make_opsetid("", 17)])
nodes = [node("f", [f"x{i}"], [f"x{i + 1}"], domain="own", name="n" * 20000 if i % 1000 == 0 else "") for i in range(10000)]
save("weights", nodes, [("x0", [1024])], "x10000", functions=[function])

# A tensor of a petabyte, from a shape of two numbers; and one whose number of bytes has no name.
shape = [("shape", np.array([1 << 25, 1 << 23], np.int64))]
save("petabyte", [node("ConstantOfShape", ["shape"], ["t"]), node("Add", ["t", "x"], ["y"])], [("x", [1])], "y", shape)
save("bytes", [node("ConstantOfShape", ["shape"], ["y"])], [], "y", [("shape", np.array([1 << 40, 1 << 40], np.int64))])

# Each of ten thousand nodes in a row, and in a model that is wide: one input and ten thousand outputs of it.
nodes = [node("Relu" if i % 2 else "Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(10000)]
save("long", nodes, [("x0", ["N"])], "x10000")
nodes = [node("Relu", ["x"], [f"r{i}"]) for i in range(10000)]
save("wide", nodes + [node("Concat", [f"r{i}" for i in range(10000)], ["y"], axis=0)], [("x", ["N"])], "y")
