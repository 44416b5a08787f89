"""Telling clients which resources changed: by a person in a mount, by another process, by a client.

The store's watch says that something happened; what did is found by comparing with what clients were told
last. So no change is lost between a call that took it in and the notice that goes out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated

from memfs.agents.mcp.resources import contents_of, uri_of
from memfs.port.errors import StoreError
from memfs.port.memory import Memory

log = logging.getLogger(__name__)


class _Client:
    """One client of a protocol version before 2026-07-28, with the resources it asked about."""

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self.identity: Any = session.client_params
        self.uris: set[str] = set()


class Following:
    """Which clients are told of what, and the task that tells them."""

    def __init__(self, memory: Memory) -> None:
        self.bus = InMemorySubscriptionBus()
        """Where clients of the newer protocol versions listen."""
        self._memory = memory
        self._clients: dict[int, _Client] = {}
        self._happened = asyncio.Event()

    def look(self) -> None:
        """Something may have changed; for the thread of the event loop."""
        self._happened.set()

    def entered(self, session: ServerSession) -> None:
        """A client is there, and is told when the list of resources changes."""
        self._client(session)

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Tell the client about *uri* from now on."""
        self._client(session).uris.add(uri)

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        """Tell it no longer."""
        self._client(session).uris.discard(uri)

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
        for key, client in list(self._clients.items()):
            try:
                for uri in uris:
                    if uri in client.uris:
                        await client.session.send_resource_updated(uri)
                if list_changed:
                    await client.session.send_resource_list_changed()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._clients.pop(key, None)  # it has gone

    def _client(self, session: ServerSession) -> _Client:
        # The SDK makes a session for each request; what they share is the client's own introduction.
        return self._clients.setdefault(id(session.client_params), _Client(session))
