"""Where an import takes its files from: a folder, or a tar. Names and contents are anybody's data.

A source gives the files in the order in which they were written, as far as it tells, and what is no
file to bring in, with the reason. Paths are the port's; whether the port can hold them it says itself.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import tarfile
from pathlib import Path
from typing import NamedTuple

from memfs.port.errors import StoreError
from memfs.port.importing import Incoming
from memfs.port.names import ROOT
from memfs.port.policy import Limits
from memfs.progress import Progress

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Left(NamedTuple):
    """What a source holds that is no file to bring in, as a clause of a sentence that begins with it."""

    name: str
    reason: str


class Source(NamedTuple):
    """All that a source holds."""

    files: list[Incoming]
    left: list[Left]


def from_folder(folder: Path, limits: Limits) -> Source:
    """The files below *folder*, by the time of their last change. No link is followed in it."""
    source = Source([], [])
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"The folder {folder} cannot be read: {error.strerror}.") from error
    try:
        with Progress("", unit="files read") as progress:
            for path, directories, names, descriptor in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                below = path[2:] + "/" if path != "." else ""
                for name in sorted(directories):
                    if name.startswith("."):
                        source.left.append(Left(below + name, "is a hidden directory"))
                    elif stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                        source.left.append(Left(below + name, "is a symbolic link"))
                    elif not os.access(name, os.R_OK, dir_fd=descriptor, effective_ids=True):
                        source.left.append(Left(below + name, "cannot be read: Permission denied"))
                directories[:] = [name for name in directories if not name.startswith(".")]
                for name in sorted(names):
                    _read_entry(source, below + name, name, descriptor, limits)
                    progress.step()
    finally:
        os.close(top)
    source.files.sort(key=lambda file: (file.mtime_ns or 0, file.path))
    return source


def from_tar(archive: Path, limits: Limits) -> Source:
    """The files of a tar, compressed or not, in its order; of several of one name, the last."""
    left: list[Left] = []
    files: dict[str, Incoming] = {}
    try:
        with tarfile.open(archive, "r:*") as tar, Progress("", unit="files read") as progress:
            members = _members(tar)
            _check_end(tar)
            for member, name in members:
                progress.step()
                if member.isdir():
                    continue
                if not member.isreg():
                    left.append(Left(name, _kind_of(member)))
                elif member.size > limits.max_file_bytes:
                    left.append(Left(name, _too_large(member.size, limits)))
                else:
                    stream = tar.extractfile(member)
                    assert stream is not None, "a regular member has bytes"
                    path = f"{ROOT}/{name}"
                    files.pop(path, None)
                    time_ns = int(member.mtime * 10**9) if math.isfinite(member.mtime) else None
                    files[path] = Incoming(path, stream.read(), time_ns)
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        # Python's own words for what is wrong in a header say nothing to its owner.
        words = getattr(error, "strerror", None) or "it is none, or cut short or damaged; fetch it again"
        raise StoreError(f"{archive} cannot be read as a tar: {words}.") from error
    return Source(list(files.values()), left)


def too_large(size: int, limits: Limits) -> str | None:
    """Why a file of *size* bytes need not even be read, or None."""
    return _too_large(size, limits) if size > limits.max_file_bytes else None


def _too_large(size: int, limits: Limits) -> str:
    return f"has {size} bytes; a file may have {limits.max_file_bytes}"


def _read_entry(source: Source, path: str, name: str, directory: int, limits: Limits) -> None:
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = "is a symbolic link" if is_link else f"cannot be read: {error.strerror}"
        source.left.append(Left(path, reason))
        return
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            source.left.append(Left(path, "is no ordinary file"))
        elif status.st_size > limits.max_file_bytes:
            source.left.append(Left(path, _too_large(status.st_size, limits)))
        else:
            content = stream.read(limits.max_file_bytes + 1)
            source.files.append(Incoming(f"{ROOT}/{path}", content, status.st_mtime_ns))


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise ReadError unless *tar*, all of whose members are known, ends as every tar does: with zeros.

    tarfile takes a header that is cut short or damaged for the end, and what comes after it for nothing.
    """
    assert tar.fileobj is not None, "it is open"
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it is cut short or damaged")


def _members(tar: tarfile.TarFile) -> list[tuple[tarfile.TarInfo, str]]:
    """The members and their names, without the one directory that an export of memfs puts all into."""
    members = [(member, member.name.removeprefix("./")) for member in tar]
    top = ROOT[1:]
    if all(name == top or name.startswith(top + "/") for _, name in members):
        members = [(member, name[len(top) + 1 :]) for member, name in members]
    return members


def _kind_of(member: tarfile.TarInfo) -> str:
    if member.issym():
        return "is a symbolic link"
    return "is a hard link" if member.islnk() else "is no ordinary file"
