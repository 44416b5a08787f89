"""What the database keeps of the folder's files: how each looked when it was last in step with its memory.

Four tables beside those of the history, in the same transactions: ``page`` (a row for each memory),
``lapsed`` (a row for each place at which others took one away), ``intent`` (the steps of a change of several
files that is under way) and ``page_index``.
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
CREATE TABLE IF NOT EXISTS lapsed (      -- the last memory that left a place by another program's doing
  path TEXT PRIMARY KEY,
  id INTEGER NOT NULL,
  written INTEGER NOT NULL,              -- the place in write order that it had
  digest BLOB NOT NULL,                  -- SHA-256 of its bytes
  blocked INTEGER NOT NULL               -- something that cannot be a memory has been there ever since
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


class Lapsed(NamedTuple):
    """A memory that left its place by another program's doing, and may come back.

    It does with the bytes it had; and with whatever bytes where it never quite left: something that cannot
    be a memory (its file with a second name, or too large; a link) has been in its place ever since.
    """

    id: int
    digest: bytes
    blocked: bool


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

    def lapse(self, page: Page, blocked: bool) -> None:
        """Record that others took the memory of *page* away, before it leaves the scope."""
        self._connection.execute(
            "INSERT OR REPLACE INTO lapsed SELECT ?, id, written, ?, ? FROM file WHERE id = ?",
            (page.place, page.digest, blocked, page.id),
        )

    def lapsed_at(self, place: str) -> Lapsed | None:
        """The memory that left *place* so, if it is nowhere else by now."""
        found = self._select(
            "SELECT id, digest, blocked FROM lapsed JOIN gone USING (id) WHERE lapsed.path = ?", (place,)
        )
        return Lapsed(*found[0]) if found else None

    def blocked_below(self, place: str) -> list[str]:
        """The places in the directory at *place* that something else has been in ever since."""
        found = self._select("SELECT path FROM lapsed WHERE blocked")
        return [path for (path,) in found if not place or path.startswith(f"{place}/")]

    def unblock(self, place: str) -> None:
        """Record that nothing is at *place* any more."""
        self._connection.execute("UPDATE lapsed SET blocked = 0 WHERE path = ?", (place,))

    def come_back(self, place: str, keeps_order: bool) -> None:
        """Record that the memory that left *place* is there again; its place in write order too, or not."""
        if keeps_order:
            self._connection.execute(
                "UPDATE file SET written = lapsed.written FROM lapsed "
                "WHERE lapsed.path = ? AND file.id = lapsed.id",
                (place,),
            )
        self._connection.execute("DELETE FROM lapsed WHERE path = ?", (place,))

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
