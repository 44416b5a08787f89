"""Telling clients which resources changed: by a person in a mount, by another process, by a client.

The store's watch says that something happened; what did is found by comparing with what clients were told
last. So no change is lost between a call that took it in and the notice that goes out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated

from memfs.agents.mcp.resources import contents_of, uri_of
from memfs.port.errors import StoreError
from memfs.port.memory import Memory

log = logging.getLogger(__name__)


class Following:
    """Which clients are told of what, and the task that tells them."""

    def __init__(self, memory: Memory) -> None:
        self.bus = InMemorySubscriptionBus()
        """Where clients of the newer protocol versions listen."""
        self._memory = memory
        self._asked: dict[Connection, set[str]] = {}
        """By client of an older protocol version, the resources it asked about."""
        self._happened = asyncio.Event()

    def look(self) -> None:
        """Something may have changed; for the thread of the event loop."""
        self._happened.set()

    def entered(self, session: ServerSession) -> None:
        """A client is there, and is told when the list of resources changes."""
        self._asked_by(session)

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Tell the client about *uri* from now on."""
        self._asked_by(session).add(uri)

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """Tell it no longer."""
        self._asked_by(session).discard(uri)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the memory for as long as this lasts."""
        loop = asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(self._happened.set)

        told = self._memory.look(contents_of)
        watch = self._memory.watch(notify)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._run, told)
                yield
                tasks.cancel_scope.cancel()
        finally:
            watch.close()

    async def _run(self, told: dict[str, tuple[int, int]]) -> None:
        while True:
            await self._happened.wait()
            self._happened.clear()
            try:
                now = await anyio.to_thread.run_sync(self._memory.look, contents_of)
            except StoreError as error:
                log.warning("cannot see what changed: %s", error.message)
                continue
            changed = [path for path in told.keys() | now.keys() if told.get(path) != now.get(path)]
            list_changed = told.keys() != now.keys()
            told = now
            if changed:
                await self._tell(sorted(map(uri_of, changed)), list_changed)

    async def _tell(self, uris: list[str], list_changed: bool) -> None:
        for uri in uris:
            await self.bus.publish(ResourceUpdated(uri=uri))
        if list_changed:
            await self.bus.publish(ResourcesListChanged())
        for client, asked in list(self._asked.items()):
            for uri in uris:
                if uri in asked:
                    await client.send_resource_updated(uri)
            if list_changed:
                await client.send_resource_list_changed()

    def _asked_by(self, session: ServerSession) -> set[str]:
        # The SDK makes a session for each request, and has no public way to the connection behind it, though
        # that is where it wants to be told what to clean up when the client has gone.
        connection = session._connection
        asked = self._asked.get(connection)
        if asked is None:
            asked = self._asked[connection] = set()
            connection.exit_stack.callback(self._asked.pop, connection, None)
        return asked
