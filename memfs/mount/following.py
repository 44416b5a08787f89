"""Following the scope: what a commit does to the tree, and what the kernel has to be told of it.

The one place that changes the tree after commits, whoever made them. The tree is changed first,
the notice to the kernel comes after, and nobody here waits for it.
"""

from __future__ import annotations

import logging
import stat
import time
from collections.abc import Sequence
from typing import Any

import pyfuse3

from memfs.mount.events import Events
from memfs.mount.nodes import AnyNode, Directory, FileNode, Node, Parked
from memfs.mount.notices import Notices
from memfs.mount.tree import Tree
from memfs.port.buckets import ARCHIVE
from memfs.port.change import Actor, Change, Commit, File, Move, Put, Remove
from memfs.port.names import ROOT

log = logging.getLogger(__name__)


class Following:
    """Takes commits in, in version order, on the loop."""

    def __init__(self, tree: Tree, notices: Notices, events: Events) -> None:
        self._tree = tree
        self._notices = notices
        self._events = events
        self._writers: dict[int, tuple[int, Actor]] = {}

    def foreign_writer(self, file: File) -> Actor | None:
        """Who wrote this version of *file*, where it came from elsewhere while this mount was up."""
        version, actor = self._writers.get(file.id, (0, None))
        return actor if version == file.content else None

    def take_in(self, commit: Commit, own: Node | None = None) -> None:
        """Follow a change of the scope, and tell the kernel of what it does not know itself.

        *own* is the node whose request led to the commit: the kernel learns of that by the answer.
        """
        change, now_ns = commit.change, commit.origin.time_ns
        if change.policy is not None:
            self._follow_policy()
        for remove in change.removes:
            self._follow_remove(remove, own, now_ns)
            self._writers.pop(remove.file.id, None)
            if remove.evicted:
                self._tell_of_eviction(remove.file, None, commit)
        # What leaves for a directory of the archive may go to where that was, so it comes after.
        makes_room = _makes_room(change)
        leaving = [move for move in change.moves if makes_room and move.operation == "archived"]
        moves = [move for move in change.moves if not (makes_room and move.operation == "archived")]
        whole = self._destinations(change.directories, moves, own)
        for old_path, new_path in whole.items():
            self._follow_directory(old_path, new_path, own, now_ns)
        for move in moves:
            self._follow_move(move, own, now_ns)
        for old_path, new_path in whole.items():
            self._move_rest(old_path, new_path, now_ns)
        for move in leaving:
            self._follow_move(move, own, now_ns)
            self._tell_of_eviction(move.file, move.new_path, commit)
        for path in change.directories:
            if path not in whole:
                self._drop_directory(path, own, now_ns)
        for put in change.puts:
            if own is None:
                self._writers[put.id] = (commit.version, commit.origin.actor)
            self._follow_put(put, commit, own)

    def revert(self, node: FileNode) -> None:
        """Give up what is staged: the memory is what the store has, and a newborn was never there."""
        node.staged = None
        if node.file is not None:
            node.set_size(node.file.size)
            node.set_time(node.file.mtime_ns)
            self._notices.content(node.inode)
        elif node.parent is not None:
            parked = node.parent.parked.get(node.name)
            self._delete(node, True, node.attributes.st_ctime_ns)
            if parked is not None:
                self.bring_back(parked)

    def bring_back(self, parked: Parked) -> None:
        """The parked memory is visible again, if the store still has it."""
        self._tree.unpark(parked)
        file = self._tree.scope().file(self._tree.path_of_parked(parked))
        if file is not None and parked.name not in parked.directory.children:
            self._appear(file).attributes.st_mode = pyfuse3.ModeT(parked.mode)

    def take_place_of_same(self, scratch: FileNode, path: str) -> None:
        """The scratch file takes the place of the memory at *path*, whose bytes it has: no commit."""
        self._take_place(scratch, self._tree.find(path), path, time.time_ns())
        scratch.file = self._tree.scope().file(path)
        if scratch.file is not None:
            self._unpark_at(scratch.file)

    def _follow_policy(self) -> None:
        """The layout may have directories now that it did not have, and an archive or none."""
        for parent, name in self._tree.make_standing_directories():
            self._notices.entry(parent.inode, name)
            self._notices.attributes(parent.inode)
        archive = self._tree.find(ARCHIVE)
        if isinstance(archive, Directory):
            for node in self._tree.files_below(archive):
                if node.file is not None:
                    self._set_mode(node, node.file.path)

    def _set_mode(self, node: FileNode, path: str) -> None:
        node.attributes.st_mode = pyfuse3.ModeT(stat.S_IFREG | self._tree.mode_at(path))
        self._notices.attributes(node.inode)

    def _follow_remove(self, remove: Remove, own: Node | None, now_ns: int) -> None:
        node = self._tree.find(remove.file.path)
        if not isinstance(node, FileNode) or node.file is None:
            parked = self._parked(remove.file)
            if parked is not None:
                self._tree.unpark(parked)
                self._tree.note_if_empty(parked.directory)
            return
        if node is not own and node.has_pending:
            node.file = None  # somebody is writing it: the save makes it again where its editor has it
            node.exclusive = False
            return
        self._delete(node, node is not own, now_ns)

    def _destinations(
        self, directories: Sequence[str], moves: Sequence[Move], own: Node | None
    ) -> dict[str, str]:
        """Those of *directories* that were renamed as a whole, each with its new path.

        Where something in one is being written, each file goes by itself, and that one stays.
        """
        found = {}
        for directory in directories:
            places = {_new_path(directory, move) for move in moves if _is_below(move.file.path, directory)}
            if len(places) == 1 and (own is not None or not self._is_written_below(directory)):
                new_path = places.pop()
                if new_path is not None:
                    found[directory] = new_path
        return found

    def _follow_directory(self, path: str, new_path: str, own: Node | None, now_ns: int) -> None:
        node = self._tree.find(path)
        if isinstance(node, Directory) and self._tree.find(new_path) is None:
            self._rename(node, new_path, node is not own, now_ns)

    def _drop_directory(self, path: str, own: Node | None, now_ns: int) -> None:
        """Its memories have left: what this mount alone has in it goes too, but for files being written."""
        node = self._tree.find(path)
        if not isinstance(node, Directory) or node is self._tree.root:
            return
        if not any(file.has_pending or file.file is not None for file in self._tree.files_below(node)):
            self._delete(node, node is not own, now_ns)

    def _is_written_below(self, path: str) -> bool:
        node = self._tree.find(path)
        return isinstance(node, Directory) and any(map(_is_written, self._tree.files_below(node)))

    def _move_rest(self, old_path: str, new_path: str, now_ns: int) -> None:
        """What only this mount has below a directory that was renamed to where this mount had one too."""
        old, new = self._tree.find(old_path), self._tree.find(new_path)
        if not isinstance(old, Directory) or not isinstance(new, Directory):
            return
        for name, child in list(old.children.items()):
            if name not in new.children:
                self._rename(child, f"{new_path}/{name.decode('utf-8', 'surrogateescape')}", True, now_ns)
            elif isinstance(child, Directory):
                old_below, new_below = self._tree.path_of(child), self._tree.path_of(new.children[name])
                self._move_rest(old_below, new_below, now_ns)
        self._delete(old, True, now_ns)

    def _follow_move(self, move: Move, own: Node | None, now_ns: int) -> None:
        node = self._tree.find(move.new_path)
        if not isinstance(node, FileNode) or node.file is None or node.file.id != move.file.id:
            node = self._tree.find(move.file.path)
            if not isinstance(node, FileNode) or node.file is None:
                self._follow_move_of_parked(move)
                return
            evicted = move.operation == "archived" and node is not own
            if (own is None or evicted) and _is_written(node):
                # Somebody is writing it: the save makes it again where its editor has it.
                node.file, node.exclusive = None, False
                self._appear_by_id(move.file.id)
                return
            self._rename(node, move.new_path, node is not own, now_ns)
        assert node.file is not None
        node.file = node.file._replace(path=move.new_path)
        if move.operation != "renamed":
            self._set_mode(node, move.new_path)

    def _follow_move_of_parked(self, move: Move) -> None:
        for parked in self._tree.parked:
            if parked.file.id == move.file.id and self._tree.path_of_parked(parked) == move.new_path:
                parked.file = parked.file._replace(path=move.new_path)  # with its directory
                return
        if self._unpark_at(move.file):
            self._appear_by_id(move.file.id)

    def _follow_put(self, put: Put, commit: Commit, own: Node | None) -> None:
        mtime_ns = commit.origin.time_ns if put.mtime_ns is None else put.mtime_ns
        file = File(put.id, put.path, put.size, mtime_ns, commit.version)
        node = self._tree.find(put.path)
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
        was_parked = self._unpark_at(file)
        if node is not None and not isinstance(node, FileNode):
            self._delete(node, True, mtime_ns)  # an empty directory that only this mount knew
            node = None
        if node is None:
            self._appear(file)
            if was_parked:
                self._tell_of_return(file, commit.origin.actor)
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
        parent_path, _, name = path.rpartition("/")
        parent = self._tree.make_directories(parent_path)
        parked = parent.parked.get(name.encode())
        mode = scratch.attributes.st_mode
        if parked is not None:
            mode = pyfuse3.ModeT(parked.mode)
        elif isinstance(replaced, FileNode):
            mode = replaced.attributes.st_mode
        if mode != scratch.attributes.st_mode:
            scratch.attributes.st_mode = mode
            self._notices.attributes(scratch.inode)
        if replaced is not None:
            self._tree.remove(replaced, now_ns)
        self._tree.to_memory(scratch)
        self._tree.move(scratch, parent, name.encode(), now_ns)

    def _unpark_at(self, file: File) -> bool:
        """Something happened to *file* in the scope; whether it was parked here, which is over then."""
        parked = self._parked(file)
        if parked is not None:
            self._tree.unpark(parked)
        return parked is not None

    def _parked(self, file: File) -> Parked | None:
        return next((parked for parked in self._tree.parked if parked.file.id == file.id), None)

    def _appear_by_id(self, file_id: int) -> None:
        file = self._tree.scope().file_by_id(file_id)
        if file is not None and self._tree.find(file.path) is None:
            self._appear(file)

    def _appear(self, file: File) -> FileNode:
        """A memory that the kernel does not know yet."""
        node, parent, name = self._tree.enter(file)
        self._notices.entry(parent.inode, name)
        self._notices.attributes(parent.inode)
        return node

    def _delete(self, node: AnyNode, tell: bool, now_ns: int) -> None:
        parent, name = node.parent, node.name
        assert parent is not None
        if tell:
            self._tree.displace(node, now_ns)
        else:
            self._tree.remove(node, now_ns)
        self._tree.note_if_empty(parent)
        if tell:
            self._notices.removed(parent.inode, name, node.inode)
            self._notices.attributes(parent.inode)

    def _rename(self, node: AnyNode, new_path: str, tell: bool, now_ns: int) -> None:
        old_parent, old_name = node.parent, node.name
        assert old_parent is not None
        parent_path, _, name = new_path.rpartition("/")
        made: list[tuple[Directory, bytes]] = []
        parent = self._tree.make_directories(parent_path, made)
        key = name.encode("utf-8", "surrogateescape")
        in_the_way = parent.children.get(key)
        if in_the_way is not None and in_the_way is not node:
            self._delete(in_the_way, True, now_ns)
        self._tree.move(node, parent, key, now_ns)
        self._tree.note_if_empty(old_parent)
        if tell:
            if isinstance(node, FileNode):
                node.vanished = True
            self._notices.entry(old_parent.inode, old_name)
            self._notices.entry(parent.inode, node.name)
            self._notices.attributes(old_parent.inode)
            self._notices.attributes(parent.inode)
        for above, new_name in made[:1]:  # what the kernel has looked up there in vain, it may remember
            self._notices.entry(above.inode, new_name)
            self._notices.attributes(above.inode)

    def _tell_of_eviction(self, file: File, archived_at: str | None, commit: Commit) -> None:
        change = commit.change
        written = [put.path for put in change.puts]
        written += [move.new_path for move in change.moves if move.operation == "restored"]
        message = f"{file.path} left to make room for {written[0] if written else 'another memory'}: "
        message += "it was the earliest written."
        details: dict[str, Any] = {"version": commit.version}
        if archived_at is not None:
            message += f" It is {archived_at} now; moving it out of the archive brings it back."
            details["archived"] = archived_at
        self._events.record(
            "EVICTED",
            message,
            operation="evict",
            path=file.path,
            actor=commit.origin.actor,
            **details,
        )

    def _tell_of_return(self, file: File, actor: Actor) -> None:
        self._events.record(
            "RETURNED",
            f"{file.path} is back: another writer changed it while a save here had moved it away.",
            operation="rename",
            path=file.path,
            actor=actor,
        )


def _is_written(node: FileNode) -> bool:
    """Whether *node* has bytes of a program that are not on their way to the store yet."""
    return node.has_pending and node.staged is not None and not node.staged.saving


def _makes_room(change: Change) -> bool:
    """Whether *change* brings something that others may have to leave for."""
    return bool(change.puts) or any(move.operation == "restored" for move in change.moves)


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(f"{directory}/")


def _new_path(directory: str, move: Move) -> str | None:
    """Where *directory* is if *move*, of a file in it, was its rename as a whole; None if it was not."""
    rest = move.file.path[len(directory) :]
    new_path = move.new_path.removesuffix(rest)
    return new_path if new_path not in (move.new_path, ROOT) else None
