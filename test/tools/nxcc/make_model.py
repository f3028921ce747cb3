"""Writes a small ONNX model for the command-line tests: make_model.py KIND OUT.onnx

mlp: y = gelu(x W1 + b1) W2 + b2 with x [n, 16], W1 [16, 32], W2 [32, 16]; opset 20.
unknown: a node of a foreign domain and a NonZero, named 'foreign' and 'find'.
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def tensor(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return numpy_helper.from_array(rng.standard_normal(shape).astype("f4"), name)


def mlp():
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="fc1"),
        helper.make_node("Add", ["a", "b1"], ["b"], name="bias1"),
        helper.make_node("Gelu", ["b"], ["c"], name="act"),
        helper.make_node("MatMul", ["c", "w2"], ["d"], name="fc2"),
        helper.make_node("Add", ["d", "b2"], ["y"], name="bias2"),
    ]
    graph = helper.make_graph(
        nodes, "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])],
        [tensor("w1", 16, 32, seed=1), tensor("b1", 32, seed=2), tensor("w2", 32, 16, seed=3), tensor("b2", 16, seed=4)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def unknown():
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="foreign", domain="org.example"),
        helper.make_node("NonZero", ["x"], ["y"], name="find"),
    ]
    graph = helper.make_graph(
        nodes, "unknown",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "k"])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("org.example", 1)])


save({"mlp": mlp, "unknown": unknown}[sys.argv[1]](), sys.argv[2])
