"""Models for external.test, with a weight of 8 KiB stored in every way, right and wrong."""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper

root = pathlib.Path(sys.argv[1])
folder = root / "model"
values = np.arange(2048, dtype=np.float32).reshape(4, 512)
(root / "elsewhere" / "w.bin").write_bytes(values.tobytes())
(folder / "w.bin").write_bytes(bytes(64) + values.tobytes())
(folder / "short.bin").write_bytes(bytes(100))
(folder / "link.bin").symlink_to(root / "elsewhere" / "w.bin")


def save(name, fill):
    weight = TensorProto(name="w", dims=[4, 512], data_type=TensorProto.FLOAT)
    fill(weight)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "external",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 512])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


def external(**entries):
    def fill(weight):
        weight.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            weight.external_data.add(key=key, value=str(value))
    return fill


def raw(weight):
    weight.raw_data = values.tobytes()


def typed(weight):
    weight.float_data.extend(values.ravel().tolist())


def string(weight):
    weight.data_type = TensorProto.STRING


def rawsize(weight):
    weight.raw_data = b"abc"


save("inside", external(location="w.bin", offset=64, length=8192))
save("raw", raw)
save("typed", typed)
save("parent", external(location="../elsewhere/w.bin"))
save("absolute", external(location=root / "elsewhere" / "w.bin"))
save("link", external(location="link.bin"))
save("missing", external(location="nowhere.bin"))
save("short", external(location="short.bin"))
save("length", external(location="w.bin", length=12))
save("offset", external(location="w.bin", offset="minus one"))
save("string", string)
save("rawsize", rawsize)
