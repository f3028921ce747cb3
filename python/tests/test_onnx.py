"""ONNX files through nxcc.compile."""
import gc
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import nxcc
import nxrt


@pytest.mark.parametrize("tp", [1, 2])
def test_any_batch(folder, reference, tp):
    exe = nxcc.compile(folder / "mlp.onnx", tp=tp)
    for n in (1, 3, 33):
        x = np.random.default_rng(n).standard_normal((n, 4), dtype=np.float32)
        np.testing.assert_allclose(exe(x), reference(x), rtol=1e-4, atol=1e-4)
    assert exe.model.tp == tp and exe.inspect()["tp_degree"] == tp
    assert f"{tp} core" in repr(exe)


def test_static_shapes(folder):
    exe = nxcc.compile(str(folder / "mlp.onnx"), shapes={"x": (3, 4)})
    assert exe.model.inputs[0].shape == (3, 4) and not exe.model.symbols
    with pytest.raises(nxrt.Error):
        exe(np.zeros((2, 4), np.float32))
    with pytest.raises(nxcc.CompileError, match="no such input"):
        nxcc.compile(folder / "mlp.onnx", shapes={"z": (1,)})


def test_plan(folder, reference, tmp_path):
    (tmp_path / "plan").write_text("up: row\ndown: replicate\n")
    x = np.ones((2, 4), np.float32)
    for plan in ({"up": "row", "down": "replicate"}, tmp_path / "plan", str(tmp_path / "plan")):
        exe = nxcc.compile(folder / "mlp.onnx", tp=2, plan=plan)
        splits = {p["name"]: p["split"] for p in exe.plan["parameters"]}
        assert splits["up"].startswith("row") and splits["down"] == "replicated"
        np.testing.assert_allclose(exe(x), reference(x), rtol=1e-4, atol=1e-4)
    # The first rule that matches decides, in the dictionary's own order.
    exe = nxcc.compile(folder / "mlp.onnx", tp=2, plan={"up": "row", ".*": "replicate", "[a-z]*": "dim 0"})
    splits = {p["name"]: p["split"] for p in exe.plan["parameters"]}
    assert splits["up"].startswith("row") and splits["down"] == "replicated"
    with pytest.raises(FileNotFoundError):
        nxcc.compile(folder / "mlp.onnx", plan="no/such/plan")


def test_report(folder):
    report = nxcc.compile(folder / "mlp.onnx").report
    assert [phase["phase"] for phase in report["phases"]] == ["import", "simplify", "partition", "outline", "program",
                                                            "codegen", "emit"]
    assert report["executable"]["file_bytes"] > 0


def test_what_cannot_be_compiled_is_listed(tmp_path, compile_nodes):
    with pytest.raises(nxcc.CompileError) as caught:
        compile_nodes([helper.make_node("StringNormalizer", ["x"], ["a"], name="first"),
                       helper.make_node("StringNormalizer", ["a"], ["y"], name="second")],
                      [("x", TensorProto.STRING, [3])], [("y", TensorProto.STRING, [3])])
    assert caught.value.diagnostics and all(d.severity == "error" for d in caught.value.diagnostics)
    assert str(caught.value).startswith("error: ")


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08" * 100])
def test_broken_files(tmp_path, content):
    (tmp_path / "broken.onnx").write_bytes(content)
    with pytest.raises(nxcc.CompileError):
        nxcc.compile(tmp_path / "broken.onnx")
    with pytest.raises(nxcc.CompileError):
        nxcc.analyze(tmp_path / "broken.onnx")


@pytest.mark.parametrize("options", [{"args": (1,)}, {"kwargs": {"x": 1}}, {"dynamic_shapes": ({0: 1},)}])
def test_options_of_modules_are_refused(folder, options):
    with pytest.raises(TypeError, match="a model file says itself"):
        nxcc.compile(folder / "mlp.onnx", **options)


def test_temporary_files_go(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    exe = nxcc.compile(folder / "mlp.onnx")
    assert len(list(tmp_path.glob("nxcc-*/*"))) == 1
    exe(np.ones((1, 4), np.float32))
    del exe
    gc.collect()
    with pytest.raises(nxcc.CompileError):
        nxcc.compile(folder / "mlp.onnx", target_cpu="z80")
    assert not list(tmp_path.iterdir())


def test_saving(folder, tmp_path, reference):
    exe = nxcc.compile(folder / "mlp.onnx", output=tmp_path / "here.nxe")
    exe.save(tmp_path / "there.nxe")
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(exe(x), reference(x), rtol=1e-4)
    exe.close()
    np.testing.assert_allclose(exe(x), reference(x), rtol=1e-4)
    del exe
    gc.collect()
    assert (tmp_path / "here.nxe").read_bytes() == (tmp_path / "there.nxe").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.nxe", "there.nxe"]
    with pytest.raises(FileNotFoundError):
        nxcc.compile(folder / "mlp.onnx").save(tmp_path / "no" / "folder.nxe")


def test_the_interpreter_is_free_while_compiling(folder, tmp_path):
    """Two compilations at once, and the clock of a third thread goes on."""
    code = f"""
import threading, time, nxcc
path = {str(folder / 'mlp.onnx')!r}
ticks, done = [], threading.Event()
def tick():
    while not done.is_set():
        ticks.append(time.perf_counter()); time.sleep(0.001)
clock = threading.Thread(target=tick); clock.start()
work = [threading.Thread(target=lambda: [nxcc.compile(path) for _ in range(3)]) for _ in range(2)]
begin = time.perf_counter()
for thread in work: thread.start()
for thread in work: thread.join()
end = time.perf_counter()
done.set(); clock.join()
longest = max(b - a for a, b in zip(ticks, ticks[1:]))
assert len(ticks) > 5, (len(ticks), end - begin)
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_the_compiler_needs_no_torch(folder):
    code = f"""
import sys
sys.modules["torch"] = None  # importing it fails
import nxcc, numpy as np
print(nxcc.compile({str(folder / 'mlp.onnx')!r})(np.ones((2, 4), np.float32)).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "(2, 3)\n"), done.stderr


def test_beside_torch(folder):
    """Both bring a copy of LLVM's or MKL's symbols; neither order of loading may matter."""
    for first, second in (("torch", "nxcc"), ("nxcc", "torch")):
        code = f"""
import {first}, {second}
import numpy as np, torch, nxcc
exe = nxcc.compile({str(folder / 'mlp.onnx')!r})
x = torch.ones(2, 4)
y = exe(x)
compiled = torch.compile(lambda x: x * 2 + 1)
assert torch.linalg.inv(torch.eye(3) * 2)[0, 0] == 0.5
print(tuple(y.shape))
"""
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
        assert (done.returncode, done.stdout) == (0, "(2, 3)\n"), done.stderr


def test_without_numpy_names(tmp_path):
    """Names that are no identifiers."""
    model = helper.make_model(helper.make_graph(
        [helper.make_node("Relu", ["input.1"], ["out:0"])], "g",
        [helper.make_tensor_value_info("input.1", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("out:0", TensorProto.FLOAT, [2])]),
        opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    exe = nxcc.compile(tmp_path / "m.onnx")
    assert exe(**{"input.1": [-1, 1]}).tolist() == [0, 1]
    assert list(exe.model.run({"input.1": [-1, 1]})) == ["out:0"]
