"""How editors and libraries save, as the system calls they were seen to make: save.py WAY NAME <content."""

from __future__ import annotations

import importlib
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Callable
from contextlib import suppress

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
OVER = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def put(name: str, data: bytes, flags: int = OVER, mode: int = 0o666, sync: bool = True) -> None:
    """Open, write, sync, close; every error is the caller's."""
    descriptor = os.open(name, flags, mode)
    try:
        while data:
            data = data[os.write(descriptor, data[:8192]) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def vscode(name: str, data: bytes) -> None:
    descriptor = os.open(name, OVER, 0o666)
    try:
        os.write(descriptor, data)
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def vscode_atomic(name: str, data: bytes) -> None:
    put(name + ".vsctmp", data)
    os.rename(name + ".vsctmp", name)


def intellij(name: str, data: bytes) -> None:
    """A copy as the backup, then in place."""
    if os.path.exists(name):
        shutil.copyfile(name, name + "~")
    put(name, data, OVER | os.O_SYNC, sync=False)
    with suppress(FileNotFoundError):
        os.unlink(name + "~")


def jetbrains(name: str, data: bytes) -> None:
    """The old safe write: away and in."""
    new, old = name + "___jb_tmp___", name + "___jb_old___"
    put(new, data)
    try:
        had = os.path.exists(name)
        if had:
            os.rename(name, old)
        try:
            os.rename(new, name)
        except OSError:
            if had:
                os.rename(old, name)
            raise
        if had:
            os.unlink(old)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)


def sublime(name: str, data: bytes) -> None:
    temporary = f".subl{os.getpid():x}.tmp"
    put(temporary, data)
    if os.path.exists(name):
        os.chmod(temporary, stat.S_IMODE(os.stat(name).st_mode))
        os.chown(temporary, os.getuid(), os.getgid())
    os.rename(temporary, name)


def helix(name: str, data: bytes) -> None:
    backup = name + os.urandom(3).hex() + ".bck"
    had = os.path.exists(name)
    if had:
        os.rename(name, backup)
    try:
        put(name, data)
    except OSError:
        if had:
            os.rename(backup, name)
        raise
    if had:
        os.unlink(backup)


def vim(name: str, data: bytes) -> None:
    """Swap file, probe, backup by renaming, and the way back where the write fails."""
    swap = f".{name}.swp"
    put(swap, b"b0VIM 9.0" + bytes(4087), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, sync=False)
    put("4913", b"", NEW, 0o644, sync=False)
    os.chown("4913", os.getuid(), os.getgid())
    os.unlink("4913")
    had = os.path.exists(name)
    if had:
        os.rename(name, name + "~")
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, data)
            os.fsync(descriptor)
            os.fchmod(descriptor, 0o644)
        finally:
            os.close(descriptor)
    except OSError:
        if had:
            os.rename(name + "~", name)
        raise
    finally:
        os.unlink(swap)
    if had:
        os.unlink(name + "~")


def gio(name: str, data: bytes) -> None:
    """g_file_replace: look whether it is there, open it and write nothing, then a temporary file."""
    with suppress(FileExistsError):
        put(name, data, NEW)
        return
    os.close(os.open(name, os.O_WRONLY))
    temporary = f".goutputstream-{os.urandom(3).hex().upper()}"
    descriptor = os.open(temporary, NEW, 0o666)
    try:
        os.fchown(descriptor, os.getuid(), os.getgid())
        os.fchmod(descriptor, 0o644)
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(temporary, name)


def agent(name: str, data: bytes) -> None:
    temporary = f"{name}.tmp.{os.getpid()}.{os.urandom(6).hex()}"
    descriptor = os.open(temporary, NEW, 0o600)
    os.fchmod(descriptor, 0o644)
    os.close(descriptor)
    put(temporary, data)
    os.rename(temporary, name)


def sdk(name: str, data: bytes) -> None:
    temporary = f".tmp-{os.getpid()}-{uuid.uuid4()}"
    put(temporary, data, NEW)
    os.rename(temporary, name)


def mcp(name: str, data: bytes) -> None:
    temporary = f"{name}.{os.urandom(16).hex()}.tmp"
    put(temporary, data, NEW, sync=False)
    os.rename(temporary, name)


def codex(name: str, data: bytes) -> None:
    """A patch that deletes a file and adds it again."""
    with suppress(FileNotFoundError):
        os.unlink(name)
    put(name, data, NEW, sync=False)


def replace(name: str, data: bytes) -> None:
    put(name + ".tmp", data)
    os.replace(name + ".tmp", name)


def named_temporary(name: str, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=".")
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, name)


def atomicwrites(name: str, data: bytes) -> None:
    with importlib.import_module("atomicwrites").atomic_write(name, mode="wb", overwrite=True) as file:
        file.write(data)


WAYS: dict[str, Callable[[str, bytes], None]] = {
    "vscode": vscode,
    "vscode-atomic": vscode_atomic,
    "intellij": intellij,
    "jetbrains": jetbrains,
    "sublime": sublime,
    "helix": helix,
    "vim": vim,
    "gio": gio,
    "agent": agent,
    "sdk": sdk,
    "mcp": mcp,
    "codex": codex,
    "replace": replace,
    "tempfile": named_temporary,
    "atomicwrites": atomicwrites,
}

if __name__ == "__main__":
    try:
        WAYS[sys.argv[1]](sys.argv[2], sys.stdin.buffer.read())
    except OSError as refusal:
        sys.exit(f"{sys.argv[1]}: {refusal}")
