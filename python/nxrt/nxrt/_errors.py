"""What a failed call of the runtime raises."""
import enum


class Status(enum.IntEnum):
    """Why the runtime refused something: libnxrt's nxrt_status, whose header explains each."""

    OK = 0
    INVALID_ARGUMENT = 1
    NOT_INITIALIZED = 2
    ALREADY_INITIALIZED = 3
    OUT_OF_MEMORY = 4
    IO_ERROR = 5
    INVALID_FILE = 6
    UNSUPPORTED = 7
    TARGET_MISMATCH = 8
    NOT_ENOUGH_CORES = 9
    CORE_BUSY = 10
    NOT_FOUND = 11
    DTYPE_MISMATCH = 12
    SHAPE_MISMATCH = 13
    OUT_OF_RANGE = 14
    TIMEOUT = 15
    EXECUTION_FAILED = 16
    IN_USE = 17
    INTERNAL = 18


class Error(RuntimeError):
    """The runtime refused something: `status` says what kind of thing, `message` which one and the remedy.

    >>> import nxrt
    >>> try:
    ...     nxrt.load("missing.nxe")
    ... except nxrt.Error as error:
    ...     print(error.status.name)
    IO_ERROR
    """

    status: Status
    message: str

    def __init__(self, status: int, message: str):
        super().__init__(status, message)
        self.status = Status(status)
        self.message = message

    def __str__(self) -> str:
        return self.message


Error.__module__ = Status.__module__ = "nxrt"
