"""One mount from its beginning to its end: mount, serve, and leave nothing behind.

pyfuse3 keeps its session in module state: one mount per process.
"""

from __future__ import annotations

import faulthandler
import logging
import math
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyfuse3
import trio
from pyfuse3 import FUSEError

from memfs.mount import fastloop
from memfs.mount.actors import NOBODY
from memfs.mount.events import Events
from memfs.mount.following import Following
from memfs.mount.lifecycle import Busy, MountpointError, clear, detach
from memfs.mount.local import Local
from memfs.mount.metrics import Metrics
from memfs.mount.naming import Naming
from memfs.mount.nodes import FileNode
from memfs.mount.notices import Notices
from memfs.mount.operations import Operations
from memfs.mount.past import Past
from memfs.mount.rejected import Rejected
from memfs.mount.renames import Renames
from memfs.mount.saves import Saves
from memfs.mount.scratch_area import ScratchArea
from memfs.mount.sockets import Address
from memfs.mount.staging import whole_characters
from memfs.mount.sweep import Sweeping
from memfs.mount.tree import Tree
from memfs.mount.virtual import VirtualTree
from memfs.mount.working import WorkingCopies
from memfs.port.errors import PortError, StoreError
from memfs.port.memory import Memory

log = logging.getLogger(__name__)

SYNC_SECONDS = 5.0
"""How long a committed change may wait until it survives a power cut, unless somebody asks earlier."""
REDACTION_SECONDS = 30.0
"""How often to try again to take out of the store's files what a program's reading holds there."""
APPEND_SECONDS = 3.0
"""How often a file that is held open and only appended to is committed."""
STOP_SECONDS = 45.0
"""How long a stop may take in all: twice a commit that waits for another process, and an unmount."""
FAULT_SECONDS = 1.0
"""How long to wait after an internal fault, so that one that stays does not fill the log."""
_PR_SET_NO_NEW_PRIVS = 38


class MountError(Exception):
    """The mount could not be made; the message is a sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOptions:
    """How to mount. ``state`` is a private directory of this mount; ``umask`` the bits no mode has.

    ``more_scratch`` are regular expressions: names of further programs' temporary files. ``metrics`` is
    where the counters are told, beside the private socket in ``state``. ``hardened``:
    no thread that serves can gain a right by starting a program (no_new_privs). fusermount3 is such a
    program, so that an ordinary user's mount is left to others to take away.
    """

    state: Path
    read_only: bool = False
    allow_other: bool = False
    umask: int = 0o077
    more_scratch: tuple[str, ...] = ()
    metrics: Address | None = None
    hardened: bool = False


def serve(
    memory: Memory,
    mountpoint: str,
    options: MountOptions,
    ready: Callable[[], None],
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Mount *memory* on the directory *mountpoint* and serve until it is unmounted.

    *ready* is called once the directory answers, *ending* when it is about to go, perhaps twice. SIGTERM
    and SIGINT unmount too. What is staged is committed, and everything synced, before this returns;
    *memory* stays open. Raises MountError.
    """
    try:
        local, area, events = Local(options.state), ScratchArea(options.state), Events(options.state)
    except OSError as error:
        where = error.filename2 or error.filename or options.state
        raise MountError(
            f"The mount's state cannot be used: {where}: {error.strerror}; mend that, or move it away."
        ) from error
    try:
        notices, rejected = Notices(), Rejected(options.state)
        tree = Tree(memory.snapshot, local, area, options.umask)
        sweeping = Sweeping(tree, notices, rejected)
        sweeping.begin()
        following = Following(tree, notices, events)
        saves = Saves(memory, tree, following, events)
        copies = WorkingCopies(tree, saves, following, events, rejected)
        naming = Naming(tree, saves, options.more_scratch)
        renames = Renames(tree, saves, copies, naming, area)
        past = Past(memory, tree, saves.work)
        virtual = VirtualTree(memory, tree, area, events, rejected, past)
        operations = Operations(tree, saves, copies, naming, renames, area, virtual)
        metrics = _listen(memory, operations, options)
        try:
            clear(mountpoint)
        except MountpointError as error:
            raise MountError(str(error)) from None
        try:
            pyfuse3.init(operations, mountpoint, _fuse_options(options))
        except (RuntimeError, OSError) as error:
            metrics.close()
            raise MountError(_why_not(mountpoint, options)) from error
        try:
            if options.hardened:
                _give_up_new_privileges()  # before there is a second thread, which would keep its own
            fastloop.install(lambda: saves.suspended == 0)
            notices.start()
            session = _Session(
                memory, mountpoint, tree, saves, copies, renames, sweeping, metrics, ready, ending
            )
            trio.run(session.run)
        finally:
            metrics.close()
            notices.stop()
            pyfuse3.close(unmount=os.geteuid() == 0 or not options.hardened)
            fastloop.remove()
            faulthandler.cancel_dump_traceback_later()
    finally:
        local.close()
        events.close()


def _listen(memory: Memory, operations: Operations, options: MountOptions) -> Metrics:
    def more() -> dict[str, Any]:
        scope, limits = memory.snapshot(), memory.policy.limits
        return {
            "openFiles": operations.open_files,
            "files": scope.live_files,
            "maxFiles": limits.max_files,
            "bytes": scope.live_bytes,
            "maxBytes": limits.max_total_bytes,
            "version": scope.version,
        }

    try:
        return Metrics(options.state, options.metrics, more)
    except OSError as error:
        raise MountError(f"The counters cannot be told at {error.filename}: {error.strerror}.") from None


def _fuse_options(options: MountOptions) -> set[str]:
    chosen = {"fsname=memfs", "subtype=memfs", "default_permissions"}
    if options.allow_other:
        chosen.add("allow_other")
    if options.read_only:
        chosen.add("ro")
    return chosen


def _give_up_new_privileges() -> None:
    """No program that this process starts from now on gains a right by it; see prctl(2)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise MountError(f"The mount cannot be hardened: {os.strerror(ctypes.get_errno())}.")


def _why_not(mountpoint: str, options: MountOptions) -> str:
    """The likeliest reason: libfuse has printed its own and gives none to its caller."""
    if not os.path.exists("/dev/fuse"):
        return "There is no /dev/fuse: load the module (modprobe fuse), or give the container the device."
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse may not be opened by this user; its mode should be 0666."
    if os.getuid() and shutil.which("fusermount3") is None:
        return "fusermount3 is missing: install the package fuse3."
    if options.allow_other and os.getuid():
        return f"{mountpoint} could not be mounted; --allow-other needs user_allow_other in /etc/fuse.conf."
    return f"{mountpoint} could not be mounted; the lines above say what the system refused."


class _Session:
    """The tasks of a running mount."""

    def __init__(
        self,
        memory: Memory,
        mountpoint: str,
        tree: Tree,
        saves: Saves,
        copies: WorkingCopies,
        renames: Renames,
        sweeping: Sweeping,
        metrics: Metrics,
        ready: Callable[[], None],
        ending: Callable[[], None],
    ) -> None:
        self._memory = memory
        self._mountpoint = mountpoint
        self._tree = tree
        self._saves = saves
        self._copies = copies
        self._renames = renames
        self._sweeping = sweeping
        self._metrics = metrics
        self._ready = ready
        self._ending = ending
        self._foreign = trio.Event()

    async def run(self) -> None:
        token = trio.lowlevel.current_trio_token()

        def somebody_committed() -> None:
            try:
                token.run_sync_soon(self._foreign.set, idempotent=True)
            except trio.RunFinishedError:
                return  # the last notice of a mount that has ended

        async with trio.open_nursery() as nursery:
            await nursery.start(self._stop_on_signal)
            watch = self._memory.watch(somebody_committed)
            try:
                for task in (
                    self._follow,
                    self._keep_synced,
                    self._keep_appended,
                    self._renames.end_overdue_parking,
                ):
                    nursery.start_soon(_go_on, task)
                nursery.start_soon(self._sweeping.go_on)
                nursery.start_soon(_go_on, self._metrics.serve)
                nursery.start_soon(self._tell_ready)
                await pyfuse3.main()
            finally:
                await trio.to_thread.run_sync(watch.close)
            nursery.cancel_scope.cancel()
        self._ending()
        await self._finish()

    async def _tell_ready(self) -> None:
        """Ask the mount itself, as a program would, before anybody is told that it is there."""
        await trio.to_thread.run_sync(partial(os.statvfs, self._mountpoint), abandon_on_cancel=True)
        self._ready()

    async def _stop_on_signal(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                # Whatever goes wrong now: the stacks are logged, and the next mount replaces this one.
                faulthandler.dump_traceback_later(STOP_SECONDS, exit=True, file=2)
                self._ending()
                # While requests are still served, so that the kernel can hand over what it holds.
                if not await trio.to_thread.run_sync(
                    partial(_let_go, self._mountpoint), abandon_on_cancel=True
                ):
                    await self._commit_all()
                    pyfuse3.terminate()

    async def _follow(self) -> None:
        """What another process commits, seen here at once."""
        while True:
            await self._foreign.wait()
            self._foreign = trio.Event()
            try:
                await self._saves.catch_up()
            except StoreError as error:
                log.error("changes from elsewhere cannot be read: %s", error)

    async def _keep_synced(self) -> None:
        pending: int | None = 0  # nobody has looked yet
        while True:
            with trio.move_on_after(math.inf if pending is None else REDACTION_SECONDS):
                await self._saves.unsynced.wait()
            await trio.sleep(SYNC_SECONDS)
            self._saves.unsynced = trio.Event()
            try:
                await self._saves.sync()
                await trio.to_thread.run_sync(self._memory.maintain)
                pending = await trio.to_thread.run_sync(self._memory.unfinished_redaction_ns)
            except StoreError as error:
                self._tell_of_failed_sync(error)

    async def _keep_appended(self) -> None:
        """Commit long-held appends (a log, a chat) in passing, up to the last whole character."""
        while True:
            await self._copies.appending.wait()
            await trio.sleep(APPEND_SECONDS)
            self._copies.appending = trio.Event()
            for node in self._staged():
                staged = node.staged
                if staged is None or not staged.written or not staged.appended or staged.poison:
                    continue
                if time.monotonic() - staged.began < APPEND_SECONDS:
                    self._copies.appending.set()  # a save that has only just begun
                    continue
                whole = whole_characters(staged.buffer)
                if whole:
                    try:
                        await self._saves.commit(node, whole)
                    except FUSEError as error:
                        log.warning("an append was refused before its close: %s", error)

    async def _finish(self) -> None:
        """Nobody can reach the mount any more: commit what its files still hold, and sync."""
        await self._commit_all()
        try:
            await trio.to_thread.run_sync(self._memory.sync)
        except StoreError as error:
            self._tell_of_failed_sync(error)

    def _tell_of_failed_sync(self, error: StoreError) -> None:
        self._saves.refused("sync", PortError(error.code, error.message), NOBODY)
        log.error("the store cannot be synced: %s", error)

    async def _commit_all(self) -> None:
        for node in self._staged():
            try:
                await self._saves.commit(node)
            except FUSEError as error:
                log.error("%s could not be saved: %s", self._tree.path_of(node), error)

    def _staged(self) -> list[FileNode]:
        return [node for node in self._tree.files_below(self._tree.root) if node.has_pending]


async def _go_on(task: Callable[[], Awaitable[None]]) -> None:
    """Run a task that never ends; an internal fault in it is logged, and does not end the mount."""
    while True:
        try:
            await task()
        except Exception:
            log.exception("internal fault beside the requests; going on")
            await trio.sleep(FAULT_SECONDS)


def _let_go(mountpoint: str) -> bool:
    """Whether the system let go of the mount: it does not while a program is in it."""
    try:
        detach(mountpoint)
    except (Busy, MountpointError):
        return False
    return True
