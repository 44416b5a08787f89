"""Commands from the mount to the port: one at a time, on the loop where nothing waits.

A local commit takes some tens of microseconds and runs inline. Where another process holds the
scope, or the store may wait for a disk or a network, the command goes to a worker thread, and
those that come meanwhile queue up behind it; reads go on. The commits that a command took in on
its way are given to the tree in version order, on the loop.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import pyfuse3
import trio

from memfs.mount.actors import Who
from memfs.mount.errnos import errno_of
from memfs.mount.events import Events
from memfs.mount.following import Following
from memfs.mount.nodes import AnyNode, FileNode, Parked
from memfs.mount.staging import whole_characters
from memfs.mount.tree import Tree
from memfs.port.change import LATEST_NS, Change, Commit, File
from memfs.port.checks import cannot_write_at
from memfs.port.commands import Delete, Rename
from memfs.port.errors import ErrorCode, PortError, StoreError
from memfs.port.eviction import make_room
from memfs.port.memory import Memory, Outcome, Planner
from memfs.port.plan import Joined, Plan, plan, plan_write
from memfs.port.scope import Scope
from memfs.port.store import Busy

T = TypeVar("T")
log = logging.getLogger(__name__)

JOIN_SECONDS = 2.0
"""How long after a deletion or an emptying a program's new content is the same save."""


class _FirstHalf(NamedTuple):
    """A deletion or an emptying that may turn out to be the first half of a save."""

    joined: Joined
    deleted: File | None
    """What the deletion took, to be brought back if the second half is refused."""
    who: Who
    until: float


class Saves:
    """Everything that the mount asks of its memory."""

    def __init__(self, memory: Memory, tree: Tree, following: Following, events: Events) -> None:
        self.memory = memory
        self._tree = tree
        self._following = following
        self._events = events
        self.suspended = 0
        """Handlers that wait for a worker: while there are any, the loop must not linger in poll(2)."""
        self.unsynced = trio.Event()
        """Set when something was committed that a power cut could take, or that left the store more to do."""
        self._halves: dict[str, _FirstHalf] = {}
        # Nobody overtakes: a command may only run inline while none is in a worker or waiting for one.
        self._line = trio.Lock()

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
        path = self._tree.path_of(node)
        if whole_characters(data) != len(data):
            raise staged.poisoned(errno.EILSEQ, self.refused("write", no_utf8(path), node.writer))
        overtaken: list[File] = []
        half = self._first_half(path, node.writer)

        def planner(scope: Scope, now_ns: int) -> Plan:
            if node.is_gone:
                return _GONE
            # By its id, for somebody may have renamed it without the tree knowing yet.
            file = None if node.file is None else scope.file_by_id(node.file.id)
            now_at = self._tree.path_of(node) if file is None else file.path
            there = scope.file(now_at)
            if there is not None and node.exclusive:
                return PortError(
                    ErrorCode.ALREADY_EXISTS,
                    f"{now_at} was made by another writer meanwhile; it was not replaced.",
                    now_at,
                )
            overtaken[:] = (
                [there] if there and staged.base is not None and there.content != staged.base else []
            )
            return self._plan_save(scope, now_at, data, node, half, now_ns)

        staged.committed()  # what is written while a worker commits is pending again
        staged.saving = True
        try:
            outcome = await self._perform("create", planner, node, node.writer)
        except Exception:
            staged.pending = True
            fault = PortError(
                ErrorCode.STORAGE_ERROR, f"{path} was not saved, by a fault in the mount.", path
            )
            staged.poisoned(errno.EIO, self.refused("write", fault, node.writer))
            raise
        finally:
            staged.saving = False
        if not outcome.result.ok:
            error = outcome.result.error
            if error is _SAME:
                node.content = data
            if error is _SAME or error is _GONE:
                return
            staged.pending = True
            raise staged.poisoned(errno_of(error), self.refused("write", error, node.writer, path=path))
        if overtaken:
            self._tell_of_overtaking(node, overtaken[0], outcome.commits[-1].version)
        self._halves.pop(path, None)
        if not data:
            put = outcome.commits[-1].change.puts[0]
            joined = Joined(put.id, outcome.commits[-1].version, put.operation)
            self._remember_half(path, _FirstHalf(joined, None, node.writer, time.monotonic() + JOIN_SECONDS))
        node.content = data
        staged.base = outcome.commits[-1].version
        if upto is not None and upto < len(staged.buffer):
            staged.pending = staged.written = True

    def check_writable(self, path: str, operation: str, who: Who) -> None:
        """Refuse a memory that no save could reach: an archived one, or one outside the layout."""
        error = cannot_write_at(self._tree.scope(), path)
        if error is not None:
            raise self.refusal(operation, error, who)

    def check_creatable(self, path: str, who: Who) -> None:
        """Refuse a new memory that no save could store, while its program can still be told so."""
        self.check_writable(path, "create", who)
        error = self.no_room(path, 0) or self.memory.in_the_way(path)
        if error is not None:
            raise self.refusal("create", error, who)

    def no_room(self, path: str, size: int) -> PortError | None:
        """Why a memory at *path* cannot have *size* bytes: in a full scope that refuses, or its archive."""
        scope = self._tree.scope()
        if scope.policy.eviction == "delete":
            return None
        room = make_room(scope, {path: size}, time.time_ns())
        return room if isinstance(room, PortError) else None

    async def delete(self, node: FileNode, who: Who) -> bool:
        """Delete a memory, before unlink returns. False: the port has nothing there. Raises FUSEError."""
        path, deleted = self._tree.path_of(node), node.file

        def planner(scope: Scope, now_ns: int) -> Plan:
            if node.is_gone:
                return _GONE
            return plan(scope, Delete(self._tree.path_of(node)), self.memory.read, now_ns)

        outcome = await self._perform("delete", planner, node, who)
        if not outcome.result.ok:
            if outcome.result.error.code is ErrorCode.NOT_FOUND:
                return False
            raise self.refusal("unlink", outcome.result.error, who, path=path)
        commit = outcome.commits[-1]
        deleted = deleted or commit.change.removes[0].file  # a newborn whose first commit was under way
        joined = Joined(deleted.id, commit.version, "modified")
        self._remember_half(path, _FirstHalf(joined, deleted, who, time.monotonic() + JOIN_SECONDS))
        return True

    async def bring_back(self, path: str, parked: Parked | None, who: Who) -> None:
        """The new content of a save was refused: the old memory, moved away or deleted, comes back."""
        if parked is not None:
            self._following.bring_back(parked)
        else:
            await self.bring_back_deleted(path, who)

    async def bring_back_deleted(self, path: str, who: Who) -> None:
        """The new content of a save that began with a deletion was refused: the old memory comes back."""
        half = self._first_half(path, who)
        if half is None or half.deleted is None:
            return
        self._halves.pop(path)
        joined = half.joined._replace(operation="restored")
        try:
            old = await self._content_of(half.deleted)
        except StoreError as error:
            log.error("%s cannot be brought back: %s", path, error)
            return

        def planner(scope: Scope, now_ns: int) -> Plan:
            there = scope.file(path)
            if there is not None:
                return PortError(ErrorCode.ALREADY_EXISTS, f"{path} was made again by another writer.", path)
            return plan_write(scope, path, old, now_ns, None, joined)

        outcome = await self._perform("create", planner, None, who)
        if not outcome.result.ok:
            self.refused("restore", outcome.result.error, who, path=path)

    async def rename(self, node: AnyNode, new_path: str, who: Who) -> bool:
        """Rename a memory or a directory of memories. False: the port has nothing there. Raises FUSEError."""

        def planner(scope: Scope, now_ns: int) -> Plan:
            if node.is_gone:
                return _GONE
            return plan(scope, Rename(self._tree.path_of(node), new_path), self.memory.read, now_ns)

        result = (await self._perform("rename", planner, node, who)).result
        if result.ok:
            return True
        if result.error.code is ErrorCode.NOT_FOUND:
            return False
        raise self.refusal("rename", result.error, who, path=new_path)

    async def replace(self, scratch: FileNode, path: str, data: bytes, who: Who) -> PortError | None:
        """Make the scratch file the memory at *path*, in place of what is there; the refusal, or None."""
        if whole_characters(data) != len(data):
            return self.refused("rename", no_utf8(path), who)
        half = self._first_half(path, who)

        def planner(scope: Scope, now_ns: int) -> Plan:
            return _GONE if scratch.is_gone else self._plan_save(scope, path, data, scratch, half, now_ns)

        outcome = await self._perform("create", planner, scratch, who)
        if outcome.result.error is _SAME:
            self._following.take_place_of_same(scratch, path)
        elif not outcome.result.ok:
            return self.refused("rename", outcome.result.error, who, path=path)
        self._halves.pop(path, None)
        scratch.content = data
        staged = scratch.staged
        if staged is not None:
            staged.base = scratch.file.content if scratch.file else None
            if staged.buffer == data:
                staged.committed()
            elif not scratch.writers:  # its program has gone on writing meanwhile, and closed it
                await self.commit(scratch)
            if not scratch.writers:
                scratch.staged = None
        return None

    async def end_parking(self, parked: Parked) -> None:
        """No new file has come for a parked name: delete the memory, or bring it back if it was changed."""
        bytes_moved_away = parked.file

        def planner(scope: Scope, now_ns: int) -> Plan:
            path = self._tree.path_of_parked(parked)
            there = scope.file(path)
            if there is None or there.id != bytes_moved_away.id or there.content != bytes_moved_away.content:
                return PortError(
                    ErrorCode.CONFLICT,
                    f"{path} is back: another writer changed it while a save here had moved it away.",
                    path,
                )
            return plan(scope, Delete(path), self.memory.read, now_ns)

        if parked not in self._tree.parked:
            return
        outcome = await self._perform("delete", planner, None, parked.who)
        if not outcome.result.ok and parked in self._tree.parked:
            self.refused("rename", outcome.result.error, parked.who, path=self._tree.path_of_parked(parked))
            self._following.bring_back(parked)

    async def content(self, file: File) -> bytes:
        """The bytes of a memory; from the store, in a worker, where they are not at hand."""
        content = self.memory.cached(file)
        return await self._content_of(file) if content is None else content

    async def sync(self) -> None:
        """Make what was committed survive a power cut. Raises StoreError."""
        await self.work(self.memory.sync)

    async def catch_up(self) -> None:
        """Follow what others committed. Raises StoreError."""
        if not self._line.locked() and not self.memory.waits:
            self._follow(self.memory.catch_up())
            return
        async with self._line:
            self._follow(await self.work(self.memory.catch_up))

    def _follow(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            self._following.take_in(commit)
            if commit.change == _NOTHING:  # a redaction; what a program held back is for all to finish
                self.unsynced.set()

    def refused(
        self, operation: str, error: PortError, who: Who, number: int = 0, path: str | None = None
    ) -> PortError:
        """Tell of a refusal in the events, and give *error* back. *number*: where its errno is special.

        *path*: what it is about, where a store failed, which does not say so.
        """
        if error.path is None:
            error = replace(error, path=path)
        self._events.record(
            error.code,
            error.message,
            operation=operation,
            path=error.path or "",
            actor=who.actor,
            errno=number or errno_of(error),
        )
        return error

    def refusal(
        self, operation: str, error: PortError, who: Who, number: int = 0, path: str | None = None
    ) -> pyfuse3.FUSEError:
        """*error* as an exception for the kernel, told of in the events."""
        number = number or errno_of(error)
        self.refused(operation, error, who, number, path)
        return pyfuse3.FUSEError(number)

    async def _perform(self, name: str, planner: Planner, own: AnyNode | None, who: Who) -> Outcome:
        """Commit what *planner* plans; the tree follows before this returns.

        *planner* runs when its turn has come, so it sees the names that hold then.
        """
        if not self._line.locked() and not self.memory.waits:
            try:
                outcome = self.memory.perform(name, planner, who.actor, wait=False)
            except Busy:
                pass
            else:
                self._take_in(outcome, own)
                return outcome
        async with self._line:
            outcome = await self.work(partial(self.memory.perform, name, planner, who.actor))
            self._take_in(outcome, own)
        return outcome

    def _plan_save(
        self, scope: Scope, path: str, data: bytes, node: FileNode, half: _FirstHalf | None, now_ns: int
    ) -> Plan:
        """As ``create``, but for bytes that are already there: those make no version."""
        file = scope.file(path)
        if file is not None and file.size == len(data) and self.memory.read(file) == data:
            return _SAME
        mtime_ns = min(node.attributes.st_mtime_ns, LATEST_NS)
        return plan_write(scope, path, data, now_ns, mtime_ns, half.joined if half else None)

    def _take_in(self, outcome: Outcome, own: AnyNode | None) -> None:
        for commit in outcome.commits:
            is_own = outcome.result.ok and commit is outcome.commits[-1]
            self._following.take_in(commit, own if is_own else None)
        if outcome.result.ok:
            self.unsynced.set()

    async def _content_of(self, file: File) -> bytes:
        return await self.work(partial(self.memory.read, file))

    async def work(self, job: Callable[[], T]) -> T:
        """Run *job*, which may wait, in a worker thread."""
        self.suspended += 1
        try:
            return await trio.to_thread.run_sync(job)
        finally:
            self.suspended -= 1

    def _first_half(self, path: str, who: Who) -> _FirstHalf | None:
        half = self._halves.get(path)
        if half is None or half.until < time.monotonic() or not half.who.is_same_program(who):
            return None
        return half

    def _remember_half(self, path: str, half: _FirstHalf) -> None:
        if len(self._halves) > 1_000:
            now = time.monotonic()
            self._halves = {path: kept for path, kept in self._halves.items() if kept.until >= now}
        self._halves[path] = half

    def _tell_of_overtaking(self, node: FileNode, overtaken: File, version: int) -> None:
        other = self._following.foreign_writer(overtaken)
        path = self._tree.path_of(node)
        somebody = (other and " with ".join(filter(None, (other.user, other.program)))) or "another writer"
        self._events.record(
            "OVERTAKEN",
            f"{path} was saved over what {somebody} wrote after it was opened: theirs is version "
            f"{overtaken.content}, this save version {version}; "
            f"`memfs diff {path} {overtaken.content} {version}` compares them.",
            operation="write",
            path=path,
            actor=node.writer.actor,
            version=version,
            overtaken_version=overtaken.content,
            overtaken_program=other.program if other else "",
            overtaken_pid=other.pid if other else 0,
        )


_NOTHING = Change()
_SAME = PortError(ErrorCode.ALREADY_EXISTS, "The file holds these bytes already.")
_GONE = PortError(ErrorCode.NOT_FOUND, "The file was deleted meanwhile.")


def no_utf8(path: str) -> PortError:
    """The refusal of bytes that are no text."""
    return PortError(
        ErrorCode.INVALID_ARGUMENT,
        f"{path} would hold bytes that are no UTF-8 text.",
        path,
        {"encoding": "utf-8"},
    )
