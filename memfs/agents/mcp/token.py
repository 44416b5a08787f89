"""The secret that clients of the HTTP server show: a file that only its user can read."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 4_096


def token_from(file: Path) -> str:
    """The token in *file*, which is made with a new one where there is none.

    Raises OSError, and ValueError with a sentence for a file that others can read, or that holds no token.
    """
    with suppress(FileExistsError):
        _make(file)
    # A FIFO in its place must not be waited for.
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ValueError(f"The token in {file} is not yours alone; run 'chmod 600' on it, or delete it.")
        token = stream.read(MOST_BYTES).strip()
    if not token.isascii() or not token.decode("ascii", "replace").isprintable() or len(token) < 16:
        raise ValueError(f"The file {file} holds no token of 16 or more characters; delete it for a new one.")
    return token.decode()


def _make(file: Path) -> None:
    """Make *file* with a new token, whole or not at all. Raises FileExistsError."""
    if file.exists() or file.is_symlink():
        raise FileExistsError
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
        os.link(unfinished, file)
    finally:
        unfinished.unlink()
