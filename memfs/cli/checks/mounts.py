"""The mount of a memory: whether it can be made, whether it answers, and whether it sees what others do."""

from __future__ import annotations

import errno
import json
import os
import shlex
import time
from typing import Any

from memfs.cli.checks.finding import Check, Finding, Findings, Subject, broken, ok, warning
from memfs.cli.checks.machine import Machine, confines_fusermount
from memfs.cli.running import is_served, is_stopped, log_of, recorded, strike
from memfs.mount.lifecycle import (
    Busy,
    Health,
    MountpointError,
    check_apart,
    check_directory,
    detach,
    hung,
    is_mounted,
    own_report,
    probe,
    times_mounted,
)
from memfs.mount.sockets import ask
from memfs.places import expanded, memfs_mount_above, mount_points, resolve, state_directory

SETTLE_SECONDS = 3.0
"""How long a mount may take to begin, to end, or to see what another program has committed."""
LOG_BYTES = 1 << 18
FAULT = "internal fault"
"""What a mount's log says where memfs itself is at fault."""


def _mountpoint(subject: Subject) -> Findings:
    """Whether the directory can carry a mount; nothing is said of one that does so already."""
    known = subject.known
    if is_mounted(known.mountpoint):
        return
    yield from _refused(known.mountpoint)
    if known.store != "simple:":
        try:
            check_apart(known.mountpoint, "the store", known.store.partition(":")[2])
        except MountpointError as error:
            yield broken(str(error))


def _refused(mountpoint: str) -> Findings:
    parent = os.path.dirname(mountpoint)
    outer = memfs_mount_above(parent)
    if outer is not None:
        yield broken(f"{mountpoint} lies inside the memfs mount {outer}; name a directory outside of it.")
        return
    other = next((each for each in reversed(list(mount_points())) if each.path == mountpoint), None)
    if other is not None:
        yield broken(f"{mountpoint} is where another filesystem ({other.filesystem}) is mounted.")
        return
    try:
        check_apart(mountpoint, "the state of mounts", resolve(str(state_directory())))
        if os.path.lexists(mountpoint):
            check_directory(mountpoint)
            yield ok(f"{mountpoint} is an empty directory of yours.")
        elif os.access(parent, os.W_OK | os.X_OK):
            yield ok(f"{mountpoint} can be made.")
        else:
            yield broken(
                f"{mountpoint} cannot be made: {parent} is missing or not writable for you.",
                f"sudo install -d -o $USER -m 700 {shlex.quote(mountpoint)}",
            )
    except MountpointError as error:
        yield broken(str(error))


def _apparmor(subject: Subject) -> Findings:
    """Ubuntu's rules for fusermount3 allow only some places to mount on."""
    known = subject.known
    if not confines_fusermount(Machine()) or is_mounted(known.mountpoint) or os.geteuid() == 0:
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = (expanded("~"), "/mnt", "/media", "/tmp", runtime)  # noqa: S108
    allowed = [resolve(place) for place in places if place.startswith("/")]
    if any(known.mountpoint.startswith(place + "/") for place in allowed):
        yield ok("AppArmor's rules for fusermount3 allow this place.")
    else:
        yield warning(
            f"AppArmor may not let fusermount3 mount on {known.mountpoint}; mount below your home instead.",
            f'sudo sh -c \'echo "mount fstype=fuse.memfs -> {known.mountpoint}/," '
            ">> /etc/apparmor.d/local/fusermount3 && systemctl reload apparmor'",
        )


def _mounted(subject: Subject) -> Findings:
    """Whether it is mounted, once, and its daemon lives."""
    known = subject.known
    mountpoint = known.mountpoint
    if not is_mounted(mountpoint):
        if not is_served(mountpoint):
            yield ok("It is not mounted.")
        elif not _settles(mountpoint):
            mount = known.mount
            holder = f"Process {mount.pid}" if mount else "A process"
            yield broken(
                f"{holder} holds {mountpoint}, but nothing is mounted there.",
                f"kill {mount.pid}" if mount else f"fuser {log_of(mountpoint).with_name('lock')}",
            )
        return
    if (times := times_mounted(mountpoint)) > 1:
        yield broken(
            f"{times} mounts lie one above the other on {mountpoint}; the lower ones cannot be reached.",
            f"memfs unmount {shlex.quote(mountpoint)}   (again, until nothing is mounted there)",
        )
    health = probe(mountpoint)
    if health is Health.ALIVE:
        yield ok("It is mounted, and answers.")
    elif health is Health.DEAD:
        yield broken(
            f"The daemon of the mount on {mountpoint} has ended; programs get errors from it.",
            f"memfs unmount {shlex.quote(mountpoint)} && memfs mount {shlex.quote(mountpoint)}",
            lambda: _taken_away(mountpoint),
        )
    elif health is Health.HUNG:
        yield _hung(subject)
    else:
        yield broken(f"{mountpoint} is a memfs mount that you may not look at; it is another user's.")


def _settles(mountpoint: str) -> bool:
    """Whether a mount that begins or ends is done with it soon."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        if is_mounted(mountpoint) or not is_served(mountpoint):
            return True
        time.sleep(0.05)
    return False


def _hung(subject: Subject) -> Finding:
    mount = subject.known.mount
    if mount is not None and is_stopped(mount):
        return broken(
            f"The daemon of {mount.mountpoint} (process {mount.pid}) is stopped; programs wait for it.",
            f"kill -CONT {mount.pid}",
        )
    return broken(str(hung(subject.known.mountpoint)))


def _taken_away(mountpoint: str) -> str:
    try:
        detach(mountpoint)
    except Busy:  # by programs that only get errors from it
        detach(mountpoint, lazy=True)
    strike(mountpoint)
    return f"took the dead mount on {mountpoint} away; `memfs mount` mounts it again"


def _once(subject: Subject) -> Findings:
    """A memory on two directories: programs cannot see that both are one."""
    known = subject.known
    if known.mount is None or known.store == "simple:":
        return
    others = [
        mount.mountpoint
        for mount in recorded()
        if (mount.store, mount.scope) == (known.store, known.scope)
        and mount.mountpoint != known.mountpoint
        and is_mounted(mount.mountpoint)
    ]
    for other in others:
        yield warning(
            f"The same memory is on {other} too; `cp` from one to the other would empty the file it copies.",
            f"memfs unmount {shlex.quote(other)}",
        )
    if not others:
        yield ok("It is mounted on no other directory.")


def _answers(subject: Subject) -> Findings:
    """What the mount says of itself, inside and at its socket."""
    report = _report(subject)
    if report is None:
        return
    if not report:
        yield broken(
            f"The mount on {subject.known.mountpoint} does not say how it is (.memfs/status).",
            _again(subject),
        )
        return
    yield ok("It says how it is.")
    try:
        json.loads(ask(subject.state))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield warning(f"It does not tell its counters, so `memfs top` has none ({why}).", _again(subject))
    else:
        yield ok("It tells its counters.")


def _follows(subject: Subject) -> Findings:
    """Whether the mount is at the version that the store has, or soon is."""
    known = subject.known
    report = _report(subject)
    if not report or known.store == "simple:":
        return
    from memfs.opening import is_there, open_with
    from memfs.port.errors import OpenError

    try:
        if not is_there(known.store, known.scope):
            return
        with open_with(known.store, known.scope, {}) as memory:
            version = memory.snapshot().version
    except (OpenError, OSError):
        return  # another check says so
    deadline = time.monotonic() + SETTLE_SECONDS
    while isinstance(report["version"], int) and report["version"] < version:
        if time.monotonic() > deadline:
            yield broken(
                f"The mount shows version {report['version']}, but the store is at {version}: "
                "it does not see what others write.",
                _again(subject),
            )
            return
        time.sleep(0.05)
        report = _report(subject) or report
    yield ok(f"It shows version {version}, the store's newest.")


def _report(subject: Subject) -> dict[str, Any] | None:
    """The mount's own report; empty where there is none, None where it is not up."""
    mountpoint = subject.known.mountpoint
    if not is_mounted(mountpoint) or probe(mountpoint) is not Health.ALIVE:
        return None
    content = own_report(mountpoint)
    try:
        report: object = json.loads(content or b"{}")
    except ValueError:
        return {}
    return report if isinstance(report, dict) and "version" in report else {}


def _again(subject: Subject) -> str:
    where = shlex.quote(subject.known.mountpoint)
    return f"memfs unmount {where} && memfs mount {where}"


def _log(subject: Subject) -> Findings:
    """Faults of memfs itself in the end of the mount's log."""
    from memfs.places import open_ordinary

    file = log_of(subject.known.mountpoint)
    try:
        descriptor = open_ordinary(file)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EINVAL:
            return  # no ordinary file, as another check says
        yield broken(f"The log {file} cannot be read: {error.strerror}.", f"rm {shlex.quote(str(file))}")
        return
    with os.fdopen(descriptor, "rb") as stream:
        stream.seek(max(0, os.fstat(descriptor).st_size - LOG_BYTES))
        lines = stream.read().decode(errors="replace").splitlines()
    faults = [line for line in lines if FAULT in line or " CRITICAL " in line]
    if faults:
        yield warning(
            f"The log names {len(faults)} faults of memfs itself, the last: {faults[-1]}",
            f"report it, with {file}",
        )
    else:
        yield ok("Its log names no fault of memfs itself.")


MOUNT: tuple[Check[Subject], ...] = (
    Check("mountpoint", _mountpoint),
    Check("place", _apparmor),
    Check("mount", _mounted),
    Check("once", _once),
    Check("answers", _answers),
    Check("follows", _follows),
    Check("log", _log),
)
