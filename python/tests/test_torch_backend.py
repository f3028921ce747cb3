"""torch.compile(model, backend="nxcc")."""
import pytest
import torch
from torch import nn

import nxcc
from nxcc import _torch_backend


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def compilations(monkeypatch):
    """What is compiled, as it happens."""
    import nxcc._compile
    real, seen = nxcc._compile.compile, []

    def compile(*args, **kwargs):
        seen.append(real(*args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(nxcc._compile, "compile", compile)
    return seen


def assert_close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_is_found_by_name():
    assert "nxcc" in torch._dynamo.list_backends()


@torch.no_grad()
def test_static_then_dynamic(compilations):
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    fast = torch.compile(model, backend="nxcc")
    for n in (2, 5, 9, 2):
        x = torch.randn(n, 16)
        assert_close(fast(x), model(x))
    assert len(compilations) == 2, "once for 2, and once for any number"
    fast = torch.compile(model, backend=nxcc.backend, dynamic=True, fullgraph=True)
    for n in (3, 4):
        x = torch.randn(n, 16)
        assert_close(fast(x), model(x))
    assert len(compilations) == 3


@torch.no_grad()
def test_several_inputs_nesting_and_breaks():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x, extra):
            y = self.inner(x) + extra["bias"]
            torch._dynamo.graph_break()
            return {"y": torch.tanh(y), "rows": y.shape[0]}

    model = Broken().eval()
    fast = torch.compile(model, backend="nxcc")
    for n in (2, 3):
        x, extra = torch.randn(n, 8), {"bias": torch.randn(8)}
        found, wanted = fast(x, extra), model(x, extra)
        assert_close(found["y"], wanted["y"])
        assert found["rows"] == n


@torch.no_grad()
def test_new_weights_are_seen(compilations):
    model = nn.Linear(8, 4).eval()
    fast = torch.compile(model, backend="nxcc")
    x = torch.randn(2, 8)
    assert_close(fast(x), model(x))
    assert_close(fast(x), model(x))
    assert len(compilations) == 1
    model.weight.mul_(2)
    assert_close(fast(x), model(x))
    model.load_state_dict(nn.Linear(8, 4).state_dict())
    assert_close(fast(x), model(x))
    model.weight.data = torch.randn(4, 8)
    assert_close(fast(x), model(x))
    assert len(compilations) == 4


@torch.no_grad()
def test_buffers_that_change_stay_the_callers(compilations):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(4))
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            self.count.add_(1)
            return self.inner(x) + self.count

    model, twin = Counter().eval(), Counter().eval()
    twin.load_state_dict(model.state_dict())
    fast = torch.compile(model, backend="nxcc")
    for _ in range(4):
        x = torch.randn(2, 4)
        assert_close(fast(x), twin(x))
        assert torch.equal(model.count, twin.count)
    assert len(compilations) == 1


@torch.no_grad()
def test_integers_are_constants_of_their_own(compilations):
    def scale(x, by):
        return x * by + 1

    fast = torch.compile(scale, backend="nxcc", dynamic=True)
    x = torch.randn(4)
    for by in (2, 3, 4, 3, 2):
        assert_close(fast(x, by), scale(x, by))
    assert len(compilations) == 3
    with pytest.warns(UserWarning, match="more than 8 values"):
        for by in range(10, 20):
            assert_close(fast(x, by), scale(x, by))
    assert len(compilations) == _torch_backend._MOST_SPECIALIZATIONS


@torch.no_grad()
def test_options(compilations):
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)).eval()
    fast = torch.compile(model, backend="nxcc", options={"tp": 2, "plan": {r"0\.weight": "column", r"2\.weight": "row"}})
    x = torch.randn(3, 64)
    assert_close(fast(x), model(x))
    found = {p["name"]: p["split"].split(" ")[0] for p in compilations[0].plan["parameters"]}
    assert found["0.weight"] == "column" and found["2.weight"] == "row"
    with pytest.raises(Exception, match="no mode 'max-autotune'"):
        torch.compile(model, backend="nxcc", mode="max-autotune")(x)


def test_gradients_are_refused():
    model = nn.Linear(4, 4)
    with pytest.raises(Exception, match="no gradients"):
        torch.compile(model, backend="nxcc")(torch.randn(2, 4))
    with torch.inference_mode():
        x = torch.randn(2, 4)
        assert_close(torch.compile(model, backend="nxcc")(x), model(x))


@torch.no_grad()
def test_a_refusal_is_the_compilers():
    with pytest.raises(nxcc.CompileError):
        torch.compile(lambda x: torch.linalg.svd(x)[1], backend="nxcc")(torch.randn(3, 3))
