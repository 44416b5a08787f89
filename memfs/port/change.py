"""What one command does to a scope, as values that a store makes durable."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from memfs.port.policy import Policy
from memfs.port.receipts import Receipt

LATEST_NS = (1 << 63) - 1
"""The latest time that a store holds, in 2262: a program, an archive or a commit may name any."""


class File(NamedTuple):
    """The metadata of one file: a memory.

    ``id`` stays with the memory over replace and rename. ``content`` is the version whose
    change wrote the bytes; ``mtime_ns`` is nanoseconds since the epoch.
    """

    id: int
    path: str
    size: int
    mtime_ns: int
    content: int


VERSION_BITS = 40
"""How many of a file's id say which change created it."""


def created_id(version: int, number: int) -> int:
    """The id of the file that is the *number*-th, from 0, to be created by the change *version*.

    Different for every file of every change, also where one creates many.
    """
    return number << VERSION_BITS | version


PutOperation: TypeAlias = Literal["created", "modified", "restored"]


class Put(NamedTuple):
    """A file's new bytes. ``content`` is None where a store reports a change without them.

    ``mtime_ns`` is set where the writer chose one; else it is the change's own time. ``joins`` is
    the version of an earlier change of the same memory that was one save with this one: the
    history shows the two as this one.
    """

    id: int
    path: str
    size: int
    operation: PutOperation
    content: bytes | None
    mtime_ns: int | None = None
    joins: int | None = None


class Remove(NamedTuple):
    """A file that leaves, by a command or to make room."""

    file: File
    evicted: bool


MoveOperation: TypeAlias = Literal["renamed", "archived", "restored"]


class Move(NamedTuple):
    """A file's new path; its id and bytes stay, and its place in write order.

    Only a file that is *restored*, out of the archive, takes the newest place.
    """

    file: File
    new_path: str
    operation: MoveOperation = "renamed"


class Change(NamedTuple):
    """Everything one command does, to happen as a whole or not at all.

    It is applied in the order of the fields. ``directories`` are the old paths of the directories
    that were deleted or renamed as such, and not just the files they held; none is below another.
    ``receipt`` is what the caller of the command gets; a change that a store reports has none.
    """

    removes: tuple[Remove, ...] = ()
    moves: tuple[Move, ...] = ()
    puts: tuple[Put, ...] = ()
    policy: Policy | None = None
    directories: tuple[str, ...] = ()
    receipt: Receipt | None = None


class Actor(NamedTuple):
    """Who made a change: a user's name, a program's, and its process id (0: not known)."""

    user: str = ""
    program: str = ""
    pid: int = 0


class Origin(NamedTuple):
    """Who made a change, when (nanoseconds since the epoch), and why, if they said so."""

    time_ns: int
    actor: Actor
    reason: str = ""


class Commit(NamedTuple):
    """A change that a store holds: the version it led to, and where it came from."""

    version: int
    change: Change
    origin: Origin
