"""The files of a memory beside its store: configuration, the state of its mount, and whose they are."""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from memfs.cli.checks.finding import Check, Finding, Findings, Level, Subject, broken, ok, warning
from memfs.cli.running import directory_of, is_served
from memfs.mount.events import LARGEST_BYTES, events_file
from memfs.mount.rejected import Rejected
from memfs.mount.sockets import SOCKET
from memfs.places import config_directory, mount_points, read_ordinary, resolve, state_directory

LEAST_BYTES, FEW_BYTES = 1 << 20, 32 << 20
"""With less room than the first nothing can be written; with less than the second soon nothing can."""
FULL = 0.8
FUTURE_SECONDS = 60.0
_OTHERS_MAY_WRITE = 0o022
_OTHERS = 0o077
_PUT_IN_PLACE = ("mount.json", "memory.json", "events.jsonl", "local.jsonl")
"""The files that a mount replaces where they are none."""
_NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "fuse.sshfs",
    "fuse.rclone",
    "afs",
    "ceph",
    "glusterfs",
)


def _configuration(subject: Subject) -> Findings:
    known = subject.known
    if known.fault:
        yield broken(known.fault)
        return
    file = config_directory() / f"{known.name}.toml"
    if known.name is None or not file.exists():
        return
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & _OTHERS_MAY_WRITE:
        yield broken(
            f"Others may write to {file} (its mode is {mode:03o}).",
            f"chmod go-w {shlex.quote(str(file))}",
            partial(_made_private, file, _OTHERS_MAY_WRITE),
        )
    else:
        yield ok(f"{file} is well-formed.")


def _ordinary(subject: Subject) -> Findings:
    """Nothing but an ordinary file stands where the mount opens one; what it does about a FIFO is said."""
    faults = 0
    for path in _state_files(subject):
        status = _status(path)
        if status is None or stat.S_ISREG(status.st_mode):
            continue
        faults += 1
        away = f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.aside')}"
        if path.name == "log":
            yield broken(f"{path} is no ordinary file, so no mount in the background starts.", away)
        elif not stat.S_ISFIFO(status.st_mode):
            yield broken(f"{path} is no ordinary file; the mount cannot use it.", away)
        elif path.name in _PUT_IN_PLACE:
            yield warning(f"{path} is a FIFO; the next mount puts a file in its place.", away)
        else:
            yield warning(f"{path} is a FIFO, which memfs did not make; mounts work all the same.", away)
    if not faults and _status(subject.state):
        yield ok("The files of its mount's state are ordinary ones.")


def _owners(subject: Subject) -> Findings:
    """All of it is the user's, and nobody else may look in or write."""
    found = list(_owner_faults(subject))
    yield from found
    if not found:
        yield ok("Its files are yours, and private.")


def _owner_faults(subject: Subject) -> Iterator[Finding]:
    for path, forbidden in _private_paths(subject):
        status = _status(path)
        if status is None or stat.S_ISLNK(status.st_mode):
            continue
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid != os.geteuid():
            yield broken(
                f"{path} belongs to another user.", f"sudo chown {os.geteuid()} {shlex.quote(str(path))}"
            )
        elif mode & forbidden:
            may = "write to" if mode & forbidden & _OTHERS_MAY_WRITE else "look into"
            yield warning(
                f"Others may {may} {path} (its mode is {mode:03o}).",
                f"chmod {'go-w' if forbidden == _OTHERS_MAY_WRITE else 'go='} {shlex.quote(str(path))}",
                partial(_made_private, path, forbidden),
            )


def _private_paths(subject: Subject) -> Iterator[tuple[Path, int]]:
    """What belongs to a memory, and the bits of its mode that must not be set."""
    from memfs.opening import files_of

    kept = directory_of(subject.known.mountpoint)
    for directory in (state_directory(), kept.parent, kept, subject.state):
        yield directory, _OTHERS
    for path in _state_files(subject):
        yield path, _OTHERS
    place, *files = files_of(subject.known.store, subject.known.scope) or (None,)
    if place is not None:
        yield place, _OTHERS_MAY_WRITE  # a directory that somebody made for it may be looked into
    for path in files:
        yield path, _OTHERS


def _state_files(subject: Subject) -> Iterator[Path]:
    kept = directory_of(subject.known.mountpoint)
    for name in ("mount.json", "lock", "log", "log.1"):
        yield kept / name
    for name in ("memory.json", "events.jsonl", "local.jsonl"):
        yield subject.state / name


def _room(subject: Subject) -> Findings:
    """Room on the disks of the store and of the mount's state, and what kind of disk the store is on."""
    from memfs.opening import files_of

    place = next(iter(files_of(subject.known.store, subject.known.scope)), None)
    for what, path in (("store", place), ("state of its mount", state_directory())):
        there = (
            None if path is None else next((each for each in (path, *path.parents) if each.exists()), None)
        )
        if there is None:
            continue
        disk = os.statvfs(there)
        free = disk.f_bavail * disk.f_frsize
        if disk.f_flag & os.ST_RDONLY:
            yield broken(f"The {what}, {path}, is on a disk that is mounted read-only.")
        elif free < FEW_BYTES:
            level = Level.BROKEN if free < LEAST_BYTES else Level.WARNING
            yield Finding(level, f"The disk of the {what} has only {free:,} bytes left.", f"df -h {there}")
        else:
            yield ok(f"The disk of the {what} has {free >> 20:,} MiB left.")
    if place is not None:
        kind = _filesystem_under(resolve(str(place)))
        if kind in _NETWORK:
            yield broken(
                f"The store lies on a network filesystem ({kind}), where SQLite's locks do not hold; "
                "move it to a disk of this machine."
            )


def _filesystem_under(path: str) -> str:
    above = [each for each in mount_points() if f"{path}/".startswith(each.path.rstrip("/") + "/")]
    return max(above, key=lambda each: len(each.path)).filesystem if above else ""


def _scratch(subject: Subject) -> Findings:
    """Editors' temporary files, and the journal that names them."""
    from memfs.mount.scratch_area import MAX_TOTAL_BYTES  # not without pyfuse3, which may be what is wrong

    directory = subject.state / "scratch"
    if not directory.is_dir():
        return
    used = sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(directory))
    if used > FULL * MAX_TOTAL_BYTES:
        yield warning(
            f"Editors' temporary files take {used:,} of {MAX_TOTAL_BYTES:,} bytes; beyond, saves fail.",
            f"ls -la {shlex.quote(subject.known.mountpoint)}   (and remove those that nobody needs)",
        )
    else:
        yield ok(f"Editors' temporary files take {used:,} of {MAX_TOTAL_BYTES:,} bytes.")
    torn = _torn_lines(subject.state / "local.jsonl")
    if torn:
        yield warning(
            f"{torn} lines of the journal of empty directories and temporary files cannot be read; "
            "the next mount leaves them out."
        )


def _rejected(subject: Subject) -> Findings:
    """Bytes of refused saves that nobody has come for."""
    directory = subject.state / "rejected"
    if not directory.is_dir():
        return
    kept = list(Rejected(subject.state))
    names = {each.name for each in kept}
    strays = [name for name in os.listdir(directory) if name.removesuffix(".json") not in names]
    if kept:
        yield warning(
            f"{len(kept)} refused saves are kept with their bytes, the last of {kept[-1].path}.",
            "memfs rejected list",
        )
    if strays:
        yield warning(
            f"{len(strays)} files in {directory} belong to no refused save; the next mount removes them.",
            f"ls {shlex.quote(str(directory))}",
        )
    if not kept and not strays:
        yield ok("No refused saves are kept.")


def _events(subject: Subject) -> Findings:
    """The file of events: whole lines, and none from the future."""
    file = events_file(subject.state)
    try:
        lines = read_ordinary(file).splitlines()
    except OSError:
        return  # it is missing, or another check says what it is
    torn, newest = _torn_lines(file), 0.0
    for line in lines[-1:]:
        try:
            newest = datetime.fromisoformat(json.loads(line)["time"]).timestamp()
        except (ValueError, TypeError, KeyError):
            continue
    if torn:
        yield warning(f"{torn} lines of {file} cannot be read; `memfs events` leaves them out.")
    if newest > time.time() + FUTURE_SECONDS:
        yield warning(
            f"The last event is of {datetime.fromtimestamp(newest):%Y-%m-%d %H:%M}, which is yet to come: "
            "the clock was, or is, wrong.",
            "timedatectl",
        )
    if file.stat().st_size > LARGEST_BYTES:
        yield warning(
            f"{file} has {file.stat().st_size:,} bytes; something is refused in a loop.", "memfs events -n 20"
        )
    if not torn:
        yield ok(f"{len(lines)} events are kept.")


def _torn_lines(file: Path) -> int:
    try:
        lines = read_ordinary(file).splitlines()
    except OSError:
        return 0
    return sum(1 for line in lines if line and not _is_json(line))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _left_over(subject: Subject) -> Findings:
    """What a mount that was killed has left, where none runs now."""
    if is_served(subject.known.mountpoint) or not subject.state.is_dir():
        return
    kept = directory_of(subject.known.mountpoint)
    found = [path for path in (subject.state / SOCKET, *subject.state.glob("*.new"), *kept.glob("*.new"))
             if _status(path) is not None]  # fmt: skip
    for path in found:
        yield warning(
            f"{path} was left by a mount that was killed.",
            f"rm {shlex.quote(str(path))}",
            partial(_removed, path),
        )
    if not found:
        yield ok("No killed mount has left anything.")


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _made_private(path: Path, forbidden: int) -> str:
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~forbidden)
    return f"made {path} private"


def _removed(path: Path) -> str:
    path.unlink(missing_ok=True)
    return f"removed {path}"


FILES: tuple[Check[Subject], ...] = (
    Check("ordinary", _ordinary),
    Check("owners", _owners),
    Check("room", _room),
    Check("scratch", _scratch),
    Check("rejected", _rejected),
    Check("events", _events),
    Check("left-over", _left_over),
)
CONFIGURATION: tuple[Check[Subject], ...] = (Check("configuration", _configuration),)
