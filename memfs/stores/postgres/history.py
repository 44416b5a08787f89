"""Reading the history: of the scope, of one memory, of those that have left, and the bytes of any version.

A batch at a time, each a statement of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from psycopg.types.numeric import Int8

from memfs.port.errors import NotKept, UnsafeStorage
from memfs.port.store import Record
from memfs.stores.forgetting import redacted_sentence
from memfs.stores.postgres import rows
from memfs.stores.postgres.connections import Connection
from memfs.stores.recorded import PUTS, in_batches, key_of, last_key, record_of

Run: TypeAlias = Callable[[Callable[[Connection], Any]], Any]

_HEAD = """
SELECT record FROM memfs.file WHERE scope = %(scope)s AND id = %(id)s
UNION ALL SELECT record FROM memfs.gone WHERE scope = %(scope)s AND id = %(id)s
"""
_CHAIN = f"""
WITH RECURSIVE chain (record, previous, length) AS (
  SELECT record, previous, 1 FROM memfs.history WHERE scope = %(scope)s AND record = %(at)s
  UNION ALL
  SELECT h.record, h.previous, length + 1
  FROM chain JOIN memfs.history AS h ON h.scope = %(scope)s AND h.record = chain.previous
  WHERE length < %(size)s
)
SELECT {rows.COLUMNS}, previous FROM memfs.history
WHERE scope = %(scope)s AND record IN (SELECT record FROM chain) ORDER BY record DESC
"""  # noqa: S608
_GONE_COLUMNS = ", ".join(f"h.{name}" for name in rows.COLUMNS.split(", "))
_GONE = f"""
SELECT {_GONE_COLUMNS}
FROM memfs.gone AS g JOIN memfs.history AS h ON h.scope = %(scope)s AND h.record = g.record
WHERE g.scope = %(scope)s AND """  # noqa: S608

# From the record of a version back to the one that brought the bytes the memory had then. A change may have
# thousands of records; those of the newest ones of a memory are known.
_CONTENT = """
WITH RECURSIVE chain (record, previous, operation, old_path, redacted, content) AS (
  SELECT record, previous, operation, old_path, redacted, content FROM memfs.history
  WHERE scope = %(scope)s AND record = coalesce(
    (SELECT content FROM memfs.file
     WHERE scope = %(scope)s AND id = %(id)s AND content BETWEEN %(first)s AND %(last)s),
    (SELECT record FROM memfs.gone
     WHERE scope = %(scope)s AND id = %(id)s AND record BETWEEN %(first)s AND %(last)s),
    (SELECT record FROM memfs.history
     WHERE scope = %(scope)s AND record BETWEEN %(first)s AND %(last)s AND id = %(id)s
       AND operation <> 'redacted'
     ORDER BY record DESC LIMIT 1))
  UNION ALL
  SELECT h.record, h.previous, h.operation, h.old_path, h.redacted, h.content
  FROM chain JOIN memfs.history AS h ON h.scope = %(scope)s AND h.record = chain.previous
  WHERE chain.content IS NULL AND chain.redacted IS NULL
)
SELECT c.operation, c.old_path, c.redacted, c.content, r.time_ns, r."user", r.program
FROM chain AS c LEFT JOIN memfs.history AS r ON r.scope = %(scope)s AND r.record = c.redacted
ORDER BY c.record LIMIT 1
"""


class History:
    """What is recorded of one scope."""

    def __init__(self, run: Run, scope: int, part: int) -> None:
        """*run* is given what to do with a connection; *part* is that of the tables in which the scope is."""
        self._run = run
        self._part = part
        self._scope = Int8(scope)

    def of_scope(self, newest_first: bool) -> Iterator[Record]:
        """Every record."""
        order, beyond, at = ("DESC", "<", 1 << 62) if newest_first else ("ASC", ">", -1)
        query = (
            f"SELECT {rows.COLUMNS} FROM memfs.history WHERE scope = %(scope)s "  # noqa: S608
            f"AND record {beyond} %(at)s AND operation <> 'policy' ORDER BY record {order} LIMIT %(size)s"
        )
        return in_batches(
            lambda at, size: self._select(query, at=Int8(at), size=size), at, lambda row: row[0]
        )

    def of_memory(self, file_id: int, newest_first: bool) -> Iterator[Record]:
        """The records of one memory, along their chain."""
        if not newest_first:
            yield from reversed(list(self.of_memory(file_id, True)))
            return
        head = self._select(_HEAD, id=Int8(file_id))
        yield from in_batches(
            lambda at, size: self._select(_CHAIN, at=Int8(at), size=size),
            head[0][0] if head else None,
            lambda row: row[-1],
        )

    def gone(self, path: str) -> Iterator[Record]:
        """The newest record of each memory that was last at *path*, or below it."""
        yield from map(record_of, self._select(f"{_GONE} g.path = %(path)s ORDER BY g.id", path=path))
        # '0' is the character after '/': between the two lies what is below the path.
        query = (
            f"{_GONE} (g.path, g.id) > (%(at)s, %(id)s) AND g.path < %(end)s "
            "ORDER BY g.path, g.id LIMIT %(size)s"
        )
        yield from in_batches(
            lambda at, size: self._select(query, at=at[0], id=Int8(at[1]), end=f"{path}0", size=size),
            (f"{path}/", 0),
            lambda row: (row[3], row[2]),
        )

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path*, each found by a jump over what lies below the one before it."""
        query = """
        WITH RECURSIVE jump (path, name) AS (
          (SELECT path, split_part(substr(path, %(length)s), '/', 1) FROM memfs.gone
           WHERE scope = %(scope)s AND path > %(start)s AND path < %(end)s ORDER BY path LIMIT 1)
          UNION ALL
          SELECT next.path, split_part(substr(next.path, %(length)s), '/', 1) FROM jump, LATERAL (
            SELECT g.path FROM memfs.gone AS g
            WHERE g.scope = %(scope)s AND g.path < %(end)s AND g.path >= %(start)s || jump.name ||
              CASE jump.path WHEN %(start)s || jump.name THEN chr(1) ELSE '0' END
            ORDER BY g.path LIMIT 1) AS next
        )
        SELECT name, path <> %(start)s || name FROM jump
        """
        # 'a' is followed by 'a-b', and only then by 'a/c': the later of two says what is below the name.
        found = self._select(query, start=f"{path}/", end=f"{path}0", length=len(path) + 2)
        return dict(found)

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory had after the change *version*; raises NotKept."""
        found = self._select(
            _CONTENT, id=Int8(file_id), first=Int8(key_of(version, 0)), last=Int8(last_key(version))
        )
        if found:
            operation, old_path, redacted, content, *redaction = found[0]
            if redacted is not None:
                time_ns, user, program = redaction
                told = None if time_ns is None else (time_ns, user, program)
                raise NotKept(redacted_sentence(version, told))
            if content is not None:
                return bytes(content)
            if old_path is None and operation in PUTS:
                raise UnsafeStorage(f"The history lacks the bytes of version {version}.")
        raise NotKept(f"Version {version} is not kept.")

    def _select(self, query: str, **values: object) -> list[Any]:
        values["scope"] = self._scope
        query = rows.on_part(query, self._part)

        def ask(connection: Connection) -> list[Any]:
            with connection.cursor(binary=True) as cursor:
                return cursor.execute(query.encode(), values).fetchall()

        found: list[Any] = self._run(ask)
        return found
