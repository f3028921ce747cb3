"""numeric_test.py NX-KERNELC [OPTIONS] [KERNEL...]: runs the kernels of kernels/*.mlir against numpy.

Each kernel runs over odd sizes, with every operand ending (then beginning) at an inaccessible page,
outputs filled with garbage, its tiles at once and in ranges: all splits must give the same bits.
"""
import os
import sys

import numpy as np

from kernel_image import BF16, Guarded, Image

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")
rng = np.random.default_rng(7)
F = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BF16, "i64": np.int64,
     "i32": np.int32, "i8": np.int8, "i1": np.bool_}


def normal(*shape, dtype="f32"):
    return rng.standard_normal(shape).astype(F[dtype])


def ints(lo, hi, *shape, dtype="i64"):
    return rng.integers(lo, hi, shape).astype(F[dtype])


def bools(*shape):
    return rng.integers(0, 2, shape).astype(np.bool_)


def wide(x):
    return x.astype(np.float64)


def erf(x):
    import math
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gelu(x, b, r):
    v = wide(x) + wide(b)
    return [0.5 * v * (1 + erf(v / np.sqrt(2))) + wide(r)]


def softmax(x, axis=-1):
    x = wide(x)
    e = np.exp(x - x.max(axis, keepdims=True)) if x.shape[axis] else x
    return [e / e.sum(axis, keepdims=True)]


def layernorm(x, g, b):
    x = wide(x)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * g + b


def groupnorm(x):
    x = wide(x)
    d = x - x.mean((2, 3), keepdims=True)
    return d / np.sqrt((d * d).mean((2, 3), keepdims=True) + 1e-5)


def rotary(x, c, s):
    a, b = x[..., :32], x[..., 32:]
    c, s = c[:, None], s[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def inner_par_red(x):
    s = wide(x).sum(1)
    return (wide(x) - s[:, None]) * s.max(1)[:, None, None]


def conv(x, w, b):
    x, w = wide(x), wide(w)
    out = np.zeros((x.shape[0], 5, 8, 17))
    for i in range(3):
        for j in range(3):
            out += np.einsum("nchw,oc->nohw", x[:, :, i:i + 15:2, j:j + 17], w[:, :, i, j])
    return np.maximum(out + b[:, None, None], 0)


def pad(x):
    return np.pad(x, ((0, 0), (7, 12)))


def update_rows(x, y):
    r = x.copy()
    r[1:1 + len(y)] = y
    return r


# name: (dims, inputs, wanted, output types)
def cases():
    f32, f = ["f32"], lambda *d: normal(*d)
    for S in (1, 5, 33, 77):
        T, B, P, U, N = {1: 1, 5: 33, 33: 5, 77: 100}[S], 1 + S % 3, S, 1 + S // 2, S
        yield "add", [S], [f(S, 768), f(S, 768)], lambda x, y: [x + y], f32
        for name, n, e in (("gelu", 768, "f32"), ("gelu77", 77, "f32"), ("gelu3", 3, "f32"),
                           ("gelu_f16", 768, "f16"), ("gelu_bf16", 768, "bf16")):
            yield (name, [S], [normal(S, n, dtype=e), normal(n, dtype=e), normal(S, n, dtype=e)],
                   gelu, [e])
        yield "softmax", [S, T], [f(S, T)], softmax, f32
        yield "softmax_mask", [S, T], [f(S, T), f(S, T)], lambda x, y: softmax(x + y), f32
        yield "softmax77", [S], [f(S, 77)], softmax, f32
        yield "softmax4", [S], [f(S, 4)], softmax, f32
        yield "softmax_bf16", [S, T], [normal(S, T, dtype="bf16")], softmax, ["bf16"]
        yield "softmax_middle", [B, S], [f(B, S, 50)], lambda x: softmax(x, 1), f32
        yield ("softmax_middle_bf16", [B, S], [normal(B, S, 50, dtype="bf16")],
               lambda x: softmax(x, 1), ["bf16"])
        yield "layernorm", [S], [f(S, 768), f(768), f(768)], lambda *a: [layernorm(*a)], f32
        yield "layernorm77", [S], [f(S, 77), f(77), f(77)], lambda *a: [layernorm(*a)], f32
        yield ("rmsnorm", [S], [f(S, 768), f(768)],
               lambda x, g: [x / np.sqrt((wide(x) ** 2).mean(-1, keepdims=True) + 1e-5) * g], f32)
        yield ("residual_layernorm", [S], [f(S, 768), f(S, 768), f(768), f(768)],
               lambda x, y, g, b: [x + y, layernorm(x + y, g, b)], ["f32", "f32"])
        yield "groupnorm", [B, P], [f(B, 8, 4, P)], lambda x: [groupnorm(x)], f32
        yield "tr021", [S], [f(12, S, 64)], lambda x: [x.transpose(0, 2, 1)], f32
        yield "tr102", [S], [f(12, S, 64)], lambda x: [x.transpose(1, 0, 2)], f32
        for e in ("f32", "f64", "bf16"):
            yield "tr10_" + e, [S, T], [normal(S, T, dtype=e)], lambda x: [x.T], [e]
        yield "tr10_i8", [S, T], [ints(-128, 128, S, T, dtype="i8")], lambda x: [x.T], ["i8"]
        yield "tr10_i1", [S, T], [bools(S, T)], lambda x: [x.T], ["i1"]
        yield ("trfuse", [B, S], [f(B, S, 64), f(64), f(B, 64, S)],
               lambda x, b, z: [(x + b).transpose(0, 2, 1) * z], f32)
        yield "add_transposed", [N], [f(N, N)], lambda x: [x * x + (x * x).T], f32
        yield "gather", [T, S], [f(T, 96), ints(0, T, S)], lambda x, i: [x[i]], f32
        yield ("gather_last", [S, T, U], [f(S, T), ints(0, T, S, U, dtype="i32")],
               lambda x, i: [np.take_along_axis(x, i.astype(np.int64), 1)], f32)
        yield ("concat", [S], [f(S, 768), f(S, 256), f(S, 77)],
               lambda *a: [np.concatenate(a, 1)], f32)
        yield "concat0", [S, T], [f(S, 33), f(T, 33)], lambda *a: [np.concatenate(a)], f32
        yield "slice", [S], [f(S, 768)], lambda x: [x[:, 100:612:2] ** 2], f32
        yield "slice_only", [S], [f(S, 40)], lambda x: [x[:, 3:23]], f32
        yield "pad", [S], [f(S, 77)], lambda x: [pad(x)], f32
        yield "update_rows", [S + 2, S], [f(S + 2, 40), f(S, 40)], lambda *a: [update_rows(*a)], f32
        yield "reverse", [S, T], [f(S, T)], lambda x: [x[:, ::-1]], f32
        yield ("reshape", [S], [f(S, 96)],
               lambda x: [(2 * x).reshape(S, 12, 8).transpose(1, 0, 2).reshape(-1, 8)], f32)
        yield ("reshape_mid", [S], [f(S, 12)],
               lambda x: [np.abs(x).reshape(-1), np.abs(wide(x)).sum(1)], ["f32", "f32"])
        yield "copy_arg", [S], [f(S, 5)], lambda x: [x, x], ["f32", "f32"]
        yield ("where", [S, T], [ints(0, 2, S, T), f(S, T)],
               lambda c, x: [np.where(c > 0, x, np.float32(-3.4e38))], f32)
        yield ("bcast4", [B, S, T], [f(B, 12, S, T), f(B, T)],
               lambda x, y: [x + y[:, None, None]], f32)
        yield "outer2", [S, T], [f(S), f(T)], lambda x, y: [x[:, None] * y], f32
        yield ("quant", [S], [3 * f(S, 768)],
               lambda x: [np.clip(np.rint(x * np.float32(20)), -128, 127)], ["i8"])
        yield ("dequant", [S], [ints(-128, 128, S, 768, dtype="i8"), f(768)],
               lambda x, y: [x * y], f32)
        yield "less", [S, T], [f(S, T), f(S, T)], lambda x, y: [x < y], ["i1"]
        yield "not", [N], [bools(N)], lambda x: [~x], ["i1"]
        yield ("causal", [S, T], [f(S, T)],
               lambda x: [np.where(np.arange(T) <= np.arange(S)[:, None], x, -np.inf)], f32)
        yield ("divi", [S, T], [ints(-99, 99, S, T, dtype="i32"), ints(1, 9, S, T, dtype="i32")],
               lambda x, y: [np.trunc(x / y)], ["i32"])
        yield "table", [S], [f(S, 6)], lambda x: [x * np.array([1, 2, 3, 4, 5, 6.5])], f32
        yield "rank8", [S], [f(2, 1, 3, S, 1, 2, 1, 5), f(2, 1, 5)], lambda x, y: [x + y], f32
        yield "rotary", [S], [f(S, 12, 64), f(S, 32), f(S, 32)], lambda *a: [rotary(*a)], f32
        yield "sum0", [S], [f(S, 77)], lambda x: [wide(x).sum(0) ** 2], f32
        yield "sumlast", [S, T], [f(S, T)], lambda x: [2 * wide(x).sum(1)], f32
        yield "sumall", [S, T], [f(S, T)], lambda x: [wide(x).sum() + 1.5], f32
        yield "mean_middle", [B, S], [f(B, S, 768)], lambda x: [wide(x).mean(1)], f32
        yield "argmax", [S, T], [f(S, T)], lambda x: [x.argmax(1)], ["i64"]
        yield ("argmax_two", [S, T], [ints(0, 9, S, T).astype(np.float32)],
               lambda x: [x.argmax(1)], ["i64"])
        yield "inner_par_red", [S], [f(S, 12, 64)], lambda x: [inner_par_red(x)], f32
        yield "any", [S, T], [rng.random((S, T)) < 0.02], lambda x: [x.any(1)], ["i1"]
        yield "prod_i64", [S, T], [ints(-3, 4, S, T)], lambda x: [x.prod(1)], ["i64"]
        yield ("init_tensor", [S, T], [f(S, T), f(S)], lambda x, y: [wide(x).sum(1) + y], f32)
        yield "cumsum", [S, T], [f(S, T)], lambda x: [wide(x).cumsum(1)], f32
        yield ("matmul_f64", [S, T, U], [normal(S, U, dtype="f64"), normal(U, T, dtype="f64")],
               lambda x, y: [x @ y], ["f64"])
        yield "matmul_nt", [S, T, U], [f(S, U), f(T, U)], lambda x, y: [wide(x) @ wide(y).T], f32
        yield ("matmul_i32", [S, T, U],
               [ints(-128, 128, S, U, dtype="i8"), ints(-128, 128, U, T, dtype="i8")],
               lambda x, y: [x.astype(np.int64) @ y.astype(np.int64)], ["i32"])
        yield "conv", [B], [f(B, 3, 17, 19), f(5, 3, 3, 3), f(5)], lambda *a: [conv(*a)], f32
        yield ("maxpool", [B], [f(B, 3, 16, 20)],
               lambda x: [x[..., :18].reshape(B, 3, 8, 2, 6, 3).max((3, 5))], f32)
    yield "scalars", [], [f(), f(1)], lambda x, y: [x + y[0]], f32
    # Empty tensors: no tiles, or reductions over nothing.
    yield "add", [0], [f(0, 768), f(0, 768)], lambda x, y: [x + y], f32
    yield "sumlast", [3, 0], [f(3, 0)], lambda x: [np.zeros(3)], f32
    yield "sum0", [0], [f(0, 77)], lambda x: [np.zeros(77)], f32
    yield "concat0", [0, 4], [f(0, 33), f(4, 33)], lambda *a: [np.concatenate(a)], f32
    yield "softmax", [4, 0], [f(4, 0)], lambda x: [x], f32
    yield "matmul_nt", [3, 4, 0], [f(3, 0), f(4, 0)], lambda x, y: [np.zeros((3, 4))], f32


TOLERANCE = {"f32": 2e-5, "f64": 1e-12, "f16": 2e-3, "bf16": 1.6e-2}


def guarded(array, at_end):
    memory = Guarded(array.nbytes, at_end)
    copy = memory.array(array.shape, array.dtype)
    copy[...] = array
    copy_keep.append(memory)
    return copy


copy_keep = []


def run(kernel, dims, inputs, want, types, at_end, splits, exact=False):
    """The outputs' bytes for each way to split the tiles; the first one checked."""
    del copy_keep[:]
    first = None
    for parts in splits:
        outputs = [guarded(np.zeros(np.shape(w), F[e]), at_end) for w, e in zip(want, types)]
        for o in outputs:
            o.reshape(-1).view(np.uint8)[...] = 0xFF
        go = kernel.bind([guarded(x, at_end) for x in inputs] + outputs, dims)
        tiles = kernel.sizes(dims)[0]
        bounds = [tiles * i // parts for i in range(parts + 1)] if parts else range(tiles + 1)
        for begin, end in zip(bounds, list(bounds)[1:]):
            if begin < end and (status := go(begin, end)):
                return f"status {status}"
        got = [o.copy() for o in outputs]
        if first is None:
            first = got
            for o, w, e in zip(got, want, types):
                if e in TOLERANCE and not exact:
                    w = np.asarray(w, np.float64)
                    with np.errstate(all="ignore"):
                        error = np.where(o.astype(np.float64) == w, 0,
                                         np.abs(o.astype(np.float64) - w) / (np.abs(w) + 0.5))
                    worst = float(np.max(error, initial=0))
                    if not worst <= TOLERANCE[e]:
                        return f"error {worst:.2e}"
                elif not np.array_equal(o.astype(np.float64) if exact else o.astype(np.int64),
                                        np.asarray(w) if exact else np.asarray(w).astype(np.int64)):
                    return "wrong"
        elif any(a.tobytes() != b.tobytes() for a, b in zip(first, got)):
            return f"{parts} ranges give other bits"
    return None


def main():
    tool = sys.argv[1]
    options = [o for o in sys.argv[2:] if o.startswith("--")]
    only = [o for o in sys.argv[2:] if not o.startswith("--")]
    images = [Image(os.path.join(KERNELS, file), tool, options)
              for file in sorted(os.listdir(KERNELS)) if file.endswith(".mlir")]
    kernels = {name: image[name] for image in images for name in image.names}
    failures = runs = 0
    seen = set()
    for name, dims, inputs, reference, types in cases():
        seen.add(name)
        if only and name not in only:
            continue
        with np.errstate(all="ignore"):
            want = reference(*inputs)
        for at_end in (True, False):
            # A crash must name its kernel, so each run has a process of its own.
            pid = os.fork()
            if pid == 0:
                message = run(kernels[name], dims, inputs, want, types, at_end, (1, 2, 3, 0))
                if message:
                    print(f"{name} {dims}: {message}", flush=True)
                os._exit(1 if message else 0)
            status = os.waitpid(pid, 0)[1]
            runs += 1
            if status:
                failures += 1
                if os.WIFSIGNALED(status):
                    print(f"{name} {dims}: signal {os.WTERMSIG(status)}", flush=True)
                break
    missing = set(kernels) - seen
    if missing and not only:
        print("no case for", ", ".join(sorted(missing)))
    print(f"{runs} runs, {failures} failed")
    sys.exit(bool(failures or (missing and not only)))


if __name__ == "__main__":
    main()
