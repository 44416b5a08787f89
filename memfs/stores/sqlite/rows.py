"""What the rows of the history mean: keys, contents, and older bytes kept as deltas.

A superseded version is stored as a deflate stream with the next version as its preset
dictionary: a few lines' edit of 4 KiB takes some tens of bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import apsw

from memfs.port.change import Actor, Change, Commit, File, Move, Origin, Put, PutOperation, Remove
from memfs.port.errors import UnsafeStorage
from memfs.port.policy import Policy
from memfs.port.store import Record
from memfs.stores.sqlite.database import ORDINAL_BITS

WINDOW = 32_768
"""Deflate looks back this far, so a dictionary's last bytes are the ones that count."""
LONGEST_CHAIN = 20
"""Every so many versions of a memory, the bytes stay whole: it bounds the cost of reading an old one."""

PUTS = frozenset(get_args(PutOperation))
"""The operations that bring bytes; one of them also moves a file, and then it brings none."""
COLUMNS = (
    "record, operation, id, path, old_path, directory, size, time_ns, mtime_ns, joins, user, program, pid, "
    "reason, digest, redacted"
)

_DELTAS = """
WITH RECURSIVE chain (base, content, size, length) AS (
  SELECT base, content, size, 1 FROM history WHERE record = ?1
  UNION ALL
  SELECT history.base, history.content, history.size, length + 1
  FROM chain JOIN history ON history.record = chain.base WHERE chain.content IS NOT NULL AND length < ?2
)
SELECT base, content, size FROM chain ORDER BY length
"""


def select(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """All rows of *query*: STRICT tables hold the types that the schema says."""
    return connection.execute(query, values).fetchall()


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


def commits_of(rows: Iterable[Sequence[Any]], policy: Policy) -> list[Commit]:
    """The changes that history rows (``COLUMNS``, in order of their keys) tell of.

    *policy* is the scope's now: it stands for every policy change among them.
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


def read_content(connection: apsw.Connection, key: int) -> bytes | None:
    """The bytes that the record *key* brought, whole; None where it brought none."""
    found = select(connection, _DELTAS, (key, 4 * LONGEST_CHAIN + 1))
    if not found or found[0][1] is None:
        return None
    if len(found) > 4 * LONGEST_CHAIN:
        raise UnsafeStorage("The history's versions refer to each other in a circle.")
    if found[-1][0] is not None or found[-1][1] is None:
        raise UnsafeStorage("The history lacks the version that an older one is kept against.")
    expected: int = found[0][2]
    deltas: list[bytes] = [content for _, content, _ in found]
    whole = deltas.pop()
    while deltas:
        whole = _from_delta(deltas.pop(), whole)
    if len(whole) != expected:
        raise UnsafeStorage(f"A stored version has {len(whole)} bytes where {expected} were written.")
    return whole


def delta(old: bytes, new: bytes) -> bytes | None:
    """*old* as a delta against *new*, or None where that saves too little to be worth it."""
    packer = zlib.compressobj(level=6, wbits=-15, zdict=new[-WINDOW:])
    packed = packer.compress(old) + packer.flush()
    return packed if len(packed) < len(old) * 9 // 10 else None


def _from_delta(packed: bytes, new: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=-15, zdict=new[-WINDOW:])
    try:
        return unpacker.decompress(packed) + unpacker.flush()
    except zlib.error as error:
        raise UnsafeStorage("A stored version cannot be unpacked.") from error
