"""``memfs mcp --http``: several clients, none without the token, none from another page, and a clean end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.agents.mcp.peer import LEGACY, MODERN, NAME, Peer, connected
from tests.agents.mcp.test_resources import subscribe
from tests.cli.conftest import SECONDS, Shell, eventually


class Served:
    """A server, where it is, and the token it asks for."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, token_file: Path) -> None:
        self.process = process
        self.url = url
        self.token_file = token_file
        self.token = token_file.read_text().strip()

    def client(self, mode: str, name: str = NAME) -> AbstractContextManager[Peer]:
        return connected(self._transport(), mode, name)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as connections,
            streamable_http_client(self.url, http_client=connections) as streams,
        ):
            yield streams

    def status(self, path: str | None = None, **headers: str) -> int:
        """What a request gets that would be answered if its headers, and the *path*, were right."""
        parts = urlsplit(self.url)
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        params |= {"clientInfo": {"name": "x", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.token}",
        } | headers
        assert parts.hostname is not None
        with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)) as connection:
            connection.request(
                "POST", path or parts.path, body, {name: value for name, value in sent.items() if value}
            )
            return connection.getresponse().status


@contextmanager
def served(shell: Shell, *arguments: str) -> Iterator[Served]:
    process = shell.start("mcp", "--http", "127.0.0.1:0", *arguments)
    with process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().decode().split()
            yield Served(process, words[2].rstrip(";"), Path(words[-1].rstrip(".")))
        finally:
            process.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that all tests share which do not end it."""
    with served(Shell(tmp_path_factory.mktemp("home"))) as running:
        yield running


@pytest.mark.slow
def test_several_clients_share_a_memory_and_hear_of_each_other(server: Served) -> None:
    with server.client(LEGACY) as one, server.client(MODERN) as other:
        subscribe(one, "memory:///a.md")
        other.value("create", path="/memories/a.md", text="by the other")
        assert one.value("view", path="/memories/a.md")["text"] == "by the other"
        eventually(lambda: one.updated() == ["memory:///a.md"] and one.lists_changed() == 1)


def test_only_who_has_the_token_is_answered(server: Served) -> None:
    assert server.status() == 200
    assert server.status(Authorization="") == 401
    assert server.status(Authorization=f"Bearer {server.token}x") == 401
    assert server.status(Authorization=server.token) == 401
    assert server.status(Authorization="Bearer \xe9") == 401
    assert server.status(Authorization=f"Basic {server.token}") == 401
    assert server.status(Authorization=f"bearer {server.token}") == 200
    assert server.status("/other", Authorization="") == server.status("/mcp/", Authorization="") == 401
    assert server.status("/other") == server.status("/mcp/", Host="evil.example") == 404
    assert stat.S_IMODE(os.stat(server.token_file).st_mode) == 0o600
    assert len(server.token) > 40


@pytest.mark.slow
def test_a_page_of_another_site_is_not_answered_even_with_the_token(server: Served) -> None:
    port = urlsplit(server.url).port
    assert server.status(Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200
    assert server.status(Host=f"evil.example:{port}") == 421
    assert server.status(Host="127.0.0.1:1") == 421
    assert server.status(Origin="http://evil.example") == 403
    assert server.status(Origin="null") == 403


@pytest.mark.slow
def test_sigterm_ends_it_well_while_clients_listen(shell: Shell) -> None:
    with served(shell) as server, server.client(LEGACY) as peer:
        subscribe(peer, "memory:///a.md")
        peer.value("create", path="/memories/a.md", text="x")
        eventually(lambda: peer.updated() == ["memory:///a.md"])  # so the stream for notices is open
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SECONDS) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


@pytest.mark.slow
def test_a_token_that_is_not_its_users_alone_is_refused(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a token of some length\n")
    file.chmod(0o640)
    assert "not yours alone" in shell("mcp", "--http", "0", "--token-file", str(file)).refusal()
    file.chmod(0o600)
    with served(shell, "--token-file", str(file)) as server:
        assert server.status(Authorization="Bearer a token of some length") == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("0.0.0.0:0", "other machines"),
        ("192.0.2.1:80", "other machines"),
        ("[::]:0", "other machines"),
        ("nonsense", "no address"),
        ("127.0.0.1:99999", "no address"),
        ("example.org:80", "no address"),
    ],
)
def test_an_address_is_one_of_this_machine(shell: Shell, address: str, sentence: str) -> None:
    assert sentence in shell("mcp", "--http", address).refusal(2)


@pytest.mark.slow
def test_an_address_in_use_is_said(shell: Shell, server: Served) -> None:
    port = urlsplit(server.url).port
    assert "in use" in shell("mcp", "--http", f"127.0.0.1:{port}").refusal()


@pytest.mark.slow
def test_a_text_is_refused_by_the_limits_and_not_by_its_length(server: Served) -> None:
    """A text as large as the limits allow passes, and what is larger is refused by the limits."""
    with server.client(LEGACY) as peer:
        assert peer.value("create", path="/memories/b.md", text='"' * 65_536)["byteLength"] == 65_536
        refused = peer.tool("create", path="/memories/b.md", text='"' * 500_000)
        assert refused.is_error
        (content,) = refused.content
        assert isinstance(content, types.TextContent)
        assert "65536" in content.text
