"""The notices: a file that every store object touches after each commit of its own.

Others watch it (see ``watch``), so nobody wakes from its own commits.
"""

from __future__ import annotations

import fcntl
import logging
import os
from contextlib import suppress
from pathlib import Path

_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW

log = logging.getLogger(__name__)


class NoticeFile:
    """This store object's own file among the notices of a scope; made at the first need."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor: int | None = None
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"

    def give(self) -> None:
        """Tell the watchers. A notice that cannot be given is logged: the commit stands."""
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            os.utime(self._descriptor)
        except OSError:
            log.exception("the notice of a commit could not be given")

    def close(self) -> None:
        """Take the file away."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            with suppress(OSError):  # left behind, it is swept by the next process that makes one
                (self._directory / self.name).unlink()

    def _open(self) -> int:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        # Opened once, and not through a link: what is swept must be ours.
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _sweep(directory)
            while True:
                descriptor = os.open(self.name, _OPEN | os.O_CREAT, 0o600, dir_fd=directory)
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # held while this process lives: see _sweep
                if os.fstat(descriptor).st_nlink:
                    return descriptor
                os.close(descriptor)  # another process swept it before the lock was taken
        finally:
            os.close(directory)


def _sweep(directory: int) -> None:
    """Remove the notice files of processes that were killed: nobody holds their lock any more."""
    for name in os.listdir(directory):
        try:
            descriptor = os.open(name, _OPEN, dir_fd=directory)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=directory)
        except OSError:
            pass
        finally:
            os.close(descriptor)
