"""The bytes of scratch files: plain files in the mount's state directory, bounded, private.

Every write goes through to such a file before it is answered, so that an editor's swap file
outlives both the editor and the daemon.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyfuse3

MAX_FILE_BYTES = 1 << 20
"""The size of one file: vim's swap of a 64 KiB memory takes 80 KiB, its undo file 88."""
MAX_TOTAL_BYTES = 16 << 20


_NAME = re.compile(r"[0-9a-f]{1,16}")


def _is_ours(entry: os.DirEntry[str]) -> bool:
    return _NAME.fullmatch(entry.name) is not None and entry.is_file(follow_symlinks=False)


class ScratchArea:
    """All scratch bytes of one mount."""

    def __init__(self, state: Path) -> None:
        self._directory = state / "scratch"
        self._directory.mkdir(mode=0o700, exist_ok=True)
        # What else may lie there (a file manager's notes, a copy) is left alone.
        ours = [entry for entry in os.scandir(self._directory) if _is_ours(entry)]
        self.used = sum(entry.stat(follow_symlinks=False).st_size for entry in ours)
        self._next = 1 + max((int(entry.name, 16) for entry in ours), default=0)

    def new(self) -> ScratchFile:
        """An empty file."""
        name = f"{self._next:x}"
        self._next += 1
        return ScratchFile(self, self._directory / name, 0)

    def open(self, name: str) -> ScratchFile | None:
        """The file that an earlier process left, or None where it is gone."""
        path = self._directory / name
        try:
            there = path.lstat()
        except OSError:
            return None
        is_ours = _NAME.fullmatch(name) is not None and stat.S_ISREG(there.st_mode)
        return ScratchFile(self, path, there.st_size) if is_ours else None

    def drop_unknown(self, known: set[str]) -> None:
        """Remove what no entry refers to any more: a crash came between the two."""
        for entry in list(os.scandir(self._directory)):
            if _is_ours(entry) and entry.name not in known:
                self.used -= entry.stat(follow_symlinks=False).st_size
                os.unlink(entry.path)


class ScratchFile:
    """One file's bytes on disk. It is open only while its node is."""

    __slots__ = ("_area", "_descriptor", "_is_dropped", "_path", "size")

    def __init__(self, area: ScratchArea, path: Path, size: int) -> None:
        self._area = area
        self._path = path
        self._descriptor: int | None = None
        self._is_dropped = False
        self.size = size

    @property
    def name(self) -> str:
        """What the mount's journal calls these bytes."""
        return self._path.name

    @property
    def written_ns(self) -> int:
        """When the bytes were last written to; now, where there are none yet."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return time.time_ns()

    def has_room(self, size: int) -> bool:
        """Whether the file may grow to *size* bytes."""
        return size <= self.size or (
            size <= MAX_FILE_BYTES and self._area.used + size - self.size <= MAX_TOTAL_BYTES
        )

    def load(self) -> bytes:
        """All bytes."""
        descriptor = self._open()
        return os.pread(descriptor, self.size, 0)

    def write(self, offset: int, data: bytes) -> None:
        """Write through; the caller has checked the room. Raises FUSEError, and then nothing has changed."""
        if self._is_dropped:
            return
        with _told_to_the_program():
            descriptor = self._open()
            if os.pwrite(descriptor, data, offset) < len(data):
                os.ftruncate(descriptor, self.size)
                raise pyfuse3.FUSEError(errno.ENOSPC)
        self._resize(max(self.size, offset + len(data)))

    def truncate(self, size: int) -> None:
        """Cut off, or fill up with NULs. Raises FUSEError."""
        if self._is_dropped:
            return
        with _told_to_the_program():
            os.ftruncate(self._open(), size)
        self._resize(size)

    def rest(self) -> None:
        """Close the file; nobody has it open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def drop(self) -> None:
        """The bytes are of no use any more; whoever has the file open goes on with his working copy."""
        self._is_dropped = True
        self.rest()
        self._resize(0)
        self._path.unlink(missing_ok=True)

    def _resize(self, size: int) -> None:
        self._area.used += size - self.size
        self.size = size

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        return self._descriptor


@contextmanager
def _told_to_the_program() -> Iterator[None]:
    """What the disk of the state directory refuses (no room, most likely) is the program's answer."""
    try:
        yield
    except OSError as error:
        raise pyfuse3.FUSEError(error.errno or errno.EIO) from error
