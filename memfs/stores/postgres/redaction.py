"""Taking bytes out of the history for good: from the rows, and as far as a role may, from the files.

A dead row stays in its table until a vacuum, and its bytes in the free part of the page until something else
is written there. Only who owns the tables can have them written anew, and nobody but the administrator knows
of archived logs and backups.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.types.numeric import Int8

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, NotKept, StoreError
from memfs.port.keeping import Redaction
from memfs.port.store import Record
from memfs.stores.postgres import rows
from memfs.stores.postgres.connections import Connection
from memfs.stores.postgres.database import Database
from memfs.stores.recorded import key_of, last_key, record_of

VACUUM_SECONDS = 600.0

_FIND = """
WITH RECURSIVE chain (record, previous, brings, redacted) AS (
  (SELECT record, previous, content IS NOT NULL, redacted FROM memfs.history
   WHERE scope = %(scope)s AND record BETWEEN %(first)s AND %(last)s AND id = %(id)s
     AND operation <> 'redacted'
   ORDER BY record DESC LIMIT 1)
  UNION ALL
  SELECT h.record, h.previous, h.content IS NOT NULL, h.redacted
  FROM chain JOIN memfs.history AS h ON h.scope = %(scope)s AND h.record = chain.previous
  WHERE NOT chain.brings AND chain.redacted IS NULL
)
SELECT (SELECT max(record) FROM chain), record, brings, redacted IS NOT NULL,
       EXISTS (
         SELECT FROM memfs.file AS f WHERE f.scope = %(scope)s AND f.id = %(id)s AND f.content = c.record
       )
FROM chain AS c ORDER BY record LIMIT 1
"""
_PUT_REDACTION = """
INSERT INTO memfs.history (scope, record, operation, id, path, size, time_ns, joins, "user", program, pid,
                           reason, change)
SELECT scope, %(key)s, 'redacted', id, path, size, %(time)s, %(version)s, %(user)s, %(program)s, %(pid)s,
       %(reason)s, %(change)s
FROM memfs.history WHERE scope = %(scope)s AND record = %(named)s
"""
# The record that brought the bytes, and those of the memory that show them: a rename, a deletion.
_TAKE_OUT = """
WITH bytes AS (
  SELECT digest FROM memfs.history WHERE scope = %(scope)s AND record = %(brought)s
)
UPDATE memfs.history AS h SET digest = NULL, content = NULL, redacted = %(key)s
WHERE h.scope = %(scope)s AND h.id = %(id)s AND h.record >= %(brought)s AND h.operation <> 'redacted'
  AND h.record < coalesce((
    SELECT min(n.record) FROM memfs.history AS n
    WHERE n.scope = %(scope)s AND n.id = %(id)s AND n.record > %(brought)s
      AND (n.content IS NOT NULL OR n.redacted IS NOT NULL)
  ), 1::bigint << 62)
RETURNING (SELECT digest FROM bytes)
"""
_SAME = f"""
SELECT {rows.COLUMNS} FROM memfs.history
WHERE scope = %(scope)s AND digest = ANY (%(digests)s) ORDER BY record
"""  # noqa: S608


def redact(
    database: Database, scope: int, part: int, versions: Sequence[tuple[int, int]], origin: Origin
) -> tuple[Redaction, int]:
    """Take out the bytes of *versions*, each a memory's id and one of its; the scope's version then, too."""
    change = uuid.uuid4()
    began: list[int] = []

    def work(connection: Connection) -> tuple[tuple[Record, ...], int]:
        with connection.transaction():
            found = connection.execute(
                "SELECT version FROM memfs.scope WHERE scope = %s FOR UPDATE", (Int8(scope),)
            ).fetchone()
            if found is None:
                raise NotKept("The scope was removed.")
            began.append(found[0])
            if _was_made(connection, scope, began[0], change):  # and its answer was lost
                return (), found[0]
            version = found[0] + 1
            return _redact(connection, scope, version, versions, origin, change), version

    same, version = database.run(work)
    owned = database.run(lambda connection: _vacuum(connection, part))
    return Redaction(True, same, _left_over(part, owned)), version


def _redact(
    connection: Connection,
    scope: int,
    version: int,
    versions: Sequence[tuple[int, int]],
    origin: Origin,
    change: uuid.UUID,
) -> tuple[Record, ...]:
    time_ns, (user, program, pid), reason = origin
    digests = set()
    for ordinal, (file_id, named) in enumerate(versions):
        values: dict[str, Any] = {
            "scope": Int8(scope),
            "id": Int8(file_id),
            "key": Int8(key_of(version, ordinal)),
        }
        values |= {"first": Int8(key_of(named, 0)), "last": Int8(last_key(named)), "version": Int8(named)}
        values |= {"time": Int8(time_ns), "user": rows.text(user), "program": rows.text(program), "pid": pid}
        values |= {"reason": rows.text(reason), "change": change if ordinal == 0 else None}
        values["named"], values["brought"] = _find(connection, values, named)
        connection.execute(_PUT_REDACTION, values)
        digests |= {digest for (digest,) in connection.execute(_TAKE_OUT, values) if digest is not None}
    connection.execute(
        "UPDATE memfs.scope SET version = %s, change = %s WHERE scope = %s",
        (Int8(version), change, Int8(scope)),
    )
    same = connection.execute(_SAME, {"scope": Int8(scope), "digests": list(digests)}).fetchall()
    return tuple(map(record_of, same))


def _find(connection: Connection, values: dict[str, Any], version: int) -> tuple[Int8, Int8]:
    """The record of *version*, and the one that brought the bytes the memory had then."""
    found = connection.execute(_FIND, values).fetchone()
    if found is None:
        raise NotKept(f"Version {version} is not kept.")
    named, brought, brings, redacted, is_present = found
    if redacted:
        raise NotKept(f"Version {version} has been redacted already.")
    if not brings:
        raise NotKept(f"Version {version} is not kept.")
    if is_present:
        raise StoreError(
            f"Version {version} is what the memory holds now; change or delete the memory first.",
            ErrorCode.CONFLICT,
        )
    return Int8(named), Int8(brought)


def _was_made(connection: Connection, scope: int, before: int, change: uuid.UUID) -> bool:
    found = connection.execute(
        "SELECT FROM memfs.history WHERE scope = %s AND record > %s AND change = %s",
        (Int8(scope), Int8(last_key(before)), change),
    )
    return found.fetchone() is not None


def _vacuum(connection: Connection, part: int) -> bool:
    """Have the dead rows of a part removed; whether this role may."""
    (owned,) = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %s::regclass",
        (f"memfs.history_{part}",),
    ).fetchone() or (False,)
    if owned:
        connection.deadline = time.monotonic() + VACUUM_SECONDS
        try:
            connection.execute(f"VACUUM memfs.history_{part}".encode())
        except psycopg.errors.LockNotAvailable:
            return False
    return bool(owned)


def _left_over(part: int, owned: bool) -> str:
    dead = "Its dead rows were vacuumed, but" if owned else "Its dead rows are still there, and"
    return (
        f"the bytes are out of the history. {dead} the server's files may hold them until its administrator "
        f"runs VACUUM FULL memfs.history_{part}. Archived logs (WAL), standbys and backups have copies too."
    )
