"""Commands from the mount to the port: one at a time, on the loop where nothing waits.

A local commit takes some tens of microseconds and runs inline. Where another process holds the
scope, or the store may wait for a disk or a network, the command goes to a worker thread, and
those that come meanwhile queue up behind it; reads go on. The commits that a command took in on
its way are given to the tree in version order, on the loop.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pyfuse3
import trio

from memfs.mount import errnos
from memfs.mount.actors import Actors
from memfs.mount.nodes import AnyNode, FileNode
from memfs.mount.staging import whole_characters
from memfs.mount.tree import Tree
from memfs.port.change import File
from memfs.port.commands import Delete, Rename
from memfs.port.errors import ErrorCode, PortError
from memfs.port.memory import Memory, Outcome
from memfs.port.plan import Plan, plan, plan_write
from memfs.port.receipts import Result
from memfs.port.scope import Scope
from memfs.port.store import Busy

T = TypeVar("T")
log = logging.getLogger(__name__)


class Saves:
    """Everything that the mount asks of its memory."""

    def __init__(self, memory: Memory, tree: Tree) -> None:
        self.memory = memory
        self.tree = tree
        self.suspended = 0
        """Handlers that wait for a worker: while there are any, the loop must not linger in poll(2)."""
        self.unsynced = trio.Event()
        """Set when something was committed that a power cut could still take."""
        self.appending = trio.Event()
        """Set when a file has been written to and not closed."""
        self._actors = Actors()
        # Nobody overtakes: a command may only run inline while none is in a worker or waiting for one.
        self._line = trio.Lock()

    async def perform(
        self, name: str, planner: Callable[[Scope], Plan], own: AnyNode | None, pid: int
    ) -> Result:
        """Commit what *planner* plans; the tree follows before this returns.

        *planner* runs when its turn has come, so it sees the names that hold then.
        """
        actor = self._actors.actor(pid)
        if not self._line.locked() and not self.memory.waits:
            try:
                outcome = self.memory.perform(name, planner, actor, wait=False)
            except Busy:
                pass
            else:
                self._take_in(outcome, own)
                return outcome.result
        async with self._line:
            outcome = await self._work(partial(self.memory.perform, name, planner, actor))
            self._take_in(outcome, own)
        return outcome.result

    async def commit(self, node: FileNode, upto: int | None = None) -> None:
        """Store what is staged in *node* (its first *upto* bytes). Raises FUSEError, and poisons.

        Nothing happens where nothing is pending, where the file has lost its name, or where the
        bytes are those that the store has.
        """
        staged = node.staged
        while staged is not None and staged.saving:
            async with self._line:
                pass  # what another close is committing is promised by this one too
        if staged is None or not staged.pending or node.is_scratch or node.is_gone:
            return
        if staged.poison:
            raise pyfuse3.FUSEError(staged.poison)
        data = bytes(staged.buffer if upto is None else staged.buffer[:upto])
        if whole_characters(data) != len(data):
            path = self.tree.path_of(node)
            error = PortError(ErrorCode.INVALID_ARGUMENT, f"{path} would hold text that is no UTF-8.", path)
            raise staged.poisoned(errno.EILSEQ, error)

        def planner(scope: Scope) -> Plan:
            if node.is_gone:
                return _GONE
            # By its id, for somebody may have renamed it without the tree knowing yet.
            file = None if node.file is None else scope.file_by_id(node.file.id)
            path = self.tree.path_of(node) if file is None else file.path
            if node.exclusive and scope.file(path) is not None:
                return PortError(
                    ErrorCode.ALREADY_EXISTS,
                    f"{path} was made by another writer meanwhile; it was not replaced.",
                    path,
                )
            return self._plan_save(scope, path, data, node)

        staged.committed()  # what is written while a worker commits is pending again
        staged.saving = True
        try:
            result = await self.perform("create", planner, node, node.last_pid)
        finally:
            staged.saving = False
        if result.ok:
            node.content = data
            if upto is not None and upto < len(staged.buffer):
                staged.pending = staged.written = True
            return
        if result.error is _SAME:
            node.content = data
            return
        if result.error is _GONE:
            return
        staged.pending = True
        raise staged.poisoned(errnos.errno_of(result.error), result.error)

    async def delete(self, node: FileNode, pid: int) -> bool:
        """Delete a memory, before unlink returns. False: the port has nothing there. Raises FUSEError."""

        def planner(scope: Scope) -> Plan:
            if node.is_gone:
                return _GONE
            return plan(scope, Delete(self.tree.path_of(node)), self.memory.read)

        result = await self.perform("delete", planner, node, pid)
        if result.ok:
            return True
        if result.error.code is ErrorCode.NOT_FOUND:
            return False
        raise errnos.refusal(result.error)

    async def rename(self, node: AnyNode, new_path: str, pid: int) -> bool:
        """Rename a memory or a directory of memories. False: the port has nothing there. Raises FUSEError."""

        def planner(scope: Scope) -> Plan:
            if node.is_gone:
                return _GONE
            return plan(scope, Rename(self.tree.path_of(node), new_path), self.memory.read)

        result = await self.perform("rename", planner, node, pid)
        if result.ok:
            return True
        if result.error.code is ErrorCode.NOT_FOUND:
            return False
        raise errnos.refusal(result.error)

    async def replace(self, scratch: FileNode, path: str, pid: int) -> None:
        """Make the scratch file the memory at *path*, in place of what is there. Raises FUSEError."""
        assert scratch.staged is not None, "a scratch file always has its buffer"
        data = bytes(scratch.staged.buffer)
        if whole_characters(data) != len(data):
            raise pyfuse3.FUSEError(errno.EILSEQ)

        def planner(scope: Scope) -> Plan:
            return _GONE if scratch.is_gone else self._plan_save(scope, path, data, scratch)

        result = await self.perform("create", planner, scratch, pid)
        if result.error is _SAME:
            self.tree.replace_with_same(scratch, path)
        elif not result.ok:
            raise errnos.refusal(result.error)
        scratch.content = data
        if scratch.staged.buffer == data:
            scratch.staged.committed()
        elif not scratch.writers:  # its program has gone on writing meanwhile, and closed it
            await self.commit(scratch)
        if not scratch.writers:
            scratch.staged = None

    async def content(self, file: File) -> bytes:
        """The bytes of a memory; from the store, in a worker, where they are not at hand."""
        content = self.memory.cached(file)
        if content is None:
            content = await self._work(partial(self.memory.read, file))
        return content

    async def sync(self) -> None:
        """Make what was committed survive a power cut. Raises StoreError."""
        await self._work(self.memory.sync)

    async def catch_up(self) -> None:
        """Follow what others committed. Raises StoreError."""
        if not self._line.locked() and not self.memory.waits:
            for commit in self.memory.catch_up():
                self.tree.take_in(commit)
            return
        async with self._line:
            for commit in await self._work(self.memory.catch_up):
                self.tree.take_in(commit)

    def _plan_save(self, scope: Scope, path: str, data: bytes, node: FileNode) -> Plan:
        """As ``create``, but for bytes that are already there: those make no version."""
        file = scope.file(path)
        if file is not None and file.size == len(data) and self.memory.read(file) == data:
            return _SAME
        return plan_write(scope, path, data, node.attributes.st_mtime_ns)

    def _take_in(self, outcome: Outcome, own: AnyNode | None) -> None:
        for commit in outcome.commits:
            is_own = outcome.result.ok and commit is outcome.commits[-1]
            self.tree.take_in(commit, own if is_own else None)
        if outcome.result.ok:
            self.unsynced.set()

    async def _work(self, job: Callable[[], T]) -> T:
        self.suspended += 1
        try:
            return await trio.to_thread.run_sync(job)
        finally:
            self.suspended -= 1


_SAME = PortError(ErrorCode.ALREADY_EXISTS, "The file holds these bytes already.")
_GONE = PortError(ErrorCode.NOT_FOUND, "The file was deleted meanwhile.")
