"""Plans of tensor parallelism: what users say in Python as the rules that the planner reads."""
from __future__ import annotations

import fnmatch
import os
import pathlib
import re
import sys
from collections.abc import Mapping
from typing import Any


def plan_text(plan: Any, module: Any) -> str:
    """Rules as docs/partition.md describes them, from a plan file's path or a dictionary.

    Values of the dictionary are splits ("column", "row", "dim 1", "replicate", "split"; keys are then regular
    expressions over parameter names), parallel styles of torch (keys are modules' names, with * for any one
    part between dots), or placements of torch (keys are parameters' names, likewise). `module`, where there is
    one, tells what kind of module a parameter belongs to, and which parameters are too small to be split.

    >>> from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
    >>> print(plan_text({"layers.*.up": ColwiseParallel(), "layers.*.down": RowwiseParallel(),
    ...                  "head[.]weight": "replicate"}, None))
    layers[.][^.]*[.]up[.](weight|bias): column
    layers[.][^.]*[.]down[.](weight|bias): row
    head[.]weight: replicate
    """
    if plan is None:
        return ""
    if isinstance(plan, (str, os.PathLike)):
        return pathlib.Path(plan).read_text()
    if not isinstance(plan, Mapping):
        raise TypeError(f"plan is a file's path or a dictionary, not {type(plan).__name__}")
    rules = [rule for key, value in plan.items()
             if (rule := _rule(key, value, module)) and not _is_constant(rule.rpartition(":")[0], module)]
    for rule in rules:
        if "\n" in rule:
            raise ValueError(f"a plan's key has no line breaks: {rule!r}")
    return "\n".join(rules)


def _rule(key: str, value: Any, module: Any) -> str | None:
    if isinstance(value, str):
        return f"{key.replace('#', '[#]')}: {value}"  # where # would begin a comment
    # Whoever has such values has imported torch.
    parallel = sys.modules.get("torch.distributed.tensor.parallel")
    placements = sys.modules.get("torch.distributed.tensor")
    if parallel and isinstance(value, parallel.ParallelStyle):
        if isinstance(value, parallel.ColwiseParallel):
            return f"{_pattern(key)}[.](weight|bias): column"
        if isinstance(value, parallel.RowwiseParallel):
            return f"{_pattern(key)}[.](weight|bias): row"
        if isinstance(value, parallel.SequenceParallel):
            return f"{_pattern(key)}[.](weight|bias): replicate"
        # These say how activations lie, which nx plans by itself.
        if isinstance(value, (parallel.PrepareModuleInput, parallel.PrepareModuleOutput)):
            return None
        prepare = getattr(parallel, "PrepareModuleInputOutput", None)
        if prepare and isinstance(value, prepare):
            return None
    if placements:
        if isinstance(value, (tuple, list)) and len(value) == 1:
            value = value[0]
        if isinstance(value, placements.Replicate):
            return f"{_pattern(key)}: replicate"
        if isinstance(value, placements.Shard):
            return f"{_pattern(key)}: {_split(key, value.dim, module)}"
    raise TypeError(f"the plan's {key!r}: expected a split such as 'column', a parallel style or a placement, got "
                    f"{value!r}")


#: Parameters up to this many bytes are constants of the code, which the planner does not see.
_CONSTANT_BYTES = 1024


def _is_constant(pattern: str, module: Any) -> bool:
    """Whether all parameters that the pattern names are too small to be split."""
    try:
        names = re.compile(pattern)
    except re.error:
        return False  # the planner refuses it, with the place
    found = [value for name, value in _parameters(module) if names.fullmatch(name)]
    return bool(found) and all(value.numel() * value.element_size() <= _CONSTANT_BYTES for value in found)


def _parameters(module: Any) -> list[tuple[str, Any]]:
    """Parameters and buffers of a module or exported program by name; none where it is not known."""
    if module is None:
        return []
    if hasattr(module, "named_modules"):
        return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return [*module.named_parameters(), *module.named_buffers()]


def _pattern(glob: str) -> str:
    """A regular expression for names with * for any one part."""
    text = ""
    i = 0
    while i < len(glob):
        c = glob[i]
        close = glob.find("]", i + 2)
        if c == "[" and close > 0:
            text += "[" + glob[i + 1:close].replace("!", "^", 1) + "]" if glob[i + 1] == "!" else glob[i:close + 1]
            i = close
        elif c == "*":
            text += "[^.]*"
        elif c == "?":
            text += "[^.]"
        elif c.isalnum() or c in "_-/:":
            text += c
        else:
            text += "\\^" if c == "^" else f"[{c}]"
        i += 1
    return text


def _split(key: str, dim: int, module: Any) -> str:
    """The split that Shard(dim) is for the parameter that `key` names.

    Weights of linear layers and convolutions are outputs by inputs, tables of embeddings entries by columns.
    """
    owner, rank = _find(key, module)
    if dim < 0:
        if rank is None:
            raise ValueError(f"the plan's {key!r}: Shard({dim}) counts from the end of a parameter whose rank is not "
                             "known here; count from the front")
        dim += rank
    if rank == 1:
        return "column"
    first, second = ("row", "column") if owner is not None and type(owner).__name__ == "Embedding" \
        else ("column", "row")
    return first if dim == 0 else second if dim == 1 else f"dim {dim}"


def _find(key: str, module: Any) -> tuple[Any, int | None]:
    """The module and the rank of the first parameter that `key` names, as far as they are known."""
    modules = dict(module.named_modules()) if hasattr(module, "named_modules") else {}
    for name, parameter in _parameters(module):
        globs, parts = key.split("."), name.split(".")
        if len(globs) == len(parts) and all(map(fnmatch.fnmatchcase, parts, globs)):
            return modules.get(name.rpartition(".")[0]), parameter.ndim
    return None, None
