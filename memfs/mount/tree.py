"""The tree as the kernel knows it: every directory and file of the scope, and what only the mount has.

It mirrors the scope. Commits change it in one place, :meth:`Tree.take_in`, whoever made them; what
the mount has on its own (newborn files, empty directories, scratch) is changed by the handlers.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from memfs.mount.empty import EmptyDirectories
from memfs.mount.nodes import AnyNode, Directory, FileNode, LinkNode, Node
from memfs.mount.notices import Notices
from memfs.mount.scratch import is_scratch_directory
from memfs.port.change import Commit, File, Move, Put, Remove
from memfs.port.names import ROOT
from memfs.port.scope import Scope

N = TypeVar("N", bound=AnyNode)
ROOT_INODE = 1


class Tree:
    """Nodes by inode and by path."""

    def __init__(
        self, scope: Callable[[], Scope], empty: EmptyDirectories, notices: Notices, umask: int
    ) -> None:
        """*scope* gives the memory's newest state, *umask* the bits that no mode has."""
        self._scope = scope
        self.owner = (os.getuid(), os.getgid())
        self.file_mode = 0o666 & ~umask
        self.directory_mode = 0o777 & ~umask
        self.by_inode: dict[int, AnyNode] = {}
        self._next_inode = ROOT_INODE
        self._empty = empty
        self._notices = notices
        self.root = self._keep(Directory(self.new_inode(), self.directory_mode, self.owner))
        for file in scope().in_write_order():
            self._enter(file)
        for path in sorted(empty.paths):
            if scope().file(path) is None and scope().file_above(path) is None:
                self._make_directories(path)
            else:
                empty.discard(path)  # while this mount was down, a file has taken the place

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
        for name in path[len(ROOT) + 1 :].split("/") if path != ROOT else ():
            if not isinstance(node, Directory):
                return None
            child = node.children.get(name.encode())
            if child is None:
                return None
            node = child
        return node

    def new_file(self, mode: int | None = None, now_ns: int | None = None) -> FileNode:
        """A file node without a name yet."""
        return self._keep(
            FileNode(self.new_inode(), self.file_mode if mode is None else mode, self.owner, now_ns)
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
        if isinstance(node, Directory):
            parent.attributes.st_nlink -= 1
        parent.set_time(now_ns)
        node.parent = None

    def remove(self, node: AnyNode, now_ns: int) -> None:
        """*node* is deleted, with what is below it; it lives on while the kernel holds it."""
        if isinstance(node, Directory):
            self._empty.discard(self.path_of(node))
            for child in list(node.children.values()):
                self._displace(child, now_ns)
        self.detach(node, now_ns)
        node.attributes.st_nlink = 0
        node.attributes.st_ctime_ns = now_ns
        self.forget_if_unused(node)

    def move(self, node: AnyNode, parent: Directory, name: bytes, now_ns: int) -> None:
        """Give *node* another name, with what is below it."""
        old_path = self.path_of(node)
        self.detach(node, now_ns)
        self.attach(node, parent, name)
        node.attributes.st_ctime_ns = now_ns
        if isinstance(node, Directory):
            self._empty.move(old_path, self.path_of(node))

    def revert(self, node: FileNode) -> None:
        """Give up what is staged: the memory is what the store has, and a newborn was never there."""
        node.staged = None
        if node.file is not None:
            node.set_size(node.file.size)
            node.set_time(node.file.mtime_ns)
            self._notices.content(node.inode)
        elif not node.is_gone:
            self._delete(node, True, node.attributes.st_ctime_ns)

    def replace_with_same(self, scratch: FileNode, path: str) -> None:
        """The scratch file takes the place of the memory at *path*, whose bytes it has."""
        replaced = self.find(path)
        assert isinstance(replaced, FileNode), "the scope has the file"
        scratch.file = replaced.file
        scratch.exclusive = False
        self._take_place(scratch, replaced, path, time.time_ns())

    def note_if_empty(self, directory: Directory) -> None:
        """Remember *directory*, and those above it, if no file of the port lies below: it stays."""
        at: Directory | None = directory
        while at is not None and at is not self.root and not at.is_gone:
            path = self.path_of(at)
            if self._scope().is_directory(path):
                return
            if not at.holds_scratch:
                self._empty.add(path)
            at = at.parent

    def forget_if_unused(self, node: AnyNode) -> None:
        """Drop a node that has neither name nor user."""
        if node.is_gone and node is not self.root and not node.lookups and not node.opens:
            self.by_inode.pop(node.inode, None)

    def files_below(self, directory: Directory) -> Iterator[FileNode]:
        """Every file node below *directory*, at any depth."""
        directories = [directory]
        while directories:
            for child in directories.pop().children.values():
                if isinstance(child, Directory):
                    directories.append(child)
                elif isinstance(child, FileNode):
                    yield child

    def take_in(self, commit: Commit, own: Node | None = None) -> None:
        """Follow a change of the scope, and tell the kernel of what it does not know itself.

        *own* is the node whose request led to the commit: the kernel learns of that by the answer.
        """
        change, now_ns = commit.change, commit.origin.time_ns
        for remove in change.removes:
            self._follow_remove(remove, own, now_ns)
        if change.directory is not None:
            self._follow_directory(change.directory, change.moves, own, now_ns)
        for move in change.moves:
            self._follow_move(move, own, now_ns)
        if change.directory is not None and change.moves:
            self._move_rest(change.directory, _new_path(change.directory, change.moves[0]), now_ns)
        for put in change.puts:
            self._follow_put(put, commit, own)

    def _follow_remove(self, remove: Remove, own: Node | None, now_ns: int) -> None:
        node = self.find(remove.file.path)
        if not isinstance(node, FileNode) or node.file is None:
            return
        if node is not own and node.has_pending:
            node.file = None  # somebody is writing it: the save makes it again where its editor has it
            node.exclusive = False
            return
        self._delete(node, node is not own, now_ns)

    def _follow_directory(self, path: str, moves: tuple[Move, ...], own: Node | None, now_ns: int) -> None:
        node = self.find(path)
        if not isinstance(node, Directory) or node is self.root:
            return
        if not moves:
            # Deleted as a whole: what this mount alone had in it goes too, but for files being written.
            if not any(file.has_pending for file in self.files_below(node)):
                self._delete(node, node is not own, now_ns)
            return
        new_path = _new_path(path, moves[0])
        if self.find(new_path) is None:
            self._rename(node, new_path, node is not own, now_ns)

    def _move_rest(self, old_path: str, new_path: str, now_ns: int) -> None:
        """What only this mount has below a directory that was renamed to where this mount had one too."""
        old, new = self.find(old_path), self.find(new_path)
        if not isinstance(old, Directory) or not isinstance(new, Directory):
            return
        for name, child in list(old.children.items()):
            if name not in new.children:
                self._rename(child, f"{new_path}/{name.decode('utf-8', 'surrogateescape')}", True, now_ns)
            elif isinstance(child, Directory):
                self._move_rest(self.path_of(child), self.path_of(new.children[name]), now_ns)
        self._delete(old, True, now_ns)

    def _follow_move(self, move: Move, own: Node | None, now_ns: int) -> None:
        node = self.find(move.new_path)
        if not isinstance(node, FileNode) or node.file is None or node.file.id != move.file.id:
            node = self.find(move.file.path)
            if not isinstance(node, FileNode) or node.file is None:
                return
            self._rename(node, move.new_path, node is not own, now_ns)
        assert node.file is not None
        node.file = node.file._replace(path=move.new_path)

    def _follow_put(self, put: Put, commit: Commit, own: Node | None) -> None:
        mtime_ns = commit.origin.time_ns if put.mtime_ns is None else put.mtime_ns
        file = File(put.id, put.path, put.size, mtime_ns, commit.version)
        node = self.find(put.path)
        if isinstance(own, FileNode) and own.is_scratch and not own.is_gone:
            self._take_place(own, node, put.path, commit.origin.time_ns)
            node = own
        elif isinstance(own, FileNode) and node is not own and not own.is_gone:
            self._rename(own, put.path, True, commit.origin.time_ns)  # its directory was renamed meanwhile
            node = own
        if isinstance(node, FileNode) and node is not own and node.exclusive and node.file is None:
            # Its creator was promised that the name was free.
            self._delete(node, True, mtime_ns)
            node = None
        if node is not None and not isinstance(node, FileNode):
            self._delete(node, True, mtime_ns)  # an empty directory that only this mount knew
            node = None
        if node is None:
            node, parent, name = self._enter(file)
            self._notices.entry(parent.inode, name)
            self._notices.attributes(parent.inode)
            return
        node.file = file
        node.exclusive = False
        if node is own:
            return
        node.content = put.content
        if node.has_pending or (node.staged is not None and node.staged.poison):
            return
        node.staged = None
        node.set_size(put.size)
        node.set_time(mtime_ns)
        if node.lookups:
            self._notices.content(node.inode)

    def _take_place(self, scratch: FileNode, replaced: AnyNode | None, path: str, now_ns: int) -> None:
        """A scratch file has become the memory at *path*: with its own inode, as on ext4.

        The mode is the memory's, also where the editor gave its temporary file another.
        """
        old_parent = scratch.parent
        assert old_parent is not None
        if isinstance(replaced, FileNode):
            scratch.attributes.st_mode = replaced.attributes.st_mode
            self._notices.attributes(scratch.inode)
        if replaced is not None:
            self.remove(replaced, now_ns)
        parent_path, _, name = path.rpartition("/")
        self.move(scratch, self._make_directories(parent_path), name.encode(), now_ns)
        scratch.is_scratch = False

    def _delete(self, node: AnyNode, tell: bool, now_ns: int) -> None:
        parent, name = node.parent, node.name
        assert parent is not None
        if tell:
            self._displace(node, now_ns)
        else:
            self.remove(node, now_ns)
        self.note_if_empty(parent)
        if tell:
            self._notices.removed(parent.inode, name, node.inode)
            self._notices.attributes(parent.inode)

    def _displace(self, node: AnyNode, now_ns: int) -> None:
        """As :meth:`remove`, by somebody else: whoever is writing it is told when closing it."""
        if isinstance(node, FileNode):
            node.vanished = True
            if node.has_pending:
                assert node.staged is not None
                node.staged.poisoned(errno.EEXIST)
        self.remove(node, now_ns)

    def _rename(self, node: AnyNode, new_path: str, tell: bool, now_ns: int) -> None:
        old_parent, old_name = node.parent, node.name
        assert old_parent is not None
        parent_path, _, name = new_path.rpartition("/")
        parent = self._make_directories(parent_path)
        in_the_way = parent.children.get(name.encode())
        if in_the_way is not None and in_the_way is not node:
            self._delete(in_the_way, True, now_ns)
        self.move(node, parent, name.encode(), now_ns)
        self.note_if_empty(old_parent)
        if tell:
            self._notices.entry(old_parent.inode, old_name)
            self._notices.entry(parent.inode, node.name)
            self._notices.attributes(old_parent.inode)
            self._notices.attributes(parent.inode)

    def _enter(self, file: File) -> tuple[FileNode, Directory, bytes]:
        """Make the node of a memory, and say under which directory and name the kernel finds it newly."""
        parent_path, _, name = file.path.rpartition("/")
        top: list[tuple[Directory, bytes]] = []
        parent = self._make_directories(parent_path, top)
        in_the_way = parent.children.get(name.encode())
        if in_the_way is not None:
            self.remove(in_the_way, file.mtime_ns)
        node = self.new_file(now_ns=file.mtime_ns)
        node.file = file
        node.set_size(file.size)
        self.attach(node, parent, name.encode())
        told_parent, told_name = top[0] if top else (parent, node.name)
        return node, told_parent, told_name

    def _make_directories(self, path: str, made: list[tuple[Directory, bytes]] | None = None) -> Directory:
        """The directory at *path*, made with its parents where missing; *made* gets what was new."""
        at = self.root
        for name in path[len(ROOT) + 1 :].split("/") if path != ROOT else ():
            child = at.children.get(name.encode())
            if not isinstance(child, Directory):
                if child is not None:
                    self._displace(child, child.attributes.st_mtime_ns)
                child = self.new_directory(is_scratch=is_scratch_directory(name))
                self.attach(child, at, name.encode())
                if made is not None:
                    made.append((at, child.name))
            at = child
        return at

    def _keep(self, node: N) -> N:
        self.by_inode[node.inode] = node
        return node


def _new_path(directory: str, first: Move) -> str:
    """Where *directory* is after it was renamed as a whole, from the move of the first file in it."""
    return first.new_path[: len(first.new_path) - len(first.file.path) + len(directory)]
