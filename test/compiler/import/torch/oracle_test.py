#!/usr/bin/env python3
"""Compiles functions of torch (cases.py) and compares every result with eager torch.

usage: oracle_test.py --bin BUILD/bin [--tp 1,2] [--forms exported,decomposed] [--static] KIND...

The cases of a kind are exported together as one program, as torch.export.export gives it and after
run_decompositions(), with symbolic sizes where torch can, and run at several sizes. Without KIND all are tested.
Ends with a line "N passed, M failed".
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

import cases

warnings.filterwarnings("ignore")
EXAMPLE = {"b": 3, "s": 5}
OTHERS = [{"b": 4, "s": 9}, {"b": 7, "s": 6}]


def flat(result):
    return [value for value in torch.utils._pytree.tree_flatten(result)[0] if value is not None]


class Group(torch.nn.Module):
    """All cases of a list as one module."""

    def __init__(self, members):
        super().__init__()
        self.members = members

    def forward(self, *args):
        results, at = [], 0
        for member in self.members:
            count = len(member.args)
            result = member.function(*args[at:at + count])
            results += flat(result)
            at += count
        return results


def arguments(members, symbols, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [arg.make(generator, symbols) for member in members for arg in member.args]


def export(members, dynamic):
    example = tuple(arguments(members, EXAMPLE))
    shapes = None
    if dynamic:
        dims = {"b": torch.export.Dim("b", min=2, max=4096), "s": torch.export.Dim("s", min=4, max=4096)}
        shapes = [{axis: dims[size] for axis, size in enumerate(arg.sizes) if size in dims}
                  for member in members for arg in member.args]
        shapes = {"args": tuple(shapes)}
    return torch.export.export(Group(members), example, dynamic_shapes=shapes)


def difference(got, want, tolerance):
    want = want.detach().numpy() if isinstance(want, torch.Tensor) else np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, torch gives {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"differs: {got.ravel()[:6]}, torch gives {want.ravel()[:6]}"
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "differs in what is not finite"
    scale = np.abs(want[finite]).max(initial=0)
    off = np.abs(got - want)[finite] / (tolerance * (np.abs(want[finite]) + 0.1 * scale) + 1e-30)
    if off.size and not off.max() <= 1:
        return f"is off by {off.max():.3g} times the tolerance"
    return ""


class Tester:
    def __init__(self, bin_dir, scratch):
        self.bin, self.scratch = bin_dir, scratch
        self.passed, self.failed = 0, []

    def call(self, *command, degree=1):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600,
                              env=dict(os.environ, NXRT_NUM_CORES=str(degree), NXRT_SHARE_CORES="1"))
        return (done.stderr or done.stdout).strip() if done.returncode else ""

    def fail(self, label, text):
        self.failed.append(label)
        print(f"FAIL {label}: {text}", flush=True)

    def test(self, members, label, degrees, forms, dynamic):
        try:
            exported = export(members, dynamic)
        except Exception as error:  # torch has many kinds
            if len(members) > 1:
                return self.halves(members, label, degrees, forms, dynamic)
            return self.fail(f"{members[0].name} {label}", f"torch cannot export it: {str(error)[:500]}")
        for form in forms:
            program = exported if form == "exported" else exported.run_decompositions()
            path = self.scratch / "model.pt2"
            torch.export.save(program, str(path))
            for degree in degrees:
                if not self.run(path, members, f"{label} {form} tp={degree}", degree, dynamic):
                    return self.halves(members, label, [degree], [form], dynamic)

    def halves(self, members, label, *rest):
        """Which of the members it is."""
        middle = len(members) // 2
        self.test(members[:middle], label, *rest)
        self.test(members[middle:], label, *rest)

    def run(self, path, members, label, degree, dynamic):
        """False when several members cannot be told apart."""
        executable = self.scratch / "model.nxe"
        error = self.call(self.bin / "nxcc", "compile", path, "-o", executable, "--tp", degree, "-O", "1")
        if error:
            if len(members) == 1:
                self.fail(f"{members[0].name} {label}", error)
            return len(members) == 1
        sizes = [EXAMPLE] + (OTHERS if dynamic else [])
        command = [self.bin / "nx-run", executable]
        for k, symbols in enumerate(sizes):
            feeds = [x.numpy() for x in arguments(members, symbols, seed=k)]
            np.savez(self.scratch / f"in{k}.npz", *feeds)
            command += ["--inputs", self.scratch / f"in{k}.npz", "--outputs", self.scratch / f"out{k}.npz"]
        error = self.call(*command, degree=degree)
        if error:
            if len(members) == 1:
                self.fail(f"{members[0].name} {label}", error)
            return len(members) == 1
        wrong = {}
        for k, symbols in enumerate(sizes):
            results = list(np.load(self.scratch / f"out{k}.npz").values())
            at, given = 0, arguments(members, symbols, seed=k)
            for member in members:
                count = len(member.args)
                wants = flat(member.function(*given[:count]))
                given = given[count:]
                for number, want in enumerate(wants):
                    text = difference(results[at], want, member.tolerance)
                    if text:
                        wrong.setdefault(member.name, f"result {number} at {symbols} {text}")
                    at += 1
            assert at == len(results)
        self.passed += len(members) - len(wrong)
        for name, text in wrong.items():
            self.fail(f"{name} {label}", text)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--tp", default="1")
    parser.add_argument("--forms", default="exported,decomposed")
    parser.add_argument("--static", action="store_true", help="static sizes too")
    parser.add_argument("--single", action="store_true", help="each case as a program of its own")
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    degrees, forms = [int(d) for d in args.tp.split(",")], args.forms.split(",")
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(args.bin, pathlib.Path(folder))
        for kind in args.kinds or cases.KINDS:
            name, _, number = kind.partition("[")
            members = cases.KINDS[name]
            if number:
                members = [members[int(number[:-1])]]
            for dynamic in (True, False):
                chosen = [m for m in members if dynamic != m.static or (not dynamic and args.static)]
                groups = [[m] for m in chosen] if args.single else [chosen] if chosen else []
                for group in groups:
                    tester.test(group, "dynamic" if dynamic else "static", degrees, forms, dynamic)
        print(f"{tester.passed} passed, {len(tester.failed)} failed")
    sys.exit(1 if tester.failed else 0)


if __name__ == "__main__":
    main()
