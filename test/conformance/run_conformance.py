#!/usr/bin/env python3
"""Runs the ONNX standard's node cases through nxcc and libnxrt and prints a table. With --source contrib,
cases of operators of other domains, whose results are ONNX Runtime's; with --source corners, cases of this project.

usage: run_conformance.py --bin BUILD/bin --runtime BUILD/lib/libnxrt.so [--ways as-is,symbolic,constant,tp2]
           [--source standard|contrib|corners] [--shard I/N] [--jobs N] [--cache FILE] [--refused] [--expect-passed N] [CASE-PREFIX...]

Every case is tried in each of the ways:
  as-is     the model and its inputs as they are
  symbolic  every dimension of the inputs that is not 0 or 1 becomes a symbol
  constant  all inputs become initializers: the compiler evaluates
  tp2       all inputs but the first become initializers, for two ranks
and ends as one of: passed, refused (nxcc or the run says why it cannot), wrong (another result), crashed (a signal, a
hang, or an error without a sentence). Wrong and crashed ones are printed, refused ones with --refused, and fail
the run. --expect-passed N fails the run as well when fewer than N are passed in a way.
"""
import argparse
import collections
import importlib
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import cases as standard
import judge

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bench"))
import nxrt  # noqa: E402

TIMEOUT = 120
# Statuses of libnxrt that say that the executable or the library is wrong: NXRT_INVALID_FILE, NXRT_INTERNAL.
DEFECTS = (6, 18)
# Their values are random: only types and shapes are compared.
RANDOM = re.compile("test_(bernoulli|randomnormallike|randomuniformlike|training_dropout)")


class Refused(Exception):
    pass


class Wrong(Exception):
    pass


class Worker:
    """What one process does: compiles a case, runs it in this process, compares."""

    def __init__(self, args, folder):
        self.nxcc, self.folder = args.bin / "nxcc", pathlib.Path(folder)
        # Cores may outnumber the machine's CPUs, and belong to other tests as well.
        os.environ.update(NXRT_NUM_CORES="2", NXRT_SHARE_CORES="1")
        self.runtime = nxrt.Runtime(args.runtime)

    def compile(self, model, options):
        source, out = self.folder / "model.onnx", self.folder / "model.nxe"
        source.write_bytes(model.SerializeToString())
        out.unlink(missing_ok=True)
        done = subprocess.run([self.nxcc, "compile", source, "-o", out, "-j", "1", *options], capture_output=True,
                              text=True, errors="replace", timeout=TIMEOUT)
        if 0 < done.returncode < 126 and done.stderr.strip():
            raise Refused(done.stderr.strip())
        if done.returncode:
            raise RuntimeError(f"nxcc ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        return out

    def run(self, case, way):
        made = standard.WAYS[way](case)
        if made is None:
            return "none", ""
        model, fed, options = made
        names = [info.name for info in model.graph.input]
        results = [info.name for info in model.graph.output]
        try:
            executable = self.runtime.load(self.compile(model, options))
            try:
                for inputs, outputs in case.sets:
                    self.compare(case, executable, dict(zip(names, (inputs[i] for i in fed))), results, outputs)
            finally:
                executable.close()
        except Refused as refusal:
            return "refused", str(refusal)
        except nxrt.Error as error:
            return "crashed" if error.status in DEFECTS else "refused", str(error)
        except Wrong as wrong:
            return "wrong", str(wrong)
        except (RuntimeError, subprocess.TimeoutExpired) as crash:
            return "crashed", str(crash)
        return "passed", ""

    def compare(self, case, executable, feeds, names, wants):
        executable.feed({name: x for name, x in feeds.items() if isinstance(x, np.ndarray)})
        executable.execute()
        for i, (name, want) in enumerate(zip(names, wants)):
            wrong = judge.difference(executable.output(i), want, case.rtol, case.atol, RANDOM.match(case.name))
            if wrong:
                raise Wrong(f"output '{name}' {wrong}")


def serve(pipe, args, tasks):
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(args, folder)
        while (number := pipe.recv()) is not None:
            pipe.send(worker.run(*tasks[number]))


def work(args, tasks, take, report):
    """Feeds one process with tasks; a process that dies or hangs costs its task only."""
    context = multiprocessing.get_context("fork")
    process = pipe = None
    while (number := take()) is not None:
        if process is None:
            pipe, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, args, tasks), daemon=True)
            process.start()
            theirs.close()
        pipe.send(number)
        try:
            outcome = pipe.recv() if pipe.poll(2 * TIMEOUT) else ("crashed", "it hangs")
        except EOFError:
            process.join()
            outcome = ("crashed", f"the run ended with status {process.exitcode}")
        report(number, outcome)
        if outcome[0] == "crashed":
            process.kill()
            process.join()
            process = None
    if process is not None:
        pipe.send(None)
        process.join()


def reason(text):
    """A refusal without the names and sizes of the case, to count equal ones."""
    for line in text.splitlines():
        line = re.sub(r"^\s*(nxcc: |error: |loc\(.*?\): )*", "", line)
        if line and not re.match(r"\d+ (node|operator)s? ", line):
            break
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "_", line)
    line = re.sub(r"\[[^\]]*\]|\(_?\)", "[]", line)
    return re.sub(r"\d+", "N", line)[:150]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--runtime", type=pathlib.Path, required=True)
    parser.add_argument("--ways", default=",".join(standard.WAYS))
    parser.add_argument("--source", choices=("standard", "contrib", "corners"), default="standard")
    parser.add_argument("--shard", default="0/1", help="I/N: every N-th case from the I-th on")
    parser.add_argument("--jobs", type=int, default=min(len(os.sched_getaffinity(0)), 8))
    parser.add_argument("--cache", type=pathlib.Path, help="keeps the collected cases here")
    parser.add_argument("--refused", action="store_true", help="print the refused cases with their reasons")
    parser.add_argument("--expect-passed", type=int, default=0)
    parser.add_argument("prefixes", nargs="*", metavar="CASE-PREFIX")
    args = parser.parse_args()
    args.bin = args.bin.absolute()

    if args.source == "standard":
        chosen = standard.collect(args.cache)
    else:
        chosen = importlib.import_module(args.source).collect()
    if args.prefixes:
        chosen = [c for c in chosen if any(c.name.startswith(p) for p in args.prefixes)]
    shard, shards = map(int, args.shard.split("/"))
    ways = args.ways.split(",")
    tasks = [(case, way) for case in chosen[shard::shards] for way in ways]

    lock, numbers = threading.Lock(), iter(range(len(tasks)))
    counts = {way: collections.Counter() for way in ways}
    reasons = {way: collections.Counter() for way in ways}
    begin = time.monotonic()

    def take():
        with lock:
            return next(numbers, None)

    def report(number, outcome):
        case, way = tasks[number]
        kind, text = outcome
        with lock:
            counts[way][kind] += 1
            if kind == "refused":
                reasons[way][reason(text)] += 1
            if kind in ("wrong", "crashed") or (kind == "refused" and args.refused):
                print(f"{kind} {way} {case.name}: {text}", flush=True)

    threads = [threading.Thread(target=work, args=(args, tasks, take, report)) for _ in range(args.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for way in ways:
        if reasons[way]:
            print(f"\nrefused {way}:")
            for text, count in reasons[way].most_common():
                print(f"{count:6} {text}")
    kinds = ("passed", "refused", "wrong", "crashed")
    print(f"\n{'way':10}" + "".join(f"{kind:>10}" for kind in kinds))
    for way in ways:
        print(f"{way:10}" + "".join(f"{counts[way][kind]:10}" for kind in kinds))
    print(f"{len(tasks)} runs of {len(chosen[shard::shards])} cases in {time.monotonic() - begin:.0f} s")
    bad = any(counts[way]["wrong"] or counts[way]["crashed"] or counts[way]["passed"] < args.expect_passed
              for way in ways)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
