"""Compiles trained models ahead of time, for PyTorch and ONNX.

>>> import torch, nxcc
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
>>> exe = nxcc.compile(model, (torch.zeros(2, 4),))
>>> exe(torch.zeros(2, 4)).shape
torch.Size([2, 3])

An ONNX file does as well, and any batch size with it:

>>> import numpy as np
>>> exe = nxcc.compile("mlp.onnx")
>>> exe(np.zeros((5, 4), np.float32)).shape
(5, 3)
"""
from ._compile import analyze, compile, targets, version
from ._errors import CompileError, Diagnostic
from ._executable import Executable
from ._torch_backend import backend
from ._verify import LayerResult, Verification

__all__ = ["CompileError", "Diagnostic", "Executable", "LayerResult", "Verification", "analyze", "backend", "compile",
           "targets", "version"]
__version__ = version().split()[0]
