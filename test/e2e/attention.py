#!/usr/bin/env python3
"""Queries that may use no key, as each way to write attention has them.

usage: attention.py --bin BUILD/bin [CASE...]

A softmax of nothing but -inf is NaN, and so is attention written in elementary operations (compared with ONNX
Runtime). A guard against NaN makes it zero, and ONNX's Attention says zero by itself (compared with the standard's
reference evaluator). Each case runs with dynamic and with static sizes, on one core and on two.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from splits import Builder, run

HEADS, DIM = 4, 8
CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def heads(b, queries, keys):
    """Query, key and value as products of weights that can be split by heads."""
    q = b.floats("q", (2, queries, 16), ["batch", "queries", 16])
    kv = b.floats("kv", (2, keys, 16), ["batch", "keys", 16])
    split = []
    for x, name in ((q, "wq"), (kv, "wk"), (kv, "wv")):
        x = b.op("Reshape", b.op("MatMul", x, b.weight(name, 16, HEADS * DIM)), b.ints(0, 0, HEADS, DIM))
        split.append(b.op("Transpose", x, perm=[0, 2, 1, 3]))
    return split


def project(b, y):
    y = b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, HEADS * DIM))
    b.output(b.op("MatMul", y, b.weight("wo", HEADS * DIM, 16)))


def mask(b, queries, keys, low, kind=np.float32):
    """Query 1 may use no key."""
    drop = b.rng.random((queries, keys)) < 0.4
    drop[:, 0], drop[1] = False, True
    value = np.where(drop, kind(low), kind(0)) if kind is np.float32 else ~drop
    return b.input("mask", value, ["queries", "keys"])


def decomposed(b, low, guarded=False):
    q, k, v = heads(b, 5, 7)
    scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), b.const("scale", np.float32(DIM ** -0.5)))
    weights = b.op("Softmax", b.op("Add", scores, mask(b, 5, 7, low)), axis=-1)
    if guarded:
        weights = b.op("Where", b.op("IsNaN", weights), b.const("zero", np.float32(0)), weights)
    project(b, b.op("MatMul", weights, v))


@case
def softmax_of_minus_infinity(b):
    decomposed(b, -np.inf)
    return 17, [1]


@case
def softmax_of_lowest(b):
    decomposed(b, np.finfo(np.float32).min)
    return 17, []


@case
def guarded_softmax(b):
    decomposed(b, -np.inf, guarded=True)
    return 17, []


def attention(b, queries, keys, *more, outputs=1, **attributes):
    y = b.op("Attention", *heads(b, queries, keys), *more, outputs=outputs, **attributes)
    project(b, y[0] if outputs > 1 else y)
    return 23, []


@case
def boolean_mask(b):
    return attention(b, 5, 7, mask(b, 5, 7, None, bool))


@case
def float_mask(b):
    return attention(b, 5, 7, mask(b, 5, 7, -np.inf))


@case
def causal_more_queries(b):
    return attention(b, 9, 4, is_causal=1)


@case
def causal_more_keys(b):
    return attention(b, 4, 9, is_causal=1)


@case
def causal_with_past(b):
    past = [b.floats(name, (2, HEADS, 3, DIM), ["batch", HEADS, "past", DIM]) for name in ("past_key", "past_value")]
    return attention(b, 5, 6, "", *past, outputs=3, is_causal=1)


def check(name, bin_dir, folder):
    b = Builder(len(name))
    opset, keyless = CASES[name](b)
    model = folder / "model.onnx"
    onnx.save(b.model(opset), model)
    if opset < 23:
        want = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, b.feeds)[0]
    else:
        want = ReferenceEvaluator(str(model)).run(None, b.feeds)[0]
    if sorted(set(np.argwhere(np.isnan(want))[:, 1])) != keyless:
        raise RuntimeError("the reference has NaN in other queries than the case says")
    np.savez(folder / "in.npz", **b.feeds)
    (folder / "plan.txt").write_text("w[qkv]: column\nwo: row\n")
    shapes = [f"--shape={key}={'x'.join(map(str, array.shape))}" for key, array in b.feeds.items()]
    failed = 0
    for degree in (1, 2):
        for form, arguments in (("dynamic", []), ("static", shapes)):
            out = folder / "model.nxe"
            label = f"{name} tp={degree} {form}"
            try:
                run([bin_dir / "nxcc", "compile", model, "-o", out, "--tp", degree, "-O1", *arguments,
                     *(["--plan", folder / "plan.txt"] if degree > 1 else [])])
                run([bin_dir / "nx-run", out, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"],
                    NXRT_NUM_CORES=str(degree), NXRT_SHARE_CORES="1")
                data = np.load(folder / "out.npz")
                got = data[data.files[0]]
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
            except (RuntimeError, AssertionError) as error:
                failed += 1
                print(f"FAIL {label}: {error}", flush=True)
            else:
                print(f"ok   {label}", flush=True)
    return 4, failed


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
