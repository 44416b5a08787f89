"""Where a mount's counters are told: names and addresses of sockets, for both ends of them."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

SOCKET = "stats.sock"
"""The private one, in the state directory of a mount."""
STATS = "/stats"
METRICS = "/metrics"
ASK_SECONDS = 2.0
LONGEST_ANSWER = 1 << 20


class Address(NamedTuple):
    """Where to listen: at the socket ``path``, or at ``host`` and ``port``."""

    path: str | None = None
    host: str = "127.0.0.1"
    port: int = 0

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" if self.path is None else f"unix:{self.path}"


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for *path* that fits into a socket's address, which holds no more than 107 bytes."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def remove_left_over(path: Path) -> None:
    """Take away the socket that a killed mount has left; raise OSError where somebody listens there."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return  # bind says that something is there
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying, short_name(path) as name:
        trying.settimeout(1.0)
        with suppress(ConnectionRefusedError):
            trying.connect(name)
            return
    path.unlink(missing_ok=True)


def ask(state: Path, what: str = STATS) -> bytes:
    """What the mount with this state directory says at its private socket.

    Raises OSError where nobody answers; TimeoutError where that takes longer than ASK_SECONDS.
    """
    deadline = time.monotonic() + ASK_SECONDS
    answer = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking, short_name(state / SOCKET) as name:
        asking.settimeout(ASK_SECONDS)
        asking.connect(name)
        asking.sendall(f"GET {what} HTTP/1.0\r\n\r\n".encode())
        while len(answer) < LONGEST_ANSWER:
            asking.settimeout(max(deadline - time.monotonic(), 0.001))
            some = asking.recv(1 << 16)
            if not some:
                break
            answer += some
    head, _, content = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise OSError(errno.EPROTO, os.strerror(errno.EPROTO), str(state / SOCKET))
    return content
