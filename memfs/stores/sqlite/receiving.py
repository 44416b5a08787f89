"""A scope from another store on its way into a database: built under another name, which it then gets.

The database aside is one as any other. Whoever is killed leaves it as it was after the last changes that
were received, and the next one goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

import apsw

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.policy import Policy
from memfs.port.receiving import Received
from memfs.port.scope import Scope
from memfs.port.store import Busy, Record
from memfs.stores.gate import Gate
from memfs.stores.recorded import key_of, last_key, version_of
from memfs.stores.sqlite import rows
from memfs.stores.sqlite.database import (
    ScopeFiles,
    check_library,
    connect,
    ensure_database,
    make_directory,
    sync_directory,
)
from memfs.stores.sqlite.failures import storage_errors
from memfs.stores.sqlite.store import SqliteStore

_UNKNOWN_REDACTION = 0
"""Who redacted a record, until the record that says so has come."""

_PUT = """
INSERT INTO history (record, operation, id, previous, path, old_path, size, time_ns, mtime_ns, joins,
                     user, program, pid, reason, digest, redacted, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PUT_FILE = (
    "INSERT INTO file (id, path, size, mtime_ns, written, content, record) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_NEWEST = "SELECT id, max(record) FROM history WHERE operation NOT IN ('redacted', 'policy') GROUP BY id"
_WRITTEN = """
SELECT id, max(record) FROM history WHERE operation IN ('created', 'modified', 'restored') GROUP BY id
"""
_BROUGHT = """
SELECT max(record) FROM history WHERE record BETWEEN ? AND ? AND id = ? AND old_path IS NULL
AND operation IN ('created', 'modified', 'restored')
"""
# Bytes were taken out of the record that brought them and of those that showed them, up to the next that
# brought others.
_SAY_WHO = """
UPDATE history SET redacted = ?1 WHERE id = ?2 AND redacted = 0 AND record >= (
  SELECT coalesce(max(record), 0) FROM history WHERE id = ?2 AND record <= ?3 AND old_path IS NULL
  AND operation IN ('created', 'modified', 'restored'))
AND record < (
  SELECT coalesce(min(record), 1 << 62) FROM history WHERE id = ?2 AND record > ?3 AND old_path IS NULL
  AND operation IN ('created', 'modified', 'restored'))
"""


def receive_sqlite(files: ScopeFiles, scope_name: str, policy: Policy) -> SqliteReceiver:
    """The receiver of a scope that is to lie at *files*. Raises StoreError."""
    check_library()
    make_directory(files.directory)
    return SqliteReceiver(files, scope_name, policy)


class SqliteReceiver:
    """The scope while it is on its way; see :class:`~memfs.port.receiving.Receiver`."""

    def __init__(self, files: ScopeFiles, scope_name: str, policy: Policy) -> None:
        self._files = files
        self.incoming = files.incoming
        self._scope_name = scope_name
        self._policy = policy
        self._running = Gate(self.incoming.database.with_suffix(".running"))
        try:
            self._running.acquire(wait=False)
            self._open()
        except Busy:
            self._running.close()
            raise StoreError(
                f"Another process is bringing the scope '{scope_name}' in; wait for it to end."
            ) from None
        except BaseException:
            self._running.close()
            raise

    @property
    def reached(self) -> int:
        """The version of the last change that was received."""
        with storage_errors():
            return version_of(
                rows.select(self.connection, "SELECT coalesce(max(record), 0) FROM history")[0][0]
            )

    def receive(self, changes: Sequence[Received], policy: Policy) -> None:
        """Add the rows of *changes* in one transaction."""
        with storage_errors(), self.connection:
            for change in changes:
                for ordinal, each in enumerate(zip(*change, strict=True)):
                    self._put(key_of(change.version, ordinal), *each)
            self.connection.execute("UPDATE scope SET policy = ?", (json.dumps(policy.to_json()),))

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Write the tables of what is there now, and of what has left, anew."""
        run = self.connection.execute
        with storage_errors(), self.connection:
            run("DELETE FROM file")
            run("DELETE FROM gone")
            written = dict(rows.select(self.connection, _WRITTEN))
            place = 0
            for file in scope.in_write_order():
                place = max(place + 1, written[file.id])
                content = rows.select(
                    self.connection,
                    _BROUGHT,
                    (key_of(file.content, 0), last_key(file.content), file.id),
                )[0][0]
                run(
                    _PUT_FILE,
                    (file.id, file.path, file.size, file.mtime_ns, place, content, self._newest[file.id]),
                )
            for file_id, record in self._newest.items():
                if scope.file_by_id(file_id) is None:
                    run(
                        "INSERT INTO gone (id, path, record) SELECT id, path, record FROM history "
                        "WHERE record = ?",
                        (record,),
                    )
            if self.reached < scope.version:
                time_ns, actor, reason = origin
                run(
                    _PUT,
                    (key_of(scope.version, 0), "policy", 0, None, "", None, 0, time_ns, None, None)
                    + (*actor, reason, None, None, None),
                )
            # What the source has forgotten is missing here too.
            run(
                "UPDATE scope SET policy = ?, pruned = ?",
                (json.dumps(scope.policy.to_json()), last_key(scope.version)),
            )

    def opened(self) -> SqliteStore:
        """The database aside, as a store."""
        return SqliteStore(self.incoming, Gate(self.incoming.lock), self._scope_name, relaxed=True)

    def publish(self) -> None:
        """Close the database, and give it its name."""
        gate = Gate(self._files.lock)
        try:
            gate.acquire(wait=True)
            if self._files.database.exists() or self._files.wal.exists():
                raise StoreError(
                    f"There is a scope '{self._scope_name}' by now; name another with --to-scope.",
                    ErrorCode.CONFLICT,
                )
            with storage_errors():
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self.connection.close()
            self.incoming.database.rename(self._files.database)
            sync_directory(self._files.directory)
        finally:
            gate.close()
        self._remove()

    def restart(self) -> None:
        """Begin with an empty database."""
        self.connection.close()
        self._remove()
        self._open()

    def close(self) -> None:
        """Close the database; where there is none any more, take the last trace away."""
        self.connection.close()
        if not self.incoming.database.exists():
            self.incoming.database.with_suffix(".running").unlink(missing_ok=True)
        self._running.close()

    def _open(self) -> None:
        gate = Gate(self.incoming.lock)
        try:
            ensure_database(self.incoming, gate, self._scope_name, self._policy)
        finally:
            gate.close()
        with storage_errors():
            self.connection = connect(self.incoming, relaxed=False)
            self._newest: dict[int, int] = dict(rows.select(self.connection, _NEWEST))

    def _put(self, key: int, record: Record, content: bytes | None, mtime_ns: int | None) -> None:
        is_redaction = record.operation == "redacted"
        values = (
            *(key, record.operation, record.id, None if is_redaction else self._newest.get(record.id)),
            *(record.path, record.old_path, record.size, record.time_ns, mtime_ns, record.joins),
            *(*record.actor, record.reason, None if record.digest is None else bytes.fromhex(record.digest)),
            *(_UNKNOWN_REDACTION if record.redacted else None, content),
        )
        self.connection.execute(_PUT, values)
        if is_redaction:
            assert record.joins is not None, "it says whose bytes it took out"
            self.connection.execute(_SAY_WHO, (key, record.id, last_key(record.joins)))
        else:
            self._newest[record.id] = key

    def _remove(self) -> None:
        """Take everything away that lay aside."""
        database, notices = self.incoming.database, self.incoming.notices
        for suffix in ("", "-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        self.incoming.lock.unlink(missing_ok=True)
        with suppress(OSError):
            notices.rmdir()
