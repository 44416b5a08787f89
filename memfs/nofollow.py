"""Steps below an open directory that follow no link and wait for nothing.

For folders in which somebody else may put a link, a FIFO or a device in any place, also between two of
our steps: each step is relative to a descriptor, and looks before it opens.
"""

from __future__ import annotations

import errno
import os
import stat

# O_PATH: to find a name in a directory takes no right to read it, and /home often gives none.
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
# Without O_NONBLOCK, a FIFO that took the file's place in this instant would hold us for ever.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class InTheWayError(Exception):
    """Something else holds a place; the message says what."""


def open_folder(parent: int, name: str, flags: int = FOLDER) -> int:
    """The directory *name* in the open directory *parent*, opened; a link to one is in the way."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise InTheWayError("a link, or no folder") from None
        raise


def is_regular(found: os.stat_result) -> bool:
    """True for a regular file; anything else is in the way."""
    if not stat.S_ISREG(found.st_mode):
        raise InTheWayError("a link, or no regular file")
    return True


def write_all(target: int, content: bytes) -> None:
    """Write all of *content*, however little the kernel takes at a time."""
    while content:
        content = content[os.write(target, content) :]
