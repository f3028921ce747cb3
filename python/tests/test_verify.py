"""Executable.verify: agreement, and the first layer that deviates."""
import copy

import pytest
import torch
from torch import nn

import nxcc


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.inner = nn.Linear(32, 32)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return x + self.act(self.inner(self.norm(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.shared = nn.Linear(32, 32)

    def forward(self, x, *, scale):
        for block in self.blocks:
            x = self.shared(block(x) * scale)
        return {"y": x}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Model().eval()


@pytest.fixture(scope="module")
def exe(model):
    return nxcc.compile(model, (torch.randn(2, 32),), {"scale": torch.ones(1, 32)},
                        dynamic_shapes={"x": {0: torch.export.Dim("n")}, "scale": None})


def test_agreement(exe, model):
    for found in (exe.verify(), exe.verify(model, torch.randn(5, 32), scale=torch.ones(1, 32))):
        assert found.ok and found.first is None and not found.unmatched
        names = [layer.name for layer in found.layers]
        assert names[:5] == ["blocks.0.norm", "blocks.0.inner", "blocks.0.act", "blocks.0", "shared"]
        assert names[-1] == "shared#3" and len(names) == 15
        assert [layer.kind for layer in found.layers[:4]] == ["LayerNorm", "Linear", "ReLU", "Block"]
        assert "0 differ; 15 layers" in str(found)
    assert isinstance(model.blocks, nn.ModuleList) and type(model) is Model
    assert not any(module._forward_hooks for module in model.modules()), "the module is left as it was"


def test_the_first_deviation_is_named(exe, model):
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.blocks[1].inner.bias[3] += 10
    found = exe.verify(other, torch.randn(4, 32), scale=torch.ones(1, 32))
    assert not found.ok
    assert found.first.name == "blocks.1.inner" and found.first.kind == "Linear"
    assert found.first.elements == 4, "one column of four rows"
    assert all(layer.ok for layer in found.layers[:found.layers.index(found.first)])
    assert "the first that deviates: blocks.1.inner (Linear): 4 elements differ" in str(found)


def test_tolerance(exe, model):
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.shared.bias += 1e-3
    inputs = (torch.randn(4, 32),), {"scale": torch.ones(1, 32)}
    assert exe.verify(other, *inputs[0], **inputs[1]).first.name == "shared"
    assert exe.verify(other, *inputs[0], **inputs[1], atol=1e-1).ok


def test_what_only_one_side_has(exe, model):
    other = copy.deepcopy(model)
    other.blocks[2].act = nn.Sequential(nn.ReLU(), nn.Identity())
    found = exe.verify(other)
    assert found.ok and found.first is None
    assert found.unmatched == ("blocks.2.act", "blocks.2.act.0", "blocks.2.act.1")


def test_with_a_file(folder, reference):
    exe = nxcc.compile(folder / "mlp.onnx")
    up, down = (cell.cell_contents for cell in reference.__closure__)
    by_name = {"down": torch.from_numpy(down), "up": torch.from_numpy(up)}
    weights = sorted(by_name.values(), key=lambda w: -w.shape[1])

    def right(x):
        return torch.relu(x @ weights[0]) @ weights[1]

    found = exe.verify(right, torch.randn(3, 4))
    assert found.ok and found.layers == ()
    wrong = exe.verify(lambda x: right(x) + 1, torch.randn(3, 4))
    assert not wrong.ok and wrong.outputs[0].elements == 9
    with pytest.raises(TypeError, match="needs the module"):
        exe.verify()
    with pytest.raises(TypeError, match="needs inputs"):
        exe.verify(right)
    with pytest.raises(TypeError, match="returns 2 tensors, the executable 1"):
        exe.verify(lambda x: (x, x), torch.randn(3, 4))


def test_plans_mean_the_same(model):
    exe = nxcc.compile(model, (torch.randn(2, 32),), {"scale": torch.ones(1, 32)}, tp=2,
                       plan={r"shared\.weight": "column"})
    assert exe.verify().ok
