"""A scope from another store on its way into the tables, under a name that nobody can open.

It gets its own at the end. All happens on a connection of its own, whose lock keeps a second process out;
when it is lost, whoever calls again goes on from the last changes that were received.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.types.numeric import Int8

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.policy import Policy
from memfs.port.receiving import Received
from memfs.port.scope import Scope
from memfs.stores.postgres import rows
from memfs.stores.postgres.address import Address, address_of
from memfs.stores.postgres.connections import connect
from memfs.stores.postgres.database import enter
from memfs.stores.postgres.failures import reason_of, refusal, translated
from memfs.stores.postgres.operating import INCOMING
from memfs.stores.postgres.store import PostgresStore, find_or_make
from memfs.stores.recorded import key_of, last_key, version_of

_UNKNOWN_REDACTION = 0
"""Who redacted a record, until the record that says so has come."""
_BROUGHT = "old_path IS NULL AND operation IN ('created', 'modified', 'restored')"
_PUT = """
INSERT INTO memfs.history (scope, record, operation, id, previous, path, old_path, size, time_ns, mtime_ns,
  joins, "user", program, pid, reason, digest, redacted, content)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_NEWEST = """
SELECT id, max(record) FROM memfs.history
WHERE scope = %s AND operation NOT IN ('redacted', 'policy') GROUP BY id
"""
_WRITTEN = """
SELECT id, max(record) FROM memfs.history
WHERE scope = %s AND operation IN ('created', 'modified', 'restored') GROUP BY id
"""
_CONTENT = f"""
SELECT max(record) FROM memfs.history WHERE scope = %s AND record BETWEEN %s AND %s AND id = %s AND {_BROUGHT}
"""  # noqa: S608
_PUT_FILE = """
INSERT INTO memfs.file (scope, id, path, size, mtime_ns, written, content, record)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
"""
_PUT_GONE = """
INSERT INTO memfs.gone (scope, id, path, record)
SELECT scope, id, path, record FROM memfs.history WHERE scope = %s AND record = %s
"""
# Bytes were taken out of the record that brought them and of those that showed them, up to the next that
# brought others.
_SAY_WHO = f"""
UPDATE memfs.history SET redacted = %(who)s WHERE scope = %(scope)s AND id = %(id)s AND redacted = 0
AND record >= (SELECT coalesce(max(record), 0) FROM memfs.history
  WHERE scope = %(scope)s AND id = %(id)s AND record <= %(upto)s AND {_BROUGHT})
AND record < (SELECT coalesce(min(record), 9223372036854775807) FROM memfs.history
  WHERE scope = %(scope)s AND id = %(id)s AND record > %(upto)s AND {_BROUGHT})
"""  # noqa: S608

_EMPTY = tuple(b"DELETE FROM memfs.%s WHERE scope = %%s" % table for table in (b"history", b"file", b"gone"))


def receive_postgres(url: str, scope_name: str, policy: Policy) -> PostgresReceiver:
    """The receiver of a scope that is to be called *scope_name*. Raises StoreError and OpenError."""
    return PostgresReceiver(address_of(url), scope_name, policy)


class PostgresReceiver:
    """The scope while it is on its way; see :class:`~memfs.port.receiving.Receiver`."""

    def __init__(self, address: Address, scope_name: str, policy: Policy) -> None:
        self._address = address
        self._scope_name = scope_name
        with self._errors():
            self._connection = connect(address, time.monotonic() + address.patience, "memfs store migrate")
        try:
            self._connection.deadline = float("inf")
            with self._errors():
                self._place = find_or_make(self._connection, INCOMING + scope_name, policy)[0]
                self._scope = Int8(self._place.scope)
                if not self._row("SELECT pg_try_advisory_lock(%s)", self._scope)[0]:
                    raise StoreError(
                        f"Another process is bringing the scope '{scope_name}' in; wait for it to end."
                    )
                self._newest = self._by_id(_NEWEST)
        except BaseException:
            self._connection.close()
            raise

    @property
    def reached(self) -> int:
        """The version of the last change that was received."""
        with self._errors():
            query = "SELECT coalesce(max(record), 0) FROM memfs.history WHERE scope = %s"
            return version_of(int(self._row(query, self._scope)[0]))

    def receive(self, changes: Sequence[Received], policy: Policy) -> None:
        """Add the rows of *changes* in one transaction."""
        values: list[tuple[Any, ...]] = []
        redactions: list[dict[str, Any]] = []
        for change in changes:
            for ordinal, (record, content, mtime_ns) in enumerate(zip(*change, strict=True)):
                key = key_of(change.version, ordinal)
                is_redaction = record.operation == "redacted"
                user, program, pid = record.actor
                values.append(
                    (
                        *(self._scope, Int8(key), record.operation, Int8(record.id)),
                        *(
                            None if is_redaction else self._newest.get(record.id),
                            record.path,
                            record.old_path,
                        ),
                        *(Int8(record.size), Int8(record.time_ns), mtime_ns, record.joins),
                        *(rows.text(user), rows.text(program), pid, rows.text(record.reason)),
                        None if record.digest is None else bytes.fromhex(record.digest),
                        *(_UNKNOWN_REDACTION if record.redacted else None, content),
                    )
                )
                if is_redaction:
                    assert record.joins is not None, "it says whose bytes it took out"
                    upto = last_key(record.joins)
                    redactions.append({"who": key, "scope": self._scope, "id": Int8(record.id), "upto": upto})
                else:
                    self._newest[record.id] = key
        with self._errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(_PUT, values)
            for redaction in redactions:
                cursor.execute(_SAY_WHO, redaction)

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Write the rows of what is there now, and of what has left, anew."""
        reached = self.reached
        with self._errors(), self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("DELETE FROM memfs.file WHERE scope = %s", (self._scope,))
            cursor.execute("DELETE FROM memfs.gone WHERE scope = %s", (self._scope,))
            written, place = self._by_id(_WRITTEN), 0
            files = []
            for file in scope.in_write_order():
                place = max(place + 1, written[file.id])
                span = Int8(key_of(file.content, 0)), Int8(last_key(file.content))
                content = self._row(_CONTENT, self._scope, *span, Int8(file.id))[0]
                numbers = (file.mtime_ns, place, content, self._newest[file.id])
                files.append((self._scope, Int8(file.id), file.path, file.size, *numbers))
            cursor.executemany(_PUT_FILE, files)
            left = [record for file_id, record in self._newest.items() if scope.file_by_id(file_id) is None]
            cursor.executemany(_PUT_GONE, [(self._scope, Int8(record)) for record in left])
            if reached < scope.version:
                time_ns, (user, program, pid), reason = origin
                who = (rows.text(user), rows.text(program), pid, rows.text(reason))
                what = ("policy", 0, None, "", None, 0, time_ns, None, None)
                cursor.execute(
                    _PUT, (self._scope, Int8(key_of(scope.version, 0)), *what, *who, None, None, None)
                )
            cursor.execute(
                "UPDATE memfs.scope SET version = %s, policy = %s, pruned = %s WHERE scope = %s",
                (scope.version, rows.policy_to(scope.policy), Int8(last_key(scope.version)), self._scope),
            )

    def opened(self) -> PostgresStore:
        """What there is, as a store."""
        return PostgresStore(enter(self._address), self._scope_name, self._place)

    def publish(self) -> None:
        """Give the scope its name."""
        with self._errors():
            named = self._row("SELECT memfs.name_scope(%s, %s)", self._scope, self._scope_name)[0]
        if not named:
            raise StoreError(
                f"There is a scope '{self._scope_name}' by now; name another with --to-scope.",
                ErrorCode.CONFLICT,
            )

    def restart(self) -> None:
        """Delete the rows."""
        with self._errors(), self._connection.transaction():
            for statement in _EMPTY:
                self._connection.execute(statement, (self._scope,))
            self._connection.execute(
                "UPDATE memfs.scope SET version = 0, pruned = 0 WHERE scope = %s", (self._scope,)
            )
        self._newest.clear()

    def close(self) -> None:
        """Close the connection, and with it give the lock back."""
        self._connection.close()

    def _row(self, query: str, *values: object) -> tuple[Any, ...]:
        row = self._connection.execute(query.encode(), values).fetchone()
        assert row is not None, "it is a query for one row"
        return row

    def _by_id(self, query: str) -> dict[int, int]:
        return dict(self._connection.execute(query.encode(), (self._scope,)).fetchall())

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What psycopg raises inside, as the port's errors."""
        try:
            yield
        except psycopg.Error as error:
            if error.sqlstate is None and refusal(error) is None:
                raise StoreError(
                    f"The store {self._address.place} is away: {reason_of(error)}. "
                    "What has come over stays; run the command again."
                ) from None
            raise translated(error) from None
