"""Writes an .npz from NumPy expressions: make_npz.py OUT.npz NAME=EXPRESSION..."""
import sys

import numpy as np

if __name__ == "__main__":
    arrays = dict(argument.split("=", 1) for argument in sys.argv[2:])
    np.savez(sys.argv[1], **{name: eval(text, {"np": np}) for name, text in arrays.items()})
