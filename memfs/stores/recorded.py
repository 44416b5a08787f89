"""What a row of the history means, in the stores that keep it in rows: keys, changes and records.

A record's key is its version, and its place in that version's change. A row is a sequence of ``COLUMNS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, get_args

from memfs.port.change import Actor, Change, Commit, File, Move, Origin, Put, PutOperation, Remove
from memfs.port.errors import UnsafeStorage
from memfs.port.policy import Policy
from memfs.port.store import Record

ORDINAL_BITS = 24
"""A record's key is ``version << ORDINAL_BITS | place in the change``: appended, never searched for."""
PUTS = frozenset(get_args(PutOperation))
"""The operations that bring bytes; one of them also moves a file, and then it brings none."""
COLUMNS = (
    "record, operation, id, path, old_path, directory, size, time_ns, mtime_ns, joins, user, program, pid, "
    "reason, digest, redacted"
)

FIRST_BATCH, BATCH = 16, 512
"""Records in the first batch, for those who want the newest few, and in each one after it."""

Place = TypeVar("Place")


def key_of(version: int, ordinal: int) -> int:
    """The key of one record of a change."""
    return version << ORDINAL_BITS | ordinal


def version_of(key: int) -> int:
    """The version whose change a record belongs to."""
    return key >> ORDINAL_BITS


def last_key(version: int) -> int:
    """The largest key a record of *version* can have."""
    return key_of(version + 1, 0) - 1


def lines_of(directories: Sequence[str]) -> str | None:
    """How a change's first record holds its directories: one a line, for no path has a line end."""
    return "\n".join(directories) or None


def commits_of(rows: Iterable[Sequence[Any]], policy: Policy | None) -> list[Commit]:
    """The changes that history rows (``COLUMNS``, in order of their keys) tell of.

    *policy* is the scope's now: it stands for every policy change among them, and is needed only for those.
    """
    commits: list[Commit] = []
    parts: tuple[list[Remove], list[Move], list[Put]] = ([], [], [])
    current, origin, changed_policy = 0, Origin(0, Actor()), False
    directories: tuple[str, ...] = ()

    def finish() -> None:
        nonlocal parts, changed_policy
        if current:
            removes, moves, puts = parts
            now = policy if changed_policy else None
            change = Change(tuple(removes), tuple(moves), tuple(puts), now, directories)
            commits.append(Commit(current, change, origin))
        parts, changed_policy = ([], [], []), False

    for row in rows:
        key, operation, file_id, path, old_path, lines, size, time_ns, mtime_ns, joins = row[:10]
        version = version_of(key)
        if version != current:
            finish()
            current, origin = version, Origin(time_ns, Actor(*row[10:13]), row[13])
            directories = () if lines is None else tuple(lines.split("\n"))
        match operation:
            case "deleted" | "evicted":
                parts[0].append(Remove(File(file_id, path, size, 0, 0), operation == "evicted"))
            case "renamed" | "archived" | "restored" if old_path is not None:
                parts[1].append(Move(File(file_id, old_path, size, 0, 0), path, operation))
            case "created" | "modified" | "restored":
                parts[2].append(Put(file_id, path, size, operation, None, mtime_ns, joins))
            case "policy":
                changed_policy = True
            case "redacted":
                pass  # no file is another one for it
            case _:
                raise UnsafeStorage(f"The history holds an operation '{operation}' that memfs does not know.")
    finish()
    return commits


def record_of(row: Sequence[Any]) -> Record:
    """A history row (``COLUMNS``) as the store's users see it."""
    key, operation, file_id, path, old_path, _, size, time_ns, _, joins = row[:10]
    actor, reason, digest = Actor(*row[10:13]), row[13], row[14]
    return Record(
        version_of(key),
        time_ns,
        operation,
        file_id,
        path,
        old_path,
        size,
        actor,
        joins,
        None if digest is None else digest.hex(),
        reason,
        row[15] is not None,
    )


def in_batches(
    ask: Callable[[Place, int], Sequence[Sequence[Any]]],
    at: Place | None,
    after: Callable[[Sequence[Any]], Place | None],
) -> Iterator[Record]:
    """The records of the rows that *ask* finds from a place on, so many at a time, as they are consumed.

    *after* says where to go on after a row: None where nothing follows.
    """
    size = FIRST_BATCH
    while at is not None:
        batch = ask(at, size)
        yield from map(record_of, batch)
        if len(batch) < size:
            return
        at, size = after(batch[-1]), BATCH
