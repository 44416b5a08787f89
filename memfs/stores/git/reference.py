"""A reference that memfs moves: compared and swapped by git's own lock, and durable when it has moved.

git locks a reference by creating ``<reference>.lock``, and whoever is killed in between leaves the
lock for ever. Ours is a second name of a file in the sidecar, so that one left behind is known by its
inode, and not by its age: it is cleared under the scope's gate, where no living process can own it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from memfs.port.errors import StoreError
from memfs.port.store import VersionMismatch
from memfs.stores.git.objects import sync
from memfs.stores.git.repository import Repository

PATIENCE = 5.0
"""Seconds to wait for another git program that has the reference locked."""
_PAUSE = 0.005


def swap(repository: Repository, name: str, old: str | None, new: str, next_file: Path) -> None:
    """Move the reference *name* from *old* (None: it must not exist) to *new*; call it under the gate.

    *next_file* is the scope's file for it in the sidecar. Raises VersionMismatch where the reference
    stands elsewhere, StoreError where another program keeps it locked.
    """
    path = repository.common / name
    lock = path.with_name(path.name + ".lock")
    clear_stale(lock, next_file)
    descriptor = os.open(next_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(new.encode() + b"\n")
        file.flush()
        os.fsync(descriptor)
    try:
        made = _lock(next_file, lock)
        try:
            if repository.target(name) != old:
                raise VersionMismatch
            os.rename(lock, path)
        except BaseException:
            lock.unlink()
            raise
        for directory in (path.parent, *made):
            sync(directory)
    finally:
        next_file.unlink()


def clear_stale(lock: Path, next_file: Path) -> None:
    """Remove what a killed writer of this scope left: its file, and its lock if it had got that far."""
    try:
        ours = next_file.stat().st_ino
    except FileNotFoundError:
        return
    try:
        if lock.lstat().st_ino == ours:
            lock.unlink()
    except FileNotFoundError:
        pass
    next_file.unlink()


def _lock(next_file: Path, lock: Path) -> list[Path]:
    """Give *next_file* the name of the lock; the directories that have got a new name for it."""
    deadline = time.monotonic() + PATIENCE
    made: list[Path] = []
    while True:
        try:
            os.link(next_file, lock)
            return made
        except FileNotFoundError:  # the first reference there, or `git pack-refs` took the empty directory
            missing = [path for path in (lock.parent, *lock.parent.parents) if not path.exists()]
            lock.parent.mkdir(parents=True, exist_ok=True)
            made += [path.parent for path in missing]
        except FileExistsError:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"Another program keeps {lock} for {PATIENCE:.0f} seconds; "
                    "if no git runs there any more, remove that file."
                ) from None
            time.sleep(_PAUSE)
