"""Where memfs keeps things for this user, and which directories are memfs mounts.

The directories are those of the XDG base directory specification.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILESYSTEM_TYPE = "fuse.memfs"
_MOST_LINKS = 40  # the kernel's own bound


def home() -> Path:
    """The user's home directory: ``$HOME``, or what the system's list of users has where that names none.

    Raises OSError where neither does.
    """
    named = os.environ.get("HOME", "")
    if named.startswith("/"):
        return Path(named)
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise OSError(errno.ENOENT, "no home directory is known for this user; set HOME") from None


def expanded(path: str) -> str:
    """*path* with a home in the place of ``~`` or ``~user`` at its beginning."""
    if path == "~" or path.startswith("~/"):
        return f"{home()}{path[1:]}"
    return os.path.expanduser(path)


def data_directory() -> Path:
    """The user's stores: ``$XDG_DATA_HOME/memfs``, by default ``~/.local/share/memfs``."""
    return _base("XDG_DATA_HOME", ".local/share") / "memfs"


def state_directory() -> Path:
    """What belongs to mounts and not to memories: logs, empty directories, the list of mounts."""
    return _base("XDG_STATE_HOME", ".local/state") / "memfs"


def config_directory() -> Path:
    """One TOML file per configured memory: ``$XDG_CONFIG_HOME/memfs``."""
    return _base("XDG_CONFIG_HOME", ".config") / "memfs"


def cache_directory() -> Path:
    """What can be made again from the memories: ``$XDG_CACHE_HOME/memfs``, by default ``~/.cache/memfs``."""
    return _base("XDG_CACHE_HOME", ".cache") / "memfs"


def default_store() -> Path:
    """The directory of the store that is used where none is named."""
    return data_directory() / "store"


class MountPoint(NamedTuple):
    """One line of the kernel's list of mounts."""

    path: str
    filesystem: str
    source: str


def mount_points() -> Iterator[MountPoint]:
    """Every mount this process sees. Asks the kernel only, so a dead mount cannot hang it."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            fields, _, rest = line.rstrip("\n").partition(" - ")
            filesystem, source = rest.split(" ")[:2]
            yield MountPoint(_unescaped(fields.split(" ")[4]), filesystem, _unescaped(source))


def memfs_mount_above(path: str) -> str | None:
    """The mount point of the memfs mount that *path* lies in (or is), or None.

    *path* is absolute, and free of links as far as it exists.
    """
    found = [
        mount.path
        for mount in mount_points()
        if mount.filesystem == FILESYSTEM_TYPE and (path == mount.path or path.startswith(mount.path + "/"))
    ]
    return max(found, key=len, default=None)


def resolve(path: str) -> str:
    """*path* absolute and free of links, without a question to any memfs mount.

    A dead mount answers nothing and a hung one never does, so what lies in one is taken as it is spelled.
    """
    mounts = [mount.path for mount in mount_points() if mount.filesystem == FILESYSTEM_TYPE]
    pending = (path if path.startswith("/") else f"{os.getcwd()}/{path}").split("/")[::-1]
    resolved, links = "", 0
    while pending:
        name = pending.pop()
        if name in ("", "."):
            continue
        if name == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        candidate = f"{resolved}/{name}"
        in_mount = any(candidate == mount or candidate.startswith(mount + "/") for mount in mounts)
        target = None if in_mount or links == _MOST_LINKS else _link_target(candidate)
        if target is None:
            resolved = candidate
            continue
        links += 1
        if target.startswith("/"):
            resolved = ""
        pending.extend(target.split("/")[::-1])
    return resolved or "/"


def make_private(directory: Path) -> Path:
    """Make *directory* with its missing parents, for the user alone, and return it."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def open_ordinary(file: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """A descriptor of *file*, by default to read it; what *flags* make is for the user alone.

    Raises OSError, also for anything but an ordinary file: a FIFO in its place would keep whoever opens it
    waiting for ever, and a link lead elsewhere.
    """
    no_ordinary_file = OSError(errno.EINVAL, "it is no ordinary file; move it away", os.fspath(file))
    try:
        descriptor = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):  # a link, a directory, a FIFO to write to
            raise no_ordinary_file from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise no_ordinary_file
    return descriptor


def read_ordinary(file: str | os.PathLike[str]) -> bytes:
    """All bytes of *file*; see :func:`open_ordinary`."""
    with os.fdopen(open_ordinary(file), "rb") as stream:
        return stream.read()


def write_private(file: Path, text: str) -> None:
    """Make *file* hold *text*: whole or not at all, whatever is in its place, and for the user alone."""
    unfinished = file.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    unfinished.rename(file)


def _base(variable: str, fallback: str) -> Path:
    named = os.environ.get(variable, "")
    # The specification: a relative path in these variables is invalid and to be ignored.
    return Path(named) if named.startswith("/") else home() / fallback


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # no link, or nothing there
        return None


def _unescaped(field: str) -> str:
    """Undo the kernel's octal escapes for space, tab, newline and backslash."""
    for octal, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(octal, character)
    return field
