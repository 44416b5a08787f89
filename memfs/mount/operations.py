"""The kernel's requests: one handler each, in the order a person would meet them.

A handler checks what only the mount knows (names, kinds, handles), asks ``saves`` for whatever
lasts, and leaves the tree as the answer says. Every handler wears ``answers`` or
``answers_at_once``: no exception but FUSEError leaves it.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from typing import TYPE_CHECKING

import pyfuse3
from pyfuse3 import FUSEError

from memfs.mount.errnos import answers, answers_at_once
from memfs.mount.handles import DirectoryHandle, FileHandle, Handles
from memfs.mount.naming import Naming
from memfs.mount.nodes import CACHED_SECONDS, AnyNode, Directory, FileNode, LinkNode
from memfs.mount.saves import Saves
from memfs.mount.staging import Staged
from memfs.mount.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

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

log = logging.getLogger(__name__)

_WRITING = os.O_WRONLY | os.O_RDWR
MAX_SCRATCH_BYTES = 1 << 20
"""The size of one scratch file: vim's swap of a 64 KiB memory takes 80 KiB, its undo file 88."""


class Operations(pyfuse3.Operations):
    """One mount's answers to the kernel."""

    enable_writeback_cache = False  # limits could not fail at write(2), and sizes would be the kernel's
    supports_dot_lookup = False

    def __init__(self, tree: Tree, saves: Saves) -> None:
        super().__init__()
        self._tree = tree
        self._saves = saves
        self._handles = Handles()
        self._naming = Naming(tree, saves.memory)
        self._missing = pyfuse3.EntryAttributes()  # inode 0: the kernel remembers that there is nothing
        self._missing.entry_timeout = self._missing.attr_timeout = CACHED_SECONDS

    # Names and attributes

    @answers_at_once
    def lookup(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> EntryAttributes:
        """The node of a name; a name that nothing can have is just missing."""
        node = self._child(parent_inode, name)
        if node is None:
            return self._missing
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

    @answers_at_once
    def getattr(self, inode: InodeT, ctx: RequestContext) -> EntryAttributes:
        """What stat(2) shows."""
        node = self._tree.by_inode.get(inode)
        if node is None:
            raise FUSEError(errno.ENOENT)
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
        node = self._node(inode)
        attributes = node.attributes
        if (fields.update_uid and attr.st_uid != attributes.st_uid) or (
            fields.update_gid and attr.st_gid != attributes.st_gid
        ):
            raise FUSEError(errno.EPERM)
        if fields.update_size:
            if not isinstance(node, FileNode):
                raise FUSEError(errno.EISDIR if isinstance(node, Directory) else errno.EINVAL)
            await self._truncate(node, attr.st_size, fh, ctx.pid)
        now_ns = time.time_ns()
        if fields.update_mode:
            attributes.st_mode = pyfuse3.ModeT(stat.S_IFMT(attributes.st_mode) | stat.S_IMODE(attr.st_mode))
        if fields.update_atime:
            attributes.st_atime_ns = attr.st_atime_ns
        if fields.update_mtime:
            attributes.st_mtime_ns = attr.st_mtime_ns
        attributes.st_ctime_ns = now_ns
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
        limits, scope = memory.policy.limits, memory.snapshot()
        block = 512
        stats = pyfuse3.StatvfsData()
        stats.f_bsize = stats.f_frsize = block
        stats.f_blocks = limits.max_total_bytes // block
        free = max(0, limits.max_total_bytes - scope.total_bytes)
        files_free = max(0, limits.max_files - len(scope))
        if len(scope):
            # The earliest writes leave for a new one: a program that looks first must not give up.
            free = max(free, min(limits.max_file_bytes, limits.max_total_bytes))
            files_free = max(files_free, 1)
        stats.f_bfree = stats.f_bavail = free // block
        stats.f_files = limits.max_files
        stats.f_ffree = stats.f_favail = files_free
        stats.f_namemax = 128
        return stats

    # Directories

    @answers_at_once
    def opendir(self, inode: InodeT, ctx: RequestContext) -> FileHandleT:
        """Begin a listing."""
        node = self._node(inode)
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
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
                if not reply(token, pyfuse3.FileNameT(name), node.attributes, at):
                    return
                node.lookups += 1

    @answers_at_once
    def releasedir(self, fh: FileHandleT) -> None:
        """The listing is over."""
        node = self._handles.remove_directory(fh).node
        node.opens -= 1
        self._tree.forget_if_unused(node)

    @answers
    async def fsyncdir(self, fh: FileHandleT, datasync: bool) -> None:
        """Names survive a power cut from here on."""
        await self._saves.sync()

    @answers_at_once
    def mkdir(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, ctx: RequestContext
    ) -> EntryAttributes:
        """A directory of this mount; the port sees it with its first file."""
        parent = self._directory(parent_inode)
        if name in parent.children:
            raise FUSEError(errno.EEXIST)
        is_scratch = self._naming.directory_is_scratch(parent, name)
        node = self._tree.new_directory(stat.S_IMODE(mode), is_scratch)
        self._tree.attach(node, parent, name)
        if not is_scratch:
            self._tree.note_if_empty(node)
        node.lookups += 1
        return node.attributes

    @answers_at_once
    def rmdir(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Remove an empty directory; the port no longer knows it anyway."""
        node = self._existing(parent_inode, name)
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
        if node.children:
            raise FUSEError(errno.ENOTEMPTY)
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
        is_scratch = self._naming.file_is_scratch(parent, name)
        node = self._tree.new_file(stat.S_IMODE(mode))
        node.is_scratch = is_scratch
        node.exclusive = bool(flags & os.O_EXCL)
        node.staged = Staged(b"")
        node.staged.pending = True
        self._tree.attach(node, parent, name)
        node.lookups += 1
        return self._opened(node, flags, ctx.pid), node.attributes

    @answers
    async def open(self, inode: InodeT, flags: FlagT, ctx: RequestContext) -> FileInfo:
        """Open a file; its bytes are at hand from here on, also when it is unlinked."""
        node = self._node(inode)
        if not isinstance(node, FileNode):
            raise FUSEError(errno.EISDIR if isinstance(node, Directory) else errno.ELOOP)
        if node.vanished:
            raise FUSEError(errno.ESTALE)  # the kernel looks the name up again: what is written here is lost
        truncates = flags & os.O_TRUNC and flags & _WRITING
        if not truncates and node.staged is None and node.content is None:
            await self._pin(node)
        info = self._opened(node, flags, ctx.pid)
        if truncates:
            self._stage(node, b"").truncate(0)
            self._show_write(node)
        return info

    @answers
    async def read(self, fh: FileHandleT, off: int, size: int) -> bytes:
        """Bytes of the working copy where there is one, else of the memory."""
        node = self._handles.file(fh).node
        if node.staged is not None:
            return bytes(node.staged.buffer[off : off + size])
        content = node.content
        if content is None:
            content = await self._pin(node)
        return content if off == 0 and len(content) <= size else content[off : off + size]

    @answers
    async def write(self, fh: FileHandleT, off: int, buf: bytes) -> int:
        """Into the working copy; what can never be stored is refused here, where programs look."""
        handle = self._handles.file(fh)
        node = handle.node
        if node.staged is None:
            content = node.content
            self._stage(node, await self._pin(node) if content is None else content)
        assert node.staged is not None
        if handle.appends:
            off = len(node.staged.buffer)  # the kernel may not have asked for the size since a foreign change
        try:
            node.staged.write(off, buf, self._size_limit(node), not node.is_scratch)
        except FUSEError:
            raise
        except Exception:
            node.staged.poisoned(errno.EIO)  # the rest of a save without this part must not be stored
            raise
        node.last_pid = handle.pid
        self._show_write(node)
        self._saves.appending.set()
        return len(buf)

    @answers
    async def flush(self, fh: FileHandleT) -> None:
        """close(2) waits for this: whatever was written is committed, or the error is told."""
        handle = self._handles.file(fh)
        staged = handle.node.staged
        if not handle.writes or staged is None:
            return
        if staged.poison:
            raise FUSEError(staged.poison)
        if staged.written or staged.saving:
            await self._saves.commit(handle.node)

    @answers
    async def fsync(self, fh: FileHandleT, datasync: bool) -> None:
        """Commit, and make it survive a power cut."""
        handle = self._handles.file(fh)
        node = handle.node
        if node.is_scratch:
            return
        if node.staged is not None and handle.writes:
            if node.staged.poison:
                raise FUSEError(node.staged.poison)
            await self._saves.commit(node)
        await self._saves.sync()

    @answers
    async def release(self, fh: FileHandleT) -> None:
        """The end of a handle. After the last writer, the working copy is committed or given up."""
        handle = self._handles.remove_file(fh)
        node = handle.node
        try:
            if handle.writes:
                await self._end_of_writer(node)
        finally:
            node.opens -= 1
            if not node.opens and not node.writers:
                node.content = None
            self._tree.forget_if_unused(node)

    @answers
    async def unlink(self, parent_inode: InodeT, name: FileNameT, ctx: RequestContext) -> None:
        """Delete a memory in the store, before this returns; or take a scratch file away."""
        node = self._existing(parent_inode, name)
        if isinstance(node, Directory):
            raise FUSEError(errno.EISDIR)
        parent = node.parent
        # Also a newborn asks the port: its first commit may be under way.
        if isinstance(node, FileNode) and not node.is_scratch and await self._saves.delete(node, ctx.pid):
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
        if isinstance(node, Directory):
            await self._rename_directory(node, parent, name_new, target, ctx.pid)
            return
        to_scratch = self._naming.file_is_scratch(parent, name_new)
        if isinstance(node, LinkNode) or node.is_scratch:
            if to_scratch:
                self._rename_scratch(node, parent, name_new, target)
            elif isinstance(node, LinkNode):
                raise FUSEError(errno.EPERM)
            elif isinstance(target, Directory):
                raise FUSEError(errno.EISDIR)
            else:
                await self._saves.replace(node, f"{self._tree.path_of(parent)}/{name_new.decode()}", ctx.pid)
            return
        if to_scratch:
            # A backup by renaming: with EXDEV every editor falls back to a copy.
            raise FUSEError(errno.EXDEV)
        if target is not None:
            raise FUSEError(errno.EEXIST)
        await self._rename_at_port(node, parent, name_new, ctx.pid)

    @answers_at_once
    def symlink(
        self, parent_inode: InodeT, name: FileNameT, target: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """Editors' locks are links that lead nowhere; nothing else may be a link."""
        parent = self._directory(parent_inode)
        if name in parent.children:
            raise FUSEError(errno.EEXIST)
        if not self._naming.link_is_scratch(parent, name):
            raise FUSEError(errno.EPERM)
        node = self._tree.new_link(target)
        self._tree.attach(node, parent, name)
        node.lookups += 1
        return node.attributes

    @answers_at_once
    def link(
        self, inode: InodeT, new_parent_inode: InodeT, new_name: FileNameT, ctx: RequestContext
    ) -> EntryAttributes:
        """A memory has one name."""
        raise FUSEError(errno.EPERM)

    @answers_at_once
    def mknod(
        self, parent_inode: InodeT, name: FileNameT, mode: ModeT, rdev: int, ctx: RequestContext
    ) -> EntryAttributes:
        """A memory is a regular file."""
        raise FUSEError(errno.EPERM)

    # What handlers share

    def _node(self, inode: int) -> AnyNode:
        node = self._tree.by_inode.get(inode)
        if node is None:
            raise FUSEError(errno.ENOENT)
        return node

    def _directory(self, inode: int) -> Directory:
        node = self._node(inode)
        if not isinstance(node, Directory):
            raise FUSEError(errno.ENOTDIR)
        if node.is_gone and node is not self._tree.root:
            raise FUSEError(errno.ENOENT)
        return node

    def _child(self, parent_inode: int, name: bytes) -> AnyNode | None:
        parent = self._tree.by_inode.get(parent_inode)
        return parent.children.get(name) if isinstance(parent, Directory) else None

    def _existing(self, parent_inode: int, name: bytes) -> AnyNode:
        node = self._child(parent_inode, name)
        if node is None:
            raise FUSEError(errno.ENOENT)
        return node

    def _opened(self, node: FileNode, flags: int, pid: int) -> FileInfo:
        writes = bool(flags & _WRITING)
        node.opens += 1
        if writes:
            node.writers += 1
            node.last_pid = pid
        appends = flags & (os.O_APPEND | os.O_ACCMODE) == os.O_APPEND | os.O_WRONLY
        return pyfuse3.FileInfo(fh=self._handles.add_file(FileHandle(node, writes, appends, pid)))

    async def _pin(self, node: FileNode) -> bytes:
        """The bytes of a memory, kept on its node while it is open."""
        file = node.file
        if file is None:
            return b""
        content = await self._saves.content(file)
        if node.file is file:
            node.content = content
        return content

    def _stage(self, node: FileNode, content: bytes) -> Staged:
        if node.staged is None:
            node.staged = Staged(content)
        return node.staged

    def _size_limit(self, node: FileNode) -> int:
        if node.is_scratch:
            return MAX_SCRATCH_BYTES
        limits = self._saves.memory.policy.limits
        return min(limits.max_file_bytes, limits.max_total_bytes)

    def _show_write(self, node: FileNode) -> None:
        """Stat shows what is staged: a size that lags cuts off what an editor reads back."""
        assert node.staged is not None
        node.set_size(len(node.staged.buffer))
        node.set_time(time.time_ns())

    async def _truncate(self, node: FileNode, size: int, fh: FileHandleT | None, pid: int) -> None:
        if node.vanished and fh is None:
            raise FUSEError(errno.ESTALE)
        if size > self._size_limit(node):
            raise FUSEError(errno.EFBIG)
        if node.staged is None:
            self._stage(node, b"" if size == 0 else await self._pin(node))
        assert node.staged is not None
        node.staged.truncate(size)
        node.last_pid = pid
        self._show_write(node)
        if fh is None and not node.writers:
            # truncate(2) on a path: nobody will close it, so this is where the content is final.
            try:
                await self._saves.commit(node)
            except FUSEError:
                if not node.writers:
                    self._tree.revert(node)
                raise
            if not (node.is_scratch or node.writers or node.has_pending):
                node.staged = None

    async def _end_of_writer(self, node: FileNode) -> None:
        staged = node.staged
        try:
            if node.writers == 1 and staged is not None and not staged.poison:
                await self._saves.commit(node)
        except FUSEError as error:
            log.warning("a save was refused when its file was closed: %s", error)
        finally:
            node.writers -= 1
        if node.writers or staged is None or node.is_scratch:
            return  # somebody else writes it, maybe since the commit began
        if staged.poison:
            self._tree.revert(node)
        else:
            if node.is_gone:
                node.content = bytes(staged.buffer)  # whoever still reads it has nowhere else to look
            node.staged = None

    async def _rename_directory(
        self, node: Directory, parent: Directory, name: bytes, target: AnyNode | None, pid: int
    ) -> None:
        if target is not None:
            raise FUSEError(errno.EEXIST)
        at: Directory | None = parent
        while at is not None:
            if at is node:
                raise FUSEError(errno.EINVAL)
            at = at.parent
        is_scratch = self._naming.directory_is_scratch(parent, name)
        if is_scratch != node.holds_scratch:
            raise FUSEError(errno.EINVAL if is_scratch else errno.EXDEV)
        if is_scratch:
            self._tree.move(node, parent, name, time.time_ns())
            return
        await self._rename_at_port(node, parent, name, pid)

    async def _rename_at_port(self, node: AnyNode, parent: Directory, name: bytes, pid: int) -> None:
        path = f"{self._tree.path_of(parent)}/{name.decode()}"
        place = (node.parent, node.name)
        if not await self._saves.rename(node, path, pid):
            if (node.parent, node.name) != place:
                raise FUSEError(errno.ENOENT)  # somebody else was faster
            # Only this mount has it: a newborn, or a directory without a file of the port.
            if name in parent.children:
                raise FUSEError(errno.EEXIST)  # it came meanwhile, by another door
            self._tree.move(node, parent, name, time.time_ns())
            if isinstance(node, Directory):
                self._tree.note_if_empty(node)

    def _rename_scratch(
        self, node: FileNode | LinkNode, parent: Directory, name: bytes, target: AnyNode | None
    ) -> None:
        now_ns = time.time_ns()
        if isinstance(target, Directory):
            raise FUSEError(errno.EISDIR)
        if target is not None:
            if isinstance(target, FileNode) and not target.is_scratch:
                raise FUSEError(errno.EEXIST)
            self._tree.remove(target, now_ns)
        self._tree.move(node, parent, name, now_ns)
