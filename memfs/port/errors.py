"""Why a command was refused: the codes of the contract, and an error as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Detail = str | int | float | bool


class ErrorCode(StrEnum):
    """Every code a failure can carry. A store never adds one of its own."""

    INVALID_COMMAND = "INVALID_COMMAND"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    INVALID_PATH = "INVALID_PATH"
    ROOT_PROTECTED = "ROOT_PROTECTED"
    INVALID_EXTENSION = "INVALID_EXTENSION"
    PATH_CONFLICT = "PATH_CONFLICT"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    INVALID_RANGE = "INVALID_RANGE"
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"
    MATCH_NOT_UNIQUE = "MATCH_NOT_UNIQUE"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    CONFLICT = "CONFLICT"
    UNSAFE_STORAGE = "UNSAFE_STORAGE"
    STORAGE_ERROR = "STORAGE_ERROR"


@dataclass(frozen=True, slots=True)
class PortError:
    """One refusal: a code for programs, and one sentence a person can act on.

    ``path`` is the path the refusal is about, where there is one; ``details`` are
    plain values, such as the byte length that was too large and the limits it met.
    """

    code: ErrorCode
    message: str
    path: str | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract; ``path`` and ``details`` only where present."""
        wire: dict[str, object] = {"code": str(self.code), "message": self.message}
        if self.path is not None:
            wire["path"] = self.path
        if self.details:
            wire["details"] = dict(self.details)
        return wire


class OpenError(Exception):
    """A memory could not be opened; nothing was changed.

    ``error`` says why in the terms of the port: ``INVALID_ARGUMENT`` for a bad scope
    name, limit or URL, ``UNSAFE_STORAGE`` for what memfs did not write,
    ``STORAGE_ERROR`` for a store that failed.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = PortError(code, message)


class StoreError(Exception):
    """Raised by a store, and by nothing else: it failed, or holds what it did not write.

    ``code`` is ``STORAGE_ERROR`` or ``UNSAFE_STORAGE``; of what is asked of the history also ``NOT_FOUND``
    (:class:`NotKept`), and ``CONFLICT`` where the present would have to change. The message must hold no
    secret: it goes to callers as it is.
    """

    def __init__(self, message: str, code: ErrorCode = ErrorCode.STORAGE_ERROR) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class UnsafeStorage(StoreError):
    """What is stored is not what the store wrote; it is left as it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSAFE_STORAGE)


class NotKept(StoreError):
    """An earlier version is not kept: it was pruned or redacted, or there has never been such a one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.NOT_FOUND)
