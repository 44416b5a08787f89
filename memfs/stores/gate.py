"""The lock file before which the writers of a scope queue up.

SQLite's own busy handler sleeps and tries again, and lets one of four writers wait for over a
second; the kernel's queue of flock(2) waiters is first come, first served.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.store import Busy

PATIENCE = 10.0
"""Seconds after which a writer gives up: somebody was stopped while holding the lock."""
LONG_PATIENCE = 600.0
"""Seconds for a writer to wait while whoever has the lock says that it takes long, and is alive."""


class Gate:
    """An exclusive lock among processes, and among stores within one."""

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        """*shown* is what a sentence calls *path*, by default that."""
        self._path = path
        self._shown = shown or path
        self._descriptor = self._open()

    def acquire(self, wait: bool) -> None:
        """Take the lock. Raises Busy at once with ``wait=False``, StoreError after PATIENCE seconds.

        And only after LONG_PATIENCE where another has it for what takes long.
        """
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise Busy from None
            self._queue_up()

    def release(self) -> None:
        """Let the next one in."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    @contextmanager
    def held_long(self, work: str) -> Iterator[None]:
        """Hold the lock for what may take longer than PATIENCE, and say so to those who wait.

        *work* is what this process does, for the sentence of who has waited in vain.
        """
        self.acquire(wait=True)
        try:
            self._say(f"{os.getpid()} {work}")
            yield
        finally:
            self._say("")
            self.release()

    def close(self) -> None:
        """Give the lock file back."""
        os.close(self._descriptor)

    def _open(self) -> int:
        try:
            if (
                self._path.exists() and not self._path.is_file()
            ):  # before it is opened: a device may act on it
                raise UnsafeStorage(f"{self._shown} is no ordinary file; it was left as it is.")
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(f"The lock file {self._shown} cannot be opened: {error.strerror}.") from error

    def _queue_up(self) -> None:
        """Wait in the kernel's queue, but not for ever: flock(2) itself knows no time limit.

        A thread waits on a descriptor of its own and hands it over; one that is no longer waited for
        lets go as soon as it gets the lock.
        """
        waiting = _Waiter(self._open())
        began = time.monotonic()
        until = began + PATIENCE
        while not waiting.wait(PATIENCE / 10):
            now = time.monotonic()
            said = said_by_holder(self._descriptor)
            if said is not None:
                until = min(now + PATIENCE, began + LONG_PATIENCE)
            if now >= until and waiting.give_up():
                who = "Another process has held the scope" if said is None else f"Process {said}, and has"
                raise StoreError(f"{who} for {now - began:.0f} seconds; look for a stopped memfs.")
        os.close(self._descriptor)
        self._descriptor = waiting.descriptor

    def _say(self, words: str) -> None:
        with suppress(OSError):  # a full disk; others then wait no longer than for anything else
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, words.encode(), 0)


def said_by_holder(descriptor: int) -> str | None:
    """The process that has the lock on this file for long, and what it does; None where none says so."""
    words = os.pread(descriptor, 200, 0).decode(errors="replace")
    process = words.partition(" ")[0]
    return words if process.isdigit() and Path(f"/proc/{process}").exists() else None


class _Waiter:
    """One thread blocked in flock(2)."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._hand_over = threading.Lock()
        self._locked = threading.Event()
        self._abandoned = False
        threading.Thread(target=self._block, name="memfs-gate", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether the lock came within *seconds*; the caller owns ``descriptor`` then."""
        return self._locked.wait(seconds)

    def give_up(self) -> bool:
        """Wait no longer; False if the lock has come all the same."""
        with self._hand_over:
            self._abandoned = not self._locked.is_set()
            return self._abandoned

    def _block(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        with self._hand_over:
            if self._abandoned:
                os.close(self.descriptor)
            else:
                self._locked.set()
