"""Standard input and output as bytes, whatever the locale, and also where they do not block."""

from __future__ import annotations

import os
import select

_INPUT, _OUTPUT = 0, 1


def read_some(most: int) -> bytes:
    """What standard input has, waiting for the first byte; empty at its end."""
    while True:
        try:
            return os.read(_INPUT, most)
        except BlockingIOError:  # its other end is a program that made the pipe non-blocking for both
            select.select([_INPUT], [], [])


def read_all(most: int) -> bytes:
    """Standard input to its end, or a little more than *most* bytes of it."""
    pieces, have = [], 0
    while have <= most and (piece := read_some(1 << 20)):
        pieces.append(piece)
        have += len(piece)
    return b"".join(pieces)


def write(content: bytes) -> None:
    """Write all of *content* to standard output, past every buffer."""
    unwritten = memoryview(content)
    while unwritten:
        try:
            unwritten = unwritten[os.write(_OUTPUT, unwritten) :]
        except BlockingIOError:
            select.select([], [_OUTPUT], [])
