"""Many new objects at once: as one pack, which git itself takes in and makes durable."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from pathlib import Path
from typing import IO

from memfs.stores.git import program
from memfs.stores.git.objects import Batch, Tree, tree_bytes

_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_COUNT_AT = 8


class Pack(Batch):
    """New objects, on the disk from the start: what a rewritten history takes does not fit in memory."""

    def __init__(self, common: Path) -> None:
        """A pack for the repository *common*; close it with :meth:`close`."""
        super().__init__()
        self._common = common
        self._known: set[str] = set()
        self._begin()

    def add(self, kind: str, data: bytes) -> str:
        """Take an object in; its id."""
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()
        if oid not in self._known:
            self._known.add(oid)
            self._count += 1
            self._file.write(_header(_KINDS[kind], len(data)) + zlib.compress(data, 1))
        return oid

    def add_tree(self, tree: Tree) -> str:
        """Take a tree in; its id."""
        return self.add("tree", tree_bytes(tree))

    def deliver(self) -> None:
        """Bring what came in since the last time into the repository, durably. Raises StoreError."""
        if self._count:
            self._file.seek(_COUNT_AT)
            self._file.write(self._count.to_bytes(4))
            self._file.seek(0)
            digest = hashlib.sha1(usedforsecurity=False)
            while part := self._file.read(1 << 20):
                digest.update(part)
            self._file.write(digest.digest())
            self._file.flush()
            self._file.seek(0)
            program.run(self._common, "index-pack", "--stdin", source=self._file)
        self._file.close()
        self._begin()

    def close(self) -> None:
        """Drop what was not delivered."""
        self._file.close()

    def _begin(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `deliver` or `close`
        self._file.write(b"PACK" + (2).to_bytes(4) + bytes(4))
        self._count = 0


def _header(kind: int, size: int) -> bytes:
    """What stands before an object in a pack: its kind, and its size in groups of seven bits."""
    byte, size = kind << 4 | size & 15, size >> 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    found.append(byte)
    return bytes(found)
