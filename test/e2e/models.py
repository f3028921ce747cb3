"""The models of the end-to-end tests and benchmarks: exported once, cached, with inputs to run them on.

usage: models.py [NAME...]      exports into the cache (default: all models)

exports.py says what the exported models are; magika and rxnmap are trained models that
scripts/fetch-models.py fetches. The cache is $NX_CACHE, by default .cache in the source tree.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Callable

import numpy as np

import exports


@dataclass
class Model:
    name: str
    feeds: Callable   # (rng, sizes) -> {input: array}
    sizes: list       # of runs; each {symbol: value}
    shapes: Callable  # sizes -> {input: dims}; for a compile with static shapes
    degrees: tuple = (1, 2, 4)  # tensor-parallel degrees that its sizes allow
    # |nx - reference| <= atol * max|reference| + rtol * |reference|
    rtol: float = 1e-4
    atol: float = 1e-5


MODELS = {}


def add(model):
    MODELS[model.name] = model


def token_feeds(vocabulary, with_mask=True):
    def feeds(rng, sizes):
        batch, seq = sizes["batch"], sizes["seq"]
        result = {"input_ids": rng.integers(0, vocabulary, (batch, seq), dtype=np.int64)}
        if with_mask:
            # Each row is padded to another length, the first one not at all.
            lengths = np.maximum(1, seq - np.arange(batch) * 3 % max(seq, 1))
            result["attention_mask"] = (np.arange(seq)[None] < lengths[:, None]).astype(np.int64)
        return result
    return feeds


def token_shapes(names):
    return lambda sizes: {name: (sizes["batch"], sizes["seq"]) for name in names}


def image_feeds(size):
    return lambda rng, sizes: {
        "pixels": rng.standard_normal((sizes["batch"], 3, size, size)).astype(np.float32)}


def image_shapes(size):
    return lambda sizes: {"pixels": (sizes["batch"], 3, size, size)}


TOKEN_RUNS = [{"batch": 1, "seq": 7}, {"batch": 3, "seq": 32}, {"batch": 2, "seq": 17}, {"batch": 1, "seq": 128}]
IMAGE_RUNS = [{"batch": 1}, {"batch": 3}]

for name, vocabulary in {"bert-small": 211, "minilm": 30522, "bert-base": 30522}.items():
    add(Model(name, token_feeds(vocabulary), TOKEN_RUNS, token_shapes(("input_ids", "attention_mask"))))
for name, vocabulary in {"gpt2-small": 211, "gpt2": 50257}.items():
    add(Model(name, token_feeds(vocabulary, with_mask=False), TOKEN_RUNS, token_shapes(("input_ids",))))
for name, size in {"vit-small": 32, "vit-base": 224, "resnet-small": 64, "resnet50": 224, "mobilenet-small": 64,
                   "mobilenetv2": 224}.items():
    add(Model(name, image_feeds(size), IMAGE_RUNS, image_shapes(size)))


def magika_feeds(rng, sizes):
    return {"bytes": rng.integers(0, 257, (sizes["batch"], 2048), dtype=np.int32)}


def rxnmap_feeds(rng, sizes):
    n = sizes["seq_len"]

    def pick(low, high, *shape):
        return rng.integers(low, high, (1, *shape), dtype=np.int64)
    return {"atoms": pick(1, 100, n), "neighbors": pick(0, 10, n), "distances": pick(0, 10, n, n),
            "roles": pick(1, 4, n)}


add(Model("magika", magika_feeds, [{"batch": 1}, {"batch": 5}], lambda sizes: {"bytes": (sizes["batch"], 2048)},
          degrees=(1, 2)))
add(Model("rxnmap", rxnmap_feeds, [{"seq_len": n} for n in (3, 32, 57, 128, 256)],
          lambda sizes: {"atoms": (1, sizes["seq_len"]), "neighbors": (1, sizes["seq_len"]),
                         "distances": (1, sizes["seq_len"], sizes["seq_len"]), "roles": (1, sizes["seq_len"])}))


def cache_folder():
    return pathlib.Path(os.environ.get("NX_CACHE", pathlib.Path(__file__).parents[2] / ".cache"))


def export(name):
    """Path of the model's ONNX file; exported or fetched when the cache lacks it."""
    if name not in exports.EXPORTS:
        path = cache_folder() / "models" / name / "model.onnx"
        if not path.exists():
            script = pathlib.Path(__file__).parents[2] / "scripts" / "fetch-models.py"
            subprocess.run([sys.executable, script, path.parents[1], name], check=True, stdout=subprocess.DEVNULL)
        return path
    stamp = hashlib.sha256(pathlib.Path(exports.__file__).read_bytes()).hexdigest()
    path = cache_folder() / "exports" / name / "model.onnx"
    mark = path.with_name("stamp")
    if path.exists() and mark.exists() and mark.read_text() == stamp:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    mark.unlink(missing_ok=True)
    exports.export(name, path)
    mark.write_text(stamp)
    return path


def runs(name):
    """[(sizes, feeds)] for the model, the same ones each time."""
    model = MODELS[name]
    rng = np.random.default_rng(7)
    return [(sizes, model.feeds(rng, sizes)) for sizes in model.sizes]


def reference(name, path):
    """ONNX Runtime's outputs for runs(name): [{output: array}]."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return [dict(zip(names, session.run(names, feeds))) for _, feeds in runs(name)]


if __name__ == "__main__":
    for chosen in sys.argv[1:] or MODELS:
        print(export(chosen), flush=True)
