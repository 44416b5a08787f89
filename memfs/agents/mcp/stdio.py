"""Serving one client over standard input and output.

The SDK reads and writes in worker threads, which the process waits for: until the next line comes, and until
the client has read its answers. Here threads of our own do it, so that SIGTERM ends the process at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import select
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from memfs.agents.mcp.server import MemoryServer

MOST_LINES_AHEAD = 64
"""How many lines are read before they are asked for."""
LONGEST_LINE = 64 << 20
"""In bytes; of a longer one the rest is dropped, and what is left is no message."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def serve(server: MemoryServer) -> None:
    """Answer until the input ends, or SIGTERM comes."""
    # What a library prints must not land between the messages: it goes where complaints go.
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        anyio.run(_serve, server, output)
    finally:
        os.dup2(output, 1)
        os.close(output)


async def _serve(server: MemoryServer, output: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_at_sigterm, tasks.cancel_scope)
        lines, answers = cast(Any, _Lines(0)), cast(Any, _Answers(output))
        async with stdio_server(lines, answers) as (reading, writing):
            await server.sdk.run(reading, writing, server.initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_at_sigterm(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


def _whole(line: str) -> str:
    """*line* with U+FFFD for each half of a surrogate pair: the SDK would never answer it."""
    if _SURROGATE_ESCAPE.search(line) is None:
        return line
    try:
        message = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line  # the SDK says what is wrong with it
    return _SURROGATE.sub("\ufffd", message)


class _Lines:
    """The lines of a descriptor, as far as the SDK uses an asynchronous text file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._ahead = threading.Semaphore(MOST_LINES_AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="memfs-mcp-input", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._ahead.release()
            yield line

    def _read(self) -> None:
        unfinished = bytearray()
        with suppress(OSError):
            while chunk := self._read_some():
                *ended, rest = chunk.split(b"\n")
                for end in ended:
                    unfinished += end
                    self._put(_whole(unfinished.decode(errors="replace")))
                    unfinished.clear()
                unfinished += rest[: LONGEST_LINE - len(unfinished)]
        if unfinished:
            self._put(_whole(unfinished.decode(errors="replace")))
        self._put(None)

    def _read_some(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, 1 << 16)
            except BlockingIOError:  # the client made the pipe non-blocking for both ends
                select.select([self._descriptor], [], [])

    def _put(self, line: str | None) -> None:
        self._ahead.acquire()
        with suppress(RuntimeError):  # the loop has ended, and nobody asks any more
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class _Answers:
    """Writing to a descriptor, as far as the SDK uses an asynchronous text file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._texts: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._write_each, name="memfs-mcp-output", daemon=True).start()

    async def write(self, text: str) -> None:
        """Write all of it, off the loop: a client may be slow to read. Raises OSError."""
        written = self._loop.create_future()
        self._texts.put((text.encode(), written))
        await written

    async def flush(self) -> None:
        """Nothing is kept back."""

    def _write_each(self) -> None:
        while True:
            content, written = self._texts.get()
            failure = None
            try:
                self._write(content)
            except OSError as error:
                failure = error
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                self._loop.call_soon_threadsafe(_settle, written, failure)

    def _write(self, content: bytes) -> None:
        unwritten = memoryview(content)
        with suppress(BrokenPipeError):  # nobody reads the answers any more; the end of the input follows
            while unwritten:
                try:
                    unwritten = unwritten[os.write(self._descriptor, unwritten) :]
                except BlockingIOError:
                    select.select([], [self._descriptor], [])


def _settle(written: asyncio.Future[None], failure: OSError | None) -> None:
    if written.cancelled():
        return
    if failure is None:
        written.set_result(None)
    else:
        written.set_exception(failure)
