"""What a command says and returns when it does not do what it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memfs.port.errors import OpenError, PortError


class Status:
    """Exit statuses. The first four are the contract of the port's six commands."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    STORE_FAILED = 3
    OUR_FAULT = 70
    UNFIT_DIRECTORY = 73
    CONFIGURATION = 78
    INTERRUPTED = 130
    READER_GONE = 141


def status_of(error: PortError) -> int:
    """The exit status of a command that the port has refused."""
    from memfs.port.errors import ErrorCode

    store_failed = error.code in (ErrorCode.UNSAFE_STORAGE, ErrorCode.STORAGE_ERROR)
    return Status.STORE_FAILED if store_failed else Status.REFUSED


def status_of_opening(error: OpenError) -> int:
    """The exit status where there is no port to ask: a wrong name, or a store that cannot be opened."""
    from memfs.port.errors import ErrorCode

    statuses = {ErrorCode.INVALID_ARGUMENT: Status.USAGE, ErrorCode.NOT_FOUND: Status.REFUSED}
    return statuses.get(error.error.code, Status.STORE_FAILED)


def explain(error: BaseException) -> tuple[str, int]:
    """One sentence about *error* for a person, and the exit status that goes with it."""
    if isinstance(error, Complaint):
        return str(error), error.status
    from memfs.port.errors import OpenError, PortError, StoreError

    if isinstance(error, OpenError):
        return error.error.message, status_of_opening(error)
    if isinstance(error, StoreError):
        return error.message, status_of(PortError(error.code, error.message))
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or type(error).__name__}.", Status.REFUSED
    fault = f"memfs itself is at fault here ({type(error).__name__}: {error})"
    return f"{fault}. Please report it, with what MEMFS_DEBUG=1 shows.", Status.OUR_FAULT


class Complaint(Exception):
    """One sentence for a person, and the exit status that goes with it."""

    def __init__(self, sentence: str, status: int = Status.REFUSED) -> None:
        super().__init__(sentence)
        self.status = status
