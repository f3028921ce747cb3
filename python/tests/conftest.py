"""Models that the tests share."""
import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import nxcc


def onnx_model(nodes, inputs, outputs, weights=(), opset=21):
    """An ONNX model; inputs and outputs are (name, element type, shape), weights arrays by name."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "graph", [value(*i) for i in inputs], [value(*o) for o in outputs],
                              [numpy_helper.from_array(array, name) for name, array in dict(weights).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def mlp():
    """y = relu(x @ up) @ down, of any batch size, and the same in NumPy."""
    rng = np.random.default_rng(0)
    up, down = (rng.standard_normal(shape, dtype=np.float32) for shape in ((4, 128), (128, 3)))
    nodes = [helper.make_node("MatMul", ["x", "up"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("MatMul", ["b", "down"], ["y"], name="second")]
    model = onnx_model(nodes, [("x", TensorProto.FLOAT, ["batch", 4])], [("y", TensorProto.FLOAT, ["batch", 3])],
                       {"up": up, "down": down})
    return model, lambda x: np.maximum(x @ up, 0) @ down


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with mlp.onnx and mlp.nxe."""
    folder = tmp_path_factory.mktemp("models")
    onnx.save(mlp()[0], folder / "mlp.onnx")
    nxcc.compile(folder / "mlp.onnx").save(folder / "mlp.nxe")
    return folder


@pytest.fixture(scope="session")
def reference():
    return mlp()[1]


@pytest.fixture
def compile_nodes(tmp_path):
    """Compiles an ONNX model made of nodes."""
    def compile(*args, options=None, **kwargs):
        path: pathlib.Path = tmp_path / "model.onnx"
        onnx.save(onnx_model(*args, **kwargs), path)
        return nxcc.compile(path, **(options or {}))
    return compile
