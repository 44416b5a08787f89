"""One server as this process knows it: its connections, its health, and the scopes that are open there.

Every store of the process that names the same server shares it; it ends with the last of them.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from memfs.port.errors import StoreError
from memfs.stores.postgres.address import Address
from memfs.stores.postgres.channel import Channel
from memfs.stores.postgres.connections import Connection, Pool
from memfs.stores.postgres.failures import NOTHING_DONE, passes, reason_of, refusal, translated
from memfs.stores.postgres.listener import Listener

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two attempts, doubled from one to the next and jittered: a fleet must not come at once."""


class Database:
    """A server and a database on it, shared by the stores of this process."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.users = 0
        self.away_since: float | None = None
        self.away_because = ""
        self.server_version = ""
        self.pool = Pool(address)
        self._channels: dict[int, Channel] = {}
        self._lock = threading.Lock()
        self._listener: Listener | None = None

    def run(
        self,
        work: Callable[[Connection], Answer],
        *,
        instead: Connection | None = None,
        unsure: str = "",
        brief: bool = False,
    ) -> Answer:
        """What *work* makes of a connection; once more, on another one, where that is lost.

        So *work* may be done twice, and must be harmless then. The first time it gets *instead* where that is
        given. A connection on which a *brief* work has had no answer for half of the patience is taken for
        lost, so that there is time for another server. Raises StoreError: when the patience ends, with
        *unsure* if what was sent may have been done.
        """
        given, in_doubt = instead, False

        def done(connection: Connection, deadline: float) -> Answer:
            nonlocal in_doubt
            connection.deadline = self._half_way(deadline) if brief else deadline
            try:
                return work(connection)
            except psycopg.Error as error:
                in_doubt = in_doubt or error.sqlstate not in NOTHING_DONE
                raise

        def once(deadline: float) -> Answer:
            nonlocal given
            if given is not None:
                connection, given = given, None
                return done(connection, deadline)
            with self.pool.lease(deadline) as connection:
                answer = done(connection, deadline)
                if not self.server_version:
                    self.server_version = connection.info.parameter_status("server_version") or "?"
                return answer

        return self._until_patience_ends(once, lambda: unsure if in_doubt else "")

    def take(self, work: Callable[[Connection], object]) -> Connection:
        """A connection on which a brief *work* was done; to be given back to the pool. Raises StoreError."""

        def once(deadline: float) -> Connection:
            connection = self.pool.take(deadline)
            connection.deadline = self._half_way(deadline)
            try:
                work(connection)
            except BaseException:
                self.pool.give_back(connection)
                raise
            return connection

        return self._until_patience_ends(once, lambda: "")

    def _half_way(self, deadline: float) -> float:
        now = time.monotonic()
        return min(deadline, max(now + self.address.patience / 2, now + 1))

    def _until_patience_ends(self, once: Callable[[float], Answer], unsure: Callable[[], str]) -> Answer:
        if self.pool.is_abandoned:
            raise StoreError("This memory was opened before the process forked; open it again.")
        deadline = time.monotonic() + self.address.patience
        pause = FIRST_PAUSE
        while True:
            try:
                answer = once(deadline)
            except TimeoutError:
                raise StoreError(
                    f"All {self.address.connections} connections to {self.place} have been in use for "
                    f"{self.address.patience:g} s; raise memfs_connections in the URL."
                ) from None
            except psycopg.errors.LockNotAvailable as error:  # sooner than the connection is taken for lost
                if time.monotonic() >= deadline:
                    raise translated(error) from None
                wait = 0.0
            except psycopg.Error as error:
                if not passes(error) or refusal(error) is not None:
                    raise translated(error) from None
                self.is_away(error)
                self.pool.discard_free()
                wait = pause * random.uniform(0.5, 1.0)  # noqa: S311
                pause = min(LONGEST_PAUSE, pause * 2)
                if time.monotonic() + wait >= deadline:
                    raise StoreError(self._sentence(unsure())) from None
            else:
                if self.away_since is not None:
                    self.is_here()
                return answer
            time.sleep(wait)

    @property
    def place(self) -> str:
        """The server, its port and the database, for people."""
        return self.address.place

    def is_away(self, error: BaseException) -> None:
        """Note that the server did not answer, and why."""
        self.away_because = reason_of(error)
        if self.away_since is None:
            self.away_since = time.time()
            log.warning("the store %s is away: %s", self.place, self.away_because)
            if self.channels():
                self.listen()  # which tries again by itself, and so knows when the server is back

    def is_here(self) -> None:
        """Note that the server answers."""
        since, self.away_since = self.away_since, None
        if since is not None:
            log.warning("the store %s is back after %.1f s", self.place, time.time() - since)

    def away(self) -> str | None:
        """Since when the server is away, why, and what that means; None where it is there."""
        since = self.away_since
        if since is None:
            return None
        when = time.strftime("%H:%M:%S", time.localtime(since))
        return (
            f"since {when}: {self.away_because}; reads go on, writes wait {self.address.patience:g} s for it"
        )

    def _sentence(self, unsure: str) -> str:
        sentence = f"The store {self.place} has been away for {self.address.patience:g} s"
        return f"{sentence} ({self.away_because}). {unsure or 'Nothing was changed.'}"

    # Scopes

    def open_channel(self, scope: int) -> Channel:
        """The channel of *scope*, to be closed again."""
        with self._lock:
            channel = self._channels.setdefault(scope, Channel(scope))
            channel.stores += 1
            return channel

    def close_channel(self, channel: Channel) -> None:
        """The end of ``open_channel``."""
        with self._lock:
            channel.stores -= 1
            if channel.stores == 0:
                del self._channels[channel.scope]
                listener = self._listener
            else:
                listener = None
        if listener is not None:
            listener.look()

    def channels(self) -> dict[int, Channel]:
        """The scopes that are open, by id."""
        with self._lock:
            return dict(self._channels)

    def hears(self, channel: Channel) -> bool:
        """Whether what happens to the scope is heard, now or from when the server is back."""
        listener = self._listener
        return (listener is not None and listener.hears(channel)) or self.away_since is not None

    def listen(self) -> None:
        """Listen, from now on, to all that is open."""
        with self._lock:
            if self._listener is None:
                self._listener = Listener(self)
            listener = self._listener
        listener.look()

    def tell(self, channel: Channel, version: int) -> None:
        """Have other processes know that the scope is at *version*. Never fails: they look now and then."""
        listener = self._listener
        if listener is not None:
            listener.tell(channel.name, version)
            return
        try:
            with self.pool.lease(time.monotonic() + self.address.patience) as connection:
                connection.execute("SELECT pg_notify(%s, %s)", (channel.name, str(version)))
        except (psycopg.Error, TimeoutError) as error:
            log.info("no notice of version %d was given: %s", version, reason_of(error))

    def close(self) -> None:
        """End the connections, and the thread."""
        if self.pool.is_abandoned:
            return
        if self._listener is not None:
            self._listener.close()
        self.pool.close()


_open: dict[str, Database] = {}
_opening = threading.Lock()


def _forget() -> None:
    """A child of a fork has its parent's connections, on which it says nothing, and none of its threads."""
    global _opening
    for database in _open.values():
        database.pool.is_abandoned = True
    _open.clear()
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def enter(address: Address) -> Database:
    """The database at *address*, to be left again."""
    with _opening:
        database = _open.get(address.url)
        if database is None:
            database = _open[address.url] = Database(address)
        database.users += 1
        return database


def leave(database: Database) -> None:
    """The end of ``enter``."""
    with _opening:
        database.users -= 1
        if database.users > 0:
            return
        if _open.get(database.address.url) is database:
            del _open[database.address.url]
    database.close()
