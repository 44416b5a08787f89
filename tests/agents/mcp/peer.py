"""``memfs mcp`` as a client has it: a process, and the official client at the other end."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).parents[3]
LEGACY, MODERN = "legacy", "2026-07-28"
"""The two ways the protocol is spoken: with a handshake first, and with each request for itself."""
NAME = "Ada's editor"

Value = TypeVar("Value")


class Peer:
    """A client that has introduced itself; every call waits for its answer."""

    def __init__(self, portal: BlockingPortal, client: Client, heard: list[Any]) -> None:
        self._portal = portal
        self.client = client
        self.heard = heard
        """The notices that came, in their order."""

    def __call__(self, ask: Callable[[Client], Awaitable[Value]]) -> Value:
        async def asked() -> Value:
            return await ask(self.client)

        return self._portal.call(asked)

    def tool(self, name: str, **arguments: Any) -> types.CallToolResult:
        """Call a tool; the client checks what comes against the tool's own schema."""
        return self(lambda client: client.call_tool(f"memory_{name}", arguments))

    def value(self, name: str, **arguments: Any) -> Any:
        """What a tool that has to succeed gives, as JSON."""
        result = self.tool(name, **arguments)
        assert not result.is_error, result
        return result.structured_content

    def updated(self) -> list[str]:
        """The resources that notices named."""
        return [
            notice.params.uri
            for notice in self.heard
            if isinstance(notice, types.ResourceUpdatedNotification)
        ]

    def lists_changed(self) -> int:
        """How many notices said that the list of resources changed."""
        return sum(isinstance(notice, types.ResourceListChangedNotification) for notice in self.heard)


@contextmanager
def connected(transport: Any, mode: str, name: str = NAME) -> Iterator[Peer]:
    """The official client over *transport*, speaking the protocol as *mode* says, under the name *name*."""
    heard: list[Any] = []

    async def listen(message: Any) -> None:
        heard.append(message)

    with start_blocking_portal() as portal:
        client = Client(
            transport,
            mode=mode,
            client_info=types.Implementation(name=name, version="1"),
            message_handler=listen,
        )
        with portal.wrap_async_context_manager(client) as entered:
            yield Peer(portal, entered, heard)


@contextmanager
def spoken_to(
    environment: Mapping[str, str], *arguments: str, mode: str = LEGACY, name: str = NAME
) -> Iterator[Peer]:
    """A server over standard input and output, for as long as this lasts."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "memfs", "mcp", *arguments], env=dict(environment)
    )
    with connected(stdio_client(parameters), mode, name) as peer:
        yield peer
