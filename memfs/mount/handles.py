"""Open files and listings, by the numbers that the kernel has for them."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

import pyfuse3

from memfs.mount.actors import Who
from memfs.mount.nodes import Directory, FileNode, VirtualFile


@dataclass(slots=True)
class FileHandle:
    """One open(2) of a file: whether it may write, at the end only, synchronously, and who opened it.

    ``pid`` is the thread that did; which program that was (``who``) is known of writers only.
    With O_SYNC the kernel asks for an fsync after every write(2). A save of several writes is one
    version all the same: such a handle is committed and synced at its close.
    """

    node: FileNode
    writes: bool
    appends: bool
    who: Who
    pid: int
    syncs: bool = False


@dataclass(slots=True)
class DirectoryHandle:
    """One listing, with the names that were there when it began or was rewound.

    It is not changed by what comes and goes meanwhile: a place in it stays the same place.
    """

    node: Directory
    names: list[bytes] = field(default_factory=list)


class Handles:
    """The open files and listings of one mount. Numbers are not used again."""

    def __init__(self) -> None:
        self._files: dict[int, FileHandle | VirtualFile] = {}
        self._directories: dict[int, DirectoryHandle] = {}
        self._next = 1

    def add_file(self, handle: FileHandle | VirtualFile) -> pyfuse3.FileHandleT:
        """Enter an open file."""
        number = self._next
        self._next += 1
        self._files[number] = handle
        return pyfuse3.FileHandleT(number)

    def add_directory(self, handle: DirectoryHandle) -> pyfuse3.FileHandleT:
        """Enter a listing."""
        number = self._next
        self._next += 1
        self._directories[number] = handle
        return pyfuse3.FileHandleT(number)

    @property
    def open_files(self) -> int:
        """How many files are open."""
        return len(self._files)

    def opener(self, number: int) -> int:
        """The thread that opened the file with this number; 0 where that is not known."""
        handle = self._files.get(number)
        return handle.pid if isinstance(handle, FileHandle) else 0

    def opened(self, number: int) -> FileHandle | VirtualFile:
        """The open file with this number; EBADF where there is none."""
        try:
            return self._files[number]
        except KeyError:
            raise pyfuse3.FUSEError(errno.EBADF) from None

    def file(self, number: int) -> FileHandle:
        """As :meth:`opened`, for what only a real file can be asked."""
        handle = self.opened(number)
        if isinstance(handle, VirtualFile):
            raise pyfuse3.FUSEError(errno.EROFS)
        return handle

    def directory(self, number: int) -> DirectoryHandle:
        """The listing with this number; EBADF where there is none."""
        try:
            return self._directories[number]
        except KeyError:
            raise pyfuse3.FUSEError(errno.EBADF) from None

    def remove_file(self, number: int) -> FileHandle | VirtualFile:
        """Take an open file out."""
        handle = self.opened(number)
        del self._files[number]
        return handle

    def remove_directory(self, number: int) -> DirectoryHandle:
        """Take a listing out."""
        handle = self.directory(number)
        del self._directories[number]
        return handle
