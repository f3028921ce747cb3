"""From a model to an executable."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _nxcc
from ._errors import CompileError, diagnostics
from ._executable import Executable
from ._plan import plan_text

PathLike = str | os.PathLike[str]


def compile(model: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, tp: int = 1,
            plan: PathLike | Mapping[str, Any] | None = None, dynamic_shapes: Any = None,
            shapes: Mapping[str, Sequence[int]] | None = None, target_cpu: str | Sequence[str] | None = None,
            opt_level: int = 2, jobs: int = 0, strict: bool = False, cores: int | Sequence[int] | None = None,
            output: PathLike | None = None) -> Executable:
    """Compiles a model to an executable for the cores of a CPU.

    model: a torch.nn.Module or function, which is exported with `args` and `kwargs`; a
        torch.export.ExportedProgram; or the path of an .onnx or .pt2 file.
    args, kwargs: example inputs of a module, as torch.export.export takes them.
    dynamic_shapes: which dimensions stay open, as torch.export.export takes it. An ONNX file says so itself.
    tp: tensor-parallel degree: how many cores share the model.
    plan: how parameters are split among them, where the planner's own choice is not wanted: a plan file, or a
        dictionary of its rules, or one of torch.distributed.tensor.parallel's styles by module, or of
        placements by parameter.
    shapes: sizes that make inputs static, by input: {"ids": (1, 128)}.
    target_cpu: the instruction sets to generate code for, "native" by default; see `targets`.
    opt_level: optimization of machine code, 0 to 3.
    jobs: kernels to compile at once; 0 is one per CPU.
    strict: as for torch.export.export.
    cores: where the executable runs, see nxrt.load. It is loaded when it is called first.
    output: where the executable is written; otherwise it is a temporary file that goes with the result.

    Raises CompileError when nx refuses the model. The interpreter is free while nx compiles, and any number of
    threads may compile at once.

    >>> import torch, nxcc
    >>> class Scale(torch.nn.Module):
    ...     def forward(self, x, *, by):
    ...         return {"scaled": x * by}
    >>> batch = torch.export.Dim("batch")
    >>> exe = nxcc.compile(Scale(), (torch.ones(2, 3),), {"by": torch.ones(3)},
    ...                    dynamic_shapes={"x": {0: batch}, "by": None})
    >>> exe(torch.ones(4, 3), by=torch.full((3,), 2.0))["scaled"].sum()
    tensor(24.)
    """
    if not 1 <= tp <= 64:
        raise ValueError(f"tp is {tp}; the degree is 1 to 64")
    if not 0 <= opt_level <= 3:
        raise ValueError(f"opt_level is {opt_level}; it is 0 to 3")
    if isinstance(model, (str, os.PathLike)):
        if args or kwargs or dynamic_shapes is not None:
            raise TypeError("a model file says itself what its inputs are: args, kwargs and dynamic_shapes go with "
                            "modules; to make inputs of a file static, give shapes")
    elif shapes:
        raise TypeError("shapes go with model files; example inputs and dynamic_shapes say them for a module")
    targets = [target_cpu] if isinstance(target_cpu, str) else list(target_cpu or ())
    return Request(model, args, kwargs or {}, dynamic_shapes, strict, tp, plan, targets, _sizes(shapes), opt_level,
                   jobs, cores, output).run()


@dataclass(frozen=True)
class Request:
    """A model and everything that was asked for it."""

    model: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    strict: bool
    tp: int
    plan: Any
    targets: list[str]
    shapes: list[str]
    opt_level: int
    jobs: int
    cores: int | Sequence[int] | None
    output: PathLike | None

    @property
    def is_file(self) -> bool:
        return isinstance(self.model, (str, os.PathLike))

    @property
    def name(self) -> str:
        if self.is_file:
            return os.path.basename(self.model)
        return getattr(self.model, "__name__", type(self.model).__name__)

    def run(self) -> Executable:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="nxcc-"))
        try:
            return self._run_in(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _run_in(self, folder: pathlib.Path) -> Executable:
        signature = None
        holder = self.model  # of the parameters, for the plan
        source = folder / "model.pt2"
        if self.is_file:
            holder, source = None, pathlib.Path(self.model)
        else:
            from . import _torch_export
            from ._signature import Signature
            from ._torch_writes import returning_written_inputs
            exported = _torch_export.export(self.model, self.args, self.kwargs, self.dynamic_shapes, self.strict)
            program, written = returning_written_inputs(exported)
            _torch_export.save(program, source)
            signature = Signature(exported, written)
            if not hasattr(holder, "named_parameters"):
                holder = exported
        destination = pathlib.Path(self.output) if self.output is not None else folder / "model.nxe"
        result = _nxcc.compile(str(source), str(destination), self.tp, plan_text(self.plan, holder), self.targets,
                               self.shapes, self.opt_level, self.jobs)
        if not result.done:
            raise CompileError(diagnostics(result.messages))
        if not self.is_file:
            source.unlink()
        return Executable(destination, folder, signature, json.loads(result.report), json.loads(result.plan),
                          diagnostics(result.messages), self)


def _sizes(shapes: Mapping[str, Sequence[int]] | None) -> list[str]:
    """As nxcc's --shape takes them."""
    return [f"{name}={'x'.join(map(str, dims))}" for name, dims in (shapes or {}).items()]


def analyze(model: PathLike, *, shapes: Mapping[str, Sequence[int]] | None = None) -> dict[str, Any]:
    """What a model file holds: inputs, outputs, parameter bytes, operations by kind.

    >>> import nxcc
    >>> nxcc.analyze("mlp.onnx")["flops"] > 0
    True
    """
    result = _nxcc.analyze(os.fspath(model), _sizes(shapes))
    if not result.done:
        raise CompileError(diagnostics(result.messages))
    return json.loads(result.analysis)


def targets() -> dict[str, bool]:
    """The names that `target_cpu` takes beside "native", and whether this machine can run their code.

    >>> import nxcc
    >>> any(nxcc.targets().values())
    True
    """
    return {target.name: target.runs_here for target in _nxcc.targets()}


def version() -> str:
    """The compiler's version and that of LLVM."""
    return _nxcc.version()
