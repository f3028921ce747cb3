"""torch.compile(model, backend="nxcc"): the graphs that Dynamo finds, compiled for inference."""
from __future__ import annotations

import copy
import operator
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def backend(graph: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None,
            mode: str | None = None) -> Callable[..., Any]:
    """The backend that `torch.compile(model, backend="nxcc")` finds; `backend=nxcc.backend` is the same.

    `options` are those of `nxcc.compile`: tp, plan, target_cpu, opt_level, jobs, cores.

    Parameters and buffers that a graph reads become part of its executable. When they change afterwards, the
    graph is compiled again at its next call. There are no gradients: call the model under torch.no_grad() or
    torch.inference_mode().

    >>> import torch, nxcc
    >>> model = torch.nn.Linear(4, 3).eval()
    >>> fast = torch.compile(model, backend="nxcc")
    >>> with torch.no_grad():
    ...     torch.allclose(fast(torch.ones(2, 4)), model(torch.ones(2, 4)))
    True
    """
    if mode not in (None, "default"):
        raise ValueError(f"the backend nxcc has no mode {mode!r}")
    return _Graph(graph, example_inputs, dict(options or {}))


#: For how many values of integers that are no sizes a graph is compiled, each a constant of its executable.
_MOST_SPECIALIZATIONS = 8


class _Graph:
    """One graph of Dynamo. Its weights are among its inputs there, and constants of the executable."""

    def __init__(self, graph: Any, example_inputs: Sequence[Any], options: dict[str, Any]):
        import torch

        if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad
                                           for value in example_inputs):
            raise RuntimeError("nxcc compiles for inference and gives no gradients: call the model under "
                               "torch.no_grad() or torch.inference_mode(), or take requires_grad from its parameters")
        self._graph = graph
        self._options = options
        self._lock = threading.Lock()
        nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
        # By place among the graph's inputs.
        self._weights = {i: _weight_name(node) for i, node in enumerate(nodes) if _is_weight(node)}
        self._tensors = [i for i, value in enumerate(example_inputs)
                         if isinstance(value, torch.Tensor) and i not in self._weights]
        self._integers = [i for i, node in enumerate(nodes)
                          if i not in self._weights and i not in self._tensors and _size_source(node, nodes) is None]
        self._state: list[tuple[int, int]] | None = None
        self._executables: dict[tuple[Any, ...], Any] = {}

    def __call__(self, *inputs: Any) -> Any:
        state = [_state_of(inputs[i]) for i in self._weights]
        values = tuple(inputs[i] for i in self._integers)
        executable = self._executables.get(values) if state == self._state else None
        if executable is None:
            with self._lock:
                executable = self._compiled(inputs, values, state)
        if executable is None:
            return self._graph(*inputs)
        return executable(*[inputs[i] for i in self._tensors])

    def _compiled(self, inputs: Sequence[Any], values: tuple[Any, ...], state: list[tuple[int, int]]) -> Any:
        """The executable for these weights and integers; None when there would be too many."""
        if state != self._state:
            self._executables.clear()
        if values not in self._executables:
            if len(self._executables) >= _MOST_SPECIALIZATIONS:
                warnings.warn(f"a graph was called with more than {_MOST_SPECIALIZATIONS} values of an integer that "
                              "is no size of a tensor; it now runs in torch for other values", stacklevel=2)
                return None
            self._executables[values] = self._compile(inputs)
        # What the graph writes to is no constant, which _compile may have found out.
        self._state = [_state_of(inputs[i]) for i in self._weights]
        return self._executables[values]

    def _compile(self, inputs: Sequence[Any]) -> Any:
        from ._compile import compile
        from ._torch_export import export
        from ._torch_writes import written_buffers

        while True:
            module, shapes = self._bind(inputs)
            exported = export(module, [inputs[i] for i in self._tensors], None, shapes, strict=False)
            written = written_buffers(exported)
            if not written:
                return compile(exported, **self._options)
            # What the graph writes to belongs to the caller.
            moved = [i for i, name in self._weights.items() if name in written]
            for i in moved:
                del self._weights[i]
            self._tensors = sorted(self._tensors + moved)

    def _bind(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """The graph as a module of the tensors alone, and which of their dimensions are symbolic.

        Weights become attributes under their names in the model, sizes are taken from a tensor that has them.
        """
        import torch

        graph = copy.deepcopy(self._graph.graph)
        nodes = [node for node in graph.nodes if node.op == "placeholder"]
        attributes: dict[str, Any] = {}
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                attributes[node.target] = operator.attrgetter(node.target)(self._graph)
        last = nodes[-1] if nodes else None
        for i, node in enumerate(nodes):
            if i in self._tensors:
                continue
            if i in self._weights:
                attributes[self._weights[i]] = inputs[i].detach()
                with graph.inserting_after(last):
                    value = graph.get_attr(self._weights[i])
            elif (source := _size_source(node, nodes)) is not None:
                with graph.inserting_after(last):
                    value = graph.call_function(torch.ops.aten.sym_size.int, source)
            else:
                value = inputs[i]
            node.replace_all_uses_with(value) if isinstance(value, torch.fx.Node) else _replace(node, value)
        for i, node in enumerate(nodes):
            if i not in self._tensors:
                graph.erase_node(node)
        shapes = tuple({d: torch.export.Dim.AUTO for d, size in enumerate(nodes[i].meta["example_value"].shape)
                        if isinstance(size, torch.SymInt)} for i in self._tensors)
        return torch.fx.GraphModule(attributes, graph), shapes


def _replace(node: Any, value: Any) -> None:
    """Puts a constant in the place of a node."""
    for user in list(node.users):
        user.args, user.kwargs = _map(user.args, node, value), _map(user.kwargs, node, value)


def _map(arguments: Any, node: Any, value: Any) -> Any:
    import torch

    return torch.fx.map_arg(arguments, lambda other: value if other is node else other)


def _state_of(weight: Any) -> tuple[int, int]:
    """What changes when a tensor gets other elements."""
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version


def _is_weight(node: Any) -> bool:
    """Whether Dynamo takes this input for one that stays: a parameter, buffer or constant of a module."""
    import torch

    return (issubclass(node.type or object, torch.nn.Parameter)
            or "_dynamo_static_input_type" in node.meta.get("tensor_dict", {}))


def _weight_name(node: Any) -> str:
    """The name in the model ("layers.0.weight"), where Dynamo says it."""
    name = getattr(getattr(node, "_dynamo_source", None), "name", "")
    text = str(name() if callable(name) else name)  # "L['self']._modules['layers']._parameters['weight']"
    parts = re.findall(r"\['([A-Za-z_]\w*|\d+)'\]", text.partition("]")[2])
    member = re.search(r"\.([A-Za-z_]\w*)$", text)
    if member:
        parts.append(member.group(1))
    return ".".join(parts) or node.name


def _size_source(node: Any, nodes: Sequence[Any]) -> tuple[Any, int] | None:
    """A tensor among the inputs, and its dimension, whose size the input `node` is."""
    import torch

    symbol = node.meta.get("example_value")
    if not isinstance(symbol, torch.SymInt):
        return None
    for other in nodes:
        value = other.meta.get("example_value")
        if isinstance(value, torch.Tensor):
            for d, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr == symbol.node.expr:
                    return other, d
    return None
