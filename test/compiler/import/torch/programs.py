"""Exports the programs of program.test. usage: programs.py FOLDER"""
import pathlib
import sys

import numpy as np
import torch
from torch.export import Dim

torch.manual_seed(0)


class Linear(torch.nn.Module):
    """Tied weights, a view of a buffer, a constant, a dictionary as an argument, results of all kinds."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 32)
        self.second = torch.nn.Linear(32, 32)
        self.second.weight = self.first.weight
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4).t()[1:3])
        self.factor = torch.tensor([2.0])

    def forward(self, x, extra, flag=None):
        y = self.second(self.first(x)) * self.factor
        return {"y": y, "rest": (extra["bias"] + self.table.sum(), x.shape[0] * 2, None, 7)}


class Guards(torch.nn.Module):
    def forward(self, x, y):
        return x.view(-1, 4).sum(1), x + y


class Derived(torch.nn.Module):
    def forward(self, x):
        return x.reshape(-1, 2).sum(1)


class Writes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        x.mul_(2)
        return x + self.count


class Counter(torch.nn.Module):
    """Buffers that change through views, of which one starts transposed."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(5))
        self.register_buffer("rows", torch.arange(6.0).reshape(3, 2).t())

    def forward(self, x):
        self.steps.add_(2)
        self.rows[:, 1].copy_(x)
        self.rows.t()[2].mul_(self.steps)
        return self.rows + 0


class Refused(torch.nn.Module):
    def forward(self, x):
        a = torch.fft.rfft(x)
        b = torch.randn_like(x)
        return a.abs() + 1, b * 2, torch.linalg.svd(x)[1], x + 1


class Regions(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return y + 1


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)

    def save(name, module, args, shapes=None, **options):
        program = torch.export.export(module.eval(), args, dynamic_shapes=shapes, **options)
        torch.export.save(program, str(folder / f"{name}.pt2"))
        return program

    batch = Dim("batch", min=4, max=100)
    program = save("linear", Linear(), (torch.ones(5, 32), {"bias": torch.ones(3)}), ({0: batch}, {"bias": None}))
    torch.export.save(program.run_decompositions(), str(folder / "decomposed.pt2"))
    auto = ({0: Dim.AUTO}, {0: Dim.AUTO})
    save("guards", Guards(), (torch.ones(8), torch.ones(8)), auto)
    save("asserts", Guards(), (torch.ones(8), torch.ones(8)), auto, prefer_deferred_runtime_asserts_over_guards=True)
    save("derived", Derived(), (torch.ones(8, 3),), ({0: 2 * Dim("half")},))
    save("writes", Writes(), (torch.ones(2),))
    program = save("counter", Counter(), (torch.ones(2),))
    torch.export.save(program.run_decompositions(), str(folder / "counter_functional.pt2"))
    counter = Counter()
    for k in range(3):
        x = torch.tensor([k + 0.5, -k])
        np.savez(folder / f"x{k}.npz", x=x.numpy())
        np.savez(folder / f"y{k}.npz", output=counter(x).numpy())
    for name, size in {"eight": 8, "nine": 9}.items():
        np.savez(folder / f"{name}.npz", x=np.ones(size, np.float32), y=np.ones(size, np.float32))
    np.savez(folder / "sums.npz", output_0=np.full(2, 4, np.float32), output_1=np.full(8, 2, np.float32))
    save("refused", Refused(), (torch.ones(4, 4),))
    save("regions", Regions(), (torch.ones(4),))
    save("branch", Branch(), (torch.ones(4),))


main(pathlib.Path(sys.argv[1]))
