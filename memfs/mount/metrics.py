"""The counters of a running mount, told to whoever asks at a socket.

Each mount listens at a private one in its state directory, so that a look at it costs the mount itself
no request, and one that hangs is found by a time limit. Another may be named: a path, or a port of this
machine. What is spoken is the little of HTTP that Prometheus and curl need.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from memfs.mount.counters import PROGRAMS, REQUESTS
from memfs.mount.prometheus import CONTENT_TYPE, prometheus
from memfs.mount.sockets import METRICS, SOCKET, STATS, Address, remove_left_over, short_name

LONGEST_REQUEST = 8192
REQUEST_SECONDS = 5.0
"""Who has not asked by then is not waited for."""
MOST_ASKING = 16
_JSON = "application/json"


class Metrics:
    """The sockets of one mount, from before it is mounted until it has ended.

    *more* says, in JSON's types, what the counters do not know: open files, the use of the scope.
    """

    def __init__(self, state: Path, also: Address | None, more: Callable[[], dict[str, Any]]) -> None:
        """Listen. Raises OSError, with the address that cannot be had as its file name."""
        self._more = more
        self._asking = 0
        self._paths: list[Path] = []
        self._sockets: list[socket.socket] = []
        try:
            for address in (Address(str(state / SOCKET)), also):
                if address is not None:
                    self._listen(address)
        except OSError as error:
            self.close()
            raise OSError(error.errno, error.strerror, str(address)) from None

    async def serve(self) -> None:
        """Answer, forever."""
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in self._sockets]
        await trio.serve_listeners(self._answer, listeners)

    def close(self) -> None:
        """Listen no more, and take the sockets' names away."""
        for each in self._sockets:
            each.close()
        for path in self._paths:
            path.unlink(missing_ok=True)

    def report(self) -> dict[str, Any]:
        """All counters. Two reports differ by what was asked between them."""
        return {
            "monotonicNs": time.monotonic_ns(),
            "pid": os.getpid(),
            "requests": {kind: each.to_json() for kind, each in sorted(REQUESTS.items()) if each.count},
            "programs": PROGRAMS.to_json(),
            **self._more(),
        }

    def _listen(self, address: Address) -> None:
        if address.path is None:
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._sockets.append(listening)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address.host, address.port))
        else:
            path = Path(address.path)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._sockets.append(listening)
            os.fchmod(listening.fileno(), 0o600)  # before it has a name
            remove_left_over(path)
            with short_name(path) as name:
                listening.bind(name)
            self._paths.append(path)
        listening.listen()

    async def _answer(self, stream: trio.SocketStream) -> None:
        self._asking += 1
        try:
            if self._asking <= MOST_ASKING:
                with trio.fail_after(REQUEST_SECONDS):
                    await stream.send_all(self._response(await _request(stream)))
        except (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            pass  # who asked has gone
        finally:
            self._asking -= 1
            await trio.aclose_forcefully(stream)

    def _response(self, asked: str) -> bytes:
        status, kind, content = "200 OK", _JSON, b""
        if asked == STATS:
            content = json.dumps(self.report()).encode() + b"\n"
        elif asked == METRICS:
            kind, content = CONTENT_TYPE, prometheus(self.report()).encode()
        else:
            status, kind, content = "404 Not Found", "text/plain", b"There are /metrics and /stats.\n"
        head = f"HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode() + content


async def _request(stream: trio.SocketStream) -> str:
    """The path that is asked for; empty where that is no GET of HTTP."""
    head = b""
    while b"\r\n\r\n" not in head:
        some = await stream.receive_some(LONGEST_REQUEST)
        head += some
        if not some or len(head) > LONGEST_REQUEST:
            return ""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    return words[1].decode("latin-1") if len(words) == 3 and words[0] == b"GET" else ""
