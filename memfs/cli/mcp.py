"""``memfs mcp``: the memory for programs that speak the Model Context Protocol."""

from __future__ import annotations

import gc
import socket
from argparse import Namespace
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from memfs.agents.mcp.tools import Toolbox
from memfs.cli.choose import choose_with_rules
from memfs.cli.complaint import Complaint, Status
from memfs.cli.version import version
from memfs.opening import open_with
from memfs.places import make_private, state_directory
from memfs.search import Index

if TYPE_CHECKING:
    from memfs.agents.mcp.server import MemoryServer


def run(options: Namespace) -> int:
    """Serve until the client has gone, or SIGTERM comes."""
    if find_spec("mcp") is None:
        raise Complaint("The official SDK is not installed; `pip install 'memfs-mount[mcp]'` brings it.")
    chosen, rules = choose_with_rules(options)
    listener = None if options.http is None else _listener(options.http)
    index = None if chosen.ends_with_its_process else Index(*chosen)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs mcp") as memory:
        gc.disable()  # a tenth of the start: the SDK makes very many objects, and all of them stay
        from memfs.agents.mcp.server import MemoryServer

        gc.freeze()
        gc.enable()
        server = MemoryServer(Toolbox(memory, index), version())
        if listener is None:
            from memfs.agents.mcp.stdio import serve

            serve(server)
        else:
            with listener:
                _serve_http(server, listener, options.token_file)
    return Status.DONE


def _serve_http(server: MemoryServer, listener: socket.socket, token_file: str | None) -> None:
    from memfs.agents.mcp.http import serve, url_of
    from memfs.agents.mcp.token import token_from

    file = make_private(state_directory()) / "mcp-token" if token_file is None else Path(token_file)
    try:
        token = token_from(file)
    except ValueError as error:
        raise Complaint(str(error)) from None
    print(f"Serving at {url_of(listener)}; the token for clients is in {file}.", flush=True)
    serve(server, listener, token)


def _listener(address: str) -> socket.socket:
    """A socket bound to *address*, ``HOST:PORT`` or ``PORT``, on this machine only."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        number = int(port)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        local = host == "localhost" or ip_address(host).is_loopback
        if not 0 <= number < 1 << 16:
            raise ValueError
    except ValueError:
        raise Complaint(
            f"{address!r} is no address; name one such as 127.0.0.1:8321 (port 0: any free one).",
            Status.USAGE,
        ) from None
    if not local:
        raise Complaint(
            f"{host} can be reached from other machines, and this server speaks plain HTTP; name 127.0.0.1, "
            "and let 'ssh -L' or a proxy with TLS lead there.",
            Status.USAGE,
        )
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, number))
        listener.listen()
    except OSError as error:
        listener.close()
        raise Complaint(f"Cannot serve at {address}: {error.strerror}.") from None
    return listener
