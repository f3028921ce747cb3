#!/usr/bin/env python3
"""Exports architectures of `transformers`, compiles them and compares with eager mode.

usage: run_breadth.py --bin BUILD/bin [--ways static,dynamic,tp2] [-j N] [--json OUT.json] [NAME...]

Each architecture runs in a process of its own. Ways: static (the example's sizes), dynamic (batch and sequence
are symbols; run at sizes other than the example's), tp2 (dynamic, on two cores). A row of the table says for
each way that it agrees, with the greatest difference relative to the greatest value, or at which step it failed
and why. Exit status: 0 when nothing is wrong, 1 when a result differs or something crashed; what PyTorch cannot
export and what nxcc refuses are counted and shown.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bench")]
TOLERANCE = 2e-4  # of the greatest absolute value of an output
STEPS = ("agrees", "export", "refused", "wrong", "crashed")


def first_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    for line in lines:
        if "error:" in line:
            return line.split("error:", 1)[1].strip()[:200]
    return lines[-1][:200] if lines else "no message"


def run_way(architecture, way, binaries, folder):
    """(step, detail, seconds that nxcc took)"""
    import numpy as np
    import torch
    import architectures
    import nxrt

    model = architectures.build(architecture)
    example = architectures.inputs(architecture)
    shapes = None if way == "static" else architectures.dynamic_shapes(architecture, example)
    try:
        with torch.no_grad():
            exported = torch.export.export(model, (), example, dynamic_shapes=shapes, strict=False)
    except Exception as error:
        return "export", f"{type(error).__name__}: {first_line(str(error))}", 0
    path, out = folder / f"{way}.pt2", folder / f"{way}.nxe"
    torch.export.save(exported, path)
    degree = 2 if way == "tp2" else 1
    begin = time.monotonic()
    done = subprocess.run([binaries / "nxcc", "compile", path, "-o", out, "--tp", str(degree), "-j", "1"],
                          capture_output=True, text=True, timeout=600)
    seconds = time.monotonic() - begin
    if done.returncode < 0 or done.returncode > 125:
        return "crashed", f"nxcc ended with {done.returncode}: {first_line(done.stderr)}", seconds
    if done.returncode:
        return "refused", first_line(done.stderr), seconds

    runtime = nxrt.Runtime(binaries.parent / "lib" / "libnxrt.so")
    executable = runtime.load(out)
    sizes = [(2, 12)]
    if way != "static":
        batch = 2 if "batch" in architecture.fixed else 3
        sizes.append((batch, 12 if "seq" in architecture.fixed else 7))
    greatest = 0.0
    for batch, seq in sizes:
        feeds = architectures.inputs(architecture, batch, seq)
        with torch.no_grad():
            wanted = list(architectures.tensors_of(model(**feeds)).values())
        executable.feed({name: tensor.numpy() for name, tensor in feeds.items()})
        executable.execute()
        for index, want in enumerate(wanted):
            got, want = executable.output(index), want.numpy()
            if got.shape != want.shape:
                return "wrong", f"output {index}: shape {list(got.shape)}, want {list(want.shape)}", seconds
            same = np.isclose(got, want, rtol=0, atol=0, equal_nan=True)
            scale = max(1e-6, float(np.abs(np.nan_to_num(want.astype(np.float64), posinf=0, neginf=0)).max(initial=0)))
            difference = np.where(same, 0, np.abs(got.astype(np.float64) - want.astype(np.float64))) / scale
            worst = float(difference.max(initial=0))
            if not worst <= TOLERANCE:
                return "wrong", f"output {index} at batch {batch}, seq {seq}: differs by {worst:.2g}", seconds
            greatest = max(greatest, worst)
    return "agrees", f"{greatest:.1e}", seconds


def worker(name, ways, binaries):
    import architectures
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in ways:
            try:
                step, detail, seconds = run_way(architectures.ARCHITECTURES[name], way, binaries, pathlib.Path(folder))
            except Exception as error:
                step, detail, seconds = "wrong", f"{type(error).__name__}: {first_line(str(error))}", 0
            result[way] = {"step": step, "detail": detail, "compile_s": round(seconds, 2)}
    print("RESULT " + json.dumps(result))


def supervise(name, ways, binaries):
    """Runs one architecture in a process of its own, so that a crash takes nothing else with it."""
    environment = dict(os.environ, NXRT_SHARE_CORES="1", OMP_NUM_THREADS="1")
    command = [sys.executable, __file__, "--bin", str(binaries), "--ways", ",".join(ways), "--worker", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment)
    except subprocess.TimeoutExpired:
        return {way: {"step": "crashed", "detail": "no end within 30 minutes", "compile_s": 0} for way in ways}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    detail = f"the process ended with {done.returncode}: {first_line(done.stderr)}"
    return {way: {"step": "crashed", "detail": detail, "compile_s": 0} for way in ways}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--ways", default="static,dynamic,tp2")
    parser.add_argument("-j", type=int, default=os.cpu_count(), dest="jobs")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    binaries, ways = args.bin.absolute(), args.ways.split(",")
    if args.worker:
        return worker(args.worker, ways, binaries)

    import architectures
    names = args.names or list(architectures.ARCHITECTURES)
    for name in names:
        if name not in architectures.ARCHITECTURES:
            sys.exit(f"run_breadth.py: no architecture '{name}'; there are: {', '.join(architectures.ARCHITECTURES)}")
    report, counts = {}, {way: dict.fromkeys(STEPS, 0) for way in ways}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        pending = {pool.submit(supervise, name, ways, binaries): name for name in names}
        for future in concurrent.futures.as_completed(pending):
            name = pending[future]
            report[name] = future.result()
            for way in ways:
                entry = report[name][way]
                counts[way][entry["step"]] += 1
                print(f"{name:<30} {way:<8} {entry['step']:<8} {entry['detail']}", flush=True)
    print(f"\n{'way':<8} " + " ".join(f"{step:>8}" for step in STEPS))
    for way in ways:
        print(f"{way:<8} " + " ".join(f"{counts[way][step]:>8}" for step in STEPS))
    if args.json:
        args.json.write_text(json.dumps({name: report[name] for name in names}, indent=1) + "\n")
    sys.exit(any(counts[way]["wrong"] or counts[way]["crashed"] for way in ways))


if __name__ == "__main__":
    main()
