"""Reading the history: of the scope, of one memory, of those that have left, and the bytes of any version.

On the reader's connection, a batch at a time, so that no transaction stays open between them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from memfs.port.errors import NotKept, UnsafeStorage
from memfs.port.store import Record
from memfs.stores import recorded
from memfs.stores.forgetting import redacted_sentence
from memfs.stores.sqlite import rows
from memfs.stores.sqlite.failures import storage_errors

_HEAD = "SELECT record FROM file WHERE id = ?1 UNION ALL SELECT record FROM gone WHERE id = ?1"
_CHAIN = f"""
WITH RECURSIVE chain (record, previous, length) AS (
  SELECT record, previous, 1 FROM history WHERE record = ?
  UNION ALL
  SELECT history.record, history.previous, length + 1
  FROM chain JOIN history ON history.record = chain.previous WHERE length < ?
)
SELECT {recorded.COLUMNS}, previous
FROM history WHERE record IN (SELECT record FROM chain) ORDER BY record DESC
"""  # noqa: S608


_GONE_COLUMNS = ", ".join(f"history.{name}" for name in recorded.COLUMNS.split(", "))
_GONE = f"SELECT {_GONE_COLUMNS} FROM gone JOIN history USING (record)"  # noqa: S608


class History:
    """What one connection reads of it; *reading* is the lock of that connection."""

    def __init__(self, connection: apsw.Connection, reading: threading.Lock) -> None:
        self._connection = connection
        self._reading = reading

    def of_scope(self, newest_first: bool) -> Iterator[Record]:
        """Every record."""
        order, beyond, at = ("DESC", "<", 1 << 62) if newest_first else ("ASC", ">", -1)
        query = (
            f"SELECT {recorded.COLUMNS} FROM history WHERE record {beyond} ? AND operation <> 'policy' "  # noqa: S608
            f"ORDER BY record {order} LIMIT ?"
        )
        return recorded.in_batches(lambda at, size: self._select(query, (at, size)), at, lambda row: row[0])

    def of_memory(self, file_id: int, newest_first: bool) -> Iterator[Record]:
        """The records of one memory, along their chain."""
        if not newest_first:
            yield from reversed(list(self.of_memory(file_id, True)))
            return
        head = self._select(_HEAD, (file_id,))
        yield from recorded.in_batches(
            lambda at, size: self._select(_CHAIN, (at, size)),
            head[0][0] if head else None,
            lambda row: row[-1],
        )

    def gone(self, path: str) -> Iterator[Record]:
        """The newest record of each memory that was last at *path*, or below it."""
        batch = self._select(f"{_GONE} WHERE gone.path = ? ORDER BY gone.id", (path,))
        yield from map(recorded.record_of, batch)
        # '0' is the character after '/': between the two lies what is below the path.
        below = "(gone.path, gone.id) > (?, ?) AND gone.path < ?"
        query = f"{_GONE} WHERE {below} ORDER BY gone.path, gone.id LIMIT ?"
        yield from recorded.in_batches(
            lambda at, size: self._select(query, (*at, f"{path}0", size)),
            (f"{path}/", 0),
            lambda row: (row[3], row[2]),
        )

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path*, each found by a jump over what lies below the one before it."""
        names: dict[str, bool] = {}
        at, end = f"{path}/", f"{path}0"
        query = "SELECT min(path) FROM gone WHERE path > ? AND path < ?"
        with storage_errors(), self._reading:
            while found := rows.select(self._connection, query, (at, end))[0][0]:
                name, slash, _ = found[len(path) + 1 :].partition("/")
                names[name] = slash != ""
                # 'a' is followed by 'a-b', and only then by 'a/c'.
                at = f"{path}/{name}0" if slash else found
        return names

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory had after the change *version*; raises NotKept."""
        with storage_errors(), self._reading:
            found = rows.select(
                self._connection,
                "SELECT max(record) FROM history WHERE record BETWEEN ? AND ? AND id = ? "
                "AND operation <> 'redacted'",
                (recorded.key_of(version, 0), recorded.last_key(version), file_id),
            )
            key: int | None = found[0][0]
            while key is not None:
                content = rows.read_content(self._connection, key)
                if content is not None:
                    return content
                key = self._before(key, version)
        raise NotKept(f"Version {version} is not kept.")

    def _before(self, key: int, version: int) -> int | None:
        """The record whose bytes a memory still had at the record *key*, which brought none."""
        found = rows.select(
            self._connection,
            "SELECT operation, old_path, previous, redacted FROM history WHERE record = ?",
            (key,),
        )
        if not found:
            return None
        operation, old_path, previous, redacted = found[0]
        if redacted is not None:
            told = rows.select(
                self._connection, "SELECT time_ns, user, program FROM history WHERE record = ?", (redacted,)
            )
            raise NotKept(redacted_sentence(version, told[0] if told else None))
        if old_path is None and operation in recorded.PUTS:
            raise UnsafeStorage(f"The history lacks the bytes of version {version}.")
        before: int | None = previous
        return before

    def _select(self, query: str, values: Sequence[Any]) -> list[Any]:
        with storage_errors(), self._reading:
            return rows.select(self._connection, query, values)
