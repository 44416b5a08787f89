"""What the database keeps of the folder's files: how each looked when it was last in step with its memory.

Three tables beside those of the history, in the same transactions: ``page`` (a row for each memory),
``intent`` (the steps of a change of several files that is under way) and ``page_index``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from memfs.stores.directory.folder import Signature
from memfs.stores.directory.steps import Step
from memfs.stores.directory.titles import title_of

SCHEMA = """
CREATE TABLE IF NOT EXISTS page (
  path TEXT PRIMARY KEY,                 -- relative to the folder
  id INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL,
  fresh INTEGER NOT NULL,                -- looked at so soon after its change that another may look the same
  digest BLOB NOT NULL,                  -- SHA-256 of the bytes
  title TEXT                             -- the first heading
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS intent (
  number INTEGER PRIMARY KEY,
  step TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS page_index (  -- one row: the newest record that the index shows, and its file
  record INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL
) STRICT;
"""
FRESH_NS = 20_000_000
"""No clock of a file system ticks more slowly, of those that count in less than seconds."""

_PAGES = "SELECT path, id, inode, size, mtime_ns, ctime_ns, fresh, digest, title FROM page"


class Page(NamedTuple):
    """One memory's file as it was last seen.

    As long as it looks the same, the bytes are the same, unless the page is ``fresh``.
    """

    place: str
    id: int
    signature: Signature
    fresh: bool
    digest: bytes
    title: str | None


def page_of(place: str, file_id: int, signature: Signature, content: bytes, digest: bytes) -> Page:
    """The page of a file that was looked at just now."""
    fresh = time.time_ns() - signature.ctime_ns < FRESH_NS
    return Page(place, file_id, signature, fresh, digest, title_of(place, content))


class Pages:
    """The tables, by the connection of commits. Raises apsw.Error."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def make(self) -> None:
        """Make the tables that are missing."""
        self._connection.execute(SCHEMA)

    def at(self, place: str) -> Page | None:
        """The page at *place*, or None."""
        found = self._select(f"{_PAGES} WHERE path = ?", (place,))
        return _page(found[0]) if found else None

    def below(self, place: str) -> list[Page]:
        """The pages in the directory at *place*, at any depth; all of them for the folder itself."""
        if not place:
            return [_page(row) for row in self._select(_PAGES)]
        found = self._select(f"{_PAGES} WHERE path > ? AND path < ?", (f"{place}/", f"{place}0"))
        return [_page(row) for row in found]

    def put(self, pages: Iterable[Page]) -> None:
        """Record *pages*, in the place of earlier ones there."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(page.place, page.id, *page.signature, page.fresh, page.digest, page.title) for page in pages],
        )

    def drop(self, place: str) -> None:
        """Forget the page at *place*."""
        self._connection.execute("DELETE FROM page WHERE path = ?", (place,))

    def intend(self, steps: Iterable[Step]) -> None:
        """Record what is about to be done to several files."""
        self._connection.executemany(
            "INSERT INTO intent (step) VALUES (?)", [(json.dumps(step),) for step in steps]
        )

    def intended(self) -> list[Step]:
        """The steps of a change that has not ended, in order."""
        found = self._select("SELECT step FROM intent ORDER BY number")
        return [Step(*json.loads(step)) for (step,) in found]

    def settle(self) -> None:
        """The change that was intended is done, or undone."""
        self._connection.execute("DELETE FROM intent")

    def knows(self, digest: bytes) -> bool:
        """Whether some version of some memory has the bytes of this digest."""
        return bool(self._select("SELECT 1 FROM history WHERE digest = ? LIMIT 1", (digest,)))

    def newest_record(self) -> int:
        """The key of the last record of the history."""
        newest: int = self._select("SELECT coalesce(max(record), 0) FROM history")[0][0]
        return newest

    def indexed(self) -> tuple[int, int, int] | None:
        """The newest record that the page index shows, and its file's size and time."""
        found = self._select("SELECT record, size, mtime_ns FROM page_index")
        return found[0] if found else None

    def set_indexed(self, record: int, size: int, mtime_ns: int) -> None:
        """Record which state the page index shows."""
        self._connection.execute("DELETE FROM page_index")
        self._connection.execute("INSERT INTO page_index VALUES (?, ?, ?)", (record, size, mtime_ns))

    def for_index(self) -> list[tuple[str, str | None, int, int]]:
        """Place, title, size and id of each memory, in write order."""
        return self._select(
            "SELECT page.path, page.title, file.size, file.id FROM file JOIN page "
            "ON page.path = substr(file.path, 11) ORDER BY file.written, file.path"
        )

    def _select(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(query, values).fetchall()


def _page(row: Sequence[Any]) -> Page:
    place, file_id, *signature, fresh, digest, title = row
    return Page(place, file_id, Signature(*signature), bool(fresh), digest, title)
