"""Runs executables made by nxcc on the cores of this machine.

The runtime alone: neither a framework nor the compiler is needed.

>>> import numpy as np
>>> import nxrt
>>> model = nxrt.load("mlp.nxe")
>>> model.inputs
(Value(name='x', dtype='float32', shape=('batch', 4)),)
>>> model(np.zeros((2, 4), np.float32)).shape
(2, 3)

An executable holds native code: trust a file as much as you would a shared library.
"""
from ._errors import Error, Status
from ._inspect_file import inspect
from ._model import Model, Value, load
from ._runtime import Core, close, cores, init, version

__all__ = ["Core", "Error", "Model", "Status", "Value", "close", "cores", "init", "inspect", "load", "version"]
__version__ = version().split()[1]
