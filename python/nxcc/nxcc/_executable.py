"""Compiled models."""
from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import nxrt

from ._errors import Diagnostic

if TYPE_CHECKING:
    from ._compile import Request
    from ._signature import Signature
    from ._verify import Verification


class State(Mapping[str, Any]):
    """What an executable keeps from one call to the next, by name. Elements are copies."""

    def __init__(self, model: nxrt.Model, framework: str):
        self._model = model
        self._framework = framework

    def __getitem__(self, name: str) -> Any:
        if name not in list(self):
            raise KeyError(name)
        return self._model.read_state(name, framework=self._framework)

    def __setitem__(self, name: str, value: Any) -> None:
        self._model.write_state(name, value)

    def __iter__(self) -> Iterator[str]:
        return iter([value.name for value in self._model.states])

    def __len__(self) -> int:
        return len(self._model.states)

    def reset(self) -> None:
        """Gives all states their first values."""
        self._model.reset_states()


class Executable:
    """A compiled model: call it like the module that it was made of.

    Inputs are torch tensors, NumPy arrays or anything that speaks DLPack, nested as the module takes them; outputs
    are nested as it returns them, torch tensors when one was given and NumPy arrays otherwise. Any number of
    threads may call one executable.

    >>> import numpy as np, nxcc
    >>> exe = nxcc.compile("mlp.onnx", tp=1)
    >>> exe(x=np.zeros((1, 4), np.float32)).dtype
    dtype('float32')
    >>> exe.save("copy.nxe")
    >>> import nxrt
    >>> nxrt.load("copy.nxe").outputs
    (Value(name='y', dtype='float32', shape=('batch', 3)),)
    """

    def __init__(self, path: pathlib.Path, folder: pathlib.Path, signature: Signature | None, report: dict[str, Any],
                 plan: dict[str, Any], diagnostics: tuple[Diagnostic, ...], request: Request):
        self._path = path
        self._signature = signature
        self._request = request
        self._model: nxrt.Model | None = None
        self._lock = threading.Lock()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        #: Time, peak memory and size of each phase of the compilation.
        self.report = report
        #: How parameters are split, which collectives there are, and why.
        self.plan = plan
        #: What the compiler said, short of errors.
        self.diagnostics = diagnostics

    @property
    def model(self) -> nxrt.Model:
        """The loaded executable: what it takes and returns, by the names of the model."""
        with self._lock:
            if self._model is None:
                self._model = nxrt.load(self._path, cores=self._request.cores)
            return self._model

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        model = self._model or self.model
        if self._signature is None:
            return model(*args, **kwargs)
        return self._signature.call(model, args, kwargs)

    @property
    def state(self) -> State:
        """Present values of the buffers that the model writes to, by name; setting an element changes one.

        >>> import torch, nxcc
        >>> class Counter(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.register_buffer("count", torch.zeros(1))
        ...     def forward(self, x):
        ...         self.count.add_(1)
        ...         return x + self.count
        >>> exe = nxcc.compile(Counter(), (torch.zeros(1),))
        >>> exe(torch.zeros(1)), exe(torch.zeros(1)), exe.state["count"]
        (tensor([1.]), tensor([2.]), tensor([2.]))
        >>> exe.state.reset()
        >>> exe(torch.zeros(1))
        tensor([1.])
        """
        return State(self.model, "numpy" if self._signature is None else "torch")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copies the executable to a file of its own, for nxrt.load or any program that links libnxrt."""
        path = pathlib.Path(path)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                with open(self._path, "rb") as source:
                    shutil.copyfileobj(source, file)
                os.chmod(file.name, self._path.stat().st_mode)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise

    def inspect(self) -> dict[str, Any]:
        """Everything that the executable's tables hold; see nxrt.inspect.

        >>> import nxcc
        >>> entry = nxcc.compile("mlp.onnx").inspect()["entries"][0]
        >>> [value["name"] for value in entry["inputs"]], len(entry["commands"]) > 0
        (['x'], True)
        """
        return nxrt.inspect(self._path)

    def verify(self, reference: Any = None, /, *args: Any, rtol: float | None = None, atol: float | None = None,
               **kwargs: Any) -> Verification:
        """Compares the executable with `reference`, layer by layer, on the given inputs.

        reference: the module in torch, by default the one that was compiled. The inputs are those of the
            compilation when none are given.
        rtol, atol: what is allowed; by default as much as the element types' precision explains.

        First the executable itself is compared. Then the module is compiled once more with the output of every
        submodule as an output of its own, and these are compared in the order in which the reference computes
        them; the result names the first that deviates. Operations that nx computes as one in the executable are
        kept apart there, so a deviation may show in one of the two alone: the result says so.

        >>> import torch, nxcc
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).eval()
        >>> exe = nxcc.compile(model, (torch.ones(2, 4),))
        >>> found = exe.verify(model, torch.ones(2, 4))
        >>> found.ok, [layer.name for layer in found.layers]
        (True, ['0', '1', '2'])
        """
        from ._verify import verify
        return verify(self, reference, args, kwargs, rtol, atol)

    def close(self) -> None:
        """Unloads the executable; a later call loads it again."""
        with self._lock:
            if self._model is not None:
                self._model.close()
                self._model = None

    def __repr__(self) -> str:
        degree = self._request.tp
        return f"<nxcc.Executable of {self._request.name!r}, {degree} core{'s' if degree > 1 else ''}>"
