"""Looking for damage in the rows of one scope. The server does the work: bytes and digests stay there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg.errors import LockNotAvailable
from psycopg.types.numeric import Int8

from memfs.port.errors import StoreError
from memfs.stores.inspecting import MOST_FAULTS, History
from memfs.stores.postgres.connections import Connection
from memfs.stores.postgres.operating import connected
from memfs.stores.postgres.store import find

GATE_SECONDS = 3.0
_BRINGS = "operation IN ('created', 'modified', 'restored') AND content IS NOT NULL"
_HEAD = """
SELECT s.version, (SELECT coalesce(max(record), 0) >> 24 FROM memfs.history WHERE scope = s.scope)
FROM memfs.scope AS s WHERE scope = %(scope)s
"""
_SAME_PATH = "SELECT path FROM memfs.file WHERE scope = %(scope)s GROUP BY path HAVING count(*) > 1"
_NO_RECORD = """
SELECT path FROM memfs.file AS f WHERE scope = %(scope)s
AND record > (SELECT pruned FROM memfs.scope WHERE scope = %(scope)s)
AND NOT EXISTS (
  SELECT FROM memfs.history AS h WHERE h.scope = f.scope AND h.record = f.record AND h.id = f.id)
"""
_NO_PREVIOUS = """
SELECT path FROM memfs.history AS h WHERE scope = %(scope)s
AND previous > (SELECT pruned FROM memfs.scope WHERE scope = %(scope)s)
AND NOT EXISTS (
  SELECT FROM memfs.history AS p WHERE p.scope = h.scope AND p.record = h.previous AND p.id = h.id)
"""
_LOST_GONE = """
SELECT path FROM memfs.gone AS g WHERE scope = %(scope)s
AND (EXISTS (SELECT FROM memfs.file AS f WHERE f.scope = g.scope AND f.id = g.id)
  OR NOT EXISTS (
    SELECT FROM memfs.history AS h WHERE h.scope = g.scope AND h.record = g.record AND h.id = g.id))
"""
_NO_WRITE = """
SELECT path FROM memfs.file AS f WHERE scope = %(scope)s
AND written > (SELECT pruned FROM memfs.scope WHERE scope = %(scope)s)
AND NOT EXISTS (
  SELECT FROM memfs.history AS h WHERE h.scope = f.scope AND h.record = f.written AND h.id = f.id)
"""
_LATE = f"""
SELECT path FROM memfs.file AS f WHERE scope = %(scope)s AND EXISTS (
  SELECT FROM memfs.history AS h
  WHERE h.scope = f.scope AND h.id = f.id AND h.record > f.written AND {_BRINGS})
"""  # noqa: S608
_SHARED = "SELECT min(path) FROM memfs.file WHERE scope = %(scope)s GROUP BY written HAVING count(*) > 1"
_CONTENTS = """
SELECT f.path, f.size, octet_length(h.content), h.digest = sha256(h.content)
FROM memfs.file AS f LEFT JOIN memfs.history AS h ON h.scope = f.scope AND h.record = f.content
WHERE f.scope = %(scope)s ORDER BY f.written
"""
_OLDER = """
SELECT path || ', version ' || (record >> 24) FROM memfs.history
WHERE scope = %(scope)s AND content IS NOT NULL
AND (digest IS DISTINCT FROM sha256(content) OR size <> octet_length(content))
"""
_AMOUNT = """
SELECT count(*), coalesce(sum(octet_length(content)), 0)::bigint,
  coalesce(sum(pg_column_size(h.*)), 0)::bigint, coalesce(max(time_ns), 0)
FROM memfs.history AS h WHERE scope = %(scope)s
"""
_STEPS_BACK = """
SELECT count(*) FROM (
  SELECT time_ns - lag(time_ns) OVER (ORDER BY record) AS step FROM memfs.history WHERE scope = %(scope)s
) AS steps WHERE step < -60000000000
"""


class PostgresInspection:
    """The questions of :class:`~memfs.stores.inspecting.Inspection`. Each raises StoreError."""

    def __init__(self, url: str, scope_name: str) -> None:
        self._url = url
        self._scope_name = scope_name

    def damage(self) -> list[str]:
        """The scope's row, against the files and the history that it counts."""
        with self._asked() as ask:
            ((version, newest),) = ask(_HEAD)
            faults = [f"there are two files at {path}" for (path,) in ask(_SAME_PATH)[:MOST_FAULTS]]
            faults += [f"{path} is gone and is not" for (path,) in ask(_LOST_GONE)[:MOST_FAULTS]]
        if newest != version:
            faults.append(f"the scope is at version {version}, and its history ends at {newest}")
        return faults

    def contents(self, step: Callable[[str], object]) -> list[str]:
        """The bytes of each memory, and those of every version that is kept."""
        faults: list[str] = []
        with self._asked() as ask:
            for path, size, there, is_same in ask(_CONTENTS):
                step(path)
                if there is None:
                    faults.append(f"the bytes of {path} are missing")
                elif there != size:
                    faults.append(f"{path} has {there} bytes, and not {size}")
                elif not is_same:
                    faults.append(f"{path} has other bytes than were written")
            if not faults:
                faults += [
                    f"{what} has other bytes than were written" for (what,) in ask(_OLDER)[:MOST_FAULTS]
                ]
        return faults

    def write_order(self) -> list[str]:
        """Each memory's place in write order is that of its latest write, and no two have the same."""
        with self._asked() as ask:
            no_write, late, shared = (ask(query)[:MOST_FAULTS] for query in (_NO_WRITE, _LATE, _SHARED))
        return [
            *(f"the place of {path} in write order is that of no write" for (path,) in no_write),
            *(f"{path} was written later than its place in write order says" for (path,) in late),
            *(f"{path} shares its place in write order" for (path,) in shared),
        ]

    def chain(self) -> list[str]:
        """What the rows refer to is there: newest changes, and those before them."""
        with self._asked() as ask:
            newest, before = (ask(query)[:MOST_FAULTS] for query in (_NO_RECORD, _NO_PREVIOUS))
        return [
            *(f"the newest change of {path} is not in the history" for (path,) in newest),
            *(f"a change of {path} follows one that is missing" for (path,) in before),
        ]

    def history(self) -> History:
        """How much history there is, and what its times say of the clock."""
        with self._asked() as ask:
            ((records, content_bytes, row_bytes, newest_ns),) = ask(_AMOUNT)
            ((steps_back,),) = ask(_STEPS_BACK)
        return History(records, content_bytes, row_bytes, 0, newest_ns, steps_back)

    def holder(self) -> str | None:
        """Whether the scope's row can be had, as every writer has to have it."""
        with connected(self._url) as connection:
            scope = self._scope(connection)
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{GATE_SECONDS:.0f}s",))
            free = "SELECT 1 FROM memfs.scope WHERE scope = %s FOR UPDATE"
            with connection.cursor() as cursor:
                try:
                    cursor.execute(free, (scope,))
                except LockNotAvailable:
                    return f"a session of the server has held the scope for {GATE_SECONDS:.0f} s"
        return None

    def _scope(self, connection: Connection) -> Int8:
        place = find(connection, self._scope_name)
        if place is None:
            raise StoreError(f"There is no scope '{self._scope_name}', or it is not granted to this role.")
        return Int8(place.scope)

    @contextmanager
    def _asked(self) -> Iterator[Callable[[str], list[Any]]]:
        """One state of the scope, for several questions."""
        with connected(self._url) as connection:
            values = {"scope": self._scope(connection)}
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield lambda query: connection.execute(query.encode(), values).fetchall()
