"""A file of lines that is appended to, and begun anew from time to time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def begin_anew(path: Path, lines: Iterable[bytes]) -> int:
    """Put a new private file with *lines* (each with its end) at *path*; the descriptor to append to it.

    Whoever has the old file open keeps it; a crash leaves the one or the other. Raises OSError, also
    where the disk has no room for all of the lines: the old file then stays.
    """
    aside = path.with_suffix(".new")
    descriptor = os.open(
        aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        rest = memoryview(b"".join(lines))
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        aside.rename(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
