"""The rename table: what a new name means, by what moves and where to.

===================  ========================  ===============================================
from, to             absent                    exists
===================  ========================  ===============================================
scratch, memory      create, or resume parked  replace: the memory keeps its id and mode
memory, memory       rename                    EEXIST: a rename never overwrites
memory, scratch      park                      park; the scratch file there goes
scratch, scratch     rename                    replace
directories          rename                    EEXIST
===================  ========================  ===============================================
"""

from __future__ import annotations

import errno
import time

import trio
from pyfuse3 import FUSEError

from memfs.mount.actors import Who
from memfs.mount.errnos import errno_of
from memfs.mount.naming import Naming
from memfs.mount.nodes import AnyNode, Directory, FileNode, LinkNode, Parked, VirtualFile
from memfs.mount.saves import Saves
from memfs.mount.scratch_area import ScratchArea
from memfs.mount.staging import Staged
from memfs.mount.tree import Tree
from memfs.mount.working import WorkingCopies, no_room_in_scratch
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import MAX_PATH_BYTES

PARKED_SECONDS = 2.0
"""How long the store keeps a memory whose name has gone, for the new file that a save brings."""


class Renames:
    """Renames of all kinds, and the parked names they leave."""

    def __init__(
        self, tree: Tree, saves: Saves, copies: WorkingCopies, naming: Naming, area: ScratchArea
    ) -> None:
        self._tree = tree
        self._saves = saves
        self._copies = copies
        self._naming = naming
        self._area = area
        self.parking = trio.Event()
        """Set when a name has been parked."""

    async def rename(
        self, node: AnyNode, parent: Directory, name: bytes, target: AnyNode | None, who: Who
    ) -> None:
        """Give *node* the name *name* in *parent*, where *target* is now. Raises FUSEError."""
        if isinstance(node, Directory):
            await self._rename_directory(node, parent, name, target, who)
            return
        to_scratch = self._naming.file_is_scratch(parent, name, "rename", who)
        if isinstance(target, Directory):
            raise FUSEError(errno.EISDIR)
        if isinstance(node, VirtualFile):
            raise FUSEError(errno.EROFS)
        from_scratch = isinstance(node, LinkNode) or node.is_scratch
        if from_scratch and to_scratch:
            self._move_scratch(node, parent, name, target)
        elif isinstance(node, LinkNode):
            raise FUSEError(errno.EPERM)
        elif from_scratch:
            await self._save(node, parent, name, who)
        elif to_scratch:
            await self._park(node, parent, name, target, who)
        else:
            if target is not None:
                raise self._exists(parent, name, who)
            await self._rename_at_port(node, parent, name, who)

    async def end_parking_at(self, directory: Directory, name: bytes | None = None) -> None:
        """Something else is to have a parked name (or the directory is to go): the memory goes first."""
        for parked in list(directory.parked.values()):
            if (name is None or parked.name == name) and parked.heir is None:
                await self._saves.end_parking(parked)

    async def end_overdue_parking(self) -> None:
        """Delete what has been parked for long without a new file at its name; forever, in a task."""
        while True:
            self.parking = trio.Event()
            waiting = [parked for parked in self._tree.parked if parked.heir is None]
            for parked in waiting:
                if parked.deadline <= time.monotonic():
                    await self._saves.end_parking(parked)
            deadlines = [parked.deadline for parked in self._tree.parked if parked.heir is None]
            wait = max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else float("inf")
            if self._tree.parked:
                wait = min(wait, PARKED_SECONDS)  # an heir may be given up, and nobody says so here
            with trio.move_on_after(wait):
                await self.parking.wait()

    def _exists(self, parent: Directory, name: bytes, who: Who) -> FUSEError:
        path = f"{self._tree.path_of(parent)}/{name.decode('utf-8', 'replace')}"
        error = PortError(
            ErrorCode.ALREADY_EXISTS,
            f"{path} already exists; a rename never overwrites. Delete it first or choose another name.",
            path,
        )
        return self._saves.refusal("rename", error, who)

    def _move_scratch(
        self, node: FileNode | LinkNode, parent: Directory, name: bytes, target: AnyNode | None
    ) -> None:
        now_ns = time.time_ns()
        if target is not None:
            self._tree.remove(target, now_ns)
        self._tree.move(node, parent, name, now_ns)

    async def _save(self, node: FileNode, parent: Directory, name: bytes, who: Who) -> None:
        """A scratch file takes a memory's name: the last step of most editors' saves."""
        assert node.scratch is not None
        data = bytes(node.staged.buffer) if node.staged is not None else node.scratch.load()
        path = f"{self._tree.path_of(parent)}/{name.decode()}"
        node.writer = who
        error = await self._saves.replace(node, path, data, who)
        if error is not None:
            self._copies.reject(node, path, data, error, complete=True)
            if not node.opens:
                node.scratch.rest()
            parked = parent.parked.get(name)
            if parked is None or parked.heir is None:
                await self._saves.bring_back(path, parked, who)
            raise FUSEError(errno_of(error))

    async def _park(
        self, node: FileNode, parent: Directory, name: bytes, target: AnyNode | None, who: Who
    ) -> None:
        """A memory's name goes to a backup: the store keeps it until the new file comes."""
        await self._saves.commit(node)
        file, old_parent, old_name = node.file, node.parent, node.name
        if file is None or old_parent is None:
            raise FUSEError(errno.EXDEV)  # a newborn that nothing was written to: mv copies it
        data = await self._copies.pin(node)
        if (node.parent, node.name, node.file) != (old_parent, old_name, file):
            raise FUSEError(errno.ENOENT)  # somebody else was faster
        target = parent.children.get(name)
        scratch = self._area.new()
        if not scratch.has_room(len(data)):
            path = f"{self._tree.path_of(parent)}/{name.decode('utf-8', 'surrogateescape')}"
            raise self._saves.refusal("rename", no_room_in_scratch(path), who)
        try:
            scratch.write(0, data)
        except FUSEError:
            scratch.drop()
            raise
        if target is not None:
            self._tree.remove(target, time.time_ns())
        parked = Parked(
            file, node.attributes.st_mode, old_parent, old_name, who, time.monotonic() + PARKED_SECONDS
        )
        self._tree.to_scratch(node, scratch, parent, name)
        if node.opens:
            node.staged = Staged(data)
        else:
            node.staged = None
            scratch.rest()
        self._tree.park(parked)
        self.parking.set()

    async def _rename_directory(
        self, node: Directory, parent: Directory, name: bytes, target: AnyNode | None, who: Who
    ) -> None:
        if target is not None:
            raise self._exists(parent, name, who)
        at: Directory | None = parent
        while at is not None:
            if at is node:
                raise FUSEError(errno.EINVAL)
            at = at.parent
        to_scratch = self._naming.directory_is_scratch(parent, name, "rename", who)
        grows_by = len(self._tree.path_of(parent)) + 1 + len(name) - len(self._tree.path_of(node))
        if grows_by > 0 and self._tree.longest_path_below(node) + grows_by > MAX_PATH_BYTES:
            raise FUSEError(errno.ENAMETOOLONG)
        if to_scratch and node.holds_scratch:
            self._tree.move(node, parent, name, time.time_ns())
        elif to_scratch or node.holds_scratch:
            # A directory of memories is never parked, and settings never become memories by a rename.
            raise FUSEError(errno.EINVAL if to_scratch else errno.EXDEV)
        else:
            await self._rename_at_port(node, parent, name, who)

    async def _rename_at_port(self, node: AnyNode, parent: Directory, name: bytes, who: Who) -> None:
        await self.end_parking_at(parent, name)
        path = f"{self._tree.path_of(parent)}/{name.decode()}"
        place = (node.parent, node.name)
        if not await self._saves.rename(node, path, who):
            if (node.parent, node.name) != place:
                raise FUSEError(errno.ENOENT)  # somebody else was faster
            # Only this mount has it: a newborn, or a directory without a file of the port.
            if name in parent.children:
                raise FUSEError(errno.EEXIST)  # it came meanwhile, by another door
            self._tree.move(node, parent, name, time.time_ns())
            if isinstance(node, Directory):
                self._tree.note_if_empty(node)
