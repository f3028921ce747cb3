"""What an exported program writes to beside its results.

Buffers that it writes to become states of the executable. Inputs that it writes to stay the caller's: here such a
program becomes one that returns their new values.
"""
from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument
from torch.utils import _pytree as pytree


def written_buffers(program: ExportedProgram) -> set[str]:
    """Names of the buffers that the program writes to."""
    specs = program.graph_signature
    written = _written(program.graph)
    return set(specs.buffers_to_mutate.values()) | {
        spec.target for spec in specs.input_specs if spec.target is not None and spec.arg.name in written}


def returning_written_inputs(program: ExportedProgram) -> tuple[ExportedProgram, tuple[str, ...]]:
    """The program with the new values of the inputs that it writes to as further outputs, which come last, and the
    names of these inputs; the program itself when there are none.
    """
    specs = program.graph_signature
    # What run_decompositions has found out is outputs already.
    returned = {spec.target: spec.arg.name for spec in specs.output_specs
                if spec.kind == OutputKind.USER_INPUT_MUTATION}
    in_place = _written(program.graph)
    inputs = [spec.arg.name for spec in specs.input_specs if spec.kind == InputKind.USER_INPUT]
    written = tuple(name for name in inputs if name in returned or name in in_place)
    if not written:
        return program, ()

    module = copy.deepcopy(program.graph_module)
    placeholders = {node.name: node for node in module.graph.nodes if node.op == "placeholder"}
    output = module.graph.output_node()
    results = list(zip(specs.output_specs, output.args[0]))
    values = {spec.target: value for spec, value in results if spec.kind == OutputKind.USER_INPUT_MUTATION}
    for name in written:
        if name in returned:
            continue
        # The program may write to a copy as it likes.
        node = placeholders[name]
        with module.graph.inserting_after(list(placeholders.values())[-1]):
            clone = module.graph.call_function(torch.ops.aten.clone.default, (node,))
        clone.meta = dict(node.meta)
        node.replace_all_uses_with(clone, delete_user_cb=lambda user, clone=clone: user is not clone)
        values[name] = clone

    # An output that was the input itself is its copy now.
    kept = [(OutputSpec(spec.kind, TensorArgument(value.name), spec.target)
             if isinstance(spec.arg, TensorArgument) else spec, value)
            for spec, value in results if spec.kind != OutputKind.USER_INPUT_MUTATION]
    new = [(OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(values[name].name), None), values[name])
           for name in written]
    output.args = (tuple(value for _, value in kept + new),)
    module.recompile()
    leaf = pytree.tree_structure(0)
    out_spec = pytree.TreeSpec(dict, ["output", *written], [program.call_spec.out_spec] + [leaf] * len(written))
    return ExportedProgram(
        root=module, graph=module.graph,
        graph_signature=ExportGraphSignature(input_specs=specs.input_specs,
                                             output_specs=[spec for spec, _ in kept + new]),
        state_dict=program.state_dict, range_constraints=program.range_constraints,
        module_call_graph=[ModuleCallEntry("", ModuleCallSignature([], [], program.call_spec.in_spec, out_spec))],
        constants=program.constants, verifiers=program.verifiers), written


def _written(graph: torch.fx.Graph) -> set[str]:
    """Names of the placeholders whose memory a node writes to, itself or through a view."""
    origin: dict[Any, Any] = {node: node for node in graph.nodes if node.op == "placeholder"}
    found: set[str] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if not isinstance(node.target, torch._ops.OpOverload):
            # An element of what a view operator returned.
            if node.args and isinstance(node.args[0], torch.fx.Node) and node.args[0] in origin:
                origin[node] = origin[node.args[0]]
            continue
        for i, argument in enumerate(node.target._schema.arguments):
            if argument.alias_info is None:
                continue
            value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
            for source in value if isinstance(value, (list, tuple)) else [value]:
                if not isinstance(source, torch.fx.Node) or source not in origin:
                    continue
                origin.setdefault(node, origin[source])
                if argument.alias_info.is_write:
                    found.add(origin[source].name)
    return found
