#!/usr/bin/env python3
"""Runs the commands that the documentation shows: fenced blocks that begin with ```sh tested.

usage: run_commands.py SOURCE BUILD SCRATCH PAGE.md...

Each page is one shell session in an empty folder that looks like the source tree: what the tree holds is
linked into it, build/ is the build, .cache/ the cache of models; files that commands write stay there.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys


def commands(page):
    """[(line number, text)] of the tested blocks."""
    text = page.read_text()
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1))
            for match in re.finditer(r"^```sh tested\n(.*?)^```$", text, re.M | re.S)]


def run(page, source, build, scratch):
    blocks = commands(page)
    if not blocks:
        return 0, ""
    folder = scratch / page.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if not entry.name.startswith((".", "build")):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").symlink_to(build)
    cache = pathlib.Path(os.environ.get("NX_CACHE", source / ".cache"))
    cache.mkdir(parents=True, exist_ok=True)
    (folder / ".cache").symlink_to(cache)
    script = "set -eu\n" + "".join(f": line {line}\n{text}" for line, text in blocks)
    environment = dict(os.environ, NXRT_SHARE_CORES="1",
                       PATH=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(["bash", "-x", "-c", script], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if done.returncode == 0:
        return len(blocks), ""
    line = re.findall(r"^\+ : line (\d+)$", done.stdout, re.M)[-1]
    return len(blocks), f"the block at line {line} ended with status {done.returncode}:\n{done.stdout[-3000:]}"


def main():
    source, build, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    passed = failed = 0
    for name in sys.argv[4:]:
        page = pathlib.Path(name)
        count, problem = run(page, source, build, scratch)
        if problem:
            failed += 1
            print(f"{page}: {problem}")
        elif count:
            passed += 1
            print(f"{page}: {count} blocks ran")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
