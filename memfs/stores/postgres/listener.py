"""How a process learns of what others commit, and tells them: one thread, one connection, all scopes.

Notices are given here and not by the transaction of a commit: that would hold a lock of the whole database
while it waits for the disk. So a notice may be lost, with its process; the versions of all scopes that are
open are therefore looked at now and then, by one statement.
"""

from __future__ import annotations

import logging
import os
import random
import select
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from memfs.stores.postgres import rows
from memfs.stores.postgres.channel import Channel
from memfs.stores.postgres.connections import Connection, connect
from memfs.stores.postgres.failures import passes

if TYPE_CHECKING:
    from memfs.stores.postgres.database import Database

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0, 6.0
"""Between two looks at the versions, jittered."""
TELL_SECONDS = 0.05
"""Between two rounds of notices: in a burst of commits, each would otherwise cost another transaction."""
PAUSE_SECONDS = 0.1, 2.0
"""Before the first attempt to reach a server that is away, and the longest pause there is."""
END_SECONDS = 2.0


class Listener:
    """The thread. It stops by itself only in :meth:`close`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._to_tell: dict[str, int] = {}
        self._heard: frozenset[str] = frozenset()
        self._received: deque[psycopg.Notify] = deque()
        self._stopping = False
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="memfs-listener", daemon=True)
        self._thread.start()

    def hears(self, channel: Channel) -> bool:
        """Whether the scope is listened to, and was looked at since that began."""
        return channel.name in self._heard

    def tell(self, channel: str, version: int) -> None:
        """Give notice of *version*, soon."""
        with self._lock:
            is_first = not self._to_tell
            self._to_tell[channel] = max(version, self._to_tell.get(channel, 0))
        if is_first:
            self.look()

    def look(self) -> None:
        """Have the thread see what there is to do."""
        with suppress(BlockingIOError):  # full: it will wake up anyway
            os.write(self._wake_writer, b"\0")

    def close(self) -> None:
        """Give the notices that are due, and end the thread."""
        self._stopping = True
        self.look()
        self._thread.join(END_SECONDS)  # it may wait for a server that is away

    def _run(self) -> None:
        try:
            self._go_on()
        finally:
            os.close(self._wake_writer)
            os.close(self._wake_reader)

    def _go_on(self) -> None:
        pause = PAUSE_SECONDS[0]
        while not self._stopping:
            try:
                with connect(
                    self._database.address, time.monotonic() + self._database.address.patience, "memfs-listen"
                ) as connection:
                    self._received.clear()
                    connection.add_notify_handler(self._received.append)
                    connection.execute("SET synchronous_commit = off")  # a notice is no data
                    pause = PAUSE_SECONDS[0]
                    self._serve(connection)
            except psycopg.Error as error:
                self._heard = frozenset()
                if passes(error):
                    self._database.is_away(error)
                else:
                    log.warning("no notices from %s: %s", self._database.place, type(error).__name__)
            if not self._stopping:
                pause = min(PAUSE_SECONDS[1], pause * 2)
                self._sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311

    def _serve(self, connection: Connection) -> None:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        poll.register(self._wake_reader, select.POLLIN)
        patience = self._database.address.patience
        next_look = next_tell = 0.0
        while True:
            now = time.monotonic()
            connection.deadline = now + patience
            stopping = self._stopping
            if self._to_tell and (now >= next_tell or stopping):
                self._give_notices(connection)
                next_tell = now + TELL_SECONDS
            if stopping:
                return
            channels = {channel.name: channel for channel in self._database.channels().values()}
            if self._heard ^ channels.keys():
                self._listen(connection, channels)
                next_look = 0.0
            if now >= next_look:
                self._look_at_all(connection, channels)
                next_look = now + random.uniform(*LOOK_SECONDS)  # noqa: S311
            for name, payload in self._notices(connection):
                channel = channels.get(name)
                if channel is not None and payload.isdigit():
                    channel.hint(int(payload[:20]))
            due = min(next_look, next_tell) if self._to_tell else next_look
            ready = dict(poll.poll(max(0.0, due - time.monotonic()) * 1000))
            if self._wake_reader in ready:
                os.read(self._wake_reader, 4096)
            if connection.fileno() in ready:
                connection.pgconn.consume_input()

    def _give_notices(self, connection: Connection) -> None:
        with self._lock:
            due, self._to_tell = self._to_tell, {}
        connection.execute(
            "SELECT pg_notify(channel, version::text) "
            "FROM unnest(%s::text[], %s::bigint[]) AS due (channel, version)",
            (list(due), list(due.values())),
        )

    def _notices(self, connection: Connection) -> Iterator[tuple[str, str]]:
        """The channels and payloads that have come: on their own, or with the answer to a statement."""
        while self._received:
            notice = self._received.popleft()
            yield notice.channel, notice.payload
        while bare := connection.pgconn.notifies():
            yield bare.relname.decode(), bare.extra.decode(errors="replace")

    def _listen(self, connection: Connection, channels: dict[str, Channel]) -> None:
        heard = self._heard
        statements = [sql.SQL("LISTEN {}").format(sql.Identifier(name)) for name in channels.keys() - heard]
        statements += [
            sql.SQL("UNLISTEN {}").format(sql.Identifier(name)) for name in heard - channels.keys()
        ]
        connection.execute(sql.SQL("; ").join(statements))

    def _look_at_all(self, connection: Connection, channels: dict[str, Channel]) -> None:
        asked = {channel.scope: (channel, channel.known) for channel in channels.values()}
        found = connection.execute(
            "SELECT scope, version, change FROM memfs.scope WHERE scope = ANY (%s)", (list(asked),)
        )
        for scope, version, change in found:
            channel, known = asked[scope]
            channel.found(version, rows.change_from(change), known)
        fresh = channels.keys() - self._heard
        self._heard = frozenset(channels)
        for name in fresh:
            channels[name].rouse()
        self._database.is_here()

    def _sleep(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._wake_reader, select.POLLIN)
        end = time.monotonic() + seconds
        while not self._stopping and (remaining := end - time.monotonic()) > 0:
            if poll.poll(remaining * 1000):
                os.read(self._wake_reader, 4096)
