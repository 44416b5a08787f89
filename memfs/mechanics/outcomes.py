"""What the mechanics need of a memory, and how they fail: as values, like the port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeAlias

from memfs.port.commands import Command
from memfs.port.errors import PortError
from memfs.port.receipts import Result

FailureReason: TypeAlias = Literal["read_failed", "callback_failed", "invalid_text", "write_failed"]


class MemoryPort(Protocol):
    """Anything that keeps the contract of the port, such as :class:`memfs.Memory`."""

    def execute(self, command: Command) -> Result: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing came of it, and nothing was changed.

    ``error`` is the port's where a read or the write failed; ``cause`` is what the caller's function
    raised, where it did.
    """

    reason: FailureReason
    message: str
    error: PortError | None = None
    cause: Exception | None = field(default=None, compare=False)
    ok: ClassVar[Literal[False]] = False


class ReadFailed(Exception):
    """On its way to a :class:`Failed`: the memory could not be read."""

    def __init__(self, error: PortError) -> None:
        super().__init__(error.message)
        self.error = error

    def to_value(self) -> Failed:
        """The failure that the caller gets."""
        return Failed("read_failed", self.error.message, self.error)


def raised(function: str, error: Exception) -> str:
    """The sentence about a *function* of the caller's that raised *error*."""
    return f"{function} raised {type(error).__name__}: {error}"
