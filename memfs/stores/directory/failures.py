"""The system's errors as the port's: the one place that maps them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memfs.port.errors import StoreError, UnsafeStorage
from memfs.stores.directory.folder import LeftAlone
from memfs.stores.sqlite.failures import translated


@contextmanager
def folder_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong inside, with the folder *path* or its database, as a StoreError."""
    try:
        yield
    except LeftAlone as reason:
        raise UnsafeStorage(
            f"{path / reason.place} is or holds {reason}; memfs leaves it alone, so use another name."
        ) from None
    except apsw.Error as error:
        raise translated(error) from error
    except OSError as error:
        raise _translated(path, error) from error


def _translated(path: Path, error: OSError) -> StoreError:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return StoreError(f"The disk that holds {path} is full; nothing was changed.")
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return StoreError(f"{path} may not be changed ({error.strerror}); check its permissions.")
        case errno.EXDEV:
            return UnsafeStorage(f"A directory in {path} is on another file system; memfs leaves it alone.")
        case errno.EINVAL | errno.ENOSYS:
            return StoreError(f"The file system of {path} cannot exchange two files; use a sqlite: store.")
        case _:
            return StoreError(f"{path} could not be changed: {error.strerror}.")
