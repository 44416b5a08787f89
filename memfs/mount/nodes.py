"""What the kernel holds an inode number for: a directory, a file, or a symbolic link."""

from __future__ import annotations

import stat
import time
from typing import TypeAlias

import pyfuse3

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

    @property
    def in_scratch(self) -> bool:
        """Whether the node lies in a scratch directory, at any depth."""
        return self.parent is not None and self.parent.holds_scratch

    def set_time(self, now_ns: int) -> None:
        """All three times at once: the time of a write, or of a creation."""
        attributes = self.attributes
        attributes.st_mtime_ns = attributes.st_ctime_ns = attributes.st_atime_ns = now_ns


class Directory(Node):
    """A directory; it stays when its last file leaves."""

    __slots__ = ("children", "is_scratch")

    def __init__(self, inode: int, mode: int, owner: tuple[int, int], is_scratch: bool = False) -> None:
        super().__init__(inode, stat.S_IFDIR | mode, owner)
        self.children: dict[bytes, AnyNode] = {}
        self.is_scratch = is_scratch
        self.attributes.st_nlink = 2

    @property
    def holds_scratch(self) -> bool:
        """Whether everything in it is scratch: for its own name, or that of one above it."""
        return self.is_scratch or self.in_scratch


class FileNode(Node):
    """A regular file: a memory, one that is about to become one, or a scratch file.

    ``file`` is the memory's metadata in the scope, None for a scratch file and for a newborn that
    no commit has stored yet. ``content`` is pinned while the file is open, None where the store has
    newer bytes. ``exclusive`` marks a newborn whose creator was promised that the name was free.
    """

    __slots__ = ("content", "exclusive", "file", "is_scratch", "last_pid", "staged", "vanished", "writers")

    def __init__(self, inode: int, mode: int, owner: tuple[int, int], now_ns: int | None = None) -> None:
        super().__init__(inode, stat.S_IFREG | mode, owner, now_ns)
        self.file: File | None = None
        self.content: bytes | None = None
        self.staged: Staged | None = None
        self.writers = 0
        self.exclusive = False
        self.is_scratch = False
        self.last_pid = 0
        self.vanished = False
        """Its name was taken away, and not by a request: the kernel may still lead programs here."""

    def set_size(self, size: int) -> None:
        """The size that stat shows."""
        attributes = self.attributes
        attributes.st_size = size
        attributes.st_blocks = (size + 511) >> 9

    @property
    def has_pending(self) -> bool:
        """Whether there is anything that a commit would store, or is about to."""
        staged = self.staged
        return staged is not None and (staged.pending or staged.saving) and not self.is_scratch


class LinkNode(Node):
    """A symbolic link of an editor, in scratch only; its target is opaque."""

    __slots__ = ("target",)

    def __init__(self, inode: int, target: bytes, owner: tuple[int, int]) -> None:
        super().__init__(inode, stat.S_IFLNK | 0o777, owner)
        self.target = target
        self.attributes.st_size = len(target)


AnyNode: TypeAlias = Directory | FileNode | LinkNode
