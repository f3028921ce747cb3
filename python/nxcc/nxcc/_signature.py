"""How a module's inputs and outputs lie in those of its executable."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import nxrt
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument
from torch.utils import _pytree as pytree


class Signature:
    """The nesting that torch.export took apart, the inputs that it made constant, and those that it writes to.

    `written` names these; the executable returns their new values behind the outputs.
    """

    def __init__(self, exported: ExportedProgram, written: tuple[str, ...]):
        self._in_spec = exported.call_spec.in_spec
        self._out_spec = exported.call_spec.out_spec
        specs = exported.graph_signature
        self._inputs = [spec.arg for spec in specs.input_specs if spec.kind == InputKind.USER_INPUT]
        self._outputs = [spec.arg for spec in specs.output_specs if spec.kind == OutputKind.USER_OUTPUT]
        called = exported.module_call_graph[0].signature
        self._names: Sequence[str] = getattr(called, "forward_arg_names", None) or ()
        self._written = written

    def call(self, model: nxrt.Model, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        leaves = self._flatten(args, kwargs)
        given: dict[str, Any] = {}
        to_torch = False
        for argument, leaf in zip(self._inputs, leaves):
            if not isinstance(argument, ConstantArgument):
                given[argument.name] = leaf
                to_torch = to_torch or isinstance(leaf, torch.Tensor)
            elif leaf is not argument.value and leaf != argument.value:
                raise ValueError(f"the model was exported for {argument.name}={argument.value!r}, not {leaf!r}; "
                                 "compile it once more for that")
        results = list(model.run({value.name: given[value.name] for value in model.inputs},
                                 framework="torch" if to_torch else "numpy").values())
        for name in reversed(self._written):
            if isinstance(given[name], torch.Tensor):
                with torch.no_grad():
                    given[name].copy_(torch.as_tensor(results.pop()))
            else:
                given[name][...] = results.pop()
        outputs: list[Any] = []
        for argument in self._outputs:
            if isinstance(argument, ConstantArgument):
                # None is no output of the executable, other constants are.
                if argument.value is not None:
                    results.pop(0)
                outputs.append(argument.value)
            else:
                value = results.pop(0)
                outputs.append(int(value) if isinstance(argument, SymIntArgument) else value)
        return pytree.tree_unflatten(outputs, self._out_spec)

    def _flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
        if spec == self._in_spec:
            return leaves
        args, kwargs = self._rename(args, kwargs)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise TypeError(f"the inputs are nested as {spec}, the model was exported with {self._in_spec}")
        return leaves

    def _rename(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same inputs, by position and by name as the export had them."""
        positional, named = self._in_spec.children()
        names = list(self._names)
        if len(names) != positional.num_children + named.num_children:
            return tuple(args), {name: kwargs[name] for name in named.context or () if name in kwargs}
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs ({', '.join(names)}), {len(args)} were given")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"the model has no input '{name}'; it was exported with {', '.join(names)}")
            if name in given:
                raise TypeError(f"input '{name}' is given by position and by name")
            given[name] = value
        for name in names:
            if name not in given:
                raise TypeError(f"input '{name}' is missing; the model was exported with {', '.join(names)}")
        count = positional.num_children
        return tuple(given[name] for name in names[:count]), {name: given[name] for name in names[count:]}
