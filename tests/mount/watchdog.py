"""No test may hang on a mount: after its time the connection is aborted, and every call on it fails.

Signals do not free a program that waits for a dead FUSE server, and a look at the mount would only
hang the watchdog too. So it asks the kernel's list of mounts and writes to the connection's ``abort``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Watchdog:
    """One thread for all mounts of this process."""

    def __init__(self) -> None:
        self._mounts: dict[str, int] = {}
        self._deadline: float | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.barked = False
        """Whether the time of the present test is over."""

    def watch(self, mountpoint: str, pid: int) -> None:
        """*pid* is about to serve *mountpoint*."""
        with self._changed:
            self._mounts[mountpoint] = pid
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                self._thread.start()

    def dismiss(self, mountpoint: str) -> None:
        """There is nothing left to watch there."""
        with self._changed:
            self._mounts.pop(mountpoint, None)

    def expect_end_within(self, seconds: float | None) -> None:
        """Give the present test so much time; None: nothing runs."""
        with self._changed:
            self.barked = False
            self._deadline = None if seconds is None else time.monotonic() + seconds
            self._changed.notify()

    @contextmanager
    def guards(self, seconds: float) -> Iterator[None]:
        """The present test, which is freed where it hangs longer on its mounts, and fails."""
        self.expect_end_within(seconds)
        yield
        barked = self.barked
        self.expect_end_within(None)
        assert not barked, "the test hung; its mounts were aborted"

    def _run(self) -> None:
        with self._changed:
            while True:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self.barked = True
                    self._deadline = None
                    for mountpoint, pid in self._mounts.items():
                        free(mountpoint, pid)
                else:
                    self._changed.wait(left)


def free(mountpoint: str, pid: int) -> None:
    """End a mount whatever state it is in; the pending calls of all programs on it fail."""
    minor = minor_of(mountpoint)
    if minor is not None:
        with (
            suppress(OSError),
            open(f"/sys/fs/fuse/connections/{minor}/abort", "w", encoding="ascii") as abort,
        ):
            abort.write("1")
        unmount_lazily(mountpoint)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def unmount_lazily(mountpoint: str) -> None:
    """Take the mount out of the tree, dead or alive, also while it is in use."""
    subprocess.run(["fusermount3", "-u", "-q", "-z", "--", mountpoint], check=False)
    if minor_of(mountpoint) is not None and os.getuid() == 0:
        subprocess.run(["umount", "-f", "-l", mountpoint], check=False, stderr=subprocess.DEVNULL)


def minor_of(mountpoint: str) -> int | None:
    """The number of the mount's connection, from the kernel's list; None where nothing is mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            fields = line.split(" ")
            if fields[4] == mountpoint and " - fuse" in line:
                return int(fields[2].partition(":")[2])
    return None


WATCHDOG = Watchdog()
