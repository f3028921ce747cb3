"""numeric_test.py NX-KERNELC [OPTIONS] [KERNEL...]: runs the kernels of nx_kernels.py against numpy.

Every operand ends at an inaccessible page, outputs are filled with garbage, and the tiles run at once
and one by one: both must give the same bits.
"""
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "codegen", "cpu", "loops"))
import nx_kernels  # noqa: E402
from kernel_image import Guarded, Image  # noqa: E402

TOLERANCE = {"f32": 2e-5, "f64": 1e-12, "f16": 2e-3, "bf16": 1.6e-2}


def guarded(array, keep):
    memory = Guarded(array.nbytes)
    copy = memory.array(array.shape, array.dtype)
    copy[...] = array
    keep.append(memory)
    return copy


def error_of(got, want, element, tolerance):
    if got.shape != np.shape(want):
        return f"shape {np.shape(want)} wanted"
    if element not in TOLERANCE:
        return None if np.array_equal(got.astype(object), np.asarray(want).astype(object)) else "wrong"
    got, want = got.astype(np.float64), np.asarray(want).astype(np.float64)
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        error = np.where(same, 0, np.abs(got - want) / (np.abs(want) + 0.5))
    worst = float(np.max(error, initial=0))
    return None if worst <= (tolerance or TOLERANCE[element]) else f"error {worst:.2e}"


def run(compiled, case, dims):
    kernel, reference, _, tolerance, status = case
    nx_kernels.set_dims(dims)
    inputs = kernel.data(dims)
    with np.errstate(all="ignore"):
        want = reference(*inputs) if reference else [None] * len(kernel.outs)
    want = want if isinstance(want, list) else [want]
    first = None
    for split in (False, True):
        keep, outputs = [], []
        for out in kernel.outs:
            shape = [nx_kernels.size(d, dims) for d in out.shape]
            output = guarded(np.zeros(shape, nx_kernels.DTYPES[out.element]), keep)
            output.reshape(-1).view(np.uint8)[...] = 0xFF
            outputs.append(output)
        go = compiled.bind([guarded(x, keep) for x in inputs] + outputs, dims)
        tiles = compiled.sizes(dims)[0]
        ranges = [(i, i + 1) for i in range(tiles)] if split else [(0, tiles)]
        got = [s for begin, end in ranges if begin < end and (s := go(begin, end))]
        if status:
            if not got or set(got) != {status}:
                return f"statuses {got}, wanted {status}"
            continue
        if got:
            return f"status {got[0]}"
        if first is None:
            first = [o.copy() for o in outputs]
            for o, w, out in zip(first, want, kernel.outs):
                if message := error_of(o, w, out.element, tolerance):
                    return message
        elif any(a.tobytes() != b.tobytes() for a, b in zip(first, outputs)):
            return "tiles one by one give other bits"
    return None


def main():
    tool = sys.argv[1]
    options = [o for o in sys.argv[2:] if o.startswith("--")]
    only = [o for o in sys.argv[2:] if not o.startswith("--")]
    cases = {n: c for n, c in nx_kernels.CASES.items() if not only or n in only}
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "kernels.mlir")
        with open(source, "w") as file:
            file.writelines(case[0].text() for case in cases.values())
        image = Image(source, tool, options)
    failures = runs = 0
    for name, case in cases.items():
        for dims in case[2]:
            # A crash must name its kernel, so each run has a process of its own.
            pid = os.fork()
            if pid == 0:
                message = run(image[name], case, dims)
                if message:
                    print(f"{name} {dims}: {message}", flush=True)
                os._exit(1 if message else 0)
            status = os.waitpid(pid, 0)[1]
            runs += 1
            failures += bool(status)
            if os.WIFSIGNALED(status):
                print(f"{name} {dims}: signal {os.WTERMSIG(status)}", flush=True)
    print(f"{len(cases)} kernels, {runs} runs, {failures} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
