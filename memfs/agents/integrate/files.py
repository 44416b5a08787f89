"""A program's configuration file: read, and replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 64 << 20


class Refused(Exception):
    """The file cannot be changed; the message is a clause that says why."""


class Configuration(NamedTuple):
    """What a file holds, and which file it is, links followed; ``mode`` is None where there is none yet."""

    path: Path
    content: bytes
    mode: int | None

    @property
    def text(self) -> str:
        """Its text. Raises Refused."""
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            raise Refused("is not UTF-8") from None


def load(file: Path) -> Configuration:
    """The file at *file*, or at the end of the links there. Raises Refused and OSError."""
    # People keep such files elsewhere and link them; the link stays, and what it leads to is replaced.
    path = Path(os.path.realpath(file))
    if not os.path.lexists(path):
        if file.is_symlink():
            raise Refused(f"is a link to {path}, where nothing is")
        return Configuration(path, b"", None)
    if path.is_dir():  # which Python makes no stream of
        raise Refused("is no regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("is no regular file")
        if status.st_uid != os.geteuid():
            raise Refused("belongs to another user")
        content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:  # the rest would be lost
            raise Refused(f"is larger than {MOST_BYTES >> 20} MiB")
        return Configuration(path, content, stat.S_IMODE(status.st_mode))


def require_writable(before: Configuration) -> None:
    """Raise Refused for a file that its user made read-only, which a replacement would pass over."""
    if before.mode is not None and not before.mode & stat.S_IWUSR:
        raise Refused("is read-only")


def replace(before: Configuration, text: str) -> None:
    """Write *text* in place of what was loaded. Raises Refused where another has changed it, and OSError."""
    path = before.path
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.memfs-{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fchmod(descriptor, 0o600 if before.mode is None else before.mode)
            os.fsync(descriptor)
        # The program may write it, too: what it wrote since is not to be lost.
        if load(path) != before:
            raise Refused("was changed by another program meanwhile; try again")
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
