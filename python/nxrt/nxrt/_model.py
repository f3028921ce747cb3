"""Loaded executables."""
from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from . import _dtypes, _nxrt
from ._runtime import ensure_initialized, refuse_after_fork


@dataclass(frozen=True)
class Value:
    """An input or output: sizes that only an execution knows are text, such as "batch" or "2*seq+1"."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


def load(source: str | os.PathLike[str] | bytes, *, cores: int | Sequence[int] | None = None,
         verify: bool = False) -> Model:
    """Loads an executable: a file, which is mapped, or its bytes, which are copied.

    cores: where it runs: the number of the first core, or all of them in ascending order without gaps (as many
        as the executable's tensor-parallel degree). By default those with the fewest models.
    verify: check the weights' checksums too, which reads all of them.

    >>> import nxrt
    >>> with nxrt.load("mlp.nxe", cores=0) as model:
    ...     model.tp, model.symbols
    (1, {'batch': (0, 9223372036854775807)})
    """
    first, count = _place(cores)
    ensure_initialized()
    if isinstance(source, bytes):
        native = _nxrt.Model.load_bytes(source, first, verify)
    else:
        native = _nxrt.Model.load(os.fspath(source), first, verify)
    tp = native.info()["tp"]
    if count is not None and count != tp:
        native.close()
        raise ValueError(f"the executable runs on {tp} cores, {count} were given")
    return Model(native, 0)


def _place(cores: int | Sequence[int] | None) -> tuple[int | None, int | None]:
    """First core and how many were named."""
    if cores is None:
        return None, None
    if isinstance(cores, int):
        named, count = [cores], None
    else:
        named = list(cores)
        count = len(named)
    if not named or named[0] < 0 or named != list(range(named[0], named[0] + len(named))):
        raise ValueError(f"cores must be in ascending order without gaps, got {cores!r}")
    return named[0], count


class Model:
    """A loaded executable, or one of its entry points: call it like a function.

    Arrays are NumPy arrays, torch tensors or anything that speaks DLPack, in host memory. Contiguous ones are
    read where they lie (the runtime itself copies what is not aligned to 64 bytes); lists and numbers are
    converted. Results are torch tensors when a torch tensor was given, NumPy arrays otherwise; they are new memory
    unless `run` is told where to write. Any number of threads may call one model; the interpreter is free while
    it runs.

    >>> import numpy as np, nxrt
    >>> model = nxrt.load("mlp.nxe")
    >>> model(x=np.zeros((1, 4), np.float32)).dtype
    dtype('float32')
    >>> sorted(model.run({"x": np.zeros((1, 4), np.float32)}))
    ['y']
    """

    def __init__(self, native: _nxrt.Model, entry: int):
        self._native = native
        self._index = entry
        self._entry = native.entries[entry]
        #: What the entry point takes and returns, in order.
        self.inputs: tuple[Value, ...] = _values(self._entry.inputs)
        self.outputs: tuple[Value, ...] = _values(self._entry.outputs)
        #: Sizes that each execution binds, with the least and the largest value.
        self.symbols: dict[str, tuple[int, int]] = {s.name: (s.min, s.max) for s in self._entry.symbols}
        #: What the model keeps from one execution to the next. All entry points share it.
        self.states: tuple[Value, ...] = _values(native.states)
        self._special_outputs = any(_dtypes.is_special(value.dtype) for value in self.outputs)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Runs the model on inputs by position, by name, or both: the output, or a tuple of several."""
        results = self._execute(self._bind(args, named), None)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any], out: Mapping[str, Any] | None = None,
            framework: str | None = None) -> dict[str, Any]:
        """Runs the model with inputs and outputs by name.

        out: arrays to write outputs to, contiguous and of the right type and shape; the rest is allocated.
        framework: what that is: "numpy" or "torch"; by default as for a call.

        >>> import numpy as np, nxrt
        >>> model, y = nxrt.load("mlp.nxe"), np.empty((2, 3), np.float32)
        >>> model.run({"x": np.ones((2, 4), np.float32)}, out={"y": y})["y"] is y
        True
        """
        places: list[Any] | None = None
        if out:
            self._known(out, self.outputs, "output")
            places = [_destination(out.get(value.name)) for value in self.outputs]
        if framework is not None:
            _known_framework(framework)
        results = self._execute(self._bind((), inputs), places, framework)
        if out:
            results = [out.get(value.name, result) for value, result in zip(self.outputs, results)]
        return {value.name: result for value, result in zip(self.outputs, results)}

    def read_state(self, name: str, *, framework: str = "numpy") -> Any:
        """A copy of what the last execution left in a state; `framework` as for `run`."""
        _known_framework(framework)
        kind = _nxrt.Framework.TORCH if framework == "torch" else _nxrt.Framework.NUMPY
        result: Any = self._native.read_state(name, kind)
        dtype = next(value.dtype for value in self.states if value.name == name)
        return _dtypes.decode(result, dtype) if _dtypes.is_special(dtype) and framework == "numpy" else result

    def write_state(self, name: str, value: Any) -> None:
        """Gives a state another value; the array must have its type and shape."""
        known = {state.name: state for state in self.states}
        if name not in known:
            raise TypeError(f"the model has no state '{name}'; it has {', '.join(known) or 'none'}")
        torch = sys.modules.get("torch")
        self._native.write_state(name, _prepare(value, known[name], torch.Tensor if torch else ()))

    def reset_states(self) -> None:
        """Gives all states their first values, those in the file."""
        self._native.reset_states()

    def entry(self, name: str) -> Model:
        """Another entry point of the same executable, by name."""
        for index, entry in enumerate(self._native.entries):
            if entry.name == name:
                return Model(self._native, index)
        raise KeyError(f"no entry point is named {name!r}; there are {', '.join(self.entries)}")

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the entry points; the first is what a call runs."""
        return tuple(entry.name for entry in self._native.entries)

    @property
    def name(self) -> str:
        """The name of the model that was compiled."""
        return self.info["model_name"]

    @property
    def tp(self) -> int:
        """On how many cores it runs."""
        return self.info["tp"]

    @property
    def info(self) -> dict[str, Any]:
        """Where it came from and what was loaded: path, producer, target_cpu, first_core, param_bytes, ..."""
        return self._native.info()

    def close(self) -> None:
        """Unloads the model once the executions that run have ended; garbage collection does the same."""
        self._native.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._native.closed:
            return "<nxrt.Model, closed>"
        sides = [", ".join(f"{v.name}: {v.dtype}[{', '.join(map(str, v.shape))}]" for v in values)
                 for values in (self.inputs, self.outputs)]
        return f"<nxrt.Model {self.name!r} ({sides[0]}) -> ({sides[1]})>"

    def _bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """All inputs in order."""
        inputs = self.inputs
        if not named and len(args) == len(inputs):
            return args
        names = ", ".join(value.name for value in inputs)
        if len(args) > len(inputs):
            raise TypeError(f"the model takes {len(inputs)} inputs ({names}), {len(args)} were given")
        self._known(named, inputs, "input")
        bound = list(args)
        for value in inputs[:len(args)]:
            if value.name in named:
                raise TypeError(f"input '{value.name}' is given by position and by name")
        for value in inputs[len(args):]:
            if value.name not in named:
                raise TypeError(f"input '{value.name}' is missing; the model takes {names}")
            bound.append(named[value.name])
        return bound

    @staticmethod
    def _known(given: Mapping[str, Any], values: tuple[Value, ...], kind: str) -> None:
        names = [value.name for value in values]
        for name in given:
            if name not in names:
                raise TypeError(f"the model has no {kind} '{name}'; it has {', '.join(names)}")

    def _execute(self, args: Sequence[Any], places: list[Any] | None, framework: str | None = None) -> list[Any]:
        refuse_after_fork()
        torch = sys.modules.get("torch")
        tensor = torch.Tensor if torch else ()
        to_torch = framework == "torch" if framework else any(isinstance(argument, tensor) for argument in args)
        prepared = [_prepare(argument, value, tensor) for argument, value in zip(args, self.inputs)]
        kind = _nxrt.Framework.TORCH if to_torch else _nxrt.Framework.NUMPY
        results: list[Any] = self._native.run(self._index, prepared, kind, places)
        if self._special_outputs and not to_torch:
            for i, value in enumerate(self.outputs):
                if _dtypes.is_special(value.dtype) and (places is None or places[i] is None):
                    results[i] = _dtypes.decode(results[i], value.dtype)
        return results


def _known_framework(framework: str) -> None:
    if framework not in ("numpy", "torch"):
        raise ValueError(f"framework is 'numpy' or 'torch', not {framework!r}")


def _values(ports: list[_nxrt.Port]) -> tuple[Value, ...]:
    return tuple(Value(port.name, _dtypes.name_of(port.dtype), tuple(port.shape)) for port in ports)


def _prepare(argument: Any, value: Value, tensor: Any) -> Any:
    """The argument as something that the extension can read in place."""
    if isinstance(argument, tensor):
        if argument.device.type != "cpu":
            raise TypeError(f"'{value.name}': the tensor is on {argument.device}; move it to the CPU first")
        return argument.detach() if argument.requires_grad else argument
    if not isinstance(argument, np.ndarray):
        if hasattr(argument, "__dlpack__") and not isinstance(argument, np.generic):
            return argument
        argument = np.asarray(argument, None if isinstance(argument, np.generic) else _dtypes.numpy_dtype(value.dtype))
    return _dtypes.encode(argument) if _dtypes.is_special(argument.dtype.name) else argument


def _destination(place: Any) -> Any:
    if isinstance(place, np.ndarray) and _dtypes.is_special(place.dtype.name):
        return _dtypes.encode(place)
    return place
