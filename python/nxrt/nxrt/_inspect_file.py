"""What an executable holds."""
from __future__ import annotations

import json
import os
from typing import Any

from . import _inspect
from ._errors import Error


def inspect(path: str | os.PathLike[str], *, verify: bool = False) -> dict[str, Any]:
    """Everything that an executable's tables say: the same as `nx-inspect --json`.

    Every check of the loader is made and no code of the file is run. With `verify` the weights' checksums
    are checked too, which reads all of them.

    >>> import nxrt
    >>> found = nxrt.inspect("mlp.nxe")
    >>> found["tp_degree"], found["entries"][0]["outputs"][0]["shape"]
    (1, ['batch', 3])
    """
    status, text = _inspect.inspect(os.fspath(path), verify)
    if status:
        raise Error(status, text)
    return json.loads(text)
