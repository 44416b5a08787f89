"""What the tests of stores share: a store and its memory, and other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memfs.port.change import Actor
from memfs.port.memory import Memory
from memfs.port.policy import Limits, Policy
from memfs.port.store import Store
from memfs.stores.directory import open_directory
from memfs.stores.directory.opening import STEM
from memfs.stores.git.store import open_git
from memfs.stores.simple import SimpleStore
from memfs.stores.sqlite import open_sqlite, rows
from memfs.stores.sqlite.database import ScopeFiles

SCOPE = "work"
NOBODY = 65534
ENDLESS = Limits(max_files=1_000_000, max_total_bytes=1_000_000_000)
"""For writers that must not make each other's files leave."""


DATABASES = ("sqlite", "directory")
"""The kinds of stores whose record is a database."""
DURABLE = (*DATABASES, "git")
"""The kinds of stores that outlive their process, and may be opened by several."""


def open_store(kind: str, directory: Path, policy: Policy, relaxed: bool = False) -> Store:
    """The store of a *kind* in *directory*: ``simple``, or one of ``DURABLE``."""
    if kind == "simple":
        return SimpleStore(SCOPE, policy)
    if kind == "git":
        return open_git(directory, None, SCOPE, policy)[0]
    opener = open_sqlite if kind == "sqlite" else open_directory
    return opener(directory, SCOPE, policy, relaxed)[0]


def open_pair(
    directory: Path, relaxed: bool = False, limits: Limits | None = None, kind: str = "sqlite"
) -> tuple[Memory, Store]:
    """A memory over the store in *directory*, and that store; closing the memory closes both."""
    store = open_store(kind, directory, Policy(limits or Limits()), relaxed)
    return Memory(store, Actor("tester", "pytest")), store


def files_of(directory: Path, kind: str = "sqlite") -> ScopeFiles:
    """Where the scope of these tests lies."""
    return ScopeFiles(directory, SCOPE) if kind == "sqlite" else ScopeFiles(directory / ".meta", SCOPE, STEM)


def chain_lengths(database: Path) -> list[int]:
    """For each record that has bytes: how many others it takes to read it."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    found = rows.select(connection, "SELECT record, base FROM history WHERE content IS NOT NULL")
    base_of: dict[int, int | None] = dict(found)
    connection.close()
    lengths = []
    for record in base_of:
        length, at = 0, base_of[record]
        while at is not None:
            length, at = length + 1, base_of[at]
        lengths.append(length)
    return lengths


def damage_of(database: Path) -> list[str]:
    """What SQLite finds wrong with a database."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    found = [row[0] for row in rows.select(connection, "PRAGMA integrity_check")]
    connection.close()
    return [] if found == ["ok"] else found


@contextmanager
def ordinary_user(*owned: Path) -> Iterator[None]:
    """Run as a user whom permissions bind, who owns *owned*: root becomes nobody for the while."""
    if os.geteuid() != 0:
        yield
        return
    for path in owned:
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def small_disk(mount_point: Path) -> Iterator[None]:
    """A file system of half a megabyte on *mount_point*."""
    import pytest  # not by the processes that tests start: it takes longer than their work

    if os.geteuid() != 0:
        pytest.skip("machine: only root can mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount_point)]
    if subprocess.run(["mount", *options], check=False, capture_output=True).returncode:
        pytest.skip("machine: mount(8) is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(mount_point)], check=True)


def run_threads(*work: Callable[[], None]) -> None:
    """Run all at once; what one raises is raised here."""
    raised: list[BaseException] = []

    def guarded(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def start_python(code: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Run *code* in a fresh interpreter, with its output in a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, **options
    )


def rest_of(process: subprocess.Popen[str]) -> list[str]:
    """The whole lines that *process* has printed since the last that was read, once it has ended.

    By the reader that had the first ones, which may have the beginning of another. A last line that was cut
    off was not told.
    """
    assert process.stdout is not None
    with process:
        lines = list(process.stdout)
    return [line.strip() for line in lines if line.endswith("\n")]


def run_python(code: str, *arguments: str) -> str:
    """The output of *code* in a fresh interpreter, which must end well."""
    with start_python(code, *arguments) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output
