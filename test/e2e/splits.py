#!/usr/bin/env python3
"""Every way to split a model gives ONNX Runtime's results: small models, split where the plan says so.

usage: splits.py --bin BUILD/bin [CASE...]

The planner leaves models of this size whole, so each case pins its weights. A case is compiled and run for
each of its degrees; the plan that nxcc explains must hold a split parameter, so that none passes unsplit.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CASES = {}


def case(*runs):
    """Registers a model builder with its runs: (degree, plan text), ..."""
    def register(build):
        CASES[build.__name__] = (build, runs)
        return build
    return register


class Builder:
    """A graph under construction; each operation returns the name of its first output."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs, self.feeds = [], [], [], [], {}
        self.count = 0

    def input(self, name, array, dims):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        self.feeds[name] = array
        return name

    def floats(self, name, shape, dims):
        return self.input(name, self.rng.standard_normal(shape).astype(np.float32), dims)

    def weight(self, name, *shape):
        scale = np.sqrt(shape[0]) if len(shape) > 1 else 4
        return self.const(name, (self.rng.standard_normal(shape) / scale).astype(np.float32))

    def const(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        self.count += 1
        return self.const(f"ints{self.count}", np.array(values, np.int64))

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"v{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, name, inputs, outputs, bias=True):
        y = self.op("MatMul", x, self.weight(name, inputs, outputs))
        return self.op("Add", y, self.weight(name + ".bias", outputs)) if bias else y

    def output(self, value, kind=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(value, kind, None))

    def model(self, opset=17):
        graph = helper.make_graph(self.nodes, "splits", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 23 else 10)


MLP_RUNS = [(2, "up: column\ndown: row"), (3, "up: column\ndown: row"), (4, "up: column\ndown: row"),
            (2, "up: row\ndown: column"), (4, "up: column\ndown: column"), (3, "up: row\ndown: row"),
            (4, "up: replicate\ndown: column"), (2, "up: replicate\ndown: row")]


@case(*MLP_RUNS)
def mlp(b):
    x = b.floats("x", (5, 12), ["n", 12])
    h = b.op("Relu", b.linear(x, "up", 12, 24))
    b.output(b.op("Add", b.linear(h, "down", 24, 12), x))


@case((2, "gate: column"), (4, "down: row"), (3, "up: row"), (2, "(gate|up|down): split"))
def gated(b):
    x = b.floats("x", (5, 12), ["n", 12])
    gate, up = b.linear(x, "gate", 12, 24, bias=False), b.linear(x, "up", 12, 24, bias=False)
    h = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), up)
    b.output(b.linear(h, "down", 24, 12))


@case((2, "down.: row"), (4, "down.: row"), (3, "(up|down).: split"))
def parallel_branches(b):
    """Two partial sums and two biases that are added once."""
    x = b.floats("x", (5, 12), ["n", 12])
    one = b.linear(b.op("Relu", b.linear(x, "up1", 12, 24)), "down1", 24, 12)
    two = b.linear(b.op("Tanh", b.linear(x, "up2", 12, 24)), "down2", 24, 12)
    b.output(b.op("Add", b.op("Add", one, two), x))


def attention(b, heads, key_heads, dim, fused, width=24):
    x = b.floats("x", (2, 5, width), ["batch", "seq", width])
    sizes = [heads * dim, key_heads * dim, key_heads * dim]
    if fused:
        parts = b.op("Split", b.linear(x, "qkv", width, sum(sizes)), b.ints(*sizes), outputs=3, axis=2)
    else:
        parts = [b.linear(x, name, width, size) for name, size in zip("qkv", sizes)]
    split = []
    for value, count in zip(parts, (heads, key_heads, key_heads)):
        value = b.op("Reshape", value, b.ints(0, 0, count, dim))
        value = b.op("Transpose", value, perm=[0, 2, 1, 3])
        if count != heads:  # each key head serves a group of query heads
            value = b.op("Unsqueeze", value, b.ints(2))
            value = b.op("Expand", value, b.ints(1, 1, heads // key_heads, 1, 1))
            shape = b.op("Shape", x)
            batch = b.op("Slice", shape, b.ints(0), b.ints(1))
            seq = b.op("Slice", shape, b.ints(1), b.ints(2))
            value = b.op("Reshape", value, b.op("Concat", batch, b.ints(heads), seq, b.ints(dim), axis=0))
        split.append(value)
    q, k, v = split
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.op("Mul", scores, b.const("scale", np.float32(dim ** -0.5)))
    a = b.op("MatMul", b.op("Softmax", scores, axis=-1), v)
    a = b.op("Reshape", b.op("Transpose", a, perm=[0, 2, 1, 3]), b.ints(0, 0, heads * dim))
    b.output(b.op("Add", b.linear(a, "o", heads * dim, width), x))


HEADS = "[qkv]: column\no: row"
FUSED = "qkv: column\no: row"


@case((2, HEADS), (4, HEADS), (8, HEADS))
def heads_8(b):
    attention(b, 8, 8, 4, fused=False)


@case((2, FUSED), (4, FUSED), (8, FUSED))
def heads_8_fused(b):
    attention(b, 8, 8, 4, fused=True)


@case((2, HEADS), (4, "q: column\no: row"), (8, "q: column\no: row"))
def heads_8_on_2(b):
    attention(b, 8, 2, 4, fused=False)


@case((2, FUSED), (4, FUSED))
def heads_8_on_2_fused(b):
    attention(b, 8, 2, 4, fused=True)


@case((2, "q: column\no: row"), (4, "q: column\no: row"))
def heads_4_on_1(b):
    attention(b, 4, 1, 6, fused=False)


@case((3, HEADS), (2, "q: column\no: row"), (6, "q: column\no: row"))
def heads_6_on_3(b):
    attention(b, 6, 3, 8, fused=False)


@case((3, FUSED), (2, "o: split"))
def heads_9_fused(b):
    attention(b, 9, 9, 2, fused=True)


@case((2, "qkv: column\no: row"), (4, "qkv: column\no: row"))
def heads_stacked(b):
    """Query, key and value as a dimension of their own, as vision transformers have them."""
    width, heads, dim = 24, 8, 4
    x = b.floats("x", (2, 5, width), ["batch", 5, width])
    qkv = b.op("Reshape", b.linear(x, "qkv", width, 3 * heads * dim), b.ints(0, 5, 3, heads, dim))
    qkv = b.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (b.op("Gather", qkv, b.const(f"index{i}", np.int64(i)), axis=0) for i in range(3))
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    a = b.op("MatMul", b.op("Softmax", scores, axis=-1), v)
    a = b.op("Reshape", b.op("Transpose", a, perm=[0, 2, 1, 3]), b.ints(0, 5, heads * dim))
    b.output(b.linear(a, "o", heads * dim, width))


@case((2, "table: column"), (4, "table: column"), (3, "table: column\nup: column"))
def tied_embedding(b):
    """One table, looked up by rows and used as the head."""
    ids = b.input("ids", b.rng.integers(0, 36, (2, 7)), ["batch", "seq"])
    table = b.weight("table", 36, 24)
    x = b.op("Gather", table, ids)
    x = b.op("Add", x, b.op("Relu", b.linear(x, "up", 24, 24)))
    logits = b.op("MatMul", x, b.op("Transpose", table, perm=[1, 0]))
    b.output(b.op("Softmax", logits, axis=-1))
    b.output(b.op("ArgMax", logits, axis=-1, keepdims=0), TensorProto.INT64)


@case((2, "w: column"), (4, "w: column"), (3, "w: column"))
def reductions(b):
    """Sums, means and maxima over a dimension that is split, and slices of it."""
    x = b.floats("x", (5, 12), ["n", 12])
    y = b.linear(x, "w", 12, 24)
    b.output(b.op("ReduceMean", y, axes=[1], keepdims=0))
    b.output(b.op("ReduceMax", y, axes=[1], keepdims=1))
    b.output(b.op("ReduceSum", y, b.ints(1), keepdims=1))
    for piece in b.op("Split", y, b.ints(12, 12), outputs=2, axis=1):
        b.output(b.op("Exp", piece))
    b.output(b.op("CumSum", y, b.const("axis", np.int64(1))))


def convolution(b, x, name, outputs, inputs, groups=1, bias=True, stride=1):
    names = [x, b.const(name, (b.rng.standard_normal((outputs, inputs // groups, 3, 3)) / np.sqrt(9 * inputs // groups)).astype(np.float32))]
    if bias:
        names.append(b.weight(name + ".bias", outputs))
    return b.op("Conv", *names, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride], group=groups)


@case((2, "c1: column\nc3: row\nfc: row"), (4, "c1: column\nc4: column"), (3, "c1: column\nc2: column\nfc: column"),
      (2, "(c1|c2|c3|c4|fc): split"))
def convolutions(b):
    """Channels out, depthwise, channels in, groups, and the classifier behind a flatten."""
    x = b.floats("x", (2, 3, 8, 8), ["n", 3, 8, 8])
    y = b.op("Relu", convolution(b, x, "c1", 36, 3))
    y = convolution(b, y, "c2", 36, 36, groups=36)
    y = b.op("Relu", convolution(b, y, "c3", 24, 36, bias=False, stride=2))
    y = convolution(b, y, "c4", 24, 24, groups=4)
    y = b.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])
    y = b.op("Flatten", y)
    b.output(b.op("Gemm", y, b.weight("fc", 12, 24 * 4), b.weight("fc.bias", 12), transB=1))


def run(command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, **environment))
    if done.returncode:
        raise RuntimeError(f"{command[0].name}: status {done.returncode}: {(done.stderr or done.stdout).strip()[-1500:]}")
    return done.stdout


def check(name, bin_dir, folder):
    build, runs = CASES[name]
    b = Builder(len(name))
    build(b)
    model = folder / "model.onnx"
    onnx.save(b.model(), model)
    wants = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, b.feeds)
    np.savez(folder / "in.npz", **b.feeds)
    failed = 0
    for degree, plan in runs:
        (folder / "plan.txt").write_text(plan + "\n")
        out = folder / "model.nxe"
        label = f"{name} tp={degree} [{plan.replace(chr(10), ', ')}]"
        try:
            told = run([bin_dir / "nxcc", "compile", model, "-o", out, "--tp", degree, "--plan", folder / "plan.txt",
                        "--explain-plan", "-O1"])
            if not any("asked for by the plan; each" in line or "goes with" in line for line in told.splitlines()):
                raise RuntimeError("nothing is split:\n" + told)
            run([bin_dir / "nx-run", out, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"],
                NXRT_NUM_CORES=str(degree), NXRT_SHARE_CORES="1")
            got = np.load(folder / "out.npz")
            worst = 0.0
            for key, want in zip(got, wants):
                if got[key].shape != want.shape:
                    raise RuntimeError(f"output '{key}' has shape {got[key].shape}, expected {want.shape}")
                worst = max(worst, float(np.abs(got[key].astype(np.float64) - want).max() / max(1e-30, np.abs(want).max())))
            if not worst <= 1e-5:
                raise RuntimeError(f"off by {worst:.2g} of the largest value")
        except RuntimeError as error:
            failed += 1
            print(f"FAIL {label}: {error}", flush=True)
        else:
            print(f"ok   {label}: off by {worst:.1g}", flush=True)
    return len(runs), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_args()
    total = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in args.cases or CASES:
            count, bad = check(name, args.bin.absolute(), pathlib.Path(folder))
            total, failed = total + count, failed + bad
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
