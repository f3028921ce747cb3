#!/usr/bin/env python3
"""Latency of nx beside ONNX Runtime, OpenVINO and torch.compile; compile time, memory and sizes of nx.

usage: bench.py --bin BUILD/bin [--threads 1,2] [--engines nx,ort,openvino,torch] [--seconds 8]
                [--json OUT.json] [WORKLOAD...]        (default: all; --list shows them)

Every engine has a process of its own, so that no two share a thread pool or a heap. They take turns in
short bursts, one engine at a time while the others wait idle, round after round until each has run for about
--seconds; the least time of all executions counts. With 2 threads nx runs as one core of two threads and, in
the column nx-tp2, as two cores of one thread.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import models  # noqa: E402

WORKLOADS = {
    "rxnmap-32": ("rxnmap", {"seq_len": 32}),
    "rxnmap-128": ("rxnmap", {"seq_len": 128}),
    "rxnmap-256": ("rxnmap", {"seq_len": 256}),
    "minilm-128": ("minilm", {"batch": 1, "seq": 128}),
    "bert-base-128": ("bert-base", {"batch": 1, "seq": 128}),
    "gpt2-128": ("gpt2", {"batch": 1, "seq": 128}),
}
SETTLE_S = 0.03  # between engines: their threads spin on for a while after the last call


def compile_model(nxcc, path, out, degree, tries):
    """Least wall time and the peak memory of nxcc."""
    seconds, peak = [], 0
    for _ in range(tries):
        begin = time.monotonic()
        done = subprocess.run([nxcc, "compile", path, "-o", out, "--tp", str(degree), "--report=json"],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"bench.py: nxcc refused {path} at --tp {degree}")
        seconds.append(time.monotonic() - begin)
        # Not the rusage of a child: that starts with this process's own peak.
        peak = max(peak, json.loads(done.stdout)["peak_bytes"])
    return min(seconds), peak


def load_ms(nx_run, executable):
    """Least time of a load with the file in the page cache, from nx-run on an input-less check of the file."""
    best = float("inf")
    library = json.loads(subprocess.run([nx_run.parent / "nx-inspect", executable, "--json"], check=True,
                                        capture_output=True, text=True).stdout)
    dims = []
    for symbol in library["entries"][0]["symbols"]:
        if symbol["source"] == "input":
            dims += ["--dim", f"{symbol['name']}={max(symbol['min'], 2)}"]
    for _ in range(5):
        done = subprocess.run([nx_run, executable, "--zeros", *dims, "--json"], check=True, capture_output=True, text=True)
        best = min(best, json.loads(done.stdout)["load_ms"])
    return best


class Worker:
    def __init__(self, label, command, environment):
        self.label = label
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, HERE / "worker.py", *command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=dict(os.environ, NXRT_SHARE_CORES="1", **environment))
        self.times = []

    def answer(self):
        for line in self.process.stdout:
            if line.startswith(("ready", "[")) or line.strip().isdigit():
                return line
        self.process.wait()
        self.errors.seek(0)
        raise RuntimeError(self.errors.read().strip().splitlines()[-1:] or "it ended")

    def ask(self, request):
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        return json.loads(self.answer())

    def burst(self, count):
        self.times += self.ask(count)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(workload, threads, engines, executables, library, seconds, scratch):
    """{engine: {min_ms, median_ms, count, rss}} for one workload."""
    name, sizes = WORKLOADS[workload]
    workers = []
    for engine in engines:
        variants = [(engine, threads, 1)]
        if engine == "nx" and threads > 1:
            variants.append((f"nx-tp{threads}", 1, threads))
        for label, count, degree in variants:
            if engine == "torch" and name not in models.exports.EXPORTS:
                continue  # there is only an ONNX file
            extra = [str(library), str(executables[name, degree])] if engine == "nx" else []
            environment = {"OMP_NUM_THREADS": str(count)}
            worker = Worker(label, [engine, str(count), name, json.dumps(sizes), *extra], environment)
            try:
                worker.answer()
                worker.burst(3)
            except RuntimeError as error:
                print(f"bench.py: {label} cannot run {workload}: {error}", file=sys.stderr, flush=True)
                continue
            worker.chunk = max(1, min(50, int(0.1e3 / min(worker.times))))  # bursts of about 0.1 s
            workers.append(worker)
    begin = time.monotonic()
    rounds = 0
    while workers and (rounds < 5 or time.monotonic() - begin < seconds * len(workers)):
        for worker in workers[rounds % len(workers):] + workers[:rounds % len(workers)]:
            time.sleep(SETTLE_S)
            worker.burst(worker.chunk)
        rounds += 1
    result, wanted = {}, None
    for worker in workers:
        file = scratch / f"{worker.label}.npy"
        rss = worker.ask(f"save {file}")
        worker.close()
        times = sorted(worker.times)
        result[worker.label] = {"min_ms": times[0], "median_ms": times[len(times) // 2], "count": len(times),
                                "rss_mib": rss / 1024}
        got = np.load(file)
        # Speed counts for nothing when the results differ.
        wanted = got if worker.label == "ort" else wanted
        result[worker.label]["output"] = got
    for label, entry in result.items():
        got = entry.pop("output")
        if wanted is not None:
            entry["max_difference"] = float(np.abs(got - wanted).max()) if got.shape == wanted.shape else float("inf")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default="nx,ort,openvino,torch")
    parser.add_argument("--seconds", type=float, default=8, help="of each engine and workload")
    parser.add_argument("--tries", type=int, default=3, help="compilations of which the fastest counts")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    args = parser.parse_args()
    if args.list:
        print("\n".join(WORKLOADS))
        return
    bin_dir = args.bin.absolute()
    library = bin_dir.parent / "lib" / "libnxrt.so"
    engines = args.engines.split(",")
    thread_counts = [int(count) for count in args.threads.split(",")]
    report = {"libnxrt_bytes": library.stat().st_size, "models": {}, "latency": {}}

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        executables = {}
        if "nx" in engines:
            print(f"libnxrt.so {library.stat().st_size / 1024:.0f} KiB")
            print(f"{'model':<12} {'tp':>2} {'compile_s':>9} {'peak_MiB':>8} {'model_MiB':>9} {'nxe_MiB':>8} {'load_ms':>7}")
            for name in dict.fromkeys(WORKLOADS[w][0] for w in args.workloads):
                path = models.export(name)
                model_bytes = sum(f.stat().st_size for f in path.parent.iterdir() if f.name.startswith("model.onnx"))
                for degree in dict.fromkeys([1, *thread_counts]):
                    out = executables[name, degree] = scratch / f"{name}.tp{degree}.nxe"
                    seconds, peak = compile_model(bin_dir / "nxcc", path, out, degree, args.tries)
                    entry = {"compile_s": seconds, "peak_bytes": peak, "model_bytes": model_bytes,
                             "nxe_bytes": out.stat().st_size, "load_ms": load_ms(bin_dir / "nx-run", out)}
                    report["models"][f"{name} tp={degree}"] = entry
                    print(f"{name:<12} {degree:>2} {seconds:>9.2f} {peak / 2**20:>8.0f} {model_bytes / 2**20:>9.1f} "
                          f"{entry['nxe_bytes'] / 2**20:>8.1f} {entry['load_ms']:>7.2f}", flush=True)
        for threads in thread_counts:
            print(f"\nleast latency in ms, {threads} thread(s); behind it the factor to nx")
            for workload in args.workloads:
                result = measure(workload, threads, engines, executables, library, args.seconds, scratch)
                report["latency"][f"{workload} threads={threads}"] = result
                base = result.get("nx", {}).get("min_ms")
                cells = [f"{label} {entry['min_ms']:.3f}" + (f" ({entry['min_ms'] / base:.2f}x)" if base else "")
                         for label, entry in result.items()]
                print(f"{workload:<14} " + "   ".join(cells), flush=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
