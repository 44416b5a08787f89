"""A file of lines that is appended to, and begun anew from time to time."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from memfs.places import read_ordinary

log = logging.getLogger(__name__)


def lines_of(path: Path) -> list[bytes]:
    """The lines of the file at *path*, without their ends; none where there is no file.

    What is no ordinary file (a FIFO would keep the mount waiting for ever) has none either. Raises OSError.
    """
    try:
        return read_ordinary(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        log.warning("%s is no ordinary file, and is not read", path)
        return []


def begin_anew(path: Path, lines: Iterable[bytes]) -> int:
    """Put a new private file with *lines* (each with its end) at *path*; the descriptor to append to it.

    Whoever has the old file open keeps it; a crash leaves the one or the other. Raises OSError, also
    where the disk has no room for all of the lines: the old file then stays.
    """
    aside = path.with_suffix(".new")
    aside.unlink(missing_ok=True)  # whatever it is: a FIFO would become the file
    descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(b"".join(lines))
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        aside.rename(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
