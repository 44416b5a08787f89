"""Others at work at the same moment: those who do the same, and one who swaps what is there for links."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from inotify_simple import INotify, flags

from tests.cli.conftest import ROOT, SECONDS
from tests.workspace.conftest import EMPTY_PAGE_INDEX, STUB, Workspace, names
from tests.workspace.test_in_the_way import FOR_FILES, Obstacle

ROUNDS = 250
EXCHANGE, MOVE = 2, 0
# Renames one thing to the other and back, as fast as it can; what it prints is that it has begun.
SWAPPER = """
import ctypes, os, sys
libc, how = ctypes.CDLL(None), int(sys.argv[1])
one, other = map(os.fsencode, sys.argv[2:])
print("begun", flush=True)
while libc.renameat2(-100, one, -100, other, how) == 0 == libc.renameat2(-100, other, -100, one, how):
    pass
"""
CALLER = """
import logging, sys
from memfs import ensure_memory
logging.basicConfig(stream=sys.stdout)
ensure_memory(sys.argv[1])
"""


@contextmanager
def swapping(one: Path, other: Path, how: int = EXCHANGE) -> Iterator[None]:
    """What *one* is, *other* is in the next instant."""
    command = [sys.executable, "-c", SWAPPER, str(how), str(one), str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"begun\n"
        try:
            yield
            assert swapper.poll() is None, "it has failed to swap"
        finally:
            swapper.kill()


def rounds(seen: set[bool]) -> Iterator[int]:
    """Many, and on a machine that gives the other process no time, more, until both ways were *seen*."""
    number = 0
    while number < ROUNDS or len(seen) < 2:
        yield number
        number += 1


@contextmanager
def unseen(outside: Path) -> Iterator[None]:
    """Nothing in the tree *outside* is opened, made, changed or removed in here."""
    mask = (
        flags.OPEN
        | flags.CREATE
        | flags.MODIFY
        | flags.ATTRIB
        | flags.DELETE
        | flags.MOVED_FROM
        | flags.MOVED_TO
    )
    with INotify() as watch:
        for path in (outside, *outside.rglob("*")):
            watch.add_watch(path, mask)
        yield
        assert watch.read(timeout=0) == []


def call(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CALLER, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("place", ["", "memory", "memory/.meta"])
def test_a_folder_swapped_for_a_link_leads_nowhere(workspace: Workspace, outside: Path, place: str) -> None:
    """The folder that we are to make things in is a link to elsewhere, every other instant."""
    target = workspace.path / place
    target.mkdir(parents=True, exist_ok=True)
    decoy = workspace.path.parent / "decoy"
    decoy.symlink_to(outside)
    real = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    files = {"": "memory/index.md", "memory": "index.md", "memory/.meta": "index.json"}
    seen: set[bool] = set()
    with unseen(outside), swapping(target, decoy):
        for _ in rounds(seen):
            seen.add(workspace.ensure() == [])
            with suppress(FileNotFoundError):
                os.unlink(files[place], dir_fd=real)
    os.close(real)


def test_a_link_that_comes_and_goes_in_the_place_of_the_index_is_not_followed(
    workspace: Workspace, outside: Path
) -> None:
    workspace.memory.mkdir()
    decoy = workspace.path / "decoy"
    decoy.symlink_to(outside / "new.md")
    index = workspace.memory / "index.md"
    seen: set[bool] = set()
    with unseen(outside), swapping(decoy, index, MOVE):
        for _ in rounds(seen):
            seen.add(workspace.ensure() == [])


@pytest.mark.parametrize("other", ["link", "FIFO"])
def test_an_old_memory_swapped_for_something_else_is_not_read(
    workspace: Workspace, outside: Path, other: str
) -> None:
    (workspace.path / "MEMORY.md").write_bytes(b"old")
    decoy = workspace.path / "decoy"
    if other == "link":
        decoy.symlink_to(outside / "kept.md")
    else:
        os.mkfifo(decoy)
    seen: set[bool] = set()
    with unseen(outside), swapping(workspace.path / "MEMORY.md", decoy):
        for _ in rounds(seen):
            seen.add(workspace.ensure() == [])
            with suppress(FileNotFoundError):
                assert (workspace.memory / "index.md").read_bytes() == b"old"
                (workspace.memory / "index.md").unlink()


@pytest.mark.parametrize("obstacle", FOR_FILES.values(), ids=FOR_FILES.keys())
def test_what_comes_in_the_instant_before_it_is_opened_is_not_read(
    workspace: Workspace, outside: Path, obstacle: Obstacle, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = workspace.path / "MEMORY.md"
    old.write_bytes(b"old")
    real = os.open

    def open_another(path: Any, mode: int, *arguments: Any, **named: Any) -> int:
        if path == "MEMORY.md":
            old.unlink()
            obstacle(old, outside)
        return real(path, mode, *arguments, **named)

    monkeypatch.setattr(os, "open", open_another)
    with unseen(outside):
        (warning,) = workspace.ensure()
    assert warning.startswith(str(old))
    assert names(workspace.memory) == {".meta", ".meta/index.json"}


def test_many_processes_at_once_do_it_once(workspace: Workspace) -> None:
    old = b"0123456789abcdef" * (1 << 16)
    (workspace.path / "MEMORY.md").write_bytes(old)
    callers = [call(workspace.path) for _ in range(6)]
    index = workspace.memory / "index.md"
    while any(caller.poll() is None for caller in callers):
        with suppress(FileNotFoundError):
            assert index.stat().st_size == len(old), "half of it was to be seen"
    for caller in callers:
        assert caller.communicate()[0] == b""
        assert caller.returncode == 0
    assert index.read_bytes() == old
    assert names(workspace.memory) == {"index.md", ".meta", ".meta/index.json"}


def test_who_comes_between_is_not_overwritten(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes each thing just before we do."""
    real_link, real_mkdir = os.link, os.mkdir

    def link(source: str, name: str, **named: int) -> None:
        place = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=named["dst_dir_fd"])
        os.write(place, b"theirs")
        os.close(place)
        real_link(source, name, **named)  # type: ignore[arg-type]

    def mkdir(name: str, mode: int, *, dir_fd: int) -> None:
        real_mkdir(name, 0o755, dir_fd=dir_fd)
        real_mkdir(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(os, "mkdir", mkdir)
    assert workspace.ensure() == []
    assert (workspace.memory / "index.md").read_bytes() == b"theirs"
    assert (workspace.memory / ".meta" / "index.json").read_bytes() == b"theirs"
    assert workspace.memory.stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_nothing_half_made(workspace: Workspace) -> None:
    old = os.urandom(1 << 20) * 24
    (workspace.path / "MEMORY.md").write_bytes(old)
    caught = 0
    for step in range(10):
        caller = call(workspace.path)
        while not workspace.memory.exists() and caller.poll() is None:
            pass
        time.sleep(step * 0.002)
        caller.send_signal(signal.SIGKILL)
        caller.communicate(timeout=SECONDS)
        caught += caller.returncode == -signal.SIGKILL
        index = workspace.memory / "index.md"
        if index.exists():
            assert index.read_bytes() == old
        if (workspace.memory / ".meta" / "index.json").exists():
            assert (workspace.memory / ".meta" / "index.json").read_bytes() == EMPTY_PAGE_INDEX
        assert names(workspace.memory) <= {"index.md", ".meta", ".meta/index.json"}
        for name in (".meta/index.json", "index.md"):
            (workspace.memory / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            (workspace.memory / ".meta").rmdir()
        workspace.memory.rmdir()
    assert caught
    (workspace.path / "MEMORY.md").unlink()
    assert workspace.ensure() == []
    assert (workspace.memory / "index.md").read_bytes() == STUB
