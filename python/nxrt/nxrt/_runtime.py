"""The runtime of this process: set up once, by hand or by the first load."""
from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

from . import _nxrt

_lock = threading.Lock()
_initialized = False
_forked = False


def _after_fork() -> None:
    global _forked, _lock
    _forked = _initialized
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def refuse_after_fork() -> None:
    """The runtime's threads and cores stay with the process that has them."""
    if _forked:
        raise RuntimeError("this process is a fork of one that uses nxrt; start it with multiprocessing's "
                           "'spawn' method, or use nxrt only in the child")


def init(*, threads_per_core: int = 0, num_cores: int = 0, visible_cores: str | None = None, timeout: float = 0,
         core_memory: int = 0, log_level: str | None = None, log_location: str | None = None) -> None:
    """Sets the runtime up; without this call the first `load` does, as the environment says.

    What is left out follows the environment variable of libnxrt, then the default.

    threads_per_core: CPUs that work together as one core.
    num_cores: take this many free cores now. More than the machine has is allowed: they share its CPUs.
    visible_cores: take these cores now, for example "0-3,6".
    timeout: seconds that one execution may take.
    core_memory: bytes that one core may use for working memory.
    log_level, log_location: "error", "warning", "info" or "debug", and a file.

    Raises nxrt.Error with Status.ALREADY_INITIALIZED when the runtime is set up already.
    """
    global _initialized
    refuse_after_fork()
    with _lock:
        _nxrt.init(threads_per_core, num_cores, visible_cores, timeout, core_memory, log_level, log_location)
        _initialized = True


def ensure_initialized() -> None:
    global _initialized
    refuse_after_fork()
    with _lock:
        if not _initialized:
            _nxrt.init(0, 0, None, 0, 0, None, None)
            _initialized = True


def close() -> None:
    """Gives the cores back and stops their threads, so that `init` may be called again.

    Raises nxrt.Error with Status.IN_USE while models are loaded.
    """
    global _initialized
    with _lock:
        if _initialized:
            _nxrt.close()
            _initialized = False


@dataclass(frozen=True)
class Core:
    """A core that this process may use, and who has it now."""

    core: int  # its number in `load(cores=...)`
    machine_core: int  # its number in NXRT_VISIBLE_CORES
    threads: int
    cpus: tuple[int, ...]
    numa_node: int  # -1 when unknown
    models: int  # of this process that are loaded on it
    owned: bool  # by this process
    holder_pid: int  # of the other process that has it, 0 when none has
    holder_command: str
    memory_used: int
    memory_limit: int  # 0 when there is none


def cores() -> list[Core]:
    """The cores that this process may use.

    >>> import nxrt
    >>> nxrt.cores()[0].core
    0
    """
    ensure_initialized()
    found: list[Core] = []
    for number in range(_nxrt.core_count()):
        info: dict[str, Any] = _nxrt.core_info(number)
        info["cpus"] = tuple(info["cpus"])
        found.append(Core(**info))
    return found


def version() -> str:
    """The runtime's name and version.

    >>> import nxrt
    >>> nxrt.version().split()[0]
    'libnxrt'
    """
    return _nxrt.version()
