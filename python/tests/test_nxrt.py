"""The runtime from Python: arrays in and out, names, errors, threads."""
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
import torch
from onnx import TensorProto, helper

import nxrt


@pytest.fixture
def model(folder):
    return nxrt.load(folder / "mlp.nxe")


def test_signature(model):
    assert model.inputs == (nxrt.Value("x", "float32", ("batch", 4)),)
    assert model.outputs == (nxrt.Value("y", "float32", ("batch", 3)),)
    assert list(model.symbols) == ["batch"] and model.symbols["batch"][0] == 0
    assert len(model.entries) == 1
    assert model.entry(model.entries[0]).inputs == model.inputs
    assert model.tp == 1 and model.name == "mlp.onnx" and model.info["producer"].startswith("nxcc")
    with pytest.raises(KeyError, match="no entry point is named 'other'"):
        model.entry("other")


@pytest.mark.parametrize("batch", [0, 1, 2, 7, 64])
def test_numpy_and_torch(model, reference, batch):
    x = np.random.default_rng(batch).standard_normal((batch, 4), dtype=np.float32)
    result = model(x)
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    np.testing.assert_allclose(result, reference(x), rtol=1e-5, atol=1e-5)
    tensor = model(torch.from_numpy(x))
    assert isinstance(tensor, torch.Tensor)
    assert np.array_equal(tensor.numpy(), result)
    assert isinstance(model.run({"x": x}, framework="torch")["y"], torch.Tensor)
    assert isinstance(model.run({"x": torch.from_numpy(x)}, framework="numpy")["y"], np.ndarray)
    # Lists are converted; an array that is not contiguous is copied.
    assert batch == 0 or np.array_equal(model(x.tolist()), result)
    assert np.array_equal(model(np.asfortranarray(x)), result)
    assert np.array_equal(model(torch.from_numpy(x.T.copy()).T), tensor)


def test_results_are_memory_of_their_own(model):
    x = np.ones((2, 4), np.float32)
    first = model(x)
    kept = first.copy()
    model(-x)
    del model
    gc.collect()
    assert np.array_equal(first, kept)
    first[:] = 0  # writable
    assert not first.any()


def test_read_only_and_differentiable_inputs(model, reference):
    x = np.ones((2, 4), np.float32)
    x.setflags(write=False)
    np.testing.assert_allclose(model(x), reference(x), rtol=1e-5)
    tensor = torch.ones(2, 4, requires_grad=True)
    assert not model(tensor).requires_grad


def test_dlpack_from_elsewhere(model, reference):
    class Foreign:
        """Nothing but the protocol."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.ones((3, 4), np.float32)
    np.testing.assert_allclose(model(Foreign(x)), reference(x), rtol=1e-5)


def test_writes_where_it_is_told(model, reference):
    x, y = np.ones((2, 4), np.float32), np.zeros((2, 3), np.float32)
    assert model.run({"x": x}, out={"y": y})["y"] is y
    np.testing.assert_allclose(y, reference(x), rtol=1e-5)
    tensor = torch.zeros(2, 3)
    assert model.run({"x": torch.ones(2, 4)}, out={"y": tensor})["y"] is tensor
    assert np.array_equal(tensor.numpy(), y)
    for place, error in ((np.zeros((3, 3), np.float32), nxrt.Error), (np.zeros((2, 3)), nxrt.Error),
                         (np.zeros((3, 2), np.float32).T, TypeError), ([[0.0] * 3] * 2, TypeError)):
        with pytest.raises(error):
            model.run({"x": x}, out={"y": place})
    y.setflags(write=False)
    with pytest.raises(TypeError, match="writable"):
        model.run({"x": x}, out={"y": y})
    with pytest.raises(TypeError, match="no output 'z'"):
        model.run({"x": x}, out={"z": y})


@pytest.mark.parametrize("call, words", [
    (lambda m, x: m(), "input 'x' is missing; the model takes x"),
    (lambda m, x: m(x, x), "takes 1 inputs"),
    (lambda m, x: m(z=x), "no input 'z'"),
    (lambda m, x: m(x, x=x), "by position and by name"),
    (lambda m, x: m(np.ones((2, 4), np.complex64)), "no such element type"),
    (lambda m, x: m(np.ones((2, 4), "U1")), "cannot be read"),
    (lambda m, x: m(torch.ones(2, 4, device="meta")), "on meta"),
    (lambda m, x: m(x.astype(">f4")), "cannot be read"),
])
def test_wrong_calls(model, call, words):
    with pytest.raises(TypeError, match=words):
        call(model, np.ones((2, 4), np.float32))


@pytest.mark.parametrize("array, status", [
    (np.ones((2, 5), np.float32), "SHAPE_MISMATCH"), (np.ones(4, np.float32), "SHAPE_MISMATCH"),
    (np.ones((2, 4)), "DTYPE_MISMATCH"), (np.ones((2, 4), np.int32), "DTYPE_MISMATCH")])
def test_errors_of_the_runtime(model, array, status):
    with pytest.raises(nxrt.Error, match='"x"') as caught:
        model(array)
    assert caught.value.status is nxrt.Status[status]
    assert str(caught.value) == caught.value.message
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, again.message) == (caught.value.status, caught.value.message)


def test_loading_refusals(folder, tmp_path):
    data = (folder / "mlp.nxe").read_bytes()
    for content, status in ((b"", "INVALID_FILE"), (b"x" * 4096, "INVALID_FILE"), (data[:-1], "INVALID_FILE")):
        (tmp_path / "bad.nxe").write_bytes(content)
        for source in (tmp_path / "bad.nxe", content):
            with pytest.raises(nxrt.Error) as caught:
                nxrt.load(source)
            assert caught.value.status in (nxrt.Status[status], nxrt.Status.INVALID_ARGUMENT)
        with pytest.raises(nxrt.Error):
            nxrt.inspect(tmp_path / "bad.nxe")
    with pytest.raises(nxrt.Error) as caught:
        nxrt.load(tmp_path / "missing.nxe")
    assert caught.value.status is nxrt.Status.IO_ERROR


def test_bytes_and_weights(folder, reference):
    data = (folder / "mlp.nxe").read_bytes()
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(nxrt.load(data, verify=True)(x), reference(x), rtol=1e-5)
    position = data.find(np.float32(reference.__closure__[0].cell_contents.flat[0]).tobytes())
    assert position > 0
    broken = bytearray(data)
    broken[position] ^= 1
    with pytest.raises(nxrt.Error, match="checksum"):
        nxrt.load(bytes(broken), verify=True)


def test_cores(folder):
    path = folder / "mlp.nxe"
    cores = nxrt.cores()
    assert [core.core for core in cores] == list(range(len(cores))) and len(cores) >= 2
    for place in (1, [1], range(1, 2)):
        with nxrt.load(path, cores=place) as model:
            assert model.info["first_core"] == 1
            assert nxrt.cores()[1].models >= 1
    with pytest.raises(ValueError, match="runs on 1 cores, 2 were given"):
        nxrt.load(path, cores=[0, 1])
    for place in ([0, 2], [1, 0], [], -1):
        with pytest.raises(ValueError, match="ascending"):
            nxrt.load(path, cores=place)
    with pytest.raises(nxrt.Error) as caught:
        nxrt.load(path, cores=4000)
    assert caught.value.status is nxrt.Status.NOT_ENOUGH_CORES


def test_closing(model):
    model.close()
    model.close()
    with pytest.raises(ValueError, match="closed"):
        model(np.ones((1, 4), np.float32))
    assert "closed" in repr(model)


DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
          "uint8", "bool", "float8_e4m3fn", "float8_e5m2"]


def values_of(name, shape):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    rng = np.random.default_rng(1)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low, high = (0 if name.startswith("u") else -8), 8
    return rng.integers(low, high, shape).astype(np.int32).astype(dtype)


@pytest.mark.parametrize("name", DTYPES)
def test_element_types(compile_nodes, name):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, name, name)))
    shape = (3, 5)
    model = compile_nodes([helper.make_node("Transpose", ["x"], ["y"])], [("x", element, ["n", 5])],
                          [("y", element, [5, "n"])]).model
    assert model.inputs[0].dtype == model.outputs[0].dtype == name
    x = values_of(name, shape)
    result = model(x)
    assert result.dtype == x.dtype and np.array_equal(result, x.T)
    place = np.zeros((5, 3), x.dtype)
    model.run({"x": x}, out={"y": place})
    assert np.array_equal(place, x.T)
    # The same bits in torch.
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.itemsize]
    raw = np.dtype(str(bits).removeprefix("torch."))
    tensor = torch.from_numpy(x.view(raw)).view(getattr(torch, name))
    transposed = model(tensor)
    assert transposed.dtype == tensor.dtype
    assert np.array_equal(transposed.view(bits).numpy(), np.ascontiguousarray(x.T).view(raw))


def test_scalars_and_several_outputs(compile_nodes):
    model = compile_nodes([helper.make_node("Add", ["x", "s"], ["sum"]), helper.make_node("Mul", ["x", "s"], ["product"])],
                          [("x", TensorProto.FLOAT, [3]), ("s", TensorProto.FLOAT, [])],
                          [("sum", TensorProto.FLOAT, [3]), ("product", TensorProto.FLOAT, [3])]).model
    total, product = model(np.arange(3, dtype=np.float32), 2)
    assert total.tolist() == [2, 3, 4] and product.tolist() == [0, 2, 4]
    assert list(model.run({"s": np.float32(1), "x": [1, 2, 3]})) == ["sum", "product"]
    assert model(s=torch.tensor(3.0), x=torch.ones(3))[1].tolist() == [3, 3, 3]


def test_an_execution_that_fails_names_the_node(compile_nodes):
    model = compile_nodes([helper.make_node("Gather", ["table", "i"], ["y"], name="lookup")],
                          [("i", TensorProto.INT64, ["n"])], [("y", TensorProto.FLOAT, ["n", 64])],
                          {"table": np.zeros((10, 64), np.float32)}).model
    assert model(np.array([9])).shape == (1, 64)
    with pytest.raises(nxrt.Error, match="lookup") as caught:
        model(np.array([10]))
    assert caught.value.status is nxrt.Status.EXECUTION_FAILED


def test_threads(folder, reference):
    """Many threads, one model; results do not mix, and other threads run meanwhile."""
    model = nxrt.load(folder / "mlp.nxe")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.standard_normal((int(rng.integers(1, 40)), 4), dtype=np.float32)
            if not np.allclose(model(x), reference(x), rtol=1e-4, atol=1e-4):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_is_free_meanwhile(compile_nodes):
    weights = {"w0": np.eye(1024, dtype=np.float32)}
    chain = [helper.make_node("MatMul", ["x" if i == 0 else f"v{i}", "w0"], [f"v{i + 1}"]) for i in range(8)]
    model = compile_nodes(chain, [("x", TensorProto.FLOAT, [4096, 1024])], [("v8", TensorProto.FLOAT, [4096, 1024])],
                          weights).model
    x = np.ones((4096, 1024), np.float32)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    clock = threading.Thread(target=tick)
    clock.start()
    begin = time.perf_counter()
    model(x)
    end = time.perf_counter()
    done.set()
    clock.join()
    inside = [t for t in ticks if begin < t < end]
    assert len(inside) >= 3, f"{len(inside)} ticks in {end - begin:.3f} s"


def test_closing_while_another_thread_runs(folder):
    for _ in range(20):
        model = nxrt.load(folder / "mlp.nxe")
        x = np.ones((200, 4), np.float32)

        def work():
            try:
                for _ in range(20):
                    model(x)
            except ValueError:
                pass  # closed

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        model.close()
        for thread in threads:
            thread.join()


def _in_child(path, queue):
    try:
        nxrt.load(path)
        queue.put("loaded")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_is_refused_and_does_not_hang(folder):
    model = nxrt.load(folder / "mlp.nxe")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(folder / "mlp.nxe", queue))
    child.start()
    assert "fork" in queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert model(np.ones((1, 4), np.float32)).shape == (1, 3)


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, text=True,
                          capture_output=True, timeout=120)


def test_needs_neither_torch_nor_the_compiler(folder):
    code = f"""
import sys, builtins
real = builtins.__import__
def refuse(name, *args, **kwargs):
    assert name.split(".")[0] not in ("torch", "nxcc", "onnx", "ml_dtypes"), name
    return real(name, *args, **kwargs)
builtins.__import__ = refuse
import numpy as np, nxrt
print(nxrt.load({str(folder / "mlp.nxe")!r})(np.ones((2, 4), np.float32)).shape)
maps = open("/proc/self/maps").read()
assert "libLLVM" not in maps and "libMLIR" not in maps and "torch" not in maps
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "(2, 3)\n"), done.stderr


def test_setting_up_by_hand(folder):
    code = f"""
import nxrt
nxrt.init(num_cores=3, threads_per_core=1, timeout=5)
assert len(nxrt.cores()) == 3
try:
    nxrt.init()
except nxrt.Error as error:
    assert error.status is nxrt.Status.ALREADY_INITIALIZED
else:
    raise SystemExit("the second init passed")
model = nxrt.load({str(folder / "mlp.nxe")!r})
try:
    nxrt.close()
except nxrt.Error as error:
    assert error.status is nxrt.Status.IN_USE
else:
    raise SystemExit("close passed with a model loaded")
model.close()
nxrt.close()
nxrt.close()
nxrt.init(num_cores=2)
assert len(nxrt.cores()) == 2
try:
    nxrt.init(log_level="loud")
except ValueError as error:
    print(error)
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "log_level is 'error', 'warning', 'info' or 'debug'\n"), done.stderr


def test_a_wrong_environment_is_an_error(folder):
    done = run_python(f"import nxrt; nxrt.load({str(folder / 'mlp.nxe')!r})", NXRT_THREADS_PER_CORE="many")
    assert done.returncode == 1 and "nxrt.Error" in done.stderr and "NXRT_THREADS_PER_CORE" in done.stderr


def test_statuses_are_the_librarys():
    from nxrt import _nxrt
    assert {status.name: int(status) for status in nxrt.Status} == dict(_nxrt.statuses())


def test_inspect(folder):
    found = nxrt.inspect(folder / "mlp.nxe", verify=True)
    assert {"file", "format", "producer", "params", "entries", "kernels", "plan", "tp_degree"} <= set(found)
    assert [param["name"] for param in found["params"]] == ["up", "down"]
