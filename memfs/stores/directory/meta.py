"""The way to what lies in a folder's ``.meta``: by a descriptor, whatever takes the place of its name.

SQLite opens its log and its shared memory by names of their own, long after the database; it makes them of
the resolved path of that. So it is told that ``/proc/self/fd/N/memfs.db`` is resolved already.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import apsw

VFS = "memfs-unresolved"


class _Unresolved(apsw.VFS):
    """SQLite's own file layer, which takes every path as it is given."""

    def __init__(self) -> None:
        super().__init__(VFS, "")  # above the default one

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        """*name*."""
        return name


_unresolved = _Unresolved()  # registered for as long as it lives

_lock = threading.Lock()
_opened: dict[tuple[int, int], tuple[int, int]] = {}


class SharedMeta:
    """One descriptor of a ``.meta`` for all stores of this process that have it open.

    All connections of a database share what the first one opened, under the name that it used; so that name
    must hold until the last one is closed, and lead nowhere else after that.
    """

    def __init__(self, descriptor: int) -> None:
        """*descriptor* is one of the directory, and stays the caller's."""
        found = os.fstat(descriptor)
        self._key = found.st_dev, found.st_ino
        with _lock:
            shared, users = _opened.get(self._key) or (os.dup(descriptor), 0)
            _opened[self._key] = shared, users + 1
        self.path = Path(f"/proc/self/fd/{shared}")

    def close(self) -> None:
        """Let go of it, after every connection that uses its path."""
        with _lock:
            shared, users = _opened.pop(self._key)
            if users > 1:
                _opened[self._key] = shared, users - 1
            else:
                os.close(shared)
