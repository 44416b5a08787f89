"""``memfs mount``: a memory on a directory, in the background or here."""

from __future__ import annotations

import logging
import os
import time
from argparse import Namespace
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memfs.cli.choose import Chosen, memory_of
from memfs.cli.complaint import Complaint, Status, explain
from memfs.cli.configuration import (
    Settings,
    configured,
    default_settings,
    environment,
    mountpoint_of,
    settings_for,
)
from memfs.cli.daemon import Herald, serve_in_background, serve_in_foreground, stopping_held_back
from memfs.cli.first_memory import print_first_steps, write_first_memory
from memfs.cli.running import (
    Mount,
    claim,
    log_of,
    make_state_of,
    record,
    recorded,
    recorded_at,
    strike,
)
from memfs.cli.supervisor import Supervisor
from memfs.mount.lifecycle import (
    Health,
    MountpointError,
    Unfit,
    answers,
    check_apart,
    default_mountpoint,
    hung,
    is_mounted,
    prepare,
    probe,
)
from memfs.places import expanded, resolve, state_directory

if TYPE_CHECKING:
    from memfs.port.memory import Memory

CLAIM_SECONDS = 10.0
"""How long to wait for a daemon that is about to begin or to end on the same directory."""

log = logging.getLogger(__name__)


def run(options: Namespace) -> int:
    """Mount, and return when the directory answers; with ``--foreground``, when it is unmounted."""
    try:
        return _run(options)
    except BaseException as error:
        if options.foreground:
            Supervisor.from_environment().failed(explain(error)[0])
        raise


def _run(options: Namespace) -> int:
    settings = settings_for(options)
    names_a_memory = settings.name_a_memory
    if not names_a_memory:
        settings = default_settings(settings)
    memory = memory_of(settings)
    try:
        mountpoint = mountpoint_in(settings)
        plan = _Plan(memory, mountpoint, settings, options)
        plan.check_apart()
        claimed = _claim(mountpoint)
        if isinstance(claimed, Mount):
            return _already_mounted(claimed, memory if names_a_memory else None, options.first_memory)
        _mount(plan, claimed)
    except MountpointError as error:
        status = Status.UNFIT_DIRECTORY if isinstance(error, Unfit) else Status.REFUSED
        raise Complaint(str(error), status) from None
    return Status.DONE


def mountpoint_in(settings: Settings) -> str:
    """The directory to mount on: as somebody has set it, or what suits the memory; free of links."""
    chosen = settings.get("mountpoint") or mountpoint_of(settings.name)
    return default_mountpoint() if chosen is None else resolve(expanded(chosen))


def configured_mountpoint(name: str) -> str:
    """Where the memory *name* is mounted that its file, and the environment, configure."""
    return mountpoint_in(Settings(name, configured(name) | environment()))


class _Plan(NamedTuple):
    """What is to be mounted where."""

    memory: Chosen
    mountpoint: str
    settings: Settings
    options: Namespace

    def check_apart(self) -> None:
        """Refuse a mount over its own data, or data in a mount, before anything is written there."""
        check_apart(self.mountpoint, "the state of mounts", resolve(str(state_directory())))
        kind, _, path = self.memory.store.partition(":")
        if kind in ("sqlite", "directory", "git"):
            check_apart(self.mountpoint, "the store", path.partition("?ref=")[0])
        if kind == "directory" and self.mountpoint.startswith(path + "/"):
            raise Unfit(f"{self.mountpoint} lies in the store, {path}; name a directory outside of it.")

    def serve(self, herald: Herald) -> None:
        """Open the memory and serve it; the process that calls this does nothing else any more."""
        from memfs.mount.session import MountError, MountOptions, serve
        from memfs.opening import open_with

        settings = self.settings
        with open_with(self.memory.store, self.memory.scope, settings.rules(), relaxed=True) as memory:
            if self.options.first_memory:
                write_first_memory(memory)
            read_only = settings.get("read_only")
            record(Mount(self.mountpoint, *self.memory, os.getpid(), time.time(), read_only))
            how = MountOptions(
                read_only=read_only,
                allow_other=settings.get("allow_other"),
                umask=settings.get("umask"),
                state=make_state_of(self.mountpoint, *self.memory),
                metrics=settings.get("metrics"),
                more_scratch=settings.get("scratch"),
                hardened=settings.get("hardened"),
            )

            def ready() -> None:
                let_through()
                log.info("mounted %s: %s, scope %s", self.mountpoint, *self.memory)
                herald.ready(partial(answers, self.mountpoint), lambda: _told(memory, self.mountpoint))

            try:
                with stopping_held_back() as let_through:
                    serve(memory, self.mountpoint, how, ready, herald.ending)
            except MountError as error:
                raise Complaint(str(error)) from None
            finally:
                strike(self.mountpoint)
        log.info("unmounted %s", self.mountpoint)


def _told(memory: Memory, mountpoint: str) -> str:
    """One line about what is served."""
    scope, limits = memory.snapshot(), memory.policy.limits
    files, used = (
        f"{scope.live_files} of {limits.max_files} files",
        f"{scope.live_bytes} of {limits.max_total_bytes}",
    )
    return f"Serving {mountpoint}: {files}, {used} bytes"


def _mount(plan: _Plan, lock: int) -> None:
    mountpoint, store = plan.mountpoint, plan.memory.store
    made = prepare(mountpoint)
    strike(mountpoint)  # what a daemon left that was killed
    try:
        if plan.options.foreground:
            serve_in_foreground(plan.serve)
            return
        serve_in_background(plan.serve, log_of(mountpoint), lock)
    except BaseException:
        if made:
            with suppress(OSError):
                os.rmdir(mountpoint)
        raise
    print(f"Mounted {mountpoint} ({store}, scope '{plan.memory.scope}').")
    for other in recorded():
        if plan.memory.is_on(other) and other.mountpoint != mountpoint and is_mounted(other.mountpoint):
            # Programs cannot see that it is one file: cp would empty it before reading it.
            print(f"The same memory is on {other.mountpoint} too; copy nothing from one to the other.")
    if plan.options.first_memory:
        print_first_steps(mountpoint)


def _claim(mountpoint: str) -> int | Mount:
    """The lock of *mountpoint*, or the mount of ours that holds it and answers."""
    deadline = time.monotonic() + CLAIM_SECONDS
    while (lock := claim(mountpoint)) is None:
        mount = recorded_at(mountpoint)
        if mount is not None and is_mounted(mountpoint):
            health = probe(mountpoint)
            if health is Health.HUNG:
                raise hung(mountpoint)
            if health is Health.ALIVE:
                return mount
        if time.monotonic() > deadline:
            daemon = f"process {mount.pid}" if mount else "another process"
            raise Complaint(f"{mountpoint} is held by {daemon}, which has not ended yet; try again later.")
        time.sleep(0.02)
    return lock


def _already_mounted(mount: Mount, memory: Chosen | None, first_memory: bool) -> int:
    shown = f"{mount.store}, scope '{mount.scope}', process {mount.pid}"
    if memory is not None and not memory.is_on(mount):
        raise Complaint(
            f"{mount.mountpoint} is already the mount of another memory ({shown}); "
            "unmount it, or name another directory."
        )
    if not first_memory:
        raise Complaint(f"{mount.mountpoint} is already mounted ({shown}); `memfs unmount` ends it.")
    print(f"{mount.mountpoint} is mounted already ({shown}).")
    print_first_steps(mount.mountpoint)
    return Status.DONE
