"""One scope in one SQLite database: load, read, commit, changes, history.

Two connections: commits and what belongs to them run on one, under the gate; reads of
bytes run on another, so that they wait for no writer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw

from memfs.port.change import Change, Commit, File, Origin
from memfs.port.errors import OpenError, StoreError, UnsafeStorage
from memfs.port.keeping import HistoryUse, Redaction, Retention
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Busy, Record, VersionMismatch, Watch
from memfs.stores import recorded
from memfs.stores.checks import check_files
from memfs.stores.gate import Gate
from memfs.stores.sqlite import rows
from memfs.stores.sqlite.database import (
    BUSY_MS,
    ScopeFiles,
    check_library,
    connect,
    ensure_database,
    make_directory,
)
from memfs.stores.sqlite.failures import storage_errors, translated
from memfs.stores.sqlite.history import History
from memfs.stores.sqlite.notice import NoticeFile
from memfs.stores.sqlite.redaction import WIPED
from memfs.stores.sqlite.upkeep import Upkeep

log = logging.getLogger(__name__)

MOST_CHANGES = 20_000
"""Records after which it is cheaper to load the scope anew."""
UPKEEP_EVERY = 256
"""Commits after which the committer of a durable store does the upkeep itself."""

_PUT_HISTORY = """
INSERT INTO history (record, operation, id, previous, path, old_path, directory, size, time_ns, mtime_ns,
                     joins, user, program, pid, reason, content, digest)
VALUES (?1, ?2, ?3,
        coalesce((SELECT record FROM file WHERE id = ?3), (SELECT record FROM gone WHERE id = ?3)),
        ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
        coalesce(?16, (SELECT history.digest FROM file JOIN history USING (record) WHERE file.id = ?3)))
"""
_PUT_FILE = """
INSERT INTO file (id, path, size, mtime_ns, written, content, record) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET path = excluded.path, size = excluded.size, mtime_ns = excluded.mtime_ns,
  written = excluded.written, content = excluded.content, record = excluded.record
"""


def open_sqlite(
    directory: Path, scope_name: str, policy: Policy, relaxed: bool = False
) -> tuple[SqliteStore, bool]:
    """The store of one scope, made with *policy* if it is new, and whether it was.

    Raises StoreError; its message names the file and what to do.
    """
    check_library()
    make_directory(directory)
    files = ScopeFiles(directory, scope_name)
    gate = Gate(files.lock)
    try:
        made = ensure_database(files, gate, scope_name, policy)
        return SqliteStore(files, gate, scope_name, relaxed), made
    except BaseException:
        gate.close()
        raise


class SqliteStore:
    """One scope, opened durable (each commit is synced) or *relaxed* (``sync`` does it)."""

    def __init__(self, files: ScopeFiles, gate: Gate, scope_name: str, relaxed: bool) -> None:
        self.scope_name = scope_name
        self.waits = not relaxed
        self._files = files
        self._gate = gate
        with storage_errors():
            self._connection = connect(files, relaxed)
            self._reader = connect(files, relaxed)
        self._opened = _identity(files)
        self._reading = threading.Lock()
        self._history = History(self._reader, self._reading)
        self._seen = -1
        # The version this connection committed last, while nobody else has committed since; and the scope's,
        # once `changed` has made sure of it in the transaction that is open: it spares each commit a query.
        self._newest: int | None = None
        self._head: int | None = None
        self._committed = False
        self._commits_since_upkeep = 0
        self._notice = NoticeFile(files.notices)
        self._upkeep = Upkeep(files)
        self._wal: int | None = None

    def load(self) -> Scope:
        """The scope as the database holds it. Refuses a state that no sequence of commands leads to."""
        with storage_errors(), self._reading, self._reader:
            head = rows.select(
                self._reader, "SELECT name, policy, (SELECT max(record) FROM history) FROM scope"
            )
            if len(head) != 1 or head[0][0] != self.scope_name:
                raise UnsafeStorage(f"{self._files.shown} does not hold the scope '{self.scope_name}'.")
            policy = _policy_from(head[0][1])
            files = [
                File(file_id, path, size, mtime_ns, recorded.version_of(content))
                for file_id, path, size, mtime_ns, content in rows.select(
                    self._reader, "SELECT id, path, size, mtime_ns, content FROM file ORDER BY written, path"
                )
            ]
        check_files(files, str(self._files.shown))
        return Scope(policy, recorded.version_of(head[0][2] or 0), files)

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory *file_id* had after the change *version*."""
        return self._history.read(file_id, version)

    def acquire(self, wait: bool) -> None:
        """The gate, then SQLite's write lock: what is read from here on is the newest state."""
        self._gate.acquire(wait)
        if _identity(self._files) != self._opened:
            self._gate.release()
            raise UnsafeStorage(
                f"{self._files.shown} was removed or replaced while it was open; open the memory again."
            )
        try:
            self.begin(wait)
        except BaseException:
            self._gate.release()
            raise

    def begin(self, wait: bool = True) -> None:
        """Take SQLite's write lock; for who holds the gate, and goes on after a commit."""
        self._head = None
        try:
            self._connection.set_busy_timeout(BUSY_MS if wait else 0)
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            if not wait:
                raise Busy from None
            raise StoreError("Another program keeps the database locked; close it and try again.") from error
        except apsw.Error as error:
            raise translated(error) from error

    def release(self) -> None:
        """End the transaction if nothing was committed, open the gate, and give notice."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error as error:
            raise translated(error) from error
        finally:
            self._gate.release()
        if self._committed:
            self._committed = False
            self._notice.give()
            if self._commits_since_upkeep >= UPKEEP_EVERY:
                self._look_after()

    def changed(self, version: int) -> bool:
        """Whether another connection has committed since the last time this was asked."""
        try:
            seen: int = rows.select(self._connection, "PRAGMA data_version")[0][0]
        except apsw.Error as error:
            raise translated(error) from error
        if seen == self._seen:
            if self._connection.in_transaction:
                self._head = self._newest
            return False
        self._seen = seen
        self._newest = None
        return True

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after *since*, from the history; contents stay where they are."""
        with storage_errors():
            found = rows.select(
                self._connection,
                f"SELECT {recorded.COLUMNS} FROM history WHERE record > ? ORDER BY record LIMIT ?",  # noqa: S608
                (recorded.last_key(since), MOST_CHANGES + 1),
            )
            policy, pruned = rows.select(self._connection, "SELECT policy, pruned FROM scope")[0]
            if len(found) > MOST_CHANGES or pruned > recorded.last_key(since):
                return None
            return recorded.commits_of(found, _policy_from(policy))

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """One transaction: a row of history for each file touched, and the state they lead to."""
        commit = self.write(change, expected, origin)
        self.finish(commit)
        return commit

    def write(self, change: Change, expected: int, origin: Origin) -> Commit:
        """The rows of a commit, in the transaction that is open: nothing counts before :meth:`finish`."""
        if self.head() != expected:
            raise VersionMismatch
        commit = Commit(expected + 1, change, origin)
        with storage_errors():
            self._write(commit)
        return commit

    def finish(self, commit: Commit) -> None:
        """The end of :meth:`write`: the transaction counts."""
        with storage_errors():
            self._connection.execute("COMMIT")
        self._newest = commit.version
        self._committed = True
        self._commits_since_upkeep += 1

    def head(self) -> int:
        """The scope's version, for who holds it."""
        if self._head is None:
            with storage_errors():
                newest = rows.select(self._connection, "SELECT max(record) FROM history")[0][0]
            self._head = recorded.version_of(newest or 0)
        return self._head

    def policy(self) -> Policy:
        """The scope's rules, on the connection of commits."""
        with storage_errors():
            return _policy_from(rows.select(self._connection, "SELECT policy FROM scope")[0][0])

    @property
    def connection(self) -> apsw.Connection:
        """The connection of commits: a store built on this one keeps its own tables by it."""
        return self._connection

    def sync(self) -> None:
        """fdatasync of the log, on a descriptor of its own: every earlier commit lies there."""
        try:
            if self._wal is None:
                self._wal = os.open(self._files.wal, os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._wal)
        except OSError as error:
            raise StoreError(f"The database's log cannot be synced: {error.strerror}.") from error

    def maintain(self) -> None:
        """Checkpoint the log when it has grown, and turn superseded bytes into deltas."""
        self._commits_since_upkeep = 0
        with storage_errors():
            self._upkeep.run()

    def prune(self, keep: Retention) -> int:
        """Forget the versions that *keep* does not name."""
        with storage_errors():
            return self._upkeep.prune(keep)

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take the bytes of *versions* out of the history and out of the files."""
        with storage_errors():
            redaction = self._upkeep.redact(versions, origin)
        self.sync()
        self._notice.give()
        return redaction

    def unfinished_ns(self) -> int | None:
        """When something was redacted that the files may still hold."""
        with storage_errors():
            return self._upkeep.unfinished_ns()

    def history_use(self) -> HistoryUse:
        """What the history takes."""
        with storage_errors():
            return self._upkeep.history_use()

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Watch the notices of other processes, and the log itself."""
        from memfs.stores.sqlite.watch import SqliteWatch  # here, for the sake of commands that end at once

        try:
            return SqliteWatch(self._files, self._notice, notify)
        except OSError as error:
            raise StoreError(
                f"The notices {self._files.notices} cannot be watched: {error.strerror}."
            ) from error

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records of the scope, or of one memory."""
        if file_id is None:
            return self._history.of_scope(newest_first)
        return self._history.of_memory(file_id, newest_first)

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that was last at *path* or below, and has left."""
        return self._history.gone(path)

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left."""
        return self._history.gone_children(path)

    def close(self) -> None:
        """Close the connections; the last one of a database folds its log in.

        Whoever closes it first after a reader held a redaction back ends that: no commit may ever follow.
        """
        self._finish_redactions()
        with storage_errors():
            self._upkeep.close()
            self._notice.close()
            self._reader.close()
            self._connection.close()
        self._gate.close()
        if self._wal is not None:
            os.close(self._wal)

    def _finish_redactions(self) -> None:
        try:
            with storage_errors(), self._reading:
                found = rows.select(self._reader, "SELECT unwiped FROM scope")
            if found and found[0][0] != WIPED:  # none where the database is damaged
                with storage_errors():
                    self._upkeep.finish_redactions()
        except StoreError as error:  # the next one tries again; this one has to close all the same
            log.warning("what was redacted in scope %r may still be in its files: %s", self.scope_name, error)

    def _look_after(self) -> None:
        """The upkeep after a commit, which stands: what fails here is tried again later.

        A relaxed store's commits wait for no disk, so there it is a thread's, and only what is urgent.
        """
        if not self.waits:
            self._commits_since_upkeep = 0
            self._upkeep.fold_large_log()
            return
        try:
            self.maintain()
        except StoreError as error:
            log.warning("the upkeep of scope %r failed: %s", self.scope_name, error)

    def _write(self, commit: Commit) -> None:
        """The rows of *commit*, in the order of ``records_of``: written out, for every save comes here."""
        run = self._connection.execute
        change, (time_ns, (user, program, pid), reason) = commit.change, commit.origin
        who = (user, program, pid, reason)
        what: tuple[object, ...]
        key, directories = recorded.key_of(commit.version, 0), recorded.lines_of(change.directories)
        for file, evicted in change.removes:
            operation = "evicted" if evicted else "deleted"
            what = (key, operation, file.id, file.path, None, directories, file.size, time_ns, None, None)
            run(_PUT_HISTORY, (*what, *who, None, None))
            run("DELETE FROM file WHERE id = ?", (file.id,))
            run("INSERT INTO gone (id, path, record) VALUES (?, ?, ?)", (file.id, file.path, key))
            key, directories = key + 1, None
        for file, new_path, operation in change.moves:
            what = (key, operation, file.id, new_path, file.path, directories, file.size, time_ns, None, None)
            run(_PUT_HISTORY, (*what, *who, None, None))
            run(
                "UPDATE file SET path = ?1, record = ?2, written = iif(?3, ?2, written) WHERE id = ?4",
                (new_path, key, operation == "restored", file.id),
            )
            key, directories = key + 1, None
        for file_id, path, size, operation, content, mtime_ns, joins in change.puts:
            what = (key, operation, file_id, path, None, directories, size, time_ns, mtime_ns, joins)
            digest = None if content is None else hashlib.sha256(content).digest()
            run(_PUT_HISTORY, (*what, *who, content, digest))
            run(_PUT_FILE, (file_id, path, size, time_ns if mtime_ns is None else mtime_ns, key, key, key))
            if operation == "restored" or joins is not None:
                run("DELETE FROM gone WHERE id = ?", (file_id,))
            key, directories = key + 1, None
        if change.policy is not None:
            run("UPDATE scope SET policy = ?", (json.dumps(change.policy.to_json()),))
            run(
                _PUT_HISTORY,
                (key, "policy", 0, "", None, None, 0, time_ns, None, None, *who, None, None),
            )


def _identity(files: ScopeFiles) -> tuple[int, int] | None:
    """Which file the database is: a commit to one that has lost its name would be lost with it."""
    try:
        status = os.stat(files.database)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _policy_from(recorded: str) -> Policy:
    try:
        return Policy.from_json(json.loads(recorded))
    except (ValueError, TypeError, OpenError) as error:
        raise UnsafeStorage(f"The scope's policy cannot be read: {error}") from error
