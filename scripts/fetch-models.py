#!/usr/bin/env python3
"""Fetches trained models that Python packages ship.

usage: fetch-models.py FOLDER [NAME...]     (no NAME: all of them)

pip downloads each model's package at a pinned version (nothing is installed); the files land in
FOLDER/NAME/ once their SHA-256 is right. Files that are there already are left alone.
"""
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

# name: (package, {file here: (file in the package, SHA-256)})
MODELS = {
    # File-type classifier: int32 [batch, 2048] -> scores; 3 MB (Apache-2.0).
    "magika": ("magika==1.0.3", {
        "model.onnx": ("magika/models/standard_v3_3/model.onnx", "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"),
        "config.min.json": ("magika/models/standard_v3_3/config.min.json", "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"),
    }),
    # Maps the atoms of a chemical reaction: transformer encoder, any sequence length; 85 MB (MIT).
    "rxnmap": ("chython-rxnmap==2.0", {
        "model.onnx": ("chython_rxnmap/rxnmap.onnx", "a4c60aba5c3524dda96ea3af9e1487d3fb09a4e376604e506b1f0064cfcef2e0"),
    }),
}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(name, folder):
    package, files = MODELS[name]
    target = folder / name
    if all((target / local).exists() for local in files):
        return
    print(f"{name}: downloading {package}", flush=True)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
                        "--no-deps", "--only-binary", ":all:", "-d", scratch, package], check=True)
        wheel = next(pathlib.Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            for local, (member, digest) in files.items():
                partial = target / (local + ".part")
                with archive.open(member) as source, open(partial, "wb") as to:
                    shutil.copyfileobj(source, to)
                if sha256(partial) != digest:
                    partial.unlink()
                    sys.exit(f"fetch-models.py: {member} of {package} has an unexpected SHA-256: not kept")
                partial.rename(target / local)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(MODELS)
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"fetch-models.py: unknown model {', '.join(unknown)}; known are {', '.join(MODELS)}")
    for name in names:
        try:
            fetch(name, folder)
        except subprocess.CalledProcessError:
            sys.exit(f"fetch-models.py: pip could not download {MODELS[name][0]}: is the network there?")
        print(folder / name)


if __name__ == "__main__":
    main()
