"""Open files and their working copies: pin, stage, write, truncate, close.

One working copy per inode, shared by its handles. Nothing changes in the store until a flush, an
fsync or the last close, and then as one command; a refused write leaves the old content, and the
bytes that arrived are kept as *rejected*.
"""

from __future__ import annotations

import errno
import logging
import time

import trio
from pyfuse3 import FUSEError

from memfs.mount.events import Events
from memfs.mount.following import Following
from memfs.mount.handles import FileHandle
from memfs.mount.nodes import FileNode
from memfs.mount.rejected import Rejected
from memfs.mount.saves import Saves, no_utf8
from memfs.mount.scratch_area import MAX_FILE_BYTES, MAX_TOTAL_BYTES
from memfs.mount.staging import Staged, may_be_utf8
from memfs.mount.tree import Tree
from memfs.port.errors import ErrorCode, PortError
from memfs.port.eviction import too_large

log = logging.getLogger(__name__)


class WorkingCopies:
    """What happens between open(2) and the last close(2) of a file."""

    def __init__(
        self, tree: Tree, saves: Saves, following: Following, events: Events, rejected: Rejected
    ) -> None:
        self._tree = tree
        self._saves = saves
        self._following = following
        self._events = events
        self._rejected = rejected
        self.appending = trio.Event()
        """Set when a file has been written to and not closed."""

    async def pin(self, node: FileNode) -> bytes:
        """The bytes of a memory, kept on its node while it is open."""
        if node.content is not None:
            return node.content
        file = node.file
        if file is None:
            return b""
        content = await self._saves.content(file)
        if node.file is file:
            node.content = content
        return content

    def at_hand(self, node: FileNode) -> bool:
        """Whether the bytes of *node* can be read without waiting; they are pinned then."""
        if node.staged is None and node.content is None:
            if node.file is None:
                return False
            node.content = self._saves.memory.cached(node.file)
        return node.staged is not None or node.content is not None

    async def prepare(self, node: FileNode, truncate: bool) -> None:
        """Have the bytes of *node* at hand before it is opened."""
        if node.staged is None:
            if node.scratch is not None:
                node.staged = Staged(b"" if truncate else node.scratch.load())
            elif not truncate and node.content is None:
                await self.pin(node)
        if truncate:
            await self.truncate(node, 0)

    def read(self, node: FileNode, offset: int, size: int, content: bytes | None) -> bytes:
        """Bytes of the working copy where there is one, else of the memory: *content*, or what is pinned."""
        if node.staged is not None:
            return bytes(node.staged.buffer[offset : offset + size])
        content = node.content if content is None else content
        assert content is not None, "the caller has made sure of the bytes"
        return content if offset == 0 and len(content) <= size else content[offset : offset + size]

    async def stage(self, node: FileNode) -> Staged:
        """The working copy of *node*, taken now if there is none."""
        base = node.file.content if node.file else None
        content = await self.pin(node)
        if node.staged is None:
            node.staged = Staged(content, base)
        return node.staged

    def write(self, handle: FileHandle, staged: Staged, offset: int, data: bytes) -> None:
        """Into the working copy; what can never be stored is refused here, where programs look."""
        node = handle.node
        if handle.appends:
            # The kernel may not have asked for the size since somebody else changed it.
            offset = len(staged.buffer)
        node.writer = handle.who
        try:
            if node.scratch is not None:
                self._check_scratch(node, offset + len(data))
                node.scratch.write(offset, data)
                staged.write(offset, data)
            else:
                if not staged.poison:
                    self._check(node, staged, offset, data)
                staged.write(offset, data)
        except FUSEError:
            raise
        except Exception:
            # The rest of a save without this part must not be stored.
            staged.poisoned(errno.EIO, _internal_fault(self._path(node)))
            raise
        self._show(node, staged)
        self.appending.set()

    async def truncate(self, node: FileNode, size: int) -> None:
        """Cut off or fill up the working copy."""
        if node.scratch is not None:
            self._check_scratch(node, size)
        elif size > self._size_limit():
            error = too_large(self._path(node), size, self._saves.memory.policy.limits)
            raise self._saves.refusal("truncate", error, node.writer)
        staged = node.staged
        if staged is None and size == 0:  # the bytes that go need not be read
            staged = node.staged = Staged(b"", node.file.content if node.file else None)
        elif staged is None:
            staged = await self.stage(node)
        staged.truncate(size)
        if node.scratch is not None:
            node.scratch.truncate(size)
        self._show(node, staged)

    async def truncate_unopened(self, node: FileNode, size: int) -> None:
        """truncate(2) by path: nobody will close the file, so this is where its content is final."""
        if node.scratch is not None and node.staged is None:
            node.staged = Staged(node.scratch.load())
        await self.truncate(node, size)
        try:
            await self._saves.commit(node)
        except FUSEError:
            if not node.writers:
                self._give_up(node)
            raise
        if not (node.writers or node.has_pending) and (not node.opens or node.scratch is None):
            node.staged = None
        if node.scratch is not None and not node.opens:
            node.scratch.rest()

    async def end_of_writer(self, node: FileNode) -> None:
        """After the last writer, the working copy is committed or given up."""
        try:
            await self._commit_or_give_up(node)
        finally:
            self.end_of_handle(node)

    def end_of_handle(self, node: FileNode) -> None:
        """Nobody needs the bytes at hand after the last close."""
        node.opens -= 1
        if not node.opens:
            node.content = None
            if node.scratch is not None:
                node.staged = None
                node.scratch.rest()
            if node.is_gone:
                self._tree.forget_if_unused(node)

    def reject(self, node: FileNode, path: str, data: bytes, error: PortError, complete: bool) -> None:
        """Keep bytes that a refusal would lose, and say where."""
        actor = node.writer.actor
        try:
            kept = self._rejected.keep(
                path,
                data,
                complete=complete,
                code=error.code,
                message=error.message,
                program=actor.program,
                pid=actor.pid,
            )
        except OSError:
            log.exception("%s: the refused bytes could not be kept", path)
            return
        what = "The refused bytes are" if complete else "What arrived before the program gave up is"
        self._events.record(
            "REJECTED",
            f"{what} in .memfs/rejected/{kept.name}; 'memfs rejected' lists, shows and restores it.",
            operation="write",
            path=path,
            actor=actor,
            rejected=kept.name,
            size=kept.size,
            complete=complete,
        )

    async def _commit_or_give_up(self, node: FileNode) -> None:
        staged = node.staged
        try:
            if node.writers == 1 and staged is not None and not staged.poison:
                await self._saves.commit(node)
        except FUSEError as error:
            log.warning("a save was refused when its file was closed: %s", error)
        except Exception:
            log.exception("internal fault in a save when its file was closed")
            if staged is not None and not staged.poison:  # so that its bytes are given up, and kept aside
                staged.poisoned(errno.EIO, _internal_fault(self._path(node)))
        finally:
            node.writers -= 1
        if node.writers or staged is None or node.is_scratch or node.staged is not staged:
            return  # somebody else writes it, maybe since the commit began
        if staged.poison:
            refusal, newborn = staged.refusal, node.file is None
            # Also where its program has removed it by now: that was to clean up.
            path = self._path(node) or (refusal.path if refusal is not None else "")
            self._give_up(node)
            if newborn and path:
                await self._saves.bring_back_deleted(path, node.writer)
        else:
            if node.is_gone:
                node.content = bytes(staged.buffer)  # whoever still reads it has nowhere else to look
            node.staged = None

    def _give_up(self, node: FileNode) -> None:
        staged = node.staged
        if staged is not None and staged.refusal is not None:
            arrived = staged.buffer if staged.rejected is None else staged.rejected
            complete = staged.rejected is None  # refused at its commit, and not while it was written
            self.reject(node, staged.refusal.path or "", bytes(arrived), staged.refusal, complete)
        self._following.revert(node)

    def _check(self, node: FileNode, staged: Staged, offset: int, data: bytes) -> None:
        """Refuse a write that cannot be stored: too large, or certainly no text."""
        end, limit = offset + len(data), self._size_limit()
        if end > limit:
            path = self._path(node)
            error, number = too_large(path, end, self._saves.memory.policy.limits), errno.EFBIG
        elif not may_be_utf8(data):
            error, number = no_utf8(self._path(node)), errno.EILSEQ
        elif not node.is_gone and (full := self._saves.no_room(self._path(node), end)) is not None:
            error, number = full, errno.ENOSPC
        else:
            return
        staged.poisoned(number, self._saves.refused("write", error, node.writer))

    def _check_scratch(self, node: FileNode, size: int) -> None:
        """Refuse what the bounds of scratch have no room for."""
        assert node.scratch is not None
        if not node.scratch.has_room(size):
            raise self._saves.refusal("write", no_room_in_scratch(self._path(node)), node.writer)

    def _size_limit(self) -> int:
        limits = self._saves.memory.policy.limits
        return min(limits.max_file_bytes, limits.max_total_bytes)

    def _path(self, node: FileNode) -> str:
        return "" if node.is_gone else self._tree.path_of(node)

    def _show(self, node: FileNode, staged: Staged) -> None:
        """Stat shows what is staged: a size that lags cuts off what an editor reads back."""
        node.set_size(len(staged.buffer))
        node.set_time(time.time_ns())


def no_room_in_scratch(path: str) -> PortError:
    """The refusal of a temporary file that is too large, or of one too many."""
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{path} has no room: a mount keeps {MAX_FILE_BYTES >> 20} MiB of one temporary file and "
        f"{MAX_TOTAL_BYTES >> 20} MiB of all.",
        path,
    )


def _internal_fault(path: str) -> PortError:
    return PortError(ErrorCode.STORAGE_ERROR, f"A part of {path} was lost by a fault in the mount.", path)
