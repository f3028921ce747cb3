"""torch modules through nxcc.compile: nesting, names, state, plans, errors."""
import collections
import pickle
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel
from torch.export import Dim

import nxcc
import nxrt
from nxcc._plan import plan_text


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


@pytest.fixture(scope="module")
def mlp():
    torch.manual_seed(0)
    return nn.Sequential(collections.OrderedDict(a=Mlp(), b=Mlp())).eval()


def assert_close(found, wanted):
    torch.testing.assert_close(found, wanted.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("tp", [1, 2])
def test_static_and_dynamic(mlp, tp):
    exe = nxcc.compile(mlp, (torch.zeros(2, 64),), tp=tp)
    x = torch.randn(2, 64)
    assert_close(exe(x), mlp(x))
    result = exe(x.numpy())
    assert isinstance(result, np.ndarray)
    assert_close(torch.from_numpy(result), mlp(x))
    with pytest.raises(nxrt.Error):
        exe(torch.randn(3, 64))
    exe = nxcc.compile(mlp, (torch.zeros(2, 64),), dynamic_shapes=({0: Dim("n")},), tp=tp)
    for n in (1, 2, 7, 50):
        x = torch.randn(n, 64)
        assert_close(exe(x), mlp(x))


class Nested(nn.Module):
    """Everything that torch.export takes apart."""

    def forward(self, first, pair, *, table, scale=2, missing=None, flag=True):
        a, b = pair
        total = first + a * scale
        if flag:
            total = total + table["c"][0]
        return {"total": total, "rest": [b - 1, (first, None)], "scale": 3, "rows": first.shape[0]}


def nested_inputs(n=2):
    return ((torch.randn(n, 3), (torch.randn(n, 3), torch.randn(4))),
            {"table": {"c": [torch.randn(n, 3)]}, "scale": 2, "missing": None, "flag": True})


def test_nesting():
    n = Dim("n")
    args, kwargs = nested_inputs()
    exe = nxcc.compile(Nested(), args, kwargs, dynamic_shapes={
        "first": {0: n}, "pair": ({0: n}, None), "table": {"c": [{0: n}]}, "scale": None, "missing": None,
        "flag": None})
    for n in (2, 5):
        args, kwargs = nested_inputs(n)
        found, wanted = exe(*args, **kwargs), Nested()(*args, **kwargs)
        assert list(found) == list(wanted)
        assert_close(found["total"], wanted["total"])
        assert_close(found["rest"][0], wanted["rest"][0])
        assert torch.equal(found["rest"][1][0], args[0]) and found["rest"][1][1] is None
        assert found["scale"] == 3 and found["rows"] == n
    # By name what was by position, in any order.
    assert_close(exe(pair=args[1], flag=True, missing=None, scale=2, table=kwargs["table"], first=args[0])["total"],
                 wanted["total"])


@pytest.mark.parametrize("change, error, words", [
    (lambda a, k: (a, {**k, "scale": 3}), ValueError, "exported for .*=2, not 3"),
    (lambda a, k: (a, {**k, "flag": False}), ValueError, "exported for .*=True, not False"),
    (lambda a, k: (a, {**k, "missing": torch.ones(1)}), (TypeError, ValueError), "missing|nested"),
    (lambda a, k: (a[:1], k), TypeError, "input 'pair' is missing"),
    (lambda a, k: (a, {**k, "other": 1}), TypeError, "no input 'other'"),
    (lambda a, k: (a, {**k, "first": a[0]}), TypeError, "by position and by name"),
    (lambda a, k: ((a[0], [*a[1]]), k), TypeError, "nested"),
    (lambda a, k: ((a[0], a[1][:1]), k), TypeError, "nested"),
])
def test_wrong_calls(change, error, words):
    args, kwargs = nested_inputs()
    exe = nxcc.compile(Nested(), args, kwargs)
    exe(*args, **kwargs)
    args, kwargs = change(args, kwargs)
    with pytest.raises(error, match=words):
        exe(*args, **kwargs)


def test_functions_and_exported_programs(mlp):
    def function(x, y=None):
        return x * 2 if y is None else x + y

    x = torch.randn(2, 64)
    assert_close(nxcc.compile(function, (x,))(x), x * 2)
    assert_close(nxcc.compile(function, (x, x))(x, x), x * 2)
    exported = torch.export.export(mlp, (x,))
    for program in (exported, exported.run_decompositions()):
        assert_close(nxcc.compile(program)(x), mlp(x))
    with pytest.raises(TypeError, match="an exported program has its inputs"):
        nxcc.compile(exported, (x,))
    with pytest.raises(TypeError, match="not int"):
        nxcc.compile(3)
    with pytest.raises(TypeError, match="shapes go with model files"):
        nxcc.compile(mlp, (x,), shapes={"x": (2, 64)})


def test_saved_programs(mlp, tmp_path):
    x = torch.randn(2, 64)
    torch.export.save(torch.export.export(mlp, (x,)), tmp_path / "mlp.pt2")
    exe = nxcc.compile(tmp_path / "mlp.pt2")
    assert_close(exe(x), mlp(x))
    exe.save(tmp_path / "mlp.nxe")
    assert_close(nxrt.load(tmp_path / "mlp.nxe")(x), mlp(x))
    named = nxcc.compile(mlp, (x,), output=tmp_path / "named.nxe")
    del named
    assert_close(nxrt.load(tmp_path / "named.nxe")(x), mlp(x))


def test_training_mode_is_announced(mlp):
    with pytest.warns(UserWarning, match="training mode"):
        nxcc.compile(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0)), (torch.zeros(1, 4),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nxcc.compile(mlp, (torch.zeros(1, 64),))


class Accumulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64), persistent=False)
        self.register_buffer("fixed", torch.arange(3.0))

    def forward(self, x):
        self.total.add_(x.sum(0))
        self.steps += 1
        self.total[0] = 7
        return self.total * 2 + self.fixed, self.steps.clone()


@pytest.mark.parametrize("decompose", [False, True])
def test_state(decompose):
    module, twin = Accumulator(), Accumulator()
    program = torch.export.export(module, (torch.zeros(2, 3),), dynamic_shapes=({0: Dim("n")},))
    exe = nxcc.compile(program.run_decompositions() if decompose else program)
    for n in (2, 4, 1):
        x = torch.randn(n, 3)
        for found, wanted in zip(exe(x), twin(x)):
            assert_close(found, wanted)
        assert_close(exe.state["total"], twin.total)
    assert set(exe.state) == {"total", "steps"} and int(exe.state["steps"]) == 3
    assert int(module.steps) == 0, "the module's own buffers stay as they were"
    assert exe.model.states[0].shape == (3,) and len(exe.state) == 2 and "fixed" not in exe.state
    exe.state["total"] = torch.zeros(3)
    twin.total.zero_()
    for found, wanted in zip(exe(x.numpy()), twin(x)):
        assert isinstance(found, np.ndarray)
        assert_close(torch.from_numpy(found), wanted)
    for value, error in ((torch.zeros(4), nxrt.Error), (torch.zeros(3, dtype=torch.int32), nxrt.Error)):
        with pytest.raises(error):
            exe.state["total"] = value
    with pytest.raises(KeyError):
        exe.state["fixed"]
    with pytest.raises(TypeError, match="no state 'fixed'; it has"):
        exe.state["fixed"] = torch.zeros(3)
    # Threads come one after another.
    threads = [threading.Thread(target=lambda: [exe(x) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(exe.state["steps"]) == 104
    exe.state.reset()
    assert int(exe.state["steps"]) == 0 and not exe.state["total"].any()


@pytest.mark.parametrize("decompose", [False, True])
def test_written_inputs(decompose):
    class Writer(nn.Module):
        def forward(self, x, cache):
            cache[1:2] = x
            return cache.sum(0), cache[0].view(3, 1)

    program = torch.export.export(Writer(), (torch.zeros(1, 3), torch.zeros(4, 3)))
    exe = nxcc.compile(program.run_decompositions() if decompose else program)
    x, cache = torch.randn(1, 3), torch.randn(4, 3)
    twin = cache.clone()
    for found, wanted in zip(exe(x, cache), Writer()(x, twin)):
        assert_close(found, wanted)
    assert torch.equal(cache, twin)
    array = cache.numpy().copy()
    exe(x.numpy() + 1, array)
    assert np.allclose(array[1], x.numpy() + 1)


def test_a_refusal_shows_the_line():
    class Refused(nn.Module):
        def forward(self, x):
            y = x + 1
            return torch.nonzero(y)  # its size depends on data

    with pytest.raises(nxcc.CompileError) as caught:
        nxcc.compile(Refused(), (torch.zeros(3),))
    first = caught.value.diagnostics[0]
    assert (first.severity, first.node, first.file) == ("error", "nonzero", __file__)
    assert first.source == "return torch.nonzero(y)  # its size depends on data"
    assert all(other.severity == "error" and other.node for other in caught.value.diagnostics)
    assert "return torch.nonzero(y)" in str(caught.value) and "test_torch.py:" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_compiling_in_threads(mlp):
    x = torch.randn(2, 64)
    results = {}

    def work(i):
        results[i] = nxcc.compile(mlp, (x,), opt_level=i % 4)(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for result in results.values():
        assert_close(result, mlp(x))


def splits(exe):
    return {p["name"]: p["split"].split(" ")[0] for p in exe.plan["parameters"]}


STYLES = {"*.up": ColwiseParallel(), "*.down": RowwiseParallel(), "*.norm": SequenceParallel(),
          "a": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Replicate())}


@pytest.mark.parametrize("plan", [
    STYLES,
    {"*.up.weight": Shard(0), "*.up.bias": [Shard(0)], "*.down.weight": Shard(-1), "*.norm.*": Replicate()},
    {r".*\.up\.(weight|bias)": "column", r".*\.down\.weight": "row", r".*norm.*": "replicate"},
])
def test_plans(mlp, plan):
    exe = nxcc.compile(mlp, (torch.zeros(2, 64),), tp=2, plan=plan, dynamic_shapes=({0: Dim("n")},))
    found = splits(exe)
    for layer in "ab":
        assert found[f"{layer}.up.weight"] == "column" and found[f"{layer}.down.weight"] == "row"
    x = torch.randn(5, 64)
    assert_close(exe(x), mlp(x))


def test_the_opposite_plan(mlp):
    """What the planner would not choose by itself is done when the plan says so."""
    exe = nxcc.compile(mlp, (torch.zeros(2, 64),), tp=2, plan={"*.up": RowwiseParallel(), "*.down": ColwiseParallel()})
    assert splits(exe)["a.up.weight"] == "row" and splits(exe)["b.down.weight"] == "column"
    x = torch.randn(2, 64)
    assert_close(exe(x), mlp(x))


def test_plan_rules(tmp_path):
    large = nn.ModuleDict({"table": nn.Embedding(80, 40), "conv": nn.Conv2d(20, 20, 3), "norm": nn.LayerNorm(400)})
    assert plan_text({"table.weight": Shard(0)}, large) == "table[.]weight: row"
    assert plan_text({"table.weight": Shard(-1)}, large) == "table[.]weight: column"
    assert plan_text({"conv.weight": Shard(1)}, large) == "conv[.]weight: row"
    assert plan_text({"conv.weight": Shard(-1)}, large) == "conv[.]weight: dim 3"
    assert plan_text({"norm.weight": Shard(0)}, large) == "norm[.]weight: column"
    holder = nn.ModuleDict({"table": nn.Embedding(8, 4), "conv": nn.Conv2d(2, 2, 3), "norm": nn.LayerNorm(4)})
    # Too small to be seen by the planner.
    assert plan_text({"norm.weight": Shard(0), "*": ColwiseParallel(), "conv.*": "row"}, holder) == ""
    wide = nn.ModuleDict({"norm": nn.LayerNorm(300)})
    assert plan_text({"norm": SequenceParallel()}, wide) == "norm[.](weight|bias): replicate"
    assert plan_text({"a?.[bc].[!d]": ColwiseParallel()}, None) == "a[^.][.][bc][.][^d][.](weight|bias): column"
    assert plan_text({"a#b": "row"}, None) == "a[#]b: row"
    assert plan_text({}, None) == plan_text(None, None) == ""
    (tmp_path / "plan.txt").write_text("x: row\n")
    assert plan_text(tmp_path / "plan.txt", None) == "x: row\n"
    for plan, error in (({"a": 3}, TypeError), (3, TypeError), ({"a.weight": Shard(-1)}, ValueError),
                        ({"a\nb": "row"}, ValueError)):
        with pytest.raises(error):
            plan_text(plan, None)


def test_plans_that_cannot_be(mlp):
    for plan, words in (({"*.gate": ColwiseParallel()}, "matches no parameter"),
                        ({"a.up.weight": "dim 5"}, "has no dimension 5"),
                        ({"a.up.weight": "columns"}, "expected 'column'")):
        with pytest.raises(nxcc.CompileError, match=words):
            nxcc.compile(mlp, (torch.zeros(2, 64),), tp=2, plan=plan)


@pytest.mark.parametrize("options", [{"tp": 0}, {"tp": 65}, {"opt_level": 4}])
def test_options_out_of_range(mlp, options):
    with pytest.raises(ValueError):
        nxcc.compile(mlp, (torch.zeros(2, 64),), **options)


def test_other_targets(mlp):
    name = next(name for name, here in nxcc.targets().items() if not here)
    exe = nxcc.compile(mlp, (torch.zeros(2, 64),), target_cpu=name)
    assert exe.inspect()["code"][0]["cpu"] == name
    with pytest.raises(nxrt.Error) as caught:
        exe(torch.zeros(2, 64))
    assert caught.value.status is nxrt.Status.TARGET_MISMATCH
    both = nxcc.compile(mlp, (torch.zeros(2, 64),), target_cpu=["native", name])
    assert len(both.inspect()["code"]) == 2
    assert_close(both(torch.zeros(2, 64)), mlp(torch.zeros(2, 64)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_element_types(dtype):
    module = nn.Linear(8, 4).to(dtype).eval()
    x = torch.randn(3, 8).to(dtype)
    found = nxcc.compile(module, (x,))(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, module(x).detach(), rtol=2e-2, atol=2e-2)
