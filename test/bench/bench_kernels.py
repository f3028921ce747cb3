#!/usr/bin/env python3
"""Compares the kernels of an nx-kernel-bench image with onnxruntime and torch, on one thread.

    nx-kernel-bench image.so && bench_kernels.py image.so [--match TEXT] [--reps N]

All candidates of a row run in turn, in one process; the figure is the minimum of many runs, in CPU time of
the thread, so that other work on the machine counts as little as possible."""
import argparse
import ctypes
import os
import struct
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
import numpy as np

class Kernel(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("run", "tiles", "scratch_bytes", "grain")]


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("operand", "dim", "scratch")]


class Image:
    """The kernel table of an image, through dlopen."""

    def __init__(self, path):
        path = os.path.abspath(path)
        self.library = ctypes.CDLL(path)
        with open(path, "rb") as file:
            entry = struct.unpack_from("<Q", file.read(64), 24)[0]
        base = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if path in line)
        descriptor = ctypes.CFUNCTYPE(ctypes.c_void_p)(base + entry)()
        _, self.count, table = struct.unpack("<IIQ", ctypes.string_at(descriptor, 16))
        self.kernels = ctypes.cast(table, ctypes.POINTER(Kernel))

    def prepare(self, index, operands, dims):
        """A function without arguments that runs all tiles of the kernel."""
        kernel = self.kernels[index]
        slots = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        small = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        tiles = small(kernel.tiles)(ctypes.addressof(slots))
        scratch = aligned(small(kernel.scratch_bytes)(ctypes.addressof(slots)) // 4 + 16)
        pointers = (ctypes.c_void_p * len(operands))(*[o.ctypes.data for o in operands])
        call = Call(ctypes.addressof(pointers), ctypes.addressof(slots), scratch.ctypes.data)
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel.run)
        address = ctypes.addressof(call)

        def go(keep=(slots, scratch, pointers, call, operands)):
            run(address, 0, tiles)
        return go


def aligned(*shape):
    count = int(np.prod(shape))
    raw = np.zeros(count + 16, np.float32)
    offset = (-raw.ctypes.data % 64) // 4
    return raw[offset:offset + count].reshape(shape)


def random(*shape):
    array = aligned(*shape)
    array[:] = np.random.default_rng(len(shape)).standard_normal(shape)
    return array


def pack(b):
    k, n = b.shape
    panels = aligned(-(-n // 16), k, 16)
    for p in range(panels.shape[0]):
        part = b[:, p * 16:(p + 1) * 16]
        panels[p, :, :part.shape[1]] = part
    return panels


def session(nodes, inputs, output, constants):
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output.shape)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    run = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = run.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    return lambda: run.run_with_iobinding(binding)


def peak_of(image):
    """A function that does PEAK_FLOPS, and no memory accesses."""
    global PEAK_FLOPS
    steps = 100000
    PEAK_FLOPS = 2 * steps * (14 * 32 if "avx512f" in open("/proc/cpuinfo").read() else 6 * 16)
    return image.prepare(0, [aligned(16)], [steps])


def measure(title, flops, candidates, reps, image):
    candidates = {"peak": peak_of(image), **candidates}
    best = dict.fromkeys(candidates, 1e9)
    for _ in range(reps):
        for name, function in candidates.items():
            start = time.thread_time()
            function()
            best[name] = min(best[name], time.thread_time() - start)
    peak = PEAK_FLOPS / best.pop("peak") / 1e9
    print(f"{title}: peak {peak:.1f} GFLOP/s")
    for name, seconds in best.items():
        rate = flops / seconds / 1e9
        print(f"   {name:16s} {seconds * 1e6:9.1f} us {rate:7.1f} GFLOP/s {100 * rate / peak:5.1f} %"
              f"   nx is {seconds / best['nx']:.2f}x", flush=True)


def contract(image, index, m, n, k, reps):
    import torch
    from onnx import helper
    a, b, c = random(m, k), random(k, n), aligned(m, n)
    bias = random(n)
    gelu = KERNELS[index].startswith("gelu")
    nx = image.prepare(index, [a, pack(b), c] + ([bias] if gelu else []), [m])
    nx()
    want = a.astype(np.float64) @ b
    if gelu:
        want = torch.nn.functional.gelu(torch.from_numpy(want + bias)).numpy()
    assert np.abs(c - want).max() < 1e-4 * np.abs(want).max()
    at, bt, out = torch.from_numpy(a), torch.from_numpy(b), torch.empty(m, n)
    linear = torch.from_numpy(np.ascontiguousarray(b.T))
    nodes = [helper.make_node("MatMul", ["a", "b"], ["t" if gelu else "y"])]
    constants = {"b": b}
    if gelu:  # what onnxruntime fuses into BiasGelu
        constants.update(bias=bias, root=np.float32(2 ** 0.5), one=np.float32(1), half=np.float32(0.5))
        nodes += [helper.make_node("Add", ["t", "bias"], ["x"]), helper.make_node("Div", ["x", "root"], ["d"]),
                  helper.make_node("Erf", ["d"], ["e"]), helper.make_node("Add", ["e", "one"], ["f"]),
                  helper.make_node("Mul", ["x", "f"], ["g"]), helper.make_node("Mul", ["g", "half"], ["y"])]
        bias_t = torch.from_numpy(bias)
        candidates = {
            "nx": nx, "onnxruntime": session(nodes, {"a": a}, c, constants),
            "torch": lambda: torch.nn.functional.gelu(torch.nn.functional.linear(at, linear, bias_t))}
        measure(f"{KERNELS[index]} m={m}", 2 * m * n * k, candidates, reps or max(20, int(8e9 / (m * n * k))), image)
        return
    candidates = {
        "nx": nx,
        "onnxruntime": session(nodes, {"a": a}, c, constants),
        "torch mm": lambda: torch.mm(at, bt, out=out),
        "torch linear": lambda: torch.nn.functional.linear(at, linear)}
    measure(f"{KERNELS[index]} m={m}", 2 * m * n * k, candidates, reps or max(20, int(8e9 / (m * n * k))), image)


def attention(image, index, s, t, reps):
    import torch
    from onnx import helper, numpy_helper
    merged, causal = "merged" in KERNELS[index], "causal" in KERNELS[index]
    heads, depth = map(int, KERNELS[index].split("_")[-2:])
    shape = (lambda n: (n, heads, depth)) if merged else (lambda n: (heads, n, depth))
    q, k, v, out = random(*shape(s)), random(*shape(t)), random(*shape(t)), aligned(*shape(s))
    nx = image.prepare(index, [q, k, v, out], [s, t])
    nx()
    view = (lambda x: torch.from_numpy(x).transpose(0, 1)) if merged else torch.from_numpy
    tq, tk, tv = (view(x)[None] for x in (q, k, v))
    allowed = torch.ones(s, t).tril(t - s).bool() if causal and s != t else None
    sdpa = lambda: torch.nn.functional.scaled_dot_product_attention(
        tq, tk, tv, allowed, is_causal=causal and s == t)
    want = torch.nn.functional.scaled_dot_product_attention(
        tq.double(), tk.double(), tv.double(), allowed, is_causal=causal and s == t)
    assert np.abs(view(out).numpy() - want[0].numpy()).max() < 1e-5
    candidates = {"nx": nx, "torch sdpa": sdpa}
    if not merged and not causal:
        candidates["onnxruntime"] = session(
            [helper.make_node("Mul", ["q", "scale"], ["qs"]), helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["qs", "kt"], ["p"]), helper.make_node("Softmax", ["p"], ["w"], axis=-1),
             helper.make_node("MatMul", ["w", "v"], ["y"])],
            {"q": q, "k": k, "v": v}, out, {"scale": np.array(depth ** -0.5, np.float32)})
    pairs = s * t - (s * (s - 1) // 2 if causal else 0)
    measure(f"{KERNELS[index]} s={s} t={t}", 4 * heads * pairs * depth, candidates,
            reps or max(20, int(4e9 / (4 * heads * s * t * depth))), image)


def batch_matmul(image, index, s, t, reps):
    import torch
    from onnx import helper
    heads, depth = map(int, KERNELS[index].split("_")[-2:])
    transposed = "qk" in KERNELS[index]
    a, b = random(heads, s, depth if transposed else t), random(heads, t, depth)
    c = aligned(heads, s, t if transposed else depth)
    nx = image.prepare(index, [a, b, c], [s, t])
    nx()
    ta, tb, out = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(c.copy())
    tb = tb.transpose(1, 2) if transposed else tb
    assert np.abs(c - torch.bmm(ta, tb).numpy()).max() < 1e-3
    nodes = [helper.make_node("Transpose", ["b"], ["bt"], perm=[0, 2, 1])] if transposed else []
    nodes.append(helper.make_node("MatMul", ["a", "bt" if transposed else "b"], ["y"]))
    candidates = {"nx": nx, "torch bmm": lambda: torch.bmm(ta, tb, out=out),
                  "onnxruntime": session(nodes, {"a": a, "b": b}, c, {})}
    measure(f"{KERNELS[index]} s={s} t={t}", 2 * heads * s * t * depth, candidates,
            reps or max(20, int(4e9 / (4 * heads * s * t * depth))), image)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("image")
    parser.add_argument("--match", default="")
    parser.add_argument("--reps", type=int, default=0)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 4, 32, 128])
    parser.add_argument("--lengths", nargs="*", default=["32,32", "128,128", "512,512", "1,128", "1,1024"],
                        help="queries,keys")
    args = parser.parse_args()
    import torch
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    global KERNELS
    KERNELS = open(args.image + ".kernels").read().split()
    image = Image(args.image)
    for index, name in enumerate(KERNELS):
        if args.match not in name:
            continue
        parts = name.split("_")
        if parts[0] in ("contract", "gelu"):
            for m in (args.rows if parts[1] == "m" else [int(parts[1])]):
                contract(image, index, m, int(parts[2]), int(parts[3]), args.reps)
        if parts[0] in ("attention", "matmul"):
            for s, t in (map(int, pair.split(",")) for pair in args.lengths):
                (attention if parts[0] == "attention" else batch_matmul)(image, index, s, t, args.reps)


main()
