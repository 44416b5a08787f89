"""What the protocol costs: a server's start up to its first answer, and a call beside the port's own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import memfs

STARTS, CALLS = 7, 300
SCOPE = "protocol"
TEXT = "x" * 1_000 + "\n"


def protocol_costs(work: Path) -> str:
    """Two lines about the start and a table of calls, in milliseconds at the median."""
    url = f"sqlite:{work / 'protocol'}"
    sdk = statistics.median(
        _seconds([sys.executable, "-c", "import mcp.server.lowlevel"]) for _ in range(STARTS)
    )
    starts = []
    for _ in range(STARTS):
        begun = perf_counter()
        with _Server(url):
            starts.append(perf_counter() - begun)
    start = f"{statistics.median(starts):.2f} s (best {min(starts):.2f} s)"
    lines = [
        f"importing the SDK alone: {sdk:.2f} s; from the start of memfs mcp to its first answer: {start}",
        f"{'ms':20}{'port':>10}{'MCP':>10}{'on top':>10}",
    ]
    with memfs.open_memory(url, scope=SCOPE) as memory, _Server(url) as server:
        for name, arguments in (
            ("create", {"path": "/memories/a.md", "text": TEXT}),
            ("view", {"path": "/memories/a.md"}),
        ):
            command = {"command": name, **arguments}
            port, call = (
                _median(partial(memory.execute, command)),
                _median(partial(server.call, name, arguments)),
            )
            lines.append(f"{name:20}{port:10.2f}{call:10.2f}{call - port:10.2f}")
    return "\n".join(lines)


class _Server:
    """``memfs mcp`` at the other end of two pipes, spoken to without the SDK's client and its own costs."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memfs", "mcp", "--store", url, "--scope", SCOPE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ,
        )
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool."""
        return self._ask("tools/call", {"name": f"memory_{name}", "arguments": arguments})

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._send({"id": 1, "method": method, "params": params})
        assert self._process.stdout is not None
        while "id" not in (answer := json.loads(self._process.stdout.readline())):
            pass  # a notice
        return answer["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def _median(measured: Callable[[], object]) -> float:
    times = []
    for _ in range(CALLS):
        begun = perf_counter()
        measured()
        times.append(perf_counter() - begun)
    return statistics.median(times) * 1_000


def _seconds(command: list[str]) -> float:
    begun = perf_counter()
    subprocess.run(command, check=True)
    return perf_counter() - begun
