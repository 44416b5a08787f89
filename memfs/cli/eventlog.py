"""The file of a mount's events, read from outside: its end, its lines, and what comes next.

A mount only appends to it. A new one, or a file that has grown too large, begins a new file with
the newest lines of the old; whoever follows then goes on behind those. Nothing here holds more of
a file than a block at a time, apart from that moment, and the mount bounds its size.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memfs.mount.events import LARGEST_BYTES, events_file
from memfs.places import open_ordinary

BLOCK = 1 << 16
LONGEST_LINE = 1 << 20
"""In bytes; an event takes some hundreds. A longer line is none of memfs's, and is passed over."""
POLL_SECONDS = 0.25
"""How often to look where the system grants no inotify watch."""


class EventLog:
    """The events of the mount with the state directory *state*: a stream of whole lines."""

    def __init__(self, state: Path) -> None:
        self._path = events_file(state)
        self._descriptor: int | None = None
        self._offset = 0
        self._begun = b""

    def seek_last(self, count: int) -> None:
        """Go to where the last *count* lines begin."""
        if not self._open():
            return
        descriptor = self._descriptor
        assert descriptor is not None
        at = os.fstat(descriptor).st_size
        missing = count + 1  # the end of the line before them
        while at > 0:
            start = max(0, at - BLOCK)
            block = os.pread(descriptor, at - start, start)
            ends = block.count(b"\n")
            if ends >= missing:
                position = len(block)
                for _ in range(missing):
                    position = block.rindex(b"\n", 0, position)
                self._offset = start + position + 1
                return
            missing -= ends
            at = start
        self._offset = 0

    def lines(self) -> Iterator[bytes]:
        """The whole lines from here on, up to what there is now, also over files that took its place."""
        while self._open():
            yield from self._lines_of_file()
            if not self._is_replaced():
                return
            yield from self._lines_of_file()  # what came between the two looks
            self._move_on()

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> bool:
        if self._descriptor is None:
            with suppress(FileNotFoundError):
                self._descriptor = open_ordinary(self._path)
        return self._descriptor is not None

    def _lines_of_file(self) -> Iterator[bytes]:
        assert self._descriptor is not None
        while block := os.pread(self._descriptor, BLOCK, self._offset):
            self._offset += len(block)
            *ended, rest = (self._begun + block).split(b"\n")
            self._begun = rest[: LONGEST_LINE + 1]
            yield from (line for line in ended if 0 < len(line) <= LONGEST_LINE)

    def _is_replaced(self) -> bool:
        assert self._descriptor is not None
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        return not os.path.samestat(there, os.fstat(self._descriptor))

    def _move_on(self) -> None:
        """Go to the new file, behind the lines that were taken over from the old one."""
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        old = os.pread(self._descriptor, LARGEST_BYTES, max(0, size - LARGEST_BYTES))
        self.close()
        self._offset, self._begun = 0, b""
        if self._open():
            self._offset = _overlap(old, os.pread(self._descriptor, LARGEST_BYTES, 0))


def wait_for_more(states: Sequence[Path]) -> Iterator[None]:
    """Come back whenever the events of one of *states* may have changed; the first time at once."""
    from inotify_simple import INotify, flags

    try:
        with INotify() as inotify:
            for state in states:
                # The directory, for the file is replaced by a rename.
                inotify.add_watch(state, flags.MODIFY | flags.CREATE | flags.MOVED_TO | flags.ONLYDIR)
            yield
            while True:
                inotify.read()
                yield
    except OSError:
        yield
    while True:
        select.select([], [], [], POLL_SECONDS)
        yield


def _overlap(old: bytes, new: bytes) -> int:
    """How many bytes at the beginning of *new* are the end of *old*, in whole lines."""
    first = new[: new.find(b"\n") + 1]
    at = old.find(first) if first else -1
    while at >= 0:
        if (at == 0 or old[at - 1] == ord("\n")) and new.startswith(old[at:]):
            return len(old) - at
        at = old.find(first, at + 1)
    return 0
