"""A way to the server that can be slow, cut, clogged, or lost at the worst moment.

A process of ours in the middle, as the kernel's own means for it (``tc netem``) are not on every machine, and
none of them can tell the moment after a commit was asked for from the one before its answer.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TypeVar, cast

from tests.stores.postgres.server import LOOPBACK, Server

T = TypeVar("T")
RETRANSMISSION = 0.2
"""Seconds that a lost packet costs on Linux at least."""
IDLE = b"Z\x00\x00\x00\x05I"
"""PostgreSQL's ReadyForQuery outside of a transaction: what was asked for is done and durable."""
OVERLAP = 256


class Moment(Enum):
    """When the client's connection is lost, seen from the command that holds the trap's word."""

    BEFORE = "the server never hears of it"
    DURING = "the server hears of it, and the client is cut off at once"
    AFTER = "the server has done it, and the answer is lost"


class Link:
    """A TCP proxy on loopback before a server, run by a thread of its own."""

    def __init__(self, server: Server, delay: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        """*delay* is in seconds and one way; *loss* the share of packets that come a retransmission late."""
        self.delay = delay
        self.loss = loss
        self.port = 0
        self.trapped = threading.Event()
        """Set when the trap has shut."""
        self._target = (server.address, server.port)
        self._random = random.Random(seed)
        self._pairs: set[_Pair] = set()
        self._is_cut = False
        self._is_clogged = False
        self._is_cut_when_trapped = False
        self._trap: tuple[bytes, Moment] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="link")
        self._started = threading.Event()

    def open(self) -> None:
        """Take connections."""
        self._thread.start()
        self._started.wait()

    def close(self) -> None:
        """End every connection, and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def url(self, database: str, role: str, **parameters: str) -> str:
        """Where a client finds the server's database by this link."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{role}@{LOOPBACK}:{self.port}/{database}" + (f"?{query}" if query else "")

    # What can happen to it

    def cut(self) -> None:
        """End all connections and refuse others, until it is mended."""

        def cut() -> None:
            self._is_cut = True
            for pair in list(self._pairs):
                pair.abort()

        self._do(cut)

    def clog(self) -> None:
        """Nothing comes through any more, and nobody is told: as where a cable is pulled out."""

        def clog() -> None:
            self._is_clogged = True

        self._do(clog)

    def mend(self) -> None:
        """As if nothing had been; what was held back comes."""

        def mend() -> None:
            self._is_cut = self._is_clogged = self._is_cut_when_trapped = False
            for pair in list(self._pairs):
                pair.flow()

        self._do(mend)

    def set_trap(self, word: str, moment: Moment) -> None:
        """Lose the connection on which a client next sends *word*."""

        def set_trap() -> None:
            self.trapped.clear()
            self._trap = (word.encode(), moment)

        self._do(set_trap)

    def cut_when_trapped(self) -> None:
        """Cut it as the trap shuts, so that nobody can ask what became of the command."""

        def cut() -> None:
            self._is_cut_when_trapped = True

        self._do(cut)

    # The loop

    def _do(self, action: Callable[[], T]) -> T:
        async def run() -> T:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout=30)

    def _run(self) -> None:
        self._loop.run_until_complete(self._listen())
        self._started.set()
        self._loop.run_forever()
        self._server.close()
        for pair in list(self._pairs):
            pair.abort()
        self._loop.run_until_complete(asyncio.sleep(0.01))  # for the transports to close
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: _Pair(self).client, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]


class _Pair:
    """One client's connection, and the one to the server for it."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.client = _End(self, self._from_client)
        self.server = _End(self, self._from_server)
        self._early: list[bytes] = []
        self._tail = b""
        self._until_idle = False

    def connected(self, end: _End) -> None:
        link = self.link
        if end is self.server:
            early, self._early = self._early, []
            for data in early:
                end.send(data)
            return
        if link._is_cut:
            end.abort()
            return
        link._pairs.add(self)
        link._loop.create_task(self._connect())

    async def _connect(self) -> None:
        try:
            await self.link._loop.create_connection(lambda: self.server, *self.link._target)
        except OSError:
            self.abort()

    def lost(self, end: _End) -> None:
        """One side is gone; the other learns of it after what was under way has arrived."""
        other = self.server if end is self.client else self.client
        other.finish()
        if end is self.server or not self._until_idle:
            self.link._pairs.discard(self)

    def abort(self) -> None:
        self.client.abort()
        self.server.abort()
        self.link._pairs.discard(self)

    def flow(self) -> None:
        self.client.flow()
        self.server.flow()

    def _from_client(self, data: bytes) -> None:
        seen, self._tail = self._tail + data, (self._tail + data)[-OVERLAP:]
        trap = self.link._trap
        if trap is None or trap[0] not in seen:
            self._to_server(data)
            return
        moment, self.link._trap = trap[1], None
        if moment is Moment.BEFORE:
            self._shut(self.abort)
            return
        self._until_idle = True
        self._to_server(data)
        if moment is Moment.DURING:
            self._shut(self.client.abort)

    def _shut(self, end: Callable[[], None]) -> None:
        self.link._is_cut |= self.link._is_cut_when_trapped
        end()
        self.link.trapped.set()

    def _to_server(self, data: bytes) -> None:
        if self.server.transport is None:
            self._early.append(data)
        else:
            self.server.send(data)

    def _from_server(self, data: bytes) -> None:
        if self._until_idle:
            if data.endswith(IDLE):
                self._shut(self.abort)
            return
        self.client.send(data)


class _End(asyncio.Protocol):
    """One side of a pair; what is sent there may come late, in order."""

    def __init__(self, pair: _Pair, received: Callable[[bytes], None]) -> None:
        self._pair = pair
        self._received = received
        self._due = 0.0
        self._held: list[bytes] = []
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._pair.connected(self)

    def data_received(self, data: bytes) -> None:
        self._received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._pair.lost(self)

    def send(self, data: bytes) -> None:
        link = self._pair.link
        if link._is_clogged:
            self._held.append(data)
            return
        late = link.delay + (RETRANSMISSION if link._random.random() < link.loss else 0.0)
        if not late and self._due <= link._loop.time():
            self._write(data)
            return
        self._due = max(self._due, link._loop.time() + late)
        link._loop.call_at(self._due, self._write, data)

    def flow(self) -> None:
        held, self._held = self._held, []
        for data in held:
            self.send(data)

    def finish(self) -> None:
        if self.transport is not None and not self._pair._until_idle:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)


@contextmanager
def link_to(server: Server, delay: float = 0.0, loss: float = 0.0) -> Iterator[Link]:
    """A link, open; delay and loss as :class:`Link` has them."""
    link = Link(server, delay, loss)
    link.open()
    try:
        yield link
    finally:
        link.close()
