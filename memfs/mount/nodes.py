"""What the kernel holds an inode number for: a directory, a file, or a symbolic link."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from typing import TypeAlias

import pyfuse3

from memfs.mount.actors import NOBODY, Who
from memfs.mount.scratch_area import ScratchFile
from memfs.mount.staging import Staged
from memfs.port.change import File

CACHED_SECONDS = 6 * 3600
"""How long the kernel may keep an entry or attributes: every change from elsewhere is announced."""


class Node:
    """One inode. ``parent`` is None for the root, and for a node that has lost its name."""

    __slots__ = ("attributes", "inode", "lookups", "name", "opens", "parent")

    def __init__(self, inode: int, mode: int, owner: tuple[int, int], now_ns: int | None = None) -> None:
        self.inode = inode
        self.parent: Directory | None = None
        self.name = b""
        self.lookups = 0
        self.opens = 0
        attributes = self.attributes = pyfuse3.EntryAttributes()
        attributes.st_ino = pyfuse3.InodeT(inode)
        attributes.st_mode = pyfuse3.ModeT(mode)
        attributes.st_uid, attributes.st_gid = owner
        attributes.entry_timeout = attributes.attr_timeout = CACHED_SECONDS
        self.set_time(time.time_ns() if now_ns is None else now_ns)

    @property
    def is_gone(self) -> bool:
        """Whether the node has no name any more: it lives on while it is open."""
        return self.parent is None

    def set_size(self, size: int) -> None:
        """The size that stat shows."""
        attributes = self.attributes
        attributes.st_size = size
        attributes.st_blocks = (size + 511) >> 9

    def set_time(self, now_ns: int) -> None:
        """All three times at once: the time of a write, or of a creation."""
        attributes = self.attributes
        attributes.st_mtime_ns = attributes.st_ctime_ns = attributes.st_atime_ns = now_ns


class Directory(Node):
    """A directory; it stays when its last file leaves."""

    __slots__ = ("children", "is_scratch", "parked")

    def __init__(self, inode: int, mode: int, owner: tuple[int, int], is_scratch: bool = False) -> None:
        super().__init__(inode, stat.S_IFDIR | mode, owner)
        self.children: dict[bytes, AnyNode] = {}
        self.parked: dict[bytes, Parked] = {}
        self.is_scratch = is_scratch
        self.attributes.st_nlink = 2

    @property
    def holds_scratch(self) -> bool:
        """Whether everything in it is scratch: for its own name, or that of one above it."""
        at: Directory | None = self
        while at is not None:  # not recursive: a tree may be as deep as a path is long
            if at.is_scratch:
                return True
            at = at.parent
        return False


class Parked:
    """A memory whose name a save has moved to a scratch name: the store has it where it was.

    It is resumed by a new file at that name (``heir``, while that is not committed), deleted when
    ``deadline`` (of the monotonic clock) has passed without one, and back after a crash.
    """

    __slots__ = ("deadline", "directory", "file", "heir", "mode", "name", "who")

    def __init__(
        self, file: File, mode: int, directory: Directory, name: bytes, who: Who, deadline: float
    ) -> None:
        self.file = file
        self.mode = mode
        self.directory = directory
        self.name = name
        self.who = who
        self.deadline = deadline
        self.heir: FileNode | None = None


class FileNode(Node):
    """A regular file: a memory, one that is about to become one, or a scratch file.

    ``file`` is the memory's metadata in the scope, None for a scratch file and for a newborn that
    no commit has stored yet; ``scratch`` has the bytes of a scratch file. ``content`` is pinned while
    the file is open, None where the store has newer bytes. ``exclusive`` marks a newborn whose
    creator was promised that the name was free. ``writer`` is who opened it for writing last.
    """

    __slots__ = ("content", "exclusive", "file", "scratch", "staged", "vanished", "writer", "writers")

    def __init__(self, inode: int, mode: int, owner: tuple[int, int], now_ns: int | None = None) -> None:
        super().__init__(inode, stat.S_IFREG | mode, owner, now_ns)
        self.file: File | None = None
        self.content: bytes | None = None
        self.staged: Staged | None = None
        self.writers = 0
        self.exclusive = False
        self.scratch: ScratchFile | None = None
        self.writer: Who = NOBODY
        self.vanished = False
        """Its name was taken away or changed, and not by a request: the kernel may still lead programs here
        by that name, until it looks the node up."""

    @property
    def is_scratch(self) -> bool:
        """Whether the file never reaches the store."""
        return self.scratch is not None

    @property
    def has_pending(self) -> bool:
        """Whether there is anything that a commit would store, or is about to."""
        staged = self.staged
        return staged is not None and (staged.pending or staged.saving) and self.scratch is None


class LinkNode(Node):
    """A symbolic link of an editor, in scratch only; its target is opaque."""

    __slots__ = ("target",)

    def __init__(self, inode: int, target: bytes, owner: tuple[int, int]) -> None:
        super().__init__(inode, stat.S_IFLNK | 0o777, owner)
        self.target = target
        self.attributes.st_size = len(target)


class VirtualFile(Node):
    """A read-only file below ``.memfs``, whose bytes are made when somebody asks.

    ``size`` and ``read`` (offset, size) may answer differently each time; the kernel keeps nothing.
    """

    __slots__ = ("read", "size")

    def __init__(
        self,
        inode: int,
        owner: tuple[int, int],
        size: Callable[[], int],
        read: Callable[[int, int], bytes],
        now_ns: int | None = None,
    ) -> None:
        super().__init__(inode, stat.S_IFREG | 0o444, owner, now_ns)
        self.size = size
        self.read = read
        self.attributes.entry_timeout = self.attributes.attr_timeout = 0

    def refresh(self) -> None:
        """Have the attributes say what is true now."""
        self.set_size(self.size())


class VirtualDirectory(Directory):
    """A read-only directory below ``.memfs``; ``fill`` brings its children up to date."""

    __slots__ = ("fill",)

    def __init__(self, inode: int, owner: tuple[int, int]) -> None:
        super().__init__(inode, 0o555, owner)
        self.fill: Callable[[], None] | None = None
        self.attributes.entry_timeout = self.attributes.attr_timeout = 0


AnyNode: TypeAlias = Directory | FileNode | LinkNode | VirtualFile
