#!/usr/bin/env python3
"""One engine with one model, in a process of its own, timed on request.

usage: worker.py ENGINE THREADS MODEL SIZES [nx: LIBRARY EXECUTABLE]

ENGINE is nx, ort, openvino or torch; SIZES are the run-time sizes of the inputs, as JSON.
Reads a count from standard input for each burst and answers with the times of so many executions in
milliseconds, as JSON. The first line it prints is "ready"; results go to a file when asked ("save PATH").
"""
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import models  # noqa: E402


def feeds_of(name, sizes):
    return models.MODELS[name].feeds(np.random.default_rng(7), sizes)


def nx(threads, name, feeds, library, executable):
    import nxrt
    runtime = nxrt.Runtime(library, threads_per_core=threads)
    model = runtime.load(executable)
    model.feed(feeds)
    model.execute()
    return model.execute, lambda: [model.output(0)]


def ort(threads, name, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(models.export(name)), options, providers=["CPUExecutionProvider"])
    run = lambda: session.run(None, feeds)
    return run, run


def openvino(threads, name, feeds):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(str(models.export(name)), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    tensors = {key: openvino.Tensor(value) for key, value in feeds.items()}
    return (lambda: request.infer(tensors, share_inputs=True, share_outputs=True),
            lambda: [np.array(request.get_output_tensor(0).data)])


def torch(threads, name, feeds):
    import torch as t
    t.set_num_threads(threads)
    module, _, _ = models.exports.EXPORTS[name].module()
    compiled = t.compile(module.eval(), dynamic=False)
    arguments = [t.from_numpy(value) for value in feeds.values()]

    def run():
        with t.inference_mode():
            result = compiled(*arguments)
            return result if isinstance(result, tuple) else (result,)
    return run, lambda: [run()[0].numpy()]


def peak_kib():
    """Of this program alone; the process's rusage starts with the peak of the one that started it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def main():
    engine, threads, name, sizes = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    execute, results = globals()[engine](threads, name, feeds_of(name, sizes), *sys.argv[5:])
    execute()
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "save":
            results_now = results()
            np.save(words[1], results_now[0])
            print(json.dumps(peak_kib()), flush=True)
            continue
        times = []
        for _ in range(int(words[0])):
            begin = time.perf_counter_ns()
            execute()
            times.append((time.perf_counter_ns() - begin) / 1e6)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
