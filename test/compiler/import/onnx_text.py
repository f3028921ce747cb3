"""Writes the ONNX models of a test, given as text, to files.

usage: onnx_text.py TEST FOLDER

A model starts at a line `model NAME` and ends at the next such line; its text is in the syntax of
onnx.parser, where lines that start with # are comments (and hold the test's CHECK lines).
"""
import pathlib
import sys

import onnx.parser


def main():
    test, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    models, name = {}, None
    for line in test.read_text().splitlines():
        if line.startswith("model "):
            name = line.split()[1]
            models[name] = []
        elif name and not line.startswith("#"):
            models[name].append(line)
    for name, lines in models.items():
        try:
            model = onnx.parser.parse_model("\n".join(lines))
        except onnx.parser.ParseError as error:
            sys.exit(f"{test}: model {name}: {error}")
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())


main()
