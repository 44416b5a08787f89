"""The list of this user's mounts: who serves which directory, and from which memory.

Each mountpoint has a directory in the user's state, named by a digest of its path. Its daemon
holds the lock file there for as long as it lives, so that a lock which is free says that the
daemon is gone, however it ended. To find a mount, this list and the kernel's are asked, and
never the mount, which may be dead or hung.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memfs.places import make_private, memfs_mount_above, read_ordinary, state_directory, write_private

_RECORD = "mount.json"
_LOCK = "lock"
_MEMORY = "memory.json"


class Mount(NamedTuple):
    """One mount, as its daemon recorded it; ``started`` is in seconds since the epoch."""

    mountpoint: str
    store: str
    scope: str
    pid: int
    started: float
    read_only: bool


class State(NamedTuple):
    """The state directory of one memory on one mountpoint, which stays when the mount is gone.

    Nothing but the directory is known of one that was made before memfs recorded the rest.
    """

    directory: Path
    mountpoint: str | None = None
    store: str | None = None
    scope: str | None = None

    @property
    def name(self) -> str:
        """What tells it from the others for a person."""
        return self.mountpoint or str(self.directory)


def recorded() -> Iterator[Mount]:
    """Every mount whose daemon runs, or ended without taking its record away."""
    for file in sorted(_list_directory().glob(f"*/{_RECORD}")):
        mount = _read(file)
        if mount is not None and file.parent == directory_of(mount.mountpoint):
            yield mount


def recorded_at(mountpoint: str) -> Mount | None:
    """The record of the mount at *mountpoint* (absolute, free of links), or None."""
    mount = _read(directory_of(mountpoint) / _RECORD)
    return mount if mount is not None and mount.mountpoint == mountpoint else None


def mount_holding(path: str) -> Mount | str | None:
    """The mount that *path* lies in, from both lists; its mountpoint alone where the record is missing.

    *path* is absolute, and free of links as far as it leads to a mount.
    """
    mountpoint = memfs_mount_above(path)
    return None if mountpoint is None else recorded_at(mountpoint) or mountpoint


def directory_of(mountpoint: str) -> Path:
    """Where the record, the lock, the log and the state of the mounts on *mountpoint* are."""
    return _list_directory() / _digest(mountpoint)


def log_of(mountpoint: str) -> Path:
    """What the daemons in the background on *mountpoint* have to say."""
    return directory_of(mountpoint) / "log"


def make_directory_of(mountpoint: str) -> Path:
    """As :func:`directory_of`, made where it is missing."""
    make_private(state_directory())
    make_private(_list_directory())
    return make_private(directory_of(mountpoint))


def state_of(mountpoint: str, store: str, scope: str) -> Path:
    """The directory of one memory on one mountpoint: events, refused bytes, scratch, empty directories."""
    memory = _digest(store + "\n" + scope)
    return directory_of(mountpoint) / f"state-{memory}"


def make_state_of(mountpoint: str, store: str, scope: str) -> Path:
    """As :func:`state_of`, made where it is missing. It says itself which memory it belongs to."""
    make_directory_of(mountpoint)
    directory = make_private(state_of(mountpoint, store, scope))
    memory = {"mountpoint": mountpoint, "store": store, "scope": scope}
    write_private(directory / _MEMORY, json.dumps(memory))
    return directory


def states() -> Iterator[State]:
    """Every state directory there is, of mounts that are up and of those that are down."""
    for directory in sorted(_list_directory().glob("*/state-*")):
        yield _state_in(directory)


def claim(mountpoint: str) -> int | None:
    """The lock of *mountpoint*, as a descriptor to hold for as long as the mount is served, or None.

    A process forked later holds it too: it is free when the last of them has ended.
    """
    lock = os.open(make_directory_of(mountpoint) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def is_served(mountpoint: str) -> bool:
    """Whether a daemon holds the lock of *mountpoint*: it serves, is about to, or has not ended yet."""
    try:
        lock = os.open(directory_of(mountpoint) / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def is_stopped(mount: Mount) -> bool:
    """Whether the daemon of *mount* is held, by SIGSTOP or a debugger, so that nothing is answered."""
    try:
        status = Path(f"/proc/{mount.pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] in (b"T", b"t")


def record(mount: Mount) -> None:
    """Enter *mount* in the list. Call it with the lock held."""
    write_private(make_directory_of(mount.mountpoint) / _RECORD, json.dumps(mount._asdict()))


def strike(mountpoint: str) -> None:
    """Take the mount at *mountpoint* off the list. Call it with the lock held, or when nobody holds it."""
    (directory_of(mountpoint) / _RECORD).unlink(missing_ok=True)


def _list_directory() -> Path:
    return state_directory() / "mounts"


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(os.fsencode(text)).hexdigest()[:24]


def _state_in(directory: Path) -> State:
    """What is known of a state directory: what it says, or what the record of the mount beside it says."""
    try:
        fields: Any = json.loads(read_ordinary(directory / _MEMORY))
        state = State(directory, fields["mountpoint"], fields["store"], fields["scope"])
        if all(isinstance(text, str) for text in state[1:]):
            return state
    except (OSError, ValueError, TypeError, KeyError):
        pass
    mount = _read(directory.parent / _RECORD)
    if mount is None or state_of(mount.mountpoint, mount.store, mount.scope) != directory:
        return State(directory)
    return State(directory, mount.mountpoint, mount.store, mount.scope)


def _read(file: Path) -> Mount | None:
    """The record in *file*; None if there is none, or one that this release did not write."""
    try:
        fields: Any = json.loads(read_ordinary(file))
        mount = Mount(**fields)
        well_formed = all(
            isinstance(value, kind)
            for value, kind in (
                (mount.mountpoint, str),
                (mount.store, str),
                (mount.scope, str),
                (mount.pid, int),
                (mount.started, float | int),
                (mount.read_only, bool),
            )
        )
    except (OSError, ValueError, TypeError):
        return None
    return mount if well_formed else None
