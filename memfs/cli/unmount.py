"""``memfs unmount``: the end of a mount. When it returns, everything written is in the store."""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress

from memfs.cli.complaint import Complaint, Status
from memfs.cli.mount import configured_mountpoint
from memfs.cli.running import Mount, is_served, is_stopped, recorded, recorded_at, strike
from memfs.mount.lifecycle import Busy, Health, MountpointError, detach, holders, is_mounted, probe
from memfs.places import expanded, memfs_mount_above, resolve

BUSY_SECONDS = 1.0
"""How long to try again where a program is just leaving."""
END_SECONDS = 60.0
LAZY_SECONDS = 2.0
STOPPED_SECONDS = 3.0
"""How long a daemon that is stopped may take to go on when it is told to."""


def run(options: Namespace) -> int:
    """Unmount one directory, that of a configured memory, or all of this user's."""
    named = [each for each in (options.directory, options.memory, options.process) if each is not None]
    if len(named) + options.all != 1:
        raise Complaint("Name the directory to unmount, or give --memory, --process or --all.", Status.USAGE)
    return _unmount_each(list(_wanted(options)), options.lazy)


def unmount_all() -> int:
    """Unmount all of this user's; the exit status."""
    return _unmount_each(_all(), lazy=False)


def _unmount_each(directories: list[str], lazy: bool) -> int:
    os.chdir("/")  # or this process would itself be in the mount
    status: int = Status.DONE
    for mountpoint in directories:
        try:
            print(_unmount(mountpoint, lazy))
        except (Complaint, MountpointError) as error:
            print(f"memfs: {error}", file=sys.stderr)
            status = Status.REFUSED
    if not directories:
        print("Nothing is mounted.")
    return status


def _wanted(options: Namespace) -> Iterator[str]:
    if options.all:
        yield from _all()
    elif options.directory is not None:
        yield resolve(expanded(options.directory))
    elif options.process is not None:
        # A service's: what is configured may have changed, or be wrong, since it was mounted.
        yield from (mount.mountpoint for mount in recorded() if str(mount.pid) == options.process)
    else:
        mountpoint = configured_mountpoint(options.memory)
        if is_mounted(mountpoint) or is_served(mountpoint):
            yield mountpoint


def _all() -> list[str]:
    running = [m.mountpoint for m in recorded() if is_mounted(m.mountpoint) or is_served(m.mountpoint)]
    return sorted(running, key=len, reverse=True)


def _unmount(mountpoint: str, lazy: bool) -> str:
    """Unmount *mountpoint* and wait for its daemon; what to say about it."""
    mount = recorded_at(mountpoint)
    if not is_mounted(mountpoint) and not is_served(mountpoint):
        raise Complaint(_not_mounted(mountpoint))
    goes_on = _let_go_on(mountpoint, mount)
    if not is_mounted(mountpoint):
        _wait_for_end(mountpoint, END_SECONDS)  # somebody else has unmounted it, or it only begins
        return f"Unmounted {mountpoint}."
    dead = mount is not None and not is_served(mountpoint) and probe(mountpoint) is Health.DEAD
    _detach(mountpoint, lazy or dead)
    if dead:
        strike(mountpoint)
        return f"Removed the dead mount on {mountpoint}."
    if lazy and not _has_ended(mountpoint, LAZY_SECONDS):
        return f"Detached {mountpoint}; its daemon ends when the last program closes its files."
    _wait_for_end(mountpoint, END_SECONDS)
    return f"Unmounted {mountpoint}{goes_on}."


def _let_go_on(mountpoint: str, mount: Mount | None) -> str:
    """Have a daemon that is stopped go on, so that it stores what is left; what to add about that.

    One that stays stopped, as in a debugger, is killed, for nothing else would end those that wait for it.
    """
    if mount is None or not is_served(mountpoint) or not is_stopped(mount):
        return ""
    deadline = time.monotonic() + STOPPED_SECONDS
    while is_stopped(mount):
        if time.monotonic() > deadline:
            _send(mount, signal.SIGKILL)
            _has_ended(mountpoint, STOPPED_SECONDS)
            if is_mounted(mountpoint):
                detach(mountpoint, lazy=True)
            strike(mountpoint)
            raise Complaint(
                f"{mountpoint} is unmounted, but its daemon, process {mount.pid}, was stopped and did not "
                "go on, so it was killed; what it had not stored is lost."
            )
        _send(mount, signal.SIGCONT)
        time.sleep(0.02)
    return f"; its daemon, process {mount.pid}, was stopped, and has gone on to store what was left"


def _send(mount: Mount, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(mount.pid, number)


def _detach(mountpoint: str, lazy: bool) -> None:
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return detach(mountpoint, lazy)
        except Busy:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
    users = ", ".join(holders(mountpoint)) or "a program that /proc does not show"
    raise Complaint(f"{mountpoint} is in use by {users}; end that, or unmount with --lazy.")


def _wait_for_end(mountpoint: str, seconds: float) -> None:
    if not _has_ended(mountpoint, seconds):
        mount = recorded_at(mountpoint)
        daemon = f"process {mount.pid}" if mount else "its daemon"
        raise Complaint(f"{mountpoint} is unmounted, but {daemon} has not ended within {seconds:.0f} s.")


def _has_ended(mountpoint: str, seconds: float) -> bool:
    """Wait until no daemon holds *mountpoint*: it has committed and synced all, and is gone."""
    deadline = time.monotonic() + seconds
    while is_served(mountpoint):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _not_mounted(mountpoint: str) -> str:
    outer = memfs_mount_above(mountpoint)
    if outer is not None:
        return f"{mountpoint} lies in the mount {outer}; unmount that."
    return f"{mountpoint} is no memfs mount; `memfs status` lists those there are."
