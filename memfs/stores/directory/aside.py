"""What has lost its place in the folder, and may still be written into: nothing of it goes unseen.

The argument, for a file at a place that a change replaces. All of it holds for one that a change removes,
and the other way round for ours, where a change is taken back.

A program that saves by rename puts another file at the place. The exchange of the two names is one step,
so theirs comes before it, and comes out, or after it, and has the place: both are looked at.

A program that opens the file and writes has the file it opened, whatever becomes of the names:

- It has closed it before the exchange: inotify, or the look before a change, finds it other than its page.
  If not (the same size within one tick of the clock), the bytes of a ``fresh`` page are compared.
- It has it open for writing at the exchange, or a writable mapping of it: the kernel refuses a read lease.
  It is given time to end; what it wrote has the change taken back, and the file its place again. That is
  a version at once, for its program may have read ours meanwhile, and save what it made of that over it.
- It does not end in that time, and goes on to write: the file is put aside here, and stays as long as
  somebody may write.
- It opens the file that the change has brought: that is other than its page then, and taken in; or comes
  out, where the change is taken back, and is put aside.
- It has looked up the name before the exchange, and the kernel has not counted it among the writers yet.
  Nothing tells of it. It is on its way for less than a microsecond, or, on a busy machine, for as long as
  it has to wait for a processor.

So what comes out of a place is kept for ``LINGER_SECONDS`` at least, and then removed only if nobody has it
open for writing and its bytes are those that the history has, or that were ours and never counted. Times
and sizes are not asked: a mapping, a copied time, or a second write within a tick of the clock leaves them
as they were. Whatever else is found stays in ``.meta/staged``, and is told.

Where the kernel grants no leases (another user's file, a file system over a network), nobody can tell who
has a file open: what a program writes into it more than that time after its replacement goes with it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from memfs.stores.directory.folder import (
    META,
    STAGED,
    Folder,
    LeftAlone,
    is_being_written,
    opened,
    read_opened,
)

LINGER_SECONDS = 1.0
"""How long a program may be on its way to a file that it has looked up."""
MOST_BYTES = 64 << 20
"""What may lie aside for that time; of more than that, the earliest goes before it."""

log = logging.getLogger(__name__)


class _Left(NamedTuple):
    """Since when a file lies aside (monotonic), its size in bytes, and the digests of what it may hold."""

    since: float
    size: int
    expected: Collection[bytes]


class Aside:
    """Files in ``.meta/staged`` that are to go. Safe from several threads."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._left: dict[str, _Left] = {}
        self._bytes = 0

    def put(self, files: Mapping[str, Collection[bytes]]) -> None:
        """Have each of *files* go, when it has been aside for long enough, if it holds what is expected."""
        lying: list[tuple[str, _Left]] = []
        for name, expected in files.items():
            with suppress(OSError):  # one that is not there, or is looked at when the folder is opened next
                found = os.stat(name, dir_fd=self._folder.staged, follow_symlinks=False)
                age = max(0, time.time_ns() - found.st_ctime_ns) / 1e9  # a rename counts as a change
                lying.append((name, _Left(time.monotonic() - age, found.st_size, expected)))
        with self._lock:
            for name, left in sorted(lying, key=lambda each: each[1].since):
                if name not in self._left:
                    self._left[name] = left
                    self._bytes += left.size

    def let_go(self, at_once: bool = False) -> None:
        """Remove those whose time has come; all of them *at_once*, where room is lacking or bytes must go."""
        for name, left in self._due(at_once).items():
            try:
                remains = self._remains(name, left)
            except OSError as error:  # it is looked at when the folder is opened next
                log.warning("%s cannot be looked at: %s", self._shown(name), error.strerror)
                continue
            if remains:
                with self._lock:
                    self._left[name] = left._replace(since=time.monotonic())
                    self._bytes += left.size

    def _due(self, at_once: bool) -> dict[str, _Left]:
        long_ago = time.monotonic() - LINGER_SECONDS
        due: dict[str, _Left] = {}
        with self._lock:
            for name, left in self._left.items():  # the earliest first
                if not at_once and left.since > long_ago and self._bytes <= MOST_BYTES:
                    break
                due[name] = left
                self._bytes -= left.size
            for name in due:
                del self._left[name]
        return due

    def _remains(self, name: str, left: _Left) -> bool:
        """Whether a program still has it open for writing; else it is removed, or told and kept."""
        try:
            with opened(self._folder.staged, name) as descriptor:
                if descriptor is None:
                    return False
                if is_being_written(descriptor):
                    return True
                content = read_opened(descriptor).content
        except LeftAlone:
            content = None
        if content is not None and hashlib.sha256(content).digest() in left.expected:
            self._folder.discard(name)
        else:
            log.warning(
                "%s holds what another program wrote in the instant of a change; it is kept there.",
                self._shown(name),
            )
        return False

    def _shown(self, name: str) -> str:
        return str(self._folder.path / META / STAGED / name)
