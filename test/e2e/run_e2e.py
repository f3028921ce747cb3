#!/usr/bin/env python3
"""Compiles models with nxcc, runs them with nx-run and compares every output with ONNX Runtime's.

usage: run_e2e.py --bin BUILD/bin [--tp 1,2,4] [--static first|all|none] [--keep FOLDER] MODEL...

Each model is compiled once with dynamic sizes for each tensor-parallel degree, and all its runs (models.py)
happen in order on one loaded instance; then with static sizes of its first run (or of all). Every line says
what was compared and how far it was off. Ends with a line "N passed, M failed".
"""
import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import models


class Failure(Exception):
    pass


def call(command, timeout=600, **environment):
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout,
                              env=dict(os.environ, **environment))
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0].name} ran longer than {timeout} s")
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        raise Failure(f"{command[0].name} ended with status {done.returncode}: {text[-2000:]}")
    return done.stdout


def off_by(got, want, model):
    """The greatest difference in units of the tolerance: 1 is just allowed."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Failure(f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    if got.size == 0:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    allowed = model.atol * np.abs(want).max() + model.rtol * np.abs(want)
    ratio = np.abs(got - want) / np.maximum(allowed, 1e-30)
    if not np.isfinite(ratio).all():
        raise Failure("has values that are not finite")
    return float(ratio.max())


def compare(folder, count, wants, model):
    worst = 0.0
    for k in range(count):
        got = np.load(folder / f"out{k}.npz")
        if list(got) != list(wants[k]):
            raise Failure(f"run {k}: outputs {list(got)}, expected {list(wants[k])}")
        for name, want in wants[k].items():
            try:
                ratio = off_by(got[name], want, model)
            except Failure as failure:
                raise Failure(f"run {k}: output '{name}' {failure}")
            if ratio > 1:
                raise Failure(f"run {k}: output '{name}' is off by {ratio:.3g} times the tolerance "
                              f"(sizes {model.sizes[k]})")
            worst = max(worst, ratio)
    return worst


class Tester:
    def __init__(self, bin_dir, scratch):
        self.nxcc, self.nx_run = bin_dir / "nxcc", bin_dir / "nx-run"
        self.scratch = scratch
        self.passed = self.failed = 0

    @contextlib.contextmanager
    def case(self, label):
        begin = time.monotonic()
        note = {}
        try:
            yield note
        except Failure as failure:
            self.failed += 1
            print(f"FAIL {label}: {failure}", flush=True)
        else:
            self.passed += 1
            details = ", ".join(f"{key} {value}" for key, value in note.items())
            print(f"ok   {label}: {details} ({time.monotonic() - begin:.1f} s)", flush=True)

    def compile(self, path, degree, shapes=None):
        out = self.scratch / "model.nxe"
        out.unlink(missing_ok=True)
        options = []
        for name, dims in (shapes or {}).items():
            options += ["--shape", f"{name}={'x'.join(map(str, dims))}"]
        begin = time.monotonic()
        call([self.nxcc, "compile", path, "-o", out, "--tp", degree, *options])
        return out, f"{time.monotonic() - begin:.2f} s"

    def run(self, executable, degree, feeds):
        command = [self.nx_run, executable]
        for k, arrays in enumerate(feeds):
            np.savez(self.scratch / f"in{k}.npz", **arrays)
            (self.scratch / f"out{k}.npz").unlink(missing_ok=True)
            command += ["--inputs", self.scratch / f"in{k}.npz", "--outputs", self.scratch / f"out{k}.npz"]
        # Cores may outnumber the machine's CPUs, and belong to other tests as well.
        call(command, NXRT_NUM_CORES=str(degree), NXRT_SHARE_CORES="1")

    def test(self, name, degrees, static):
        model = models.MODELS[name]
        path = models.export(name)
        runs, wants = models.runs(name), models.reference(name, path)
        for degree in degrees:
            if degree not in model.degrees:
                continue
            with self.case(f"{name} tp={degree} dynamic") as note:
                executable, note["compile"] = self.compile(path, degree)
                self.run(executable, degree, [feeds for _, feeds in runs])
                note["off by"] = f"{compare(self.scratch, len(runs), wants, model):.3f} of the tolerance"
            count = {"none": 0, "first": 1, "all": len(runs)}[static]
            for k in range(count):
                sizes, feeds = runs[k]
                label = ",".join(f"{key}={value}" for key, value in sizes.items())
                with self.case(f"{name} tp={degree} static {label}") as note:
                    executable, note["compile"] = self.compile(path, degree, model.shapes(sizes))
                    self.run(executable, degree, [feeds])
                    worst = compare(self.scratch, 1, [wants[k]], model)
                    note["off by"] = f"{worst:.3f} of the tolerance"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--tp", default="1,2,4")
    parser.add_argument("--static", choices=("none", "first", "all"), default="first")
    parser.add_argument("--keep", type=pathlib.Path, help="use this folder for files and leave them there")
    parser.add_argument("models", nargs="+", choices=list(models.MODELS), metavar="MODEL")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        scratch = args.keep or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scratch.mkdir(parents=True, exist_ok=True)
        tester = Tester(args.bin.absolute(), scratch)
        for name in args.models:
            tester.test(name, [int(degree) for degree in args.tp.split(",")], args.static)
    print(f"{tester.passed} passed, {tester.failed} failed")
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
