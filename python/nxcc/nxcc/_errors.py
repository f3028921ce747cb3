"""What a refused compilation raises."""
from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import _nxcc


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler: what is the matter, and where in the model."""

    severity: str  # "error", "warning", "remark" or "note"
    message: str
    node: str = ""  # of the model
    file: str = ""  # of the program that the model was exported from
    line: int = 0  # from 1; 0 when unknown
    column: int = 0
    notes: tuple[Diagnostic, ...] = field(default=())

    @property
    def source(self) -> str:
        """The line of the user's program, where its file can be read."""
        return linecache.getline(self.file, self.line).strip() if self.file and self.line else ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        where = f"node '{self.node}'" if self.node else place
        if self.node and place:
            where += f" ({place})"
        text = f"{self.severity}: {where}{': ' if where else ''}{self.message}"
        if self.source:
            text += f"\n    {self.source}"
        for note in self.notes:
            text += "\n  " + str(note).replace("\n", "\n  ")
        return text


def diagnostics(messages: Sequence[_nxcc.Message]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic(m.severity, m.text, m.node, m.file, m.line, m.column, diagnostics(m.notes))
                 for m in messages)


class CompileError(RuntimeError):
    """The compiler refused the model or an option; `diagnostics` says why, node by node.

    >>> import nxcc
    >>> try:
    ...     nxcc.compile("mlp.onnx", target_cpu="z80")
    ... except nxcc.CompileError as error:
    ...     print(error.diagnostics[0].message)  # doctest: +ELLIPSIS
    unknown target...
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        super().__init__(tuple(diagnostics))
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics)) or "the compilation failed without saying why; please report it"


CompileError.__module__ = Diagnostic.__module__ = "nxcc"
