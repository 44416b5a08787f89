"""The workspace: an agent's own folder, and the ``memory/`` in it that is to be there.

Whoever else works in that folder may put a link, a FIFO or a device in any place, also between two of our
steps. So each step is relative to an open directory and follows no link, a file gets its name only when it
is complete and only where nothing has that name, and of what is there already nothing is opened but
``MEMORY.md``. What stands in the way is a warning and no error: an agent can work without its memory.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from memfs.nofollow import FOLDER, READ, InTheWayError, is_regular, open_folder, write_all

STUB = b"# Memory\n"
EMPTY_PAGE_INDEX = b'{"version":1,"pages":{}}\n'

_LINKED_FROM = "/proc/self/fd"
_BLOCK = 1 << 20
_NEW = os.O_WRONLY | os.O_CLOEXEC

log = logging.getLogger(__name__)


def ensure_memory(workspace_dir: str | os.PathLike[str]) -> str:
    """Make what is missing of ``memory/`` in a workspace, and return its path.

    ``memory/index.md`` begins as a copy of the workspace's ``MEMORY.md`` if it has one, and
    ``memory/.meta/index.json`` as an empty page index; what is there stays as it is. The workspace's folder
    itself is made too, but not the one that holds it. Whatever cannot be made is one warning of the logger
    ``memfs.workspace``; it is no error.
    """
    path = os.fspath(workspace_dir)
    memory_path = os.path.join(path, "memory")
    holder, name = _split(path)
    with (
        _one_warning(path),
        _holder(holder) as outside,
        _folder(outside, name, path) as workspace,
        _one_warning(memory_path),
        _folder(workspace.descriptor, "memory", memory_path) as memory,
    ):
        _ensure_index(workspace, memory)
        _ensure_page_index(memory)
    return memory_path


class _Folder(NamedTuple):
    descriptor: int
    path: str

    def place(self, name: str) -> str:
        """How a warning names what is called *name* here."""
        return os.path.join(self.path, name)


def _ensure_index(workspace: _Folder, memory: _Folder) -> None:
    with _one_warning(memory.place("index.md")):
        if _is_file(memory, "index.md"):
            return
        with (
            _one_warning(workspace.place("MEMORY.md")),
            _old_memory(workspace) as old,
            _one_warning(memory.place("index.md")),
            _new_file(memory, "index.md") as file,
        ):
            if old is None:
                write_all(file, STUB)
            else:
                _copy(old, file)


def _ensure_page_index(memory: _Folder) -> None:
    meta_path = memory.place(".meta")
    with (
        _one_warning(meta_path),
        _folder(memory.descriptor, ".meta", meta_path) as meta,
        _one_warning(meta.place("index.json")),
    ):
        if not _is_file(meta, "index.json"):
            with _new_file(meta, "index.json") as file:
                write_all(file, EMPTY_PAGE_INDEX)


@contextmanager
def _one_warning(place: str) -> Iterator[None]:
    """Whatever goes wrong in here is one warning about *place*, and ends what is in here."""
    try:
        yield
    except InTheWayError as reason:
        log.warning("%s is %s; it is left as it is.", place, reason)
    except OSError as error:
        log.warning("%s could not be used: %s.", place, error.strerror)


# --- folders ---------------------------------------------------------------------------------------


def _split(path: str) -> tuple[str, str]:
    """The folder that holds the workspace, and the workspace's name in it.

    ``link/`` and ``link/.`` name what a link leads to; the workspace is the link.
    """
    named = path
    while named.endswith(("/", "/.")):
        named = named[:-1]
    holder, _, name = named.rpartition("/")
    return holder or ("/" if path.startswith("/") else "."), name or "."


@contextmanager
def _holder(path: str) -> Iterator[int]:
    descriptor = os.open(path, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _folder(parent: int, name: str, path: str) -> Iterator[_Folder]:
    """The folder *name*, made if nothing is there."""
    try:
        descriptor = open_folder(parent, name)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was first
            os.mkdir(name, 0o700, dir_fd=parent)
        descriptor = open_folder(parent, name)
    try:
        yield _Folder(descriptor, path)
    finally:
        os.close(descriptor)


# --- files -----------------------------------------------------------------------------------------


def _is_file(folder: _Folder, name: str) -> bool:
    """Whether a regular file is called *name*; False where nothing is."""
    try:
        found = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return is_regular(found)


@contextmanager
def _old_memory(workspace: _Folder) -> Iterator[int | None]:
    """``MEMORY.md``, open for reading, or None where there is none."""
    # Looked at first, for to open a FIFO or a device may already do something.
    if not _is_file(workspace, "MEMORY.md"):
        yield None
        return
    descriptor = os.open("MEMORY.md", READ, dir_fd=workspace.descriptor)
    try:
        is_regular(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _new_file(folder: _Folder, name: str) -> Iterator[int]:
    """A file to write. With all of it on the disk it is called *name*, if nothing else is by then."""
    with _unnamed_file(folder.descriptor) as (descriptor, source):
        yield descriptor
        os.fsync(descriptor)
        with suppress(FileExistsError):  # another process was first
            os.link(
                source,
                name,
                src_dir_fd=folder.descriptor,
                dst_dir_fd=folder.descriptor,
                follow_symlinks=source.startswith("/"),
            )


@contextmanager
def _unnamed_file(folder: int) -> Iterator[tuple[int, str]]:
    """A new file in *folder*, and a path to link it from: one without a name, where the filesystem can."""
    hidden = None
    try:
        os.stat(_LINKED_FROM)
        descriptor = os.open(".", _NEW | os.O_TMPFILE, 0o600, dir_fd=folder)
    except OSError:  # overlayfs until Linux 6.3, NFS; a real reason shows again in the next line
        hidden = f".{secrets.token_hex(8)}"
        descriptor = os.open(hidden, _NEW | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        yield descriptor, hidden or f"{_LINKED_FROM}/{descriptor}"
    finally:
        os.close(descriptor)
        if hidden is not None:
            with suppress(FileNotFoundError):
                os.unlink(hidden, dir_fd=folder)


def _copy(source: int, target: int) -> None:
    """Copy what *source* holds now; a program that keeps appending to it must not keep us."""
    left = os.fstat(source).st_size
    while left > 0 and (block := os.read(source, min(left, _BLOCK))):
        write_all(target, block)
        left -= len(block)
