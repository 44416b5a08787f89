"""Connections to one server: few, shared by all stores of the process, and never waited on for ever.

Ours and not psycopg_pool's, which was tried (3.3): its threads connect, so who waits for a database that is
not there is told only of a timeout; who waited for a server got nothing for 20 s after it was back.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import generators, pq
from psycopg.abc import PQGen
from psycopg.rows import RowFactory, TupleRow, tuple_row

from memfs.stores.postgres.address import Address

Answer = TypeVar("Answer")

CONNECT_SECONDS = 5
"""What a server gets to answer a new connection; less where little patience is left, for the next one."""
IDLE_SECONDS = 300.0
"""How long a connection may have been idle to be used unasked: what lies between forgets it some day."""

# A server that was reached before and now is cut off has to be noticed by the system also where nothing is
# sent: TCP's own patience is minutes and hours.
_KEEPALIVE = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 3, "keepalives_count": 3}
_SET_UP = """
SELECT set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('search_path', 'pg_catalog', false), set_config('row_security', 'on', false),
       set_config('statement_timeout', '0', false),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
       THEN set_config('transaction_timeout', '0', false) END,
       set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                  ELSE current_setting('synchronous_commit') END, false)
"""


class Connection(psycopg.Connection[TupleRow]):
    """One connection, whose every wait has an end: ``deadline``, on the clock of ``time.monotonic``.

    When it comes, the connection is closed, and what the server made of the statement is not known. As long
    as an answer is coming in, it is put off, by ``patience`` seconds from each part of it.
    """

    deadline = float("inf")
    patience = 0.0
    used = 0.0
    in_doubt = False
    """Whether the server has warned, since this was last cleared, of a commit that no standby has."""

    def __init__(self, pgconn: pq.abc.PGconn, row_factory: RowFactory[TupleRow] = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        self._calls: dict[str, bytes] = {}

    def call(self, statement: str, values: Sequence[bytes | str | None]) -> str | None:
        """The one value that a *statement* with ``$1``... has; text, and bytes as they are.

        Prepared on first use. It goes to libpq without a cursor, which is half of what a client does for
        a commit. Raises psycopg.Error.
        """
        name = self._calls.get(statement)
        if name is None:
            name = b"memfs_%d" % len(self._calls)
            self._run(lambda: self.pgconn.send_prepare(name, statement.encode()))
            self._calls[statement] = name
        formats = [pq.Format.BINARY if isinstance(value, bytes) else pq.Format.TEXT for value in values]
        encoded = [value.encode() if isinstance(value, str) else value for value in values]
        result = self._run(lambda: self.pgconn.send_query_prepared(name, encoded, param_formats=formats))
        value = result.get_value(0, 0)
        return None if value is None else bytes(value).decode()

    def call_and_commit(self, statement: str, values: Sequence[bytes | str | None]) -> str | None:
        """As :meth:`call`, and the end of the transaction in the same round trip."""
        with self.pipeline():
            cursor = psycopg.RawCursor(self).execute(statement, values)
            self.execute("COMMIT")
        (value,) = cursor.fetchone() or (None,)
        return None if value is None else str(value)

    def _run(self, send: Callable[[], None]) -> pq.abc.PGresult:
        try:
            send()
        except psycopg.Error:
            self.pgconn.finish()
            raise
        result: pq.abc.PGresult = self.wait(generators.execute(self.pgconn))[-1]
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise psycopg.errors.error_from_result(result)
        return result

    def wait(self, gen: PQGen[Answer], *_: Any, **__: Any) -> Answer:
        """Run what psycopg waits for, up to the deadline."""
        poll = select.poll()
        descriptor = self.pgconn.socket
        try:
            wanted = next(gen)
            while True:
                poll.register(descriptor, int(wanted) & 1 | (int(wanted) & 2) << 1)
                remaining = self.deadline - time.monotonic()
                found = poll.poll(None if remaining > 86_400 else max(0, int(remaining * 1000)) + 1)
                if not found:
                    if time.monotonic() < self.deadline:
                        continue
                    raise psycopg.errors.ConnectionTimeout("no answer in time")
                events = found[0][1]
                if events & select.POLLIN and self.patience:
                    self.deadline = max(self.deadline, time.monotonic() + self.patience)
                ready = (1 if events & ~select.POLLOUT else 0) | (2 if events & ~select.POLLIN else 0)
                wanted = gen.send(ready & int(wanted) or int(wanted))
        except StopIteration as stop:
            answer: Answer = stop.value
            return answer
        except psycopg.Error as error:
            if error.sqlstate is None:
                self.pgconn.finish()
            raise
        except BaseException:  # interrupted: nobody will read what the server still has to say
            self.pgconn.finish()
            raise


def connect(address: Address, deadline: float, name: str = "memfs") -> Connection:
    """A new connection, in autocommit. Raises psycopg.Error."""
    remaining = deadline - time.monotonic()
    own: dict[str, Any] = {
        "connect_timeout": max(2, min(CONNECT_SECONDS, int(remaining / 2))),
        "tcp_user_timeout": int(address.patience * 1000),
        "client_encoding": "UTF8",
        "fallback_application_name": name,
        **_KEEPALIVE,
    }
    given = psycopg.conninfo.conninfo_to_dict(address.conninfo)
    own = {key: value for key, value in own.items() if key not in given}
    if "," in str(given.get("host", "")):
        own.setdefault("target_session_attrs", given.get("target_session_attrs", "read-write"))
    connection = Connection.connect(address.conninfo, autocommit=True, **own)
    try:
        connection.deadline = deadline
        connection.add_notice_handler(lambda notice: _note(connection, notice))
        patience = int(address.patience * 1000)
        connection.execute(_SET_UP, (str(patience * 2 // 5), str(patience)))
        connection.patience = address.patience
    except BaseException:
        connection.close()
        raise
    return connection


def _note(connection: Connection, notice: psycopg.errors.Diagnostic) -> None:
    # Of a commit whose wait for a standby was ended the server says only this: that it may be on one machine.
    if notice.severity_nonlocalized == "WARNING":
        connection.in_doubt = True


class Pool:
    """At most so many connections; who comes when all are in use waits for one."""

    def __init__(self, address: Address) -> None:
        self.is_abandoned = False
        """Whether the connections are those of the process that this one was forked from."""
        self._address = address
        self._free: list[Connection] = []
        self._places = threading.BoundedSemaphore(address.connections)
        self._counting = threading.Lock()
        self._in_use = 0
        self._closed = False

    @contextmanager
    def lease(self, deadline: float) -> Iterator[Connection]:
        """A connection until the end of the block. Raises psycopg.Error, TimeoutError if all are in use."""
        connection = self.take(deadline)
        try:
            yield connection
        finally:
            self.give_back(connection)

    def take(self, deadline: float) -> Connection:
        """As :meth:`lease`, to be given back."""
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        self._count(1)
        try:
            while connection := self._next_free():
                if time.monotonic() - connection.used < IDLE_SECONDS and not _has_ended(connection):
                    connection.deadline = deadline
                    return connection
                connection.close()
            return connect(self._address, deadline)
        except BaseException:
            self._count(-1)
            self._places.release()
            raise

    def give_back(self, connection: Connection) -> None:
        """The end of ``take``. A connection that is broken, or in the middle of something, is closed."""
        if self.is_abandoned:
            return
        if not self._closed and connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            connection.used = time.monotonic()
            self._free.append(connection)
        else:
            connection.close()
        self._count(-1)
        self._places.release()

    @property
    def in_use(self) -> int:
        """How many are in use just now; for people."""
        return self._in_use

    def _next_free(self) -> Connection | None:
        """The one that was used last: those that are not needed grow old."""
        with self._counting:
            return self._free.pop() if self._free else None

    def _count(self, change: int) -> None:
        with self._counting:
            self._in_use += change

    def discard_free(self) -> None:
        """Close those that nobody uses: one of their kind was found dead."""
        while connection := self._next_free():
            connection.close()

    def close(self) -> None:
        """Close all; those in use when they come back."""
        self._closed = True
        self.discard_free()


def _has_ended(connection: Connection) -> bool:
    """Whether the server has said something unasked, as it does when it ends, or has closed it."""
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))
