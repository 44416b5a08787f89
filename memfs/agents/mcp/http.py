"""Serving several clients over streamable HTTP, on this machine only, to those who have the token."""

from __future__ import annotations

import hmac
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memfs.agents.mcp.server import MemoryServer

PATH = "/mcp"
MOST_SESSIONS = 256
GRACE_SECONDS = 2
"""How long answers under way may take once the process is to end; streams are closed at once."""


def serve(server: MemoryServer, listener: socket.socket, token: str) -> None:
    """Answer at *listener* (bound, on a loopback address) until SIGTERM or Ctrl-C."""
    anyio.run(_serve, server, listener, token)


def url_of(listener: socket.socket) -> str:
    """Where clients find the server."""
    host, port = listener.getsockname()[:2]
    return f"http://{_in_url(host)}:{port}{PATH}"


async def _serve(server: MemoryServer, listener: socket.socket, token: str) -> None:
    host, port = listener.getsockname()[:2]
    # A page that has its own name lead here (DNS rebinding) sends that name.
    hosts = [f"{name}:{port}" for name in dict.fromkeys([_in_url(host), "localhost", "127.0.0.1", "[::1]"])]
    sessions = StreamableHTTPSessionManager(
        server.sdk,
        security_settings=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts]
        ),
        max_request_body_size=max(DEFAULT_MAX_REQUEST_BODY_SIZE, server.longest_request),
        max_sessions=MOST_SESSIONS,
    )
    pages = Starlette(routes=[Route(PATH, endpoint=_Answering(sessions.handle_request))])
    pages.router.redirect_slashes = False  # it would lead to whatever host the request names
    app = _Guarded(pages, token)
    web = _Web(
        uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=GRACE_SECONDS
        )
    )
    async with sessions.run(), anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_at_signal, web)
        await web.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


async def _stop_at_signal(web: _Web) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            # Streams for notices never end by themselves; that they are cut off now is no error to tell of.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            web.handle_exit(number, None)


class _Web(uvicorn.Server):
    """uvicorn's server, which leaves the signals to us: it would end the process by raising them again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Answering:
    """*app* as an endpoint: a function there would be called with a request alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Guarded:
    """An application for those who have the token; others do not learn what there is."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        has_token = hmac.compare_digest(given.strip().encode(), self._token)
        if has_token and scheme.lower() == "bearer":
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse(
            "Send the token of this server as 'Authorization: Bearer TOKEN'.",
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
