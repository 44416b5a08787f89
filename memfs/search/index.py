"""An index of the words of a scope: an SQLite file in the user's cache, which anybody may delete at any time.

It is brought up to date with the scope's files at each search, in the transaction that then asks it, so that
several processes may share it whatever each has seen. It is never believed: ``find`` reads the passages it
names. Where it fails in any way it is thrown away, and the texts are searched without it.

It holds the words of the memories and where they stand, so it is as private as they are: 0600, and
:func:`forget` takes it away together with what other processes have open of it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from memfs.places import cache_directory, make_private, memfs_mount_above, resolve
from memfs.port.change import File
from memfs.port.names import ROOT
from memfs.search.passages import passages_of
from memfs.search.words import Query, Rank, folded, words_of

FORMAT = 1
WORTH_IT_FROM_FILES = 500
WORTH_IT_FROM_BYTES = 4 << 20
"""Below both a search without an index takes a few milliseconds, and nothing needs to lie in a cache."""
BUSY_MS = 2_000

# The words come as `words_of` makes them, joined by spaces. `ascii` takes every other character for part of
# a word, as it should here: SQLite's own idea of letters is not Python's.
_SCHEMA = """
CREATE TABLE state (files BLOB NOT NULL);
INSERT INTO state VALUES (x'');
CREATE TABLE file (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  content INTEGER NOT NULL
) STRICT;
CREATE TABLE passage (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL,
  start INTEGER NOT NULL
) STRICT;
CREATE INDEX passage_of_file ON passage (file);
CREATE VIRTUAL TABLE words USING fts5
  (text, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'");
"""
_STATE = "SELECT files FROM state"
_OCCURRENCES = "CREATE VIRTUAL TABLE temp.occurrence USING fts5vocab('main', 'words', 'instance')"
# The rank of each passage first, and what lies behind the last that is wanted left out, before any path is
# looked up: a common word is in every passage.
_BEST = """
WITH found (passage, phrase, terms, occurrences) AS MATERIALIZED (
  SELECT doc, doc IN (SELECT rowid FROM words WHERE words MATCH :phrase), count(*), sum(times)
  FROM ({occurrences}) GROUP BY doc
), last (phrase, terms, occurrences) AS (
  SELECT phrase, terms, occurrences FROM found ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT 1 OFFSET :limit - 1
)
SELECT passage.file, passage.start, found.phrase, found.terms, found.occurrences
FROM found JOIN passage ON passage.id = found.passage JOIN file ON file.id = passage.file
WHERE {within}
ORDER BY found.phrase DESC, found.terms DESC, found.occurrences DESC, file.path, passage.start LIMIT :limit
"""
_ALL_BEFORE_LAST = """
(found.phrase, found.terms, found.occurrences) >= (SELECT * FROM last) OR NOT EXISTS (SELECT * FROM last)
"""
_BELOW = "file.path = :path OR (file.path > :path || '/' AND file.path < :path || '0')"


class Stale(Exception):
    """The index was of no use this time; the texts have to be searched without it."""


class Index:
    """The index of one scope. It may be used from several threads."""

    def __init__(self, url: str, scope: str) -> None:
        """*url* is the canonical one of the scope's store."""
        digest = hashlib.sha256(f"{url}\n{scope}".encode()).hexdigest()[:32]
        self.file = cache_directory() / "search" / f"{digest}.db"
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._digested: tuple[list[File], bytes] = ([], b"")

    @staticmethod
    def is_worth_it(files: Sequence[File]) -> bool:
        """Whether *files* are so many, or so large, that searching them without an index takes long."""
        return len(files) >= WORTH_IT_FROM_FILES or sum(file.size for file in files) >= WORTH_IT_FROM_BYTES

    def best(
        self, files: list[File], read: Callable[[File], bytes], query: Query, path: str, limit: int
    ) -> list[tuple[int, int, Rank]]:
        """The *limit* best passages at or below *path*, each by its file's id, its first line and its rank.

        *files* are all those of the scope. Raises :class:`Stale`, and what *read* raises.
        """
        try:
            with self._lock, self._transaction(self._digest(files)) as (connection, is_current):
                if not is_current:
                    _bring_up_to_date(connection, files, read)
                return _best(connection, query, path, limit)
        except (apsw.Error, OSError):
            with suppress(OSError):
                self.forget()
            raise Stale from None

    def forget(self) -> None:
        """Take the index away; the next search that needs one makes it anew. Raises OSError."""
        with self._lock:
            self._close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; a later search opens it again."""
        with self._lock:
            self._close()

    def _digest(self, files: list[File]) -> bytes:
        """What tells the state of a scope from every other, also of a scope that was made anew."""
        if self._digested[0] != files:  # comparing is forty times as fast
            spelled = repr([tuple(file) for file in files]).encode()
            self._digested = files, hashlib.blake2b(spelled, digest_size=16).digest()
        return self._digested[1]

    @contextmanager
    def _transaction(self, digest: bytes) -> Iterator[tuple[apsw.Connection, bool]]:
        """A transaction, and whether the index is that of the files with this *digest*; it is at its end."""
        connection = self._open()
        connection.execute("BEGIN")
        try:
            is_current = _one(connection, _STATE) == digest
            if not is_current:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                is_current = _one(connection, _STATE) == digest
            yield connection, is_current
            if not is_current:
                connection.execute("UPDATE state SET files = ?", (digest,))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK")
            raise

    def _open(self) -> apsw.Connection:
        """The connection; opened anew where the file has been deleted or replaced."""
        if self._connection is not None and _identity(self.file) == self._opened:
            return self._connection
        self._close()
        if memfs_mount_above(resolve(str(self.file))) is not None:
            raise OSError("the user's cache lies in a memory")
        make_private(self.file.parent.parent)
        make_private(self.file.parent)
        os.close(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        connection = apsw.Connection(str(self.file))
        try:
            connection.set_busy_timeout(BUSY_MS)
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            with connection:
                found = _one(connection, "PRAGMA user_version")
                if found == 0:
                    connection.execute(f"{_SCHEMA}; PRAGMA user_version = {FORMAT}")
                elif found != FORMAT:
                    raise apsw.Error("an index of another release")
            connection.execute(_OCCURRENCES)
        except BaseException:
            connection.close()
            raise
        self._connection, self._opened = connection, _identity(self.file)
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def forget(url: str, scope: str) -> None:
    """Take the index of a scope away, with all it knows of what the scope holds or held. Raises OSError.

    *url* is the canonical one of the scope's store. A process that searches with the file open lets it go at
    its next search.
    """
    Index(url, scope).forget()


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _one(connection: apsw.Connection, statement: str) -> object:
    """The one value that *statement* selects."""
    ((value,),) = connection.execute(statement)
    return value


def _bring_up_to_date(
    connection: apsw.Connection, files: Sequence[File], read: Callable[[File], bytes]
) -> None:
    """Make the index that of *files*, at the cost of those that are others than it knows."""
    known = {
        row[0]: File(*row) for row in connection.execute("SELECT id, path, size, mtime_ns, content FROM file")
    }
    for file in files:
        before = known.pop(file.id, None)
        if before == file:
            continue
        # A name decides about headings, so a renamed file counts as another.
        if before is not None:
            _drop(connection, file.id)
        connection.execute("INSERT INTO file VALUES (?, ?, ?, ?, ?)", tuple(file))
        for passage in passages_of(read(file).decode(errors="replace"), file.path):
            connection.execute("INSERT INTO passage (file, start) VALUES (?, ?)", (file.id, passage.start))
            connection.execute(
                "INSERT INTO words (rowid, text) VALUES (?, ?)",
                (connection.last_insert_rowid(), " ".join(words_of(folded(passage.text)))),
            )
    for gone in known:
        _drop(connection, gone)


def _drop(connection: apsw.Connection, file_id: int) -> None:
    connection.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM passage WHERE file = ?)", (file_id,))
    connection.execute("DELETE FROM passage WHERE file = ?", (file_id,))
    connection.execute("DELETE FROM file WHERE id = ?", (file_id,))


def _best(connection: apsw.Connection, query: Query, path: str, limit: int) -> list[tuple[int, int, Rank]]:
    values: dict[str, Any] = {"phrase": f'"{" ".join(query.phrase)}"', "path": path, "limit": limit}
    parts = []
    for number, (first, after) in enumerate(query.spans()):
        values |= {f"first{number}": first, f"after{number}": after}
        # GROUP BY, for each occurrence is a row; the term, so that UNION ALL keeps those of each.
        parts.append(
            "SELECT doc, count(*) AS times FROM occurrence "  # noqa: S608
            f"WHERE term >= :first{number} AND term < :after{number} GROUP BY doc"
        )
    within = _ALL_BEFORE_LAST if path == ROOT else _BELOW
    statement = _BEST.format(occurrences=" UNION ALL ".join(parts), within=within)
    return [
        (file_id, start, Rank(bool(phrase), terms, occurrences))
        for file_id, start, phrase, terms, occurrences in connection.execute(statement, values)
    ]
