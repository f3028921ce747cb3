"""The ONNX standard's own node cases, and the ways in which each of them is tried."""
import pickle
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


class Case:
    """One model with the values that the standard gives: `sets` holds pairs of inputs and outputs."""

    def __init__(self, name, model, sets, rtol, atol):
        self.name, self.model, self.sets, self.rtol, self.atol = name, model, sets, rtol, atol

    def proto(self):
        return onnx.ModelProto.FromString(self.model)


def collect(cache):
    """All cases in the standard's order. Making them takes half a minute, so `cache` (a path) keeps them."""
    stamp = (onnx.__version__, np.__version__)
    if cache and cache.exists():
        with open(cache, "rb") as file:
            known, cases = pickle.load(file)
        if known == stamp:
            return cases
    from onnx.backend.test.case import node
    cases = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows that the cases mean
        tests = node.collect_testcases(None)
    for test in tests:
        sets = [([plain(x) for x in inputs], [plain(x) for x in outputs]) for inputs, outputs in test.data_sets]
        cases.append(Case(test.name, test.model.SerializeToString(), sets, test.rtol, test.atol))
    if cache:
        cache.parent.mkdir(parents=True, exist_ok=True)
        part = cache.with_suffix(".part")
        with open(part, "wb") as file:
            pickle.dump((stamp, cases), file)
        part.replace(cache)
    return cases


def plain(value):
    """Tensors as arrays; sequences and what is absent stay lists and None."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [plain(x) for x in value]
    return np.asarray(value) if isinstance(value, (np.generic, int, float, bool)) else value


# --- Ways. Each gives a model, the inputs that are fed to it, and nxcc's options.


def as_is(case):
    model = case.proto()
    return model, list(range(len(model.graph.input))), []


def is_list(info):
    """A short vector of integers is a list of sizes, axes or the like: its length belongs to the operator."""
    tensor = info.type.tensor_type
    return (tensor.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32) and len(tensor.shape.dim) == 1)


def symbolic(case):
    """Every dimension of the inputs that is neither 0 nor 1 gets a symbol of its own."""
    model = case.proto()
    changed = False
    for number, info in enumerate(model.graph.input):
        if not info.type.HasField("tensor_type") or is_list(info):
            continue
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            if dim.dim_value > 1:
                dim.dim_param = f"n{number}_{axis}"
                changed = True
    if not changed:
        return None
    for info in list(model.graph.output) + list(model.graph.value_info):
        if info.type.HasField("tensor_type"):
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
    return model, list(range(len(model.graph.input))), []


def with_initializers(model, arrays, numbers):
    """Turns these inputs into initializers; the numbers of the inputs that are left."""
    inputs = list(model.graph.input)
    left = []
    del model.graph.input[:]
    for number, info in enumerate(inputs):
        value = arrays[number]
        if number in numbers and isinstance(value, np.ndarray) and info.type.HasField("tensor_type"):
            tensor = numpy_helper.from_array(value, info.name)
            tensor.data_type = info.type.tensor_type.elem_type
            model.graph.initializer.append(tensor)
        else:
            left.append(number)
            model.graph.input.append(info)
    return left


def constant(case):
    if len(case.sets) != 1:
        return None
    model = case.proto()
    left = with_initializers(model, case.sets[0][0], range(len(model.graph.input)))
    return model, left, []


def split(case):
    """Two ranks. All inputs but the first are weights: those are what is split."""
    if len(case.sets) != 1:
        return None
    model = case.proto()
    left = with_initializers(model, case.sets[0][0], range(1, len(model.graph.input)))
    return model, left, ["--tp", "2"]


WAYS = {"as-is": as_is, "symbolic": symbolic, "constant": constant, "tp2": split}
