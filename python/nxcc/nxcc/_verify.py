"""Comparison of an executable with its model in torch, layer by layer."""
from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._executable import Executable

#: What rounding explains, of a tensor's largest element: reductions run in another order than torch's.
_PRECISION = {"float64": 1e-10, "float32": 5e-5, "float16": 5e-3, "bfloat16": 4e-2}


@dataclass(frozen=True)
class LayerResult:
    """One tensor of the model and its counterpart in nx."""

    name: str  # the submodule's; with #2 behind it when it is called again, [1] for a further tensor
    kind: str  # the submodule's class
    ok: bool
    max_error: float  # largest difference of two elements
    largest: float  # largest element of the reference
    elements: int  # how many elements are off

    def __str__(self) -> str:
        verdict = "ok" if self.ok else f"{self.elements} elements differ"
        return f"{self.name} ({self.kind}): {verdict}, largest difference {self.max_error:.3g} of {self.largest:.3g}"


@dataclass(frozen=True)
class Verification:
    """What `Executable.verify` found."""

    outputs: tuple[LayerResult, ...]  # of the executable itself
    layers: tuple[LayerResult, ...]  # of the model compiled with each layer's output kept, in the order of execution
    unmatched: tuple[str, ...] = ()  # layers that only one of the two has

    @property
    def ok(self) -> bool:
        """Whether the executable's outputs are right."""
        return all(output.ok for output in self.outputs)

    @property
    def first(self) -> LayerResult | None:
        """The first layer that deviates."""
        return next((layer for layer in self.layers if not layer.ok), None)

    def __str__(self) -> str:
        wrong = sum(not output.ok for output in self.outputs)
        text = f"{len(self.outputs)} outputs, {wrong} differ; {len(self.layers)} layers compared"
        if self.first:
            text += f"\nthe first that deviates: {self.first}"
        elif wrong:
            text += ("\nno layer deviates when each layer's output is kept: the deviation comes from what the executable "
                     "computes across layers")
        if self.first and not wrong:
            text += "\nthe outputs do not show it"
        for result in self.outputs + self.layers:
            if not result.ok:
                text += f"\n  {result}"
        if self.unmatched:
            text += f"\nnot compared, since only one side has them: {', '.join(self.unmatched)}"
        return text


def verify(executable: Executable, reference: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
           rtol: float | None, atol: float | None) -> Verification:
    import torch

    request = executable._request
    if reference is None:
        if request.is_file:
            raise TypeError("verify needs the module to compare with: a model file does not say it")
        reference = request.model.module() if isinstance(request.model, torch.export.ExportedProgram) \
            else request.model
    if not args and not kwargs:
        args, kwargs = request.args, request.kwargs
        if not args and not kwargs:
            raise TypeError("verify needs inputs: the compilation had none")
    with torch.no_grad():
        # Copies, since models may write to their inputs.
        wanted = _tensors(reference(*copy.deepcopy(tuple(args)), **copy.deepcopy(dict(kwargs))))
        found = _tensors(executable(*copy.deepcopy(tuple(args)), **copy.deepcopy(dict(kwargs))))
    if len(wanted) != len(found):
        raise TypeError(f"the reference returns {len(wanted)} tensors, the executable {len(found)}")
    outputs = tuple(_compare(f"output {i}", "output", a, b, rtol, atol) for i, (a, b) in enumerate(zip(found, wanted)))
    if not isinstance(request.model, torch.nn.Module) or not isinstance(reference, torch.nn.Module):
        return Verification(outputs, ())

    probe = dataclasses.replace(request, model=_probe(request.model), output=None).run()
    try:
        with torch.no_grad():
            _, compiled = probe(*copy.deepcopy(tuple(args)), **copy.deepcopy(dict(kwargs)))
            _, eager = _probe(reference)(*copy.deepcopy(tuple(args)), **copy.deepcopy(dict(kwargs)))
    finally:
        probe.close()
    kinds = {name: type(module).__name__ for name, module in reference.named_modules()}
    layers = tuple(_compare(name, kinds.get(name.split("#")[0].split("[")[0], "?"), compiled[name], value, rtol, atol)
                   for name, value in eager.items() if name in compiled)
    return Verification(outputs, layers, tuple(sorted(eager.keys() ^ compiled.keys())))


def _tensors(value: Any) -> list[Any]:
    import torch

    return [torch.as_tensor(leaf) for leaf in torch.utils._pytree.tree_leaves(value) if leaf is not None]


def _probe(module: Any) -> Any:
    """The module with the outputs of all submodules as a second result, by name in the order of execution.

    It shares the module's parameters and their names, so that plans and locations mean the same.
    """
    import torch

    forward = type(module).forward

    @functools.wraps(forward)
    def recording(self: Any, *args: Any, **kwargs: Any) -> Any:
        records: dict[str, Any] = {}
        seen: list[tuple[Any, str]] = []
        calls: dict[str, int] = {}

        def record(name: str, _module: Any, _args: Any, result: Any) -> None:
            calls[name] = calls.get(name, 0) + 1
            key = name if calls[name] == 1 else f"{name}#{calls[name]}"
            for i, leaf in enumerate(torch.utils._pytree.tree_leaves(result)):
                # A container returns what one of its children has recorded.
                if not isinstance(leaf, torch.Tensor) or any(leaf is other and child.startswith(name + ".")
                                                             for other, child in seen):
                    continue
                seen.append((leaf, name))
                # A later layer may write to it in place.
                records[key if i == 0 else f"{key}[{i}]"] = leaf.clone()

        hooks = [child.register_forward_hook(functools.partial(record, name))
                 for name, child in self.named_modules() if name]
        try:
            return forward(self, *args, **kwargs), records
        finally:
            for hook in hooks:
                hook.remove()

    probe = copy.copy(module)
    probe.__class__ = type(type(module).__name__, (type(module),), {"forward": recording})
    return probe


def _compare(name: str, kind: str, found: Any, wanted: Any, rtol: float | None, atol: float | None) -> LayerResult:
    import torch

    found, wanted = torch.as_tensor(found).detach(), torch.as_tensor(wanted).detach()
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return LayerResult(name, kind, False, float("nan"), float("nan"), max(found.numel(), wanted.numel()))
    if wanted.numel() == 0:
        return LayerResult(name, kind, True, 0.0, 0.0, 0)
    precision = _PRECISION.get(str(wanted.dtype).removeprefix("torch."), 0.0)
    found, wanted = found.double(), wanted.double()
    finite = wanted.isfinite()
    largest = float(wanted[finite].abs().max()) if finite.any() else 0.0
    rtol = precision if rtol is None else rtol
    atol = precision * largest if atol is None else atol
    close = torch.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    both = finite & found.isfinite()
    error = float((found - wanted)[both].abs().max()) if both.any() else 0.0
    return LayerResult(name, kind, bool(close.all()), error if bool((both | close).all()) else float("inf"), largest,
                       int((~close).sum()))
