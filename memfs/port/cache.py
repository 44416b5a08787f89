"""The bytes of files that were read or written lately, within a bound."""

from __future__ import annotations

import threading
from collections import OrderedDict

from memfs.port.change import File

DEFAULT_BOUND = 8 << 20


class ContentCache:
    """Bytes by file, the least recently used leaving first. Safe from several threads."""

    def __init__(self, bound: int = DEFAULT_BOUND) -> None:
        """*bound* is in bytes; a file larger than all of it is not kept."""
        self.bound = bound
        self.used = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[int, bytes]] = OrderedDict()

    def get(self, file: File) -> bytes | None:
        """The bytes of exactly this version of *file*, or None."""
        with self._lock:
            kept = self._kept.get(file.id)
            if kept is None or kept[0] != file.content:
                return None
            self._kept.move_to_end(file.id)
            return kept[1]

    def put(self, file_id: int, version: int, content: bytes) -> None:
        """Keep *content* as what the change *version* gave the memory *file_id*."""
        with self._lock:
            earlier = self._kept.get(file_id)
            if earlier is not None and earlier[0] > version:
                return  # a slow reader of an older version must not push out the newer one
            self._forget(file_id)
            self._kept[file_id] = (version, content)
            self.used += len(content)
            while self.used > self.bound:
                _, (_, left) = self._kept.popitem(last=False)
                self.used -= len(left)

    def drop(self, file_id: int) -> None:
        """Forget the bytes of *file_id*, if any are kept."""
        with self._lock:
            self._forget(file_id)

    def _forget(self, file_id: int) -> None:
        kept = self._kept.pop(file_id, None)
        if kept is not None:
            self.used -= len(kept[1])
