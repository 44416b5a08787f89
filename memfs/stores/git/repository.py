"""A git repository as memfs reads it: where it lies, its objects, and what its references say.

Reading only, through libgit2. What is written goes by ``objects`` and ``reference``: libgit2 syncs
neither objects nor references unless it is set to for the whole process, and holds Python's lock
while it does, which would stall a mount's loop.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType, RepositoryOpenFlag

from memfs.port.errors import ErrorCode, OpenError, StoreError, UnsafeStorage
from memfs.stores.git.objects import Tree, parse_tree, sync

OWN = "made-by-memfs"
"""The file in the sidecar of a repository that no git command of a person's made."""
KINDS = {"blob": ObjectType.BLOB, "tree": ObjectType.TREE, "commit": ObjectType.COMMIT}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """What libgit2 and the disk raise, as a store's errors."""
    try:
        yield
    except pygit2.GitError as error:
        if isinstance(error, KeyError):  # something is not there, which is for the caller to judge
            raise
        raise StoreError(f"The repository {path} failed: {str(error).rstrip('.')}.") from error
    except OSError as error:
        raise StoreError(f"The repository {path} failed: {error.strerror}.") from error


class Repository:
    """One repository, opened; safe from several threads. Objects are named by their hexadecimal ids."""

    def __init__(self, path: Path) -> None:
        """Open what lies at *path*: a bare repository, a work tree or its ``.git``. Searches no parent."""
        self.path = path
        try:
            self._opened = pygit2.Repository(str(path), RepositoryOpenFlag.NO_SEARCH)
        except pygit2.GitError as error:
            raise StoreError(_why_not(path, str(error))) from error
        self._lock = threading.Lock()
        own = Path(self._opened.path)
        self.common = _common(own)
        """What all work trees of the repository share: objects and references."""
        self.sidecar = self.common / "memfs"
        """Where memfs keeps what is no part of any scope: locks, and marks."""

    def read(self, oid: str, kind: str) -> bytes:
        """The bytes of an object. UNSAFE_STORAGE where it is missing, or of another *kind*."""
        try:
            with self._lock, storage_errors(self.path):
                found, data = self._opened.odb.read(oid)
        except (KeyError, ValueError, TypeError):  # the last two: it is no id at all
            raise UnsafeStorage(
                f"The repository {self.path} lacks the object {oid}; `git fsck` says what else is missing."
            ) from None
        if found != KINDS[kind]:
            raise UnsafeStorage(f"The object {oid} in {self.path} is no {kind}.")
        return bytes(data)

    def read_tree(self, oid: str) -> Tree:
        """The tree *oid*. UNSAFE_STORAGE as for :meth:`read`."""
        return parse_tree(self.read(oid, "tree"))

    def has(self, oid: str) -> bool:
        """Whether the object *oid* is there."""
        try:
            with self._lock, storage_errors(self.path):
                return bool(self._opened.odb.exists(oid))
        except (ValueError, TypeError):
            return False

    def target(self, name: str) -> str | None:
        """The commit that the reference *name* stands at, or None where there is no such reference."""
        try:
            with self._lock, storage_errors(self.path):
                target = self._opened.lookup_reference(name).target
        except KeyError:
            return None
        if isinstance(target, str):
            raise UnsafeStorage(f"{name} in {self.path} is a symbolic reference; memfs follows none.")
        return str(target)

    def names(self, prefix: str) -> list[str]:
        """The references whose names begin with *prefix*."""
        with self._lock, storage_errors(self.path):
            return [name for name in self._opened.references if name.startswith(prefix)]

    def descends(self, oid: str, ancestor: str) -> bool:
        """Whether the commit *oid* is *ancestor*, or was made from it."""
        with self._lock, storage_errors(self.path):
            return oid == ancestor or bool(self._opened.descendant_of(oid, ancestor))

    def refuse_checked_out(self, name: str) -> None:
        """Raise OpenError for a branch that a work tree has checked out: no scope may stand on it."""
        heads = [self.common / "HEAD", *self.common.glob("worktrees/*/HEAD")]
        for head in heads:
            try:
                is_out = head.read_text(errors="replace").strip() == f"ref: {name}"
            except OSError:
                continue
            if is_out:
                raise OpenError(
                    ErrorCode.INVALID_ARGUMENT,
                    f"The branch {name} is checked out in {head.parent}; "
                    "leave ref= out, or name another one.",
                )


def find_or_make(path: Path) -> Repository:
    """The repository at *path*; a bare one is made where there is nothing yet, or an empty directory."""
    try:
        if not path.exists():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            with _alone_in(path):  # or it is opened while somebody else has half made it
                if not any(path.iterdir()):
                    return _make(path)
    except OSError as error:
        raise StoreError(f"The repository {path} cannot be made: {error.strerror}.") from error
    return Repository(path)


def _make(path: Path) -> Repository:
    with storage_errors(path):
        pygit2.init_repository(str(path), bare=True)
    repository = Repository(path)
    repository.sidecar.mkdir(mode=0o700, exist_ok=True)
    (repository.sidecar / OWN).touch()
    for made in (*path.rglob("*"), path, path.parent):
        sync(made)
    return repository


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Keep every other memfs that opens *directory* waiting, which is not for long."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _common(own: Path) -> Path:
    """The directory that a linked work tree's own one leads to; else that itself."""
    try:
        return (own / (own / "commondir").read_text().strip()).resolve()
    except OSError:
        return own


def _why_not(path: Path, message: str) -> str:
    if "sha256" in message:
        return f"{path} names its objects by SHA-256, which libgit2 cannot read; use one with SHA-1."
    if "not owned" in message or "ownership" in message:
        return (
            f"{path} belongs to another user; `git config --global --add safe.directory {path}` "
            "says that you trust it."
        )
    if "not found" in message:
        return f"{path} is no git repository; name one, or a directory that is empty or not there yet."
    return f"The repository {path} cannot be opened: {message.rstrip('.')}."
