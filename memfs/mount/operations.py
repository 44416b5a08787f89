"""The kernel's requests: one handler each, in the order a person would meet them.

A handler finds the nodes, and hands on: names to ``naming``, renames to ``renames``, open files to
``working``, whatever lasts to ``saves``. Every handler wears ``answers`` or ``answers_at_once``: no
exception but FUSEError leaves it.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING

import pyfuse3
from pyfuse3 import FUSEError

from memfs.mount.actors import Actors
from memfs.mount.counters import PROGRAMS
from memfs.mount.errnos import answers, answers_at_once, answers_mostly_at_once
from memfs.mount.handles import DirectoryHandle, FileHandle, Handles
from memfs.mount.naming import Naming
from memfs.mount.nodes import (
    CACHED_SECONDS,
    AnyNode,
    Directory,
    FileNode,
    LinkNode,
    VirtualDirectory,
    VirtualFile,
)
from memfs.mount.past import PastDirectory, PastFile
from memfs.mount.renames import Renames
from memfs.mount.saves import Saves
from memfs.mount.scratch_area import ScratchArea
from memfs.mount.staging import Staged
from memfs.mount.tree import Tree
from memfs.mount.virtual import NAME as VIRTUAL_NAME
from memfs.mount.virtual import VirtualTree
from memfs.mount.working import WorkingCopies
from memfs.port.checks import protected
from memfs.port.errors import ErrorCode, PortError
from memfs.port.eviction import room_left

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from pyfuse3 import (
        EntryAttributes,
        FileHandleT,
        FileInfo,
        FileNameT,
        FlagT,
        InodeT,
        ModeT,
        ReaddirToken,
        RequestContext,
        SetattrFields,
        StatvfsData,
    )

_WRITING = os.O_WRONLY | os.O_RDWR


class Operations(pyfuse3.Operations):
    """One mount's answers to the kernel."""

    enable_writeback_cache = False  # limits could not fail at write(2), and sizes would be the kernel's
    supports_dot_lookup = False

    def __init__(
        self,
        tree: Tree,
        saves: Saves,
        copies: WorkingCopies,
        naming: Naming,
        renames: Renames,
        area: ScratchArea,
        virtual: VirtualTree,
    ) -> None:
        super().__init__()
        self._tree = tree
        self._saves = saves
        self._copies = copies
        self._naming = naming
        self._renames = renames
        self._area = area
        self._virtual = virtual
        self._handles = Handles()
        self._actors = Actors()
        self._missing = pyfuse3.EntryAttributes()  # inode 0: the kernel remembers that there is nothing
        self._missing.entry_timeout = self._missing.attr_timeout = CACHED_SECONDS

    # Names and attributes

    @answers_mostly_at_once
    def lookup(
        self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext
    ) -> EntryAttributes | Coroutine[Any, Any, EntryAttributes]:
        """The node of a name; a name that nothing can have is just missing."""
        parent = self._tree.by_inode.get(parent_inode)
        if isinstance(parent, PastDirectory):
            return self._lookup_past(parent, name)
        node = parent.children.get(name) if isinstance(parent, Directory) else None
        if node is None:
            if isinstance(parent, VirtualDirectory) or name == VIRTUAL_NAME:
                return self._lookup_virtual(parent, name)
            return self._missing
        if isinstance(node, VirtualFile):
            node.refresh()
        elif isinstance(node, FileNode):
            node.vanished = False
        node.lookups += 1
        return node.attributes

    async def forget(self, inode_list: Sequence[tuple[InodeT, int]]) -> None:
        """The kernel has dropped that many of its references."""
        by_inode = self._tree.by_inode
        for inode, count in inode_list:
            node = by_inode.get(inode)
            if node is not None:
                node.lookups = max(0, node.lookups - count)
                self._tree.forget_if_unused(node)
                if isinstance(node, PastFile | PastDirectory):
                    self._virtual.past.let_go(node)

    @answers_at_once
    def getattr(self, inode: InodeT, ctx: RequestContext) -> EntryAttributes:
        """What stat(2) shows."""
        node = self._tree.by_inode.get(inode)
        if node is None:
            raise FUSEError(errno.ENOENT)
        if isinstance(node, VirtualFile):
            node.refresh()
        return node.attributes

    @answers
    async def setattr(
        self,
        inode: InodeT,
        attr: EntryAttributes,
        fields: SetattrFields,
        fh: FileHandleT | None,
        ctx: RequestContext,
    ) -> EntryAttributes:
        """Truncate, chmod, utimens; chown to the owner it has."""
        node = self._changeable(self._node(inode))
        attributes = node.attributes
        if (fields.update_uid and attr.st_uid != attributes.st_uid) or (
            fields.update_gid and attr.st_gid != attributes.st_gid
        ):
            raise FUSEError(errno.EPERM)
        if fields.update_size:
            if not isinstance(node, FileNode):
                raise FUSEError(errno.EISDIR if isinstance(node, Directory) else errno.EINVAL)
            if node.vanished and fh is None:
                raise FUSEError(errno.ESTALE)
            node.writer = self._actors.who(ctx.pid)
            self._check_writable(node, "truncate")
            if fh is None and not node.writers:
                await self._copies.truncate_unopened(node, attr.st_size)
            else:
                await self._copies.truncate(node, attr.st_size)
        now_ns = time.time_ns()
        if fields.update_mode:
            attributes.st_mode = pyfuse3.ModeT(stat.S_IFMT(attributes.st_mode) | stat.S_IMODE(attr.st_mode))
        if fields.update_atime:
            attributes.st_atime_ns = attr.st_atime_ns
        if fields.update_mtime:
            attributes.st_mtime_ns = attr.st_mtime_ns
        attributes.st_ctime_ns = now_ns
        if fields.update_mode and isinstance(node, FileNode | LinkNode) and not node.is_gone:
            self._tree.note_mode(node)
        return attributes

    @answers_at_once
    def readlink(self, inode: InodeT, ctx: RequestContext) -> FileNameT:
        """The target of an editor's link, as it was given."""
        node = self._node(inode)
        if not isinstance(node, LinkNode):
            raise FUSEError(errno.EINVAL)
        return pyfuse3.FileNameT(node.target)

    @answers_at_once
    def statfs(self, ctx: RequestContext) -> StatvfsData:
        """The limits of the scope as a disk: what ``df`` shows."""
        memory = self._saves.memory
        limits, room = memory.policy.limits, room_left(memory.snapshot())
        block = 512
        stats = pyfuse3.StatvfsData()
        stats.f_bsize = stats.f_frsize = block
        stats.f_blocks = limits.max_total_bytes // block
        # With what leaves for a new file: a program that looks first must not give up.
        stats.f_bfree = stats.f_bavail = room.total_bytes // block
        stats.f_files = limits.max_files
        stats.f_ffree = stats.f_favail = room.files
        stats.f_namemax = 128
        return stats

    # Directories

    @answers_mostly_at_once
    def opendir(self, inode: InodeT, ctx: RequestContext) -> FileHandleT | Coroutine[Any, Any, FileHandleT]:
        """Begin a listing."""
        node = self._node(inode)
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
        if isinstance(node, PastDirectory):
            return self._open_past(node)
        if isinstance(node, VirtualDirectory) and node.fill is not None:
            node.fill()
        node.opens += 1
        return self._handles.add_directory(DirectoryHandle(node))

    @answers_at_once
    def readdir(self, fh: FileHandleT, start_id: int, token: ReaddirToken) -> None:
        """Entries with their attributes, from where the kernel left off."""
        handle = self._handles.directory(fh)
        directory, reply = handle.node, pyfuse3.readdir_reply
        if start_id == 0:
            handle.names = list(directory.children)
        if start_id < 1 and not reply(token, pyfuse3.FileNameT(b"."), directory.attributes, 1):
            return
        if start_id < 2:
            above = directory.parent or directory
            if not reply(token, pyfuse3.FileNameT(b".."), above.attributes, 2):
                return
        at = max(start_id, 2)
        for name in handle.names[at - 2 :]:
            at += 1
            node = directory.children.get(name)
            if node is not None:  # else it has left meanwhile
                if isinstance(node, VirtualFile):
                    node.refresh()
                elif isinstance(node, FileNode):
                    node.vanished = False
                if not reply(token, pyfuse3.FileNameT(name), node.attributes, at):
                    return
                node.lookups += 1

    @answers_at_once
    def releasedir(self, fh: FileHandleT) -> None:
        """The listing is over."""
        node = self._handles.remove_directory(fh).node
        node.opens -= 1
        self._tree.forget_if_unused(node)
        if isinstance(node, PastDirectory):
            self._virtual.past.let_go(node)

    @answers
    async def fsyncdir(self, fh: FileHandleT, datasync: bool) -> None:
        """Names survive a power cut from here on."""
        await self._saves.sync()

    @answers
    async def mkdir(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, ctx: RequestContext
    ) -> EntryAttributes:
        """A directory of this mount; the port sees it with its first file."""
        parent = self._directory(parent_inode)
        if name in parent.children:
            raise FUSEError(errno.EEXIST)
        is_scratch = self._naming.directory_is_scratch(parent, name, "mkdir", self._actors.who(ctx.pid))
        if parent.parked:
            await self._renames.end_parking_at(parent, name)
        node = self._tree.new_directory(stat.S_IMODE(mode), is_scratch)
        self._tree.attach(node, parent, name)
        if is_scratch:
            self._tree.note_scratch(node)
        else:
            self._tree.note_if_empty(node)
        node.lookups += 1
        return node.attributes

    @answers
    async def rmdir(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Remove an empty directory; the port no longer knows it anyway."""
        node = self._existing(parent_inode, name)
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
        error = protected(self._tree.scope(), self._tree.path_of(node), "removed")
        if error is not None:
            raise self._saves.refusal("rmdir", error, self._actors.who(ctx.pid))
        if node.children:
            raise FUSEError(errno.ENOTEMPTY)
        if node.parked:
            await self._renames.end_parking_at(node)
        self._tree.remove(node, time.time_ns())

    # Files

    @answers_at_once
    def create(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, flags: FlagT, ctx: RequestContext
    ) -> tuple[FileInfo, EntryAttributes]:
        """A newborn: visible here at once, in the store with its first content or at its last close."""
        parent = self._directory(parent_inode)
        if name in parent.children:
            # It came this instant, by another door. With ESTALE the kernel looks the name up and opens it.
            raise FUSEError(errno.EEXIST if flags & os.O_EXCL else errno.ESTALE)
        who = self._actors.who(ctx.pid)
        is_scratch = self._naming.file_is_scratch(parent, name, "create", who)
        if not is_scratch:
            self._saves.check_creatable(f"{self._tree.path_of(parent)}/{name.decode()}", who)
        scratch = self._area.new() if is_scratch else None
        if scratch is not None:
            scratch.truncate(0)  # which may fail, and then there is no file
        node = self._tree.new_file(stat.S_IMODE(mode))
        node.staged = Staged(b"")
        node.staged.pending = True
        self._tree.attach(node, parent, name)
        if scratch is not None:
            node.scratch = scratch
            self._tree.note_scratch(node)
        else:
            node.exclusive = bool(flags & os.O_EXCL)
            self._tree.resume(node)
        node.lookups += 1
        return self._opened(node, flags, ctx.pid, creates=True), node.attributes

    @answers
    async def open(self, inode: InodeT, flags: FlagT, ctx: RequestContext) -> FileInfo:
        """Open a file; its bytes are at hand from here on, also when it is unlinked."""
        node = self._node(inode)
        writes = bool(flags & _WRITING)
        if isinstance(node, VirtualFile):
            if writes:
                raise FUSEError(errno.EROFS)
            if isinstance(node, PastFile):
                await self._virtual.past.load(node)
            node.opens += 1
            # A version's size is known, so its pages may be the kernel's while it is open: for mmap(2).
            direct = not isinstance(node, PastFile)
            return pyfuse3.FileInfo(fh=self._handles.add_file(node), direct_io=direct, keep_cache=False)
        if not isinstance(node, FileNode):
            raise FUSEError(errno.EISDIR if isinstance(node, Directory) else errno.ELOOP)
        if node.vanished:
            raise FUSEError(errno.ESTALE)  # the kernel looks up again whose name it is, if anybody's
        if writes:
            node.writer = self._actors.who(ctx.pid)
            self._check_writable(node, "open")
            await self._copies.prepare(node, bool(flags & os.O_TRUNC))
        elif not self._copies.at_hand(node):
            await self._copies.prepare(node, False)
        return self._opened(node, flags, ctx.pid)

    @answers
    async def read(self, fh: FileHandleT, off: int, size: int) -> bytes:
        """Bytes of the working copy where there is one, else of the memory."""
        handle = self._handles.opened(fh)
        if isinstance(handle, VirtualFile):
            return handle.read(off, size)
        node = handle.node
        content = None if self._copies.at_hand(node) else await self._copies.pin(node)
        return self._copies.read(node, off, size, content)

    @answers
    async def write(self, fh: FileHandleT, off: int, buf: bytes) -> int:
        """Into the working copy."""
        handle = self._handles.file(fh)
        staged = handle.node.staged or await self._copies.stage(handle.node)
        self._copies.write(handle, staged, off, buf)
        return len(buf)

    @answers
    async def flush(self, fh: FileHandleT) -> None:
        """close(2) waits for this: whatever was written is committed, or the error is told."""
        handle = self._handles.opened(fh)
        if isinstance(handle, VirtualFile) or not handle.writes:
            return
        staged = handle.node.staged
        if staged is None:
            return
        if staged.poison:
            raise FUSEError(staged.poison)
        if staged.written or staged.saving:
            await self._saves.commit(handle.node)
        if handle.syncs and not handle.node.is_scratch:
            await self._saves.sync()

    @answers
    async def fsync(self, fh: FileHandleT, datasync: bool) -> None:
        """Commit, and make it survive a power cut."""
        handle = self._handles.opened(fh)
        if isinstance(handle, VirtualFile) or handle.node.is_scratch or handle.syncs:
            return
        staged = handle.node.staged
        if staged is not None and handle.writes:
            if staged.poison:
                raise FUSEError(staged.poison)
            await self._saves.commit(handle.node)
        await self._saves.sync()

    @answers
    async def release(self, fh: FileHandleT) -> None:
        """The end of a handle."""
        handle = self._handles.remove_file(fh)
        if isinstance(handle, VirtualFile):
            handle.opens -= 1
            self._tree.forget_if_unused(handle)
            self._virtual.past.let_go(handle)
        elif handle.writes:
            await self._copies.end_of_writer(handle.node)
        else:
            self._copies.end_of_handle(handle.node)

    @answers
    async def unlink(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Delete a memory in the store, before this returns; or take a scratch file away."""
        node = self._existing(parent_inode, name)
        if isinstance(node, Directory):
            raise FUSEError(errno.EISDIR)
        if not node.lookups:
            # The kernel has never seen it: a program means what was there before. So does libuv, which
            # removes what it could not write as a whole, where the old memory has just come back.
            raise FUSEError(errno.ENOENT)
        parent = node.parent
        # Also a newborn asks the port: its first commit may be under way. But not one that has come for a
        # parked memory: its editor gives it up, and brings the backup back.
        if (
            isinstance(node, FileNode)
            and not node.is_scratch
            and not self._tree.is_waiting_heir(node)
            and await self._saves.delete(node, self._actors.who(ctx.pid))
        ):
            return
        if node.parent is not parent or node.name != name:
            raise FUSEError(errno.ENOENT)  # somebody else was faster
        self._tree.remove(node, time.time_ns())

    @answers
    async def rename(
        self,
        parent_inode_old: InodeT,
        name_old: FileNameT,
        parent_inode_new: InodeT,
        name_new: FileNameT,
        flags: FlagT,
        ctx: RequestContext,
    ) -> None:
        """Move a name. Only a scratch file may take the place of another file: that is a save."""
        if flags & ~pyfuse3.RENAME_NOREPLACE:
            raise FUSEError(errno.EINVAL)
        node = self._existing(parent_inode_old, name_old)
        parent = self._directory(parent_inode_new)
        target = parent.children.get(name_new)
        if target is node:
            return
        if target is not None and flags & pyfuse3.RENAME_NOREPLACE:
            raise FUSEError(errno.EEXIST)
        await self._renames.rename(node, parent, name_new, target, self._actors.who(ctx.pid))

    @answers_at_once
    def symlink(
        self, parent_inode: InodeT, name: FileNameT, target: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """Editors' locks are links that lead nowhere; nothing else may be a link."""
        parent = self._directory(parent_inode)
        if name in parent.children:
            raise FUSEError(errno.EEXIST)
        if not self._naming.link_is_scratch(parent, name, "symlink", self._actors.who(ctx.pid)):
            raise self._not_a_file("symlink", parent_inode, name, ctx)
        node = self._tree.new_link(target)
        self._tree.attach(node, parent, name)
        self._tree.note_scratch(node)
        node.lookups += 1
        return node.attributes

    @answers_at_once
    def link(
        self, inode: InodeT, new_parent_inode: InodeT, new_name: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """A memory has one name."""
        raise self._not_a_file("link", new_parent_inode, new_name, ctx)

    @answers_at_once
    def mknod(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, rdev: int, ctx: RequestContext
    ) -> EntryAttributes:
        """A memory is a regular file."""
        raise self._not_a_file("mknod", parent_inode, name, ctx)

    # For the counters

    def note_asker(self, fields: Sequence[object]) -> None:
        """Look at who makes the request with these *fields*; those on an open file name only the file."""
        context, first = fields[-1] if fields else None, fields[0] if fields else None
        if isinstance(context, pyfuse3.RequestContext):
            pid = context.pid
        else:
            pid = self._handles.opener(first) if isinstance(first, int) else 0
        PROGRAMS.glance(pid, time.perf_counter_ns())

    @property
    def open_files(self) -> int:
        """How many files are open."""
        return self._handles.open_files

    # What handlers share

    def _node(self, inode: int) -> AnyNode:
        node = self._tree.by_inode.get(inode)
        if node is None:
            raise FUSEError(errno.ENOENT)
        return node

    def _changeable(self, node: AnyNode) -> AnyNode:
        if isinstance(node, VirtualFile | VirtualDirectory):
            raise FUSEError(errno.EROFS)
        return node

    def _check_writable(self, node: FileNode, operation: str) -> None:
        if not (node.is_scratch or node.is_gone):
            self._saves.check_writable(self._tree.path_of(node), operation, node.writer)

    def _directory(self, inode: int) -> Directory:
        """The directory that a name is to be made in."""
        node = self._changeable(self._node(inode))
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
        if node.is_gone and node is not self._tree.root:
            raise FUSEError(errno.ENOENT)
        return node

    def _not_a_file(self, operation: str, parent_inode: int, name: bytes, ctx: RequestContext) -> FUSEError:
        """The refusal of a link, a pipe, a device."""
        path = f"{self._tree.path_of(self._directory(parent_inode))}/{name.decode('utf-8', 'replace')}"
        message = f"{path} may not be made by {operation}: a memory is a file with one name."
        error = PortError(ErrorCode.INVALID_ARGUMENT, message, path)
        return self._saves.refusal(operation, error, self._actors.who(ctx.pid), errno.EPERM)

    def _existing(self, parent_inode: int, name: bytes) -> AnyNode:
        """The node that is to lose its name."""
        parent = self._changeable(self._node(parent_inode))
        node = parent.children.get(name) if isinstance(parent, Directory) else None
        if node is None:
            raise FUSEError(
                errno.EROFS if name == VIRTUAL_NAME and parent is self._tree.root else errno.ENOENT
            )
        return node

    async def _lookup_past(self, parent: PastDirectory, name: bytes) -> EntryAttributes:
        node = await self._virtual.past.look_up(parent, name)
        if node is None:
            raise FUSEError(errno.ENOENT)
        node.lookups += 1
        return node.attributes

    async def _open_past(self, node: PastDirectory) -> FileHandleT:
        node.opens += 1  # so that nothing is dropped while it is filled
        try:
            await self._virtual.past.fill(node)
        except BaseException:
            node.opens -= 1
            raise
        return self._handles.add_directory(DirectoryHandle(node))

    def _lookup_virtual(self, parent: AnyNode | None, name: bytes) -> EntryAttributes:
        if parent is self._tree.root:
            self._virtual.root.lookups += 1
            return self._virtual.root.attributes
        if isinstance(parent, VirtualDirectory) and parent.fill is not None:
            parent.fill()
            node = parent.children.get(name)
            if isinstance(node, VirtualFile):
                node.refresh()
                node.lookups += 1
                return node.attributes
        raise FUSEError(errno.ENOENT)

    def _opened(self, node: FileNode, flags: int, pid: int, creates: bool = False) -> FileInfo:
        # Who creates a file only to read it (mcedit, flock) has still changed something, stored at its close.
        writes = creates or bool(flags & _WRITING)
        node.opens += 1
        who = node.writer
        if writes:
            who = node.writer = self._actors.who(pid)
            node.writers += 1
        appends = flags & (os.O_APPEND | os.O_ACCMODE) == os.O_APPEND | os.O_WRONLY
        handle = FileHandle(node, writes, appends, who, pid, bool(flags & os.O_DSYNC))
        return pyfuse3.FileInfo(fh=self._handles.add_file(handle))
