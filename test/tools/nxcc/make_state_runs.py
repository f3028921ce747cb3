"""Inputs x0..x2.npz and the running totals y0..y2.npz: make_state_runs.py FOLDER"""
import sys

import numpy as np

total = np.zeros(4, np.float32)
for run in range(3):
    x = np.arange(8, dtype=np.float32).reshape(2, 4) + run
    total = total + x.sum(0)
    np.savez(f"{sys.argv[1]}/x{run}.npz", x=x)
    np.savez(f"{sys.argv[1]}/y{run}.npz", y=total)
