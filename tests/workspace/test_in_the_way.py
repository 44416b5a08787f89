"""Everything that can stand in a place: it stays, one warning names it, and nothing goes through it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from inotify_simple import INotify, flags

from memfs import ensure_memory
from tests.workspace.conftest import EMPTY_PAGE_INDEX, STUB, Workspace, names, picture


def make_socket(place: Path, outside: Path) -> None:
    # A socket's own path must be short, and pytest's are not.
    directory = os.open(place.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{directory}/{place.name}")
    os.close(directory)


def make_device(place: Path, outside: Path) -> None:
    try:
        os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("machine: this user cannot make a device")


OBSTACLES: dict[str, Callable[[Path, Path], None]] = {
    "a link to a folder": lambda place, outside: place.symlink_to(outside),
    "a link to a file": lambda place, outside: place.symlink_to(outside / "kept.md"),
    "a link to nothing": lambda place, outside: place.symlink_to(outside / "nothing"),
    "a link to itself": lambda place, outside: place.symlink_to(place.name),
    "a link within": lambda place, outside: place.symlink_to("."),
    "a FIFO": lambda place, outside: os.mkfifo(place),
    "a socket": make_socket,
    "a device": make_device,
}
FOR_FOLDERS = OBSTACLES | {"a file": lambda place, outside: place.write_bytes(b"a file") and None}
FOR_FILES = OBSTACLES | {"a folder": lambda place, outside: place.mkdir()}
for_folders = pytest.mark.parametrize("obstacle", FOR_FOLDERS.values(), ids=FOR_FOLDERS.keys())
for_files = pytest.mark.parametrize("obstacle", FOR_FILES.values(), ids=FOR_FILES.keys())
Obstacle = Callable[[Path, Path], None]


def one_warning(workspace: Workspace, place: Path) -> None:
    """Ensure the memory: one warning about *place*, which stays as it was."""
    before = place.lstat()
    for _ in range(2):
        (warning,) = workspace.ensure()
        assert warning.startswith(f"{place} is ")
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns, after.st_ctime_ns, after.st_nlink) == (
        before.st_ino, before.st_mode, before.st_mtime_ns, before.st_ctime_ns, before.st_nlink,
    )  # fmt: skip


@for_folders
def test_in_the_place_of_the_workspace(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    workspace.path.rmdir()
    obstacle(workspace.path, outside)
    before = picture(workspace.path.parent)
    one_warning(workspace, workspace.path)
    assert picture(workspace.path.parent) == before


@pytest.mark.parametrize("end", ["/", "//", "/.", "/./"])
def test_a_link_is_a_link_however_it_is_spelled(workspace: Workspace, outside: Path, end: str) -> None:
    workspace.path.rmdir()
    workspace.path.symlink_to(outside)
    assert ensure_memory(f"{workspace.path}{end}").endswith("/memory")
    (warning,) = workspace.warnings
    assert "a link" in warning


@for_folders
def test_in_the_place_of_the_memory(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    (workspace.path / "MEMORY.md").write_bytes(b"old")
    obstacle(workspace.memory, outside)
    before = picture(workspace.path)
    one_warning(workspace, workspace.memory)
    assert picture(workspace.path) == before


@for_folders
def test_in_the_place_of_the_index_folder(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    workspace.memory.mkdir()
    obstacle(workspace.memory / ".meta", outside)
    one_warning(workspace, workspace.memory / ".meta")
    assert names(workspace.path) == {"memory", "memory/index.md", "memory/.meta"}
    assert (workspace.memory / "index.md").read_bytes() == STUB


@for_files
def test_in_the_place_of_the_page_index(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    (workspace.memory / ".meta").mkdir(parents=True)
    obstacle(workspace.memory / ".meta" / "index.json", outside)
    one_warning(workspace, workspace.memory / ".meta" / "index.json")
    assert (workspace.memory / "index.md").read_bytes() == STUB


@for_files
def test_in_the_place_of_the_index(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    workspace.memory.mkdir()
    (workspace.path / "MEMORY.md").write_bytes(b"old")
    obstacle(workspace.memory / "index.md", outside)
    one_warning(workspace, workspace.memory / "index.md")
    assert (workspace.memory / ".meta" / "index.json").read_bytes() == EMPTY_PAGE_INDEX


@for_files
def test_in_the_place_of_the_old_memory(workspace: Workspace, outside: Path, obstacle: Obstacle) -> None:
    obstacle(workspace.path / "MEMORY.md", outside)
    one_warning(workspace, workspace.path / "MEMORY.md")
    assert names(workspace.memory) == {".meta", ".meta/index.json"}


def test_each_thing_in_the_way_has_a_warning_of_its_own(workspace: Workspace, outside: Path) -> None:
    workspace.memory.mkdir()
    (workspace.memory / ".meta").symlink_to(outside / ".meta")
    (workspace.path / "MEMORY.md").symlink_to(outside / "kept.md")
    warnings = workspace.ensure()
    assert [warning.split(" is ")[0] for warning in warnings] == [
        str(workspace.path / "MEMORY.md"),
        str(workspace.memory / ".meta"),
    ]


def test_an_old_memory_is_not_looked_for_where_there_is_an_index(workspace: Workspace) -> None:
    workspace.ensure()
    os.mkfifo(workspace.path / "MEMORY.md")
    assert workspace.ensure() == []


def test_what_is_there_is_not_opened(workspace: Workspace) -> None:
    """Not even to find out what it is: to open a FIFO or a device may already do something."""
    workspace.ensure()
    places = [workspace.memory / "index.md", workspace.memory / ".meta" / "index.json"]
    (workspace.memory / "index.md").unlink()
    os.mkfifo(workspace.memory / "index.md")
    places.append(workspace.path / "MEMORY.md")
    os.mkfifo(workspace.path / "MEMORY.md")
    with INotify() as watch:
        for place in places:
            watch.add_watch(
                place, flags.OPEN | flags.ACCESS | flags.MODIFY | flags.ATTRIB | flags.CLOSE_WRITE
            )
        assert len(workspace.ensure()) == 1
        (workspace.memory / "index.md").unlink()
        assert watch.read(timeout=0) != []  # the unlink itself: the watch works
        assert len(workspace.ensure()) == 1
        assert watch.read(timeout=0) == []


def test_an_old_memory_with_several_names_is_read_like_any(workspace: Workspace, outside: Path) -> None:
    old = outside.parent / "other.md"
    old.write_bytes(b"old")
    (workspace.path / "MEMORY.md").hardlink_to(old)
    assert workspace.ensure() == []
    assert (workspace.memory / "index.md").read_bytes() == b"old"
    assert (workspace.memory / "index.md").lstat().st_nlink == 1
