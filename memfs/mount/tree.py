"""The tree as the kernel knows it: every directory and file of the scope, and what only the mount has.

It mirrors the scope: ``following`` changes it after commits, whoever made them. What the mount has
on its own (newborn files, directories without files, scratch, parked names) is changed by the
handlers, and kept over a restart by ``local``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from memfs.mount.local import Entry, Local
from memfs.mount.nodes import AnyNode, Directory, FileNode, LinkNode, Parked
from memfs.mount.scratch import is_scratch_directory
from memfs.mount.scratch_area import ScratchArea, ScratchFile
from memfs.port.buckets import is_archived, standing_directories
from memfs.port.change import File
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import ROOT
from memfs.port.scope import Scope

N = TypeVar("N", bound=AnyNode)
ROOT_INODE = 1


class Tree:
    """Nodes by inode and by path."""

    def __init__(self, scope: Callable[[], Scope], local: Local, area: ScratchArea, umask: int) -> None:
        """*scope* gives the memory's newest state, *umask* the bits that no mode has."""
        self.scope = scope
        self.owner = (os.getuid(), os.getgid())
        self._file_mode = 0o666 & ~umask
        self._archived_mode = 0o444 & ~umask
        self.directory_mode = 0o777 & ~umask
        self.by_inode: dict[int, AnyNode] = {}
        self._next_inode = ROOT_INODE
        self._local = local
        self.parked: list[Parked] = []
        self.root = self._keep(Directory(self.new_inode(), self.directory_mode, self.owner))
        self.make_standing_directories()
        for file in scope().in_write_order():
            self.enter(file)
        self._restore(area)

    def new_inode(self) -> int:
        """A number that no node of this mount has had."""
        inode = self._next_inode
        self._next_inode += 1
        return inode

    def path_of(self, node: AnyNode) -> str:
        """The path that the port knows for *node*, which has a name."""
        names: list[bytes] = []
        at: AnyNode | None = node
        while at is not None and at is not self.root:
            names.append(at.name)
            at = at.parent
        return "/".join([ROOT, *(name.decode("utf-8", "surrogateescape") for name in reversed(names))])

    def find(self, path: str) -> AnyNode | None:
        """The node at a path of the port, or None."""
        node: AnyNode = self.root
        for name in _segments(path):
            if not isinstance(node, Directory):
                return None
            child = node.children.get(_encoded(name))
            if child is None:
                return None
            node = child
        return node

    def new_file(self, mode: int | None = None, now_ns: int | None = None) -> FileNode:
        """A file node without a name yet."""
        return self._keep(
            FileNode(self.new_inode(), self._file_mode if mode is None else mode, self.owner, now_ns)
        )

    def new_directory(self, mode: int | None = None, is_scratch: bool = False) -> Directory:
        """A directory node without a name yet."""
        return self._keep(
            Directory(self.new_inode(), self.directory_mode if mode is None else mode, self.owner, is_scratch)
        )

    def new_link(self, target: bytes) -> LinkNode:
        """A link node without a name yet."""
        return self._keep(LinkNode(self.new_inode(), target, self.owner))

    def attach(self, node: AnyNode, parent: Directory, name: bytes) -> None:
        """Give *node*, which has none, the free name *name* in *parent*."""
        parent.children[name] = node
        node.parent, node.name = parent, name
        if isinstance(node, Directory):
            parent.attributes.st_nlink += 1
        parent.set_time(max(node.attributes.st_ctime_ns, parent.attributes.st_ctime_ns))

    def detach(self, node: AnyNode, now_ns: int) -> None:
        """Take the name of *node* away."""
        parent = node.parent
        assert parent is not None, "only a node with a name is detached"
        del parent.children[node.name]
        parked = parent.parked.get(node.name)
        if parked is not None and parked.heir is node:
            parked.heir = None
        if isinstance(node, Directory):
            parent.attributes.st_nlink -= 1
        parent.set_time(now_ns)
        node.parent = None

    def remove(self, node: AnyNode, now_ns: int) -> None:
        """*node* is deleted, with what is below it; it lives on while the kernel holds it."""
        if isinstance(node, Directory):
            for child in list(node.children.values()):
                self.displace(child, now_ns)
            for parked in list(node.parked.values()):
                self.unpark(parked)
        self._local.discard(self.path_of(node))
        if isinstance(node, FileNode) and node.scratch is not None:
            node.scratch.drop()
        self.detach(node, now_ns)
        node.attributes.st_nlink = 0
        node.attributes.st_ctime_ns = now_ns
        self.forget_if_unused(node)

    def displace(self, node: AnyNode, now_ns: int) -> None:
        """As :meth:`remove`, by somebody else: whoever is writing it is told when closing it."""
        if isinstance(node, FileNode):
            node.vanished = True
            if node.staged is not None and node.has_pending:
                path = self.path_of(node)
                error = PortError(
                    ErrorCode.PATH_CONFLICT,
                    f"{path} could not be saved: another writer took its place.",
                    path,
                )
                node.staged.poisoned(errno.EEXIST, error)
        self.remove(node, now_ns)

    def move(self, node: AnyNode, parent: Directory, name: bytes, now_ns: int) -> None:
        """Give *node* another name, with what is below it."""
        old_path = self.path_of(node)
        self.detach(node, now_ns)
        self.attach(node, parent, name)
        node.attributes.st_ctime_ns = now_ns
        self._local.move(old_path, self.path_of(node))
        if isinstance(node, Directory):
            self._local.move_below(old_path, self.path_of(node))

    def note_if_empty(self, directory: Directory) -> None:
        """Remember *directory*, and those above it, if no file of the port lies below: it stays."""
        at: Directory | None = directory
        while at is not None and at is not self.root and not at.is_gone:
            path = self.path_of(at)
            if self.scope().is_directory(path) or self._local.get(path) is not None:
                return  # with what is above it
            self._local.put(path, Entry("directory"))
            at = at.parent

    def note_scratch(self, node: FileNode | LinkNode | Directory) -> None:
        """Remember a scratch file, link or directory that has just got its name."""
        mode, made_ns = node.attributes.st_mode & 0o7777, node.attributes.st_ctime_ns
        if isinstance(node, LinkNode):
            entry = Entry("link", mode, node.target.decode("utf-8", "surrogateescape"), made_ns)
        elif isinstance(node, FileNode):
            assert node.scratch is not None
            entry = Entry("file", mode, node.scratch.name, made_ns)
        else:
            entry = Entry("directory", mode, "", made_ns)
        self._local.put(self.path_of(node), entry)

    def to_memory(self, node: FileNode) -> None:
        """A scratch file has become a memory: what it was before is forgotten."""
        if node.scratch is not None:
            self._local.discard(self.path_of(node))
            node.scratch.drop()
            node.scratch = None

    def to_scratch(self, node: FileNode, scratch: ScratchFile, parent: Directory, name: bytes) -> None:
        """A memory has become the scratch file *name*; the scope is not asked."""
        node.file = node.content = None
        node.scratch = scratch
        self.detach(node, node.attributes.st_ctime_ns)
        self.attach(node, parent, name)
        self.note_scratch(node)

    def note_mode(self, node: FileNode | LinkNode) -> None:
        """Remember the mode of a scratch file; a memory's is the mount's only while it is up."""
        path = self.path_of(node)
        entry = self._local.get(path)
        if entry is not None:
            self._local.put(path, entry._replace(mode=node.attributes.st_mode & 0o7777))

    def resume(self, node: FileNode) -> None:
        """A newborn has taken a name: where that is parked, it carries the memory on."""
        parked = node.parent.parked.get(node.name) if node.parent is not None else None
        if parked is not None:
            parked.heir = node
            node.exclusive = False

    def is_waiting_heir(self, node: FileNode) -> bool:
        """Whether *node* has a parked memory's name, and no commit of it is under way."""
        parked = node.parent.parked.get(node.name) if node.parent is not None else None
        return parked is not None and parked.heir is node and not (node.staged and node.staged.saving)

    def park(self, parked: Parked) -> None:
        """Hide a memory whose name a save has moved away."""
        parked.directory.parked[parked.name] = parked
        self.parked.append(parked)

    def unpark(self, parked: Parked) -> None:
        """The parked memory has been resumed, deleted, or is back."""
        if parked in self.parked:
            self.parked.remove(parked)
            del parked.directory.parked[parked.name]

    def path_of_parked(self, parked: Parked) -> str:
        """Where the store has the parked memory, also when a directory above has another name by now."""
        return f"{self.path_of(parked.directory)}/{parked.name.decode()}"

    def forget_if_unused(self, node: AnyNode) -> None:
        """Drop a node that has neither name nor user."""
        if node.is_gone and node is not self.root and not node.lookups and not node.opens:
            self.by_inode.pop(node.inode, None)

    def longest_path_below(self, directory: Directory) -> int:
        """The characters of the longest path in *directory*, at any depth."""
        longest = 0
        directories = [(directory, len(self.path_of(directory)))]
        while directories:
            at, length = directories.pop()
            longest = max(longest, length)
            for name, child in at.children.items():
                if isinstance(child, Directory):
                    directories.append((child, length + 1 + len(name)))
                else:
                    longest = max(longest, length + 1 + len(name))
        return longest

    def files_below(self, directory: Directory) -> Iterator[FileNode]:
        """Every file node below *directory*, at any depth."""
        directories = [directory]
        while directories:
            for child in directories.pop().children.values():
                if isinstance(child, Directory):
                    directories.append(child)
                elif isinstance(child, FileNode):
                    yield child

    def scratch(self) -> list[tuple[FileNode | LinkNode | Directory, int]]:
        """All scratch, what a directory holds before it, each with the time of its last write."""
        found: list[tuple[FileNode | LinkNode | Directory, int]] = []
        for path, entry in self._local:
            node = self.find(path)
            if isinstance(node, FileNode) and node.scratch is not None:
                found.append((node, node.scratch.written_ns))
            elif isinstance(node, LinkNode) or (isinstance(node, Directory) and node.holds_scratch):
                found.append((node, entry.made_ns))
        return found[::-1]

    def _restore(self, area: ScratchArea) -> None:
        """Put back what an earlier mount left: directories without files, and scratch."""
        known: set[str] = set()
        for path, entry in list(self._local):
            if self.find(path) is not None or self.scope().file_above(path) is not None:
                if entry.kind != "directory" or isinstance(self.find(path), FileNode):
                    self._local.discard(path)  # a memory has taken the place while the mount was down
                continue
            scratch = area.open(entry.data) if entry.kind == "file" else None
            if entry.kind == "file" and scratch is None:
                self._local.discard(path)
                continue
            parent_path, _, name = path.rpartition("/")
            parent = self.make_directories(parent_path)
            node: AnyNode
            if scratch is not None:
                node = self.new_file(entry.mode, scratch.written_ns)
                node.scratch = scratch
                node.set_size(scratch.size)
                known.add(scratch.name)
            elif entry.kind == "link":
                node = self.new_link(entry.data.encode("utf-8", "surrogateescape"))
            else:
                node = self.new_directory(is_scratch=is_scratch_directory(name))
            self.attach(node, parent, _encoded(name))
        area.drop_unknown(known)

    def enter(self, file: File) -> tuple[FileNode, Directory, bytes]:
        """Make the node of a memory, and say under which directory and name the kernel finds it newly."""
        parent_path, _, name = file.path.rpartition("/")
        top: list[tuple[Directory, bytes]] = []
        parent = self.make_directories(parent_path, top)
        in_the_way = parent.children.get(name.encode())
        if in_the_way is not None:
            self.remove(in_the_way, file.mtime_ns)
        node = self.new_file(self.mode_at(file.path), file.mtime_ns)
        node.file = file
        node.set_size(file.size)
        self.attach(node, parent, name.encode())
        told_parent, told_name = top[0] if top else (parent, node.name)
        return node, told_parent, told_name

    def mode_at(self, path: str) -> int:
        """The mode that a memory has at *path*, as long as nobody changes it: in the archive, none writes."""
        return self._archived_mode if is_archived(path, self.scope().policy) else self._file_mode

    def make_standing_directories(self) -> list[tuple[Directory, bytes]]:
        """Have the directories that the layout has always; what was made, as ``make_directories`` says it."""
        made: list[tuple[Directory, bytes]] = []
        for path in standing_directories(self.scope().policy.layout):
            self.make_directories(path, made)
        return made

    def make_directories(self, path: str, made: list[tuple[Directory, bytes]] | None = None) -> Directory:
        """The directory at *path*, made with its parents where missing; *made* gets what was new."""
        at = self.root
        for name in _segments(path):
            child = at.children.get(_encoded(name))
            if not isinstance(child, Directory):
                if child is not None:
                    self.displace(child, child.attributes.st_mtime_ns)
                child = self.new_directory(is_scratch=is_scratch_directory(name))
                self.attach(child, at, _encoded(name))
                if made is not None:
                    made.append((at, child.name))
            at = child
        return at

    def _keep(self, node: N) -> N:
        self.by_inode[node.inode] = node
        return node


def _segments(path: str) -> list[str]:
    """The names that lead from the root to *path*."""
    return path[len(ROOT) + 1 :].split("/") if path != ROOT else []


def _encoded(name: str) -> bytes:
    """A name as the kernel has it: scratch may have one that is no UTF-8."""
    return name.encode("utf-8", "surrogateescape")
