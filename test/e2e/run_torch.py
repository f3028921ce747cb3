#!/usr/bin/env python3
"""Exports models with torch.export, compiles the .pt2 files with nxcc, and compares every output with eager torch.

usage: run_torch.py --bin BUILD/bin [--tp 1,2] [--forms exported,decomposed] [--static] MODEL...

The models are those of exports.py that are built with torch, at the sizes of models.py; each one as it is exported and
after run_decompositions(). Ends with a line "N passed, M failed".
"""
import argparse
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import torch

import exports
import models
from run_e2e import Failure, Tester, off_by

warnings.filterwarnings("ignore")


class TorchTester(Tester):
    def test(self, name, degrees, forms, static):
        model = models.MODELS[name]
        module, example, dynamic_shapes = exports.EXPORTS[name].module()
        module.eval()
        runs = [(sizes, list(feeds.values())) for sizes, feeds in models.runs(name)]
        with torch.no_grad():
            wants = [self.outputs(module(*[torch.from_numpy(x) for x in feeds])) for _, feeds in runs]
            exported = torch.export.export(module, example, dynamic_shapes=dynamic_shapes)
        for form in forms:
            try:
                program = exported if form == "exported" else exported.run_decompositions()
            except ValueError as error:  # of torch itself, where a view is none for all sizes
                print(f"left out: torch cannot decompose {name}: {str(error).splitlines()[0]}", flush=True)
                continue
            inputs = program.graph_signature.user_inputs
            path = self.scratch / "model.pt2"
            torch.export.save(program, str(path))
            for degree in degrees:
                if degree not in model.degrees:
                    continue
                with self.case(f"{name} {form} tp={degree} dynamic") as note:
                    self.check(note, path, degree, None, runs, wants, model)
                if static:
                    with self.case(f"{name} {form} tp={degree} static") as note:
                        shapes = dict(zip(inputs, model.shapes(runs[0][0]).values()))
                        self.check(note, path, degree, shapes, runs[:1], wants[:1], model)

    @staticmethod
    def outputs(result):
        return [value.numpy() for value in torch.utils._pytree.tree_flatten(result)[0]]

    def check(self, note, path, degree, shapes, runs, wants, model):
        executable, note["compile"] = self.compile(path, degree, shapes)
        self.run(executable, degree, [{f"arr_{i}": x for i, x in enumerate(feeds)} for _, feeds in runs])
        worst = 0.0
        for k, (sizes, _) in enumerate(runs):
            got = list(np.load(self.scratch / f"out{k}.npz").values())
            if len(got) != len(wants[k]):
                raise Failure(f"{len(got)} outputs, torch gives {len(wants[k])}")
            for number, (value, want) in enumerate(zip(got, wants[k])):
                ratio = off_by(value, want, model)
                if ratio > 1:
                    raise Failure(f"output {number} is off by {ratio:.3g} times the tolerance (sizes {sizes})")
                worst = max(worst, ratio)
        note["off by"] = f"{worst:.3f} of the tolerance"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--tp", default="1,2")
    parser.add_argument("--forms", default="exported,decomposed")
    parser.add_argument("--static", action="store_true")
    parser.add_argument("models", nargs="+", choices=list(exports.EXPORTS), metavar="MODEL")
    args = parser.parse_args()
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as scratch:
        tester = TorchTester(args.bin.absolute(), pathlib.Path(scratch))
        for name in args.models:
            tester.test(name, [int(d) for d in args.tp.split(",")], args.forms.split(","), args.static)
    print(f"{tester.passed} passed, {tester.failed} failed")
    return 1 if tester.failed or not tester.passed else 0


if __name__ == "__main__":
    sys.exit(main())
