"""Taking bytes out of the history for good: from the rows, and from the files.

A page of SQLite may keep what was deleted from it, or moved to another page. So the database is written
anew, the log folded into it and cut to nothing. A reader that is open holds the last step back: ``unwiped``
says what is left to do, and the upkeep does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import apsw

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, NotKept, StoreError
from memfs.port.keeping import Redaction
from memfs.port.store import Record
from memfs.stores import recorded
from memfs.stores.gate import Gate
from memfs.stores.sqlite import rows

WIPED, TO_CUT, TO_REWRITE = range(3)
"""What ``unwiped`` says: nothing is left to do, the log has to be cut, all of it has to be written anew."""

_PUT_REDACTION = """
INSERT INTO history (record, operation, id, path, size, time_ns, joins, user, program, pid, reason)
SELECT ?1, 'redacted', id, path, size, ?2, ?3, ?4, ?5, ?6, ?7 FROM history WHERE record = ?8
"""


def redact(
    connection: apsw.Connection, gate: Gate, versions: Sequence[tuple[int, int]], origin: Origin
) -> Redaction:
    """Take out the bytes of *versions*, each a memory's id and a version of it."""
    gate.acquire(wait=True)
    try:
        with connection:
            head: int = rows.select(connection, "SELECT max(record) FROM history")[0][0] or 0
            digests = set()
            for ordinal, (file_id, version) in enumerate(versions):
                named, brought = _find(connection, file_id, version)
                key = recorded.key_of(recorded.version_of(head) + 1, ordinal)
                time_ns, (user, program, pid), reason = origin
                connection.execute(_PUT_REDACTION, (key, time_ns, version, user, program, pid, reason, named))
                digests.add(_take_out(connection, file_id, brought, key))
            connection.execute("UPDATE scope SET unwiped = ?", (TO_REWRITE,))
            same = _with_digests(connection, digests - {None})
    finally:
        gate.release()
    return Redaction(not wipe(connection, gate), same)


def wipe(connection: apsw.Connection, gate: Gate) -> bool:
    """Do what is left to do after redactions; whether the files hold nothing any more."""
    left: int = rows.select(connection, "SELECT unwiped FROM scope")[0][0]
    if left == WIPED:
        return True
    if left == TO_REWRITE:
        with gate.held_long("rewrites the database without what was redacted"):
            connection.execute("VACUUM")
            connection.execute("UPDATE scope SET unwiped = ?", (TO_CUT,))
        # All of the database is in the log now: this copies nearly all of it back while others write.
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    with gate.held_long("folds the log into the database"), suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.execute("UPDATE scope SET unwiped = ?", (WIPED,))
        return True
    return False


def unfinished_ns(connection: apsw.Connection) -> int | None:
    """When something was redacted last, where ``wipe`` has something left to do."""
    if rows.select(connection, "SELECT unwiped FROM scope")[0][0] == WIPED:
        return None
    found = rows.select(
        connection, "SELECT time_ns FROM history WHERE operation = 'redacted' ORDER BY record DESC LIMIT 1"
    )
    return found[0][0] if found else 0


def _find(connection: apsw.Connection, file_id: int, version: int) -> tuple[int, int]:
    """The record of *version*, and the one that brought the bytes the memory had then."""
    at: int | None = rows.select(
        connection,
        "SELECT max(record) FROM history WHERE record BETWEEN ? AND ? AND id = ? AND operation <> 'redacted'",
        (recorded.key_of(version, 0), recorded.last_key(version), file_id),
    )[0][0]
    named = at
    while at is not None:
        found = rows.select(
            connection, "SELECT content IS NOT NULL, redacted, previous FROM history WHERE record = ?", (at,)
        )
        if not found:
            break
        brings, redacted, previous = found[0]
        if redacted is not None:
            raise NotKept(f"Version {version} has been redacted already.")
        if brings:
            if rows.select(connection, "SELECT 1 FROM file WHERE content = ?", (at,)):
                raise StoreError(
                    f"Version {version} is what the memory holds now; change or delete the memory first.",
                    ErrorCode.CONFLICT,
                )
            assert named is not None
            return named, at
        at = previous
    raise NotKept(f"Version {version} is not kept.")


def _take_out(connection: apsw.Connection, file_id: int, key: int, redaction: int) -> bytes | None:
    """Empty the record *key* and those that show its bytes; the digest that these had."""
    for (dependent,) in rows.select(connection, "SELECT record FROM history WHERE base = ?", (key,)):
        whole = rows.read_content(connection, dependent)
        connection.execute("UPDATE history SET base = NULL, content = ? WHERE record = ?", (whole, dependent))
    digest: bytes | None = rows.select(connection, "SELECT digest FROM history WHERE record = ?", (key,))[0][
        0
    ]
    connection.execute("UPDATE history SET base = NULL, content = NULL WHERE record = ?", (key,))
    following: int | None = key
    while following is not None:
        connection.execute(
            "UPDATE history SET digest = NULL, redacted = ? WHERE record = ?", (redaction, following)
        )
        # The next of the memory, as long as it brings no bytes of its own: a rename, a deletion.
        found = rows.select(
            connection,
            "SELECT record, content IS NOT NULL FROM history WHERE previous = ? AND id = ?",
            (following, file_id),
        )
        following = found[0][0] if found and not found[0][1] else None
    return digest


def _with_digests(connection: apsw.Connection, digests: set[bytes | None]) -> tuple[Record, ...]:
    found: list[Record] = []
    for digest in digests:
        query = f"SELECT {recorded.COLUMNS} FROM history WHERE digest = ? ORDER BY record"  # noqa: S608
        found += map(recorded.record_of, rows.select(connection, query, (digest,)))
    return tuple(found)
