"""Telling the kernel's cache what somebody else changed.

One thread does this and nothing else. The calls may block until a pending request on the same
inode or directory is answered, so they must never be made, or waited for, where requests are
answered: that deadlocks beyond the reach of SIGKILL. The tree is always changed first.
"""

from __future__ import annotations

import errno
import logging
import queue
import threading
from typing import TypeAlias

import pyfuse3

log = logging.getLogger(__name__)

STOP_SECONDS = 1.0
"""How long to wait for the call under way, so that it does not meet a session that is closed."""

_Notice: TypeAlias = tuple[int, bytes | None, int, bool]

# The kernel never knew the entry, it is no longer a directory, or it is in use: all as good as done.
_NORMAL = (errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY, errno.EBUSY, errno.ESTALE)


class Notices:
    """A queue of notices and the thread that gives them to the kernel."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[_Notice | None] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="memfs-notices", daemon=True)

    def start(self) -> None:
        """Begin to deliver; notices put before are kept."""
        self._thread.start()

    def stop(self) -> None:
        """Deliver no more. A call may be stuck until the unmount frees it: that is not waited for."""
        self._stopped = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def content(self, inode: int) -> None:
        """The bytes and attributes of *inode* are others now."""
        self._queue.put((inode, None, 0, False))

    def attributes(self, inode: int) -> None:
        """The attributes of *inode* are others now."""
        self._queue.put((inode, None, 0, True))

    def entry(self, parent: int, name: bytes) -> None:
        """Another node, or one where there was none, has this name now."""
        self._queue.put((parent, name, 0, False))

    def removed(self, parent: int, name: bytes, inode: int) -> None:
        """*inode* has lost this name."""
        self._queue.put((parent, name, inode, False))

    def _run(self) -> None:
        while (notice := self._queue.get()) is not None and not self._stopped:
            inode, name, deleted, attributes_only = notice
            try:
                if name is None:
                    pyfuse3.invalidate_inode(pyfuse3.InodeT(inode), attributes_only)
                else:
                    _invalidate_entry(inode, name, deleted)
            except OSError as error:
                if error.errno not in _NORMAL:
                    log.warning("the kernel did not take a notice: %s", error)


def _invalidate_entry(parent: int, name: bytes, deleted: int) -> None:
    try:
        pyfuse3.invalidate_entry(pyfuse3.InodeT(parent), pyfuse3.FileNameT(name), pyfuse3.InodeT(deleted))
    except OSError as error:
        if not deleted or error.errno not in (errno.ENOTEMPTY, errno.EBUSY, errno.ENOENT):
            raise
        # In use, or not the inode the kernel has there: then at least the entry is looked up again.
        pyfuse3.invalidate_entry(pyfuse3.InodeT(parent), pyfuse3.FileNameT(name), pyfuse3.InodeT(0))
