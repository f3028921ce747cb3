"""torch.export, as far as nxcc needs it."""
from __future__ import annotations

import inspect
import pathlib
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

#: Tracing patches torch globally.
_lock = threading.Lock()


#: Modules that compute something else in training.
_TRAINED_OTHERWISE = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase, torch.nn.RReLU)


class _Function(torch.nn.Module):
    """A function as a module, with the function's own signature."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function
        self.__signature__ = inspect.signature(function)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def export(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any,
           strict: bool) -> ExportedProgram:
    """The exported program; `model` itself when it is one."""
    if isinstance(model, ExportedProgram):
        if args or kwargs or dynamic_shapes is not None:
            raise TypeError("an exported program has its inputs: args, kwargs and dynamic_shapes go with modules")
        return model
    if not isinstance(model, torch.nn.Module):
        if not callable(model):
            raise TypeError("model is a torch.nn.Module, a function, an ExportedProgram or the path of a file, not "
                            f"{type(model).__name__}")
        model = _Function(model)
    elif any(module.training and isinstance(module, _TRAINED_OTHERWISE) for module in model.modules()):
        warnings.warn("the module is in training mode, and so is what is compiled; call its eval() first",
                      stacklevel=3)
    with _lock, torch.no_grad():
        return torch.export.export(model, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes,
                                   strict=strict)


def save(exported: ExportedProgram, path: pathlib.Path) -> None:
    """Without the example inputs: nxcc does not read them, and they may be large."""
    with _lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        torch.export.save(exported, path)
