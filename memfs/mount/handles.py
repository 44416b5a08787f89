"""Open files and listings, by the numbers that the kernel has for them."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field

import pyfuse3

from memfs.mount.nodes import Directory, FileNode


@dataclass(slots=True)
class FileHandle:
    """One open(2) of a file: whether it may write, at the end only, and which process it was."""

    node: FileNode
    writes: bool
    appends: bool
    pid: int


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
        self._files: dict[int, FileHandle] = {}
        self._directories: dict[int, DirectoryHandle] = {}
        self._next = 1

    def add_file(self, handle: FileHandle) -> pyfuse3.FileHandleT:
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

    def file(self, number: int) -> FileHandle:
        """The open file with this number; EBADF where there is none."""
        try:
            return self._files[number]
        except KeyError:
            raise pyfuse3.FUSEError(errno.EBADF) from None

    def directory(self, number: int) -> DirectoryHandle:
        """The listing with this number; EBADF where there is none."""
        try:
            return self._directories[number]
        except KeyError:
            raise pyfuse3.FUSEError(errno.EBADF) from None

    def remove_file(self, number: int) -> FileHandle:
        """Take an open file out."""
        handle = self.file(number)
        del self._files[number]
        return handle

    def remove_directory(self, number: int) -> DirectoryHandle:
        """Take a listing out."""
        handle = self.directory(number)
        del self._directories[number]
        return handle
