"""Export as plain files: into a directory, or a tar. The files are those of now, without their history."""

from __future__ import annotations

import io
import os
import tarfile
from contextlib import suppress
from pathlib import Path

from memfs.port.errors import StoreError
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.progress import Progress

_COMPRESSIONS = {".gz": "gz", ".tgz": "gz", ".bz2": "bz2", ".xz": "xz"}


def export_to_directory(memory: Memory, directory: Path) -> int:
    """Write every file of *memory* below *directory*, new or empty, with its time; how many there are."""
    memory.catch_up()
    if directory.is_symlink() or (
        directory.exists() and (not directory.is_dir() or any(directory.iterdir()))
    ):
        raise StoreError(f"{directory} is there already and not empty; name a new directory.")
    scope = memory.snapshot()
    try:
        with Progress("exporting", len(scope), "files") as progress:
            directory.mkdir(parents=True, exist_ok=True)
            for file in scope.in_write_order():
                path = directory / file.path[len(ROOT) + 1 :]
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as stream:
                    stream.write(memory.read(file))
                os.utime(path, ns=(file.mtime_ns, file.mtime_ns))
                progress.step()
    except OSError as error:
        raise _cannot_write(directory, error) from error
    return len(scope)


def export_to_tar(memory: Memory, target: Path) -> int:
    """Write every file of *memory* into the new tar *target*, in write order; how many there are.

    Compressed if its name ends in ``.gz``, ``.tgz``, ``.bz2`` or ``.xz``. It appears whole or not at all.
    """
    memory.catch_up()
    if os.path.lexists(target):
        raise StoreError(f"{target} is there already; an export never overwrites. Name a new file.")
    scope = memory.snapshot()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with (
            unfinished.open("xb") as stream,
            tarfile.open(fileobj=stream, mode=f"w:{_COMPRESSIONS.get(target.suffix, '')}") as tar,  # type: ignore[call-overload]
            Progress("exporting", len(scope), "files") as progress,
        ):
            for file in scope.in_write_order():
                member = tarfile.TarInfo(file.path[1:])
                member.size, member.mtime, member.mode = file.size, file.mtime_ns / 10**9, 0o644
                tar.addfile(member, io.BytesIO(memory.read(file)))
                progress.step()
        os.link(unfinished, target)
    except FileExistsError:
        raise StoreError(f"{target} is there already; an export never overwrites. Name a new file.") from None
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(OSError):  # its directory is none, say
            unfinished.unlink()
    return len(scope)


def _cannot_write(target: Path, error: OSError) -> StoreError:
    """The refusal, about what the user named: the file that failed may be one of ours, or one of many."""
    return StoreError(f"{target} cannot be written: {error.strerror}.")
