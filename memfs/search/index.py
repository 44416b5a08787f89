"""An index of the words of a scope: an SQLite file in the user's cache, which anybody may delete at any time.

It is brought up to date with the scope's files at each search, in the transaction that then asks it, so that
several processes may share it whatever each has seen. It is never believed: ``find`` reads the passages it
names. Where it fails in any way it is thrown away, and the texts are searched without it.

It holds the words of the memories and where they stand, so it is as private as they are: 0600, and
:func:`forget` takes it away together with what other processes have open of it.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import apsw

from memfs.places import cache_directory, make_private, memfs_mount_above, resolve
from memfs.port.change import File
from memfs.port.names import ROOT
from memfs.search import postings
from memfs.search.passages import passages_of
from memfs.search.words import Query, Rank, folded, words_of

FORMAT = 2
WORTH_IT_FROM_FILES = 500
WORTH_IT_FROM_BYTES = 4 << 20
"""Below both a search without an index takes a few milliseconds, and nothing needs to lie in a cache."""
BUSY_MS = 2_000

MANY_EQUAL = 100
"""So many passages that answer equally well are met soon on the way through all, in the order of paths."""

# The words come as `words_of` makes them, joined by spaces. `ascii` takes every other character for part of
# a word, as it should here: SQLite's own idea of letters is not Python's. FTS5 finds the phrases; how often a
# word occurs is in lists of our own. `words` are a passage's, each once: what leaves the lists with it.
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
CREATE INDEX file_by_path ON file (path);
CREATE TABLE passage (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL,
  start INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT;
CREATE INDEX passage_of_file ON passage (file, start);
CREATE VIRTUAL TABLE phrases USING fts5
  (text, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '_'");
"""
_STATE = "SELECT files FROM state"
_BELOW = "file.path = :path OR (file.path > :path || '/' AND file.path < :path || '0')"
_PHRASE = 1 << 40
"""In a score, above what a tally counts."""


class Stale(Exception):
    """The index was of no use this time; the texts have to be searched without it."""


class Seen:
    """The files of a scope, and what tells this state of it from every other, also of one made anew."""

    def __init__(self, files: Mapping[int, File] = MappingProxyType({}), digest: bytes = bytes(16)) -> None:
        self.files = files
        self.digest = digest

    def followed_by(self, files: Sequence[File]) -> Seen:
        """*files* as what is seen next, at the cost of those that differ."""
        now = {file.id: file for file in files}
        if now == self.files:
            return self
        digest = int.from_bytes(self.digest)
        for file in self.files.values():
            if now.get(file.id) != file:
                digest ^= _digest(file)
        for file in files:
            if self.files.get(file.id) != file:
                digest ^= _digest(file)
        return Seen(now, digest.to_bytes(16))


def _digest(file: File) -> int:
    return int.from_bytes(hashlib.blake2b(repr(tuple(file)).encode(), digest_size=16).digest())


class Index:
    """The index of one scope. It may be used from several threads."""

    def __init__(self, url: str, scope: str) -> None:
        """*url* is the canonical one of the scope's store."""
        digest = hashlib.sha256(f"{url}\n{scope}".encode()).hexdigest()[:32]
        self.file = cache_directory() / "search" / f"{digest}.db"
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._seen = Seen()

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
            with self._lock:
                before, self._seen = self._seen, self._seen.followed_by(files)
                with self._transaction() as connection:
                    self._bring_up_to_date(connection, before, read)
                    return _best(connection, query, path, limit)
        except (apsw.Error, OSError, ValueError):
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

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        """A transaction, which may write if the index is not yet that of the files seen last."""
        connection = self._open()
        connection.execute("BEGIN")
        try:
            if _one(connection, _STATE) != self._seen.digest:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK")
            raise

    def _bring_up_to_date(
        self, connection: apsw.Connection, before: Seen, read: Callable[[File], bytes]
    ) -> None:
        """Make the index that of the files seen last; *before* are those of the search before this one."""
        state = _one(connection, _STATE)
        if state == self._seen.digest:
            return
        # Where nobody else has used the index meanwhile, what it knows need not be read.
        known = before.files if state == before.digest else _known(connection)
        _update(connection, known, self._seen.files, read)
        connection.execute("UPDATE state SET files = ?", (self._seen.digest,))

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
                    connection.execute(f"{_SCHEMA}; {postings.SCHEMA}; PRAGMA user_version = {FORMAT}")
                elif found != FORMAT:
                    raise apsw.Error("an index of another release")
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


def _known(connection: apsw.Connection) -> dict[int, File]:
    """The files that the index is of, by id."""
    rows = connection.execute("SELECT id, path, size, mtime_ns, content FROM file")
    return {row[0]: File(*row) for row in rows}


def _update(
    connection: apsw.Connection,
    known: Mapping[int, File],
    files: Mapping[int, File],
    read: Callable[[File], bytes],
) -> None:
    """Make an index of *known* one of *files*, at the cost of those that differ."""
    changes = postings.Changes(connection)
    for file_id in known.keys() - files.keys():
        _drop(connection, changes, file_id)
    for file in files.values():
        before = known.get(file.id)
        if before == file:
            continue
        # A name decides about headings, so a renamed file counts as another.
        if before is not None:
            _drop(connection, changes, file.id)
        connection.execute("INSERT INTO file VALUES (?, ?, ?, ?, ?)", tuple(file))
        for passage in passages_of(read(file).decode(errors="replace"), file.path):
            words = words_of(folded(passage.text))
            connection.execute(
                "INSERT INTO passage (file, start, words) VALUES (?, ?, ?)",
                (file.id, passage.start, " ".join(set(words))),
            )
            number = connection.last_insert_rowid()
            connection.execute("INSERT INTO phrases (rowid, text) VALUES (?, ?)", (number, " ".join(words)))
            changes.add(number, words)
    changes.write()


def _drop(connection: apsw.Connection, changes: postings.Changes, file_id: int) -> None:
    for number, words in connection.execute("SELECT id, words FROM passage WHERE file = ?", (file_id,)):
        changes.remove(number, words.split())
    connection.execute(
        "DELETE FROM phrases WHERE rowid IN (SELECT id FROM passage WHERE file = ?)", (file_id,)
    )
    connection.execute("DELETE FROM passage WHERE file = ?", (file_id,))
    connection.execute("DELETE FROM file WHERE id = ?", (file_id,))


def _best(connection: apsw.Connection, query: Query, path: str, limit: int) -> list[tuple[int, int, Rank]]:
    scores = postings.tally(connection, query.spans())
    if path != ROOT:
        below = connection.execute(
            f"SELECT passage.id FROM file JOIN passage ON passage.file = file.id WHERE {_BELOW}",  # noqa: S608
            {"path": path},
        )
        scores = {number: scores[number] for (number,) in below if number in scores}
    phrases = scores.keys() & _with_phrase(connection, query, scores)
    if len(phrases) < limit:
        scores |= {number: scores[number] + _PHRASE for number in phrases}
    elif len(phrases) < len(scores):  # all others come behind them
        scores = {number: scores[number] for number in phrases}
    last = min(heapq.nlargest(limit, scores.values()), default=0)
    enough = [number for number, score in scores.items() if score >= last]
    better = [number for number in enough if scores[number] > last]
    equal = {number for number in enough if scores[number] == last}
    chosen = [*better, *_first_by_path(connection, equal, limit - len(better))]
    places = (
        (-scores[number], file_path, start, file_id, number)
        for number in chosen
        for file_id, file_path, start in connection.execute(
            "SELECT file.id, file.path, passage.start FROM passage JOIN file ON file.id = passage.file "
            "WHERE passage.id = ?",
            (number,),
        )
    )
    best = []
    for score, _, start, file_id, number in sorted(places)[:limit]:
        more_terms, occurrences = divmod(-score % _PHRASE, postings.ONE_TERM)
        best.append((file_id, start, Rank(number in phrases, 1 + more_terms, occurrences)))
    return best


def _with_phrase(connection: apsw.Connection, query: Query, scores: Mapping[int, int]) -> Iterable[int]:
    """The passages that have the words as they were typed."""
    if len(query.phrase) == 1:
        return postings.passages_with(connection, query.phrase[0])
    if max(scores.values(), default=0) < (len(query.terms) - 1) * postings.ONE_TERM:
        return ()
    phrase = f'"{" ".join(query.phrase)}"'
    found = connection.execute("SELECT rowid FROM phrases WHERE phrases MATCH ?", (phrase,))
    return (number for (number,) in found)


def _first_by_path(connection: apsw.Connection, passages: set[int], count: int) -> Iterable[int]:
    """Those of *passages* among which the first *count* in the order of paths and lines are."""
    if len(passages) < MANY_EQUAL:
        return passages
    ordered = connection.execute(
        "SELECT passage.id FROM file CROSS JOIN passage ON passage.file = file.id "
        "ORDER BY file.path, passage.start"
    )
    return islice((number for (number,) in ordered if number in passages), count)
