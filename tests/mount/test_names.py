"""Which names the mount takes, and the errno with which it refuses the others."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, errno_of, open_fd, write

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL

MEMORY_NAMES = [
    "notes.md", "a.txt", "a.json", "a.py", "a.yaml", "a.yml", "_private.md", "7.md", "a-b_c.d.md", "A.md",
    "tmp_15o7bb5.md", "tmpabc.md", "notes.tmp.md", "notes.sync-conflict-1.md", "n" * 125 + ".md",
]  # fmt: skip
REFUSED_NAMES = [
    "photo.png", "report.docx", "README", ".env", "notes.md.png", "2024", "notes.MD", "no extension",
    "a b.md", "-x.md", ".hidden.md", "ümlaut.md", "a:b.md", "notes", "notes.",
]  # fmt: skip
SCRATCH_NAMES = [
    ".notes.md.swp", "notes.md~", "#notes.md#", ".#notes.md", "4913", "5036", "notes.md.tmp.123.abc",
    "sedAbC123", "notes.md.bak", ".notes.md.AbCdEf", "notes.md.orig", "tmpabc123", ".goutputstream-ABC123",
    "._notes.md", ".DS_Store", "notes.tmp",
]  # fmt: skip


@pytest.mark.parametrize("name", MEMORY_NAMES)
def test_a_memory_can_be_called(mount: Mounted, here: Path, name: str) -> None:
    write(here / name, "text")
    assert mount.text(here / name) == "text"


@pytest.mark.parametrize("name", SCRATCH_NAMES)
def test_a_scratch_file_can_be_called(mount: Mounted, here: Path, name: str) -> None:
    write(here / name, "text")
    assert (here / name).read_text() == "text"
    assert mount.records(here) == []


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_no_file_can_be_called(here: Path, name: str) -> None:
    assert errno_of(lambda: os.open(here / name, CREATE)) == errno.EINVAL
    assert errno_of(lambda: (here / name).stat()) == errno.ENOENT
    assert os.listdir(here) == []


@pytest.mark.parametrize("name", [".hidden", "-x", "a b", "ümlaut", "a:b"])
def test_no_directory_can_be_called(here: Path, name: str) -> None:
    assert errno_of((here / name).mkdir) == errno.EINVAL
    assert os.listdir(here) == []


@pytest.mark.parametrize("name", ["sub", "sedatives", "projects.old", "5036", "notes.md", "2024", "n" * 128])
def test_a_directory_can_be_called(mount: Mounted, here: Path, name: str) -> None:
    (here / name).mkdir()
    write(here / name / "a.md", "text")
    assert mount.text(here / name / "a.md") == "text"


@pytest.mark.parametrize("name", [".git", ".Trash", ".Trash-1000"])
def test_a_directory_that_would_take_memories_away_is_not_permitted(here: Path, name: str) -> None:
    assert errno_of((here / name).mkdir) == errno.EPERM


@pytest.mark.parametrize("name", ["n" * 126 + ".md", "n" * 129, "n" * 200, "n" * 256, "é" * 200])
def test_a_name_that_is_too_long_says_so(here: Path, name: str) -> None:
    assert errno_of(lambda: os.open(here / name, CREATE)) == errno.ENAMETOOLONG
    assert errno_of((here / name).mkdir) == errno.ENAMETOOLONG
    write(here / "a.md", "a")
    assert errno_of(lambda: os.rename(here / "a.md", here / name)) == errno.ENAMETOOLONG


def test_a_path_that_is_too_long_says_so(mount: Mounted, here: Path) -> None:
    deep = here
    while len(mount.port_path(deep)) < 1024 - 106:  # so that a name of a letter and .md still fits
        deep = deep / ("d" * 100)
        deep.mkdir()
    room = 1024 - len(mount.port_path(deep)) - 1
    write(deep / ("n" * (room - 3) + ".md"), "just fits")
    assert mount.text(deep / ("n" * (room - 3) + ".md")) == "just fits"
    assert errno_of(lambda: os.open(deep / ("n" * (room - 2) + ".md"), CREATE)) == errno.ENAMETOOLONG
    assert errno_of((deep / ("n" * (room + 1))).mkdir) == errno.ENAMETOOLONG


def test_a_directory_does_not_move_where_its_paths_would_be_too_long(mount: Mounted, here: Path) -> None:
    deep = here
    while len(mount.port_path(deep)) < 800:
        deep = deep / ("d" * 100)
        deep.mkdir()
    (here / "long").mkdir()
    name = "n" * 100 + ".md"
    (here / "long" / ("e" * 100)).mkdir()
    write(here / "long" / ("e" * 100) / name, "text")
    target = deep / ("l" * 50)
    assert errno_of(lambda: os.rename(here / "long", target)) == errno.ENAMETOOLONG
    assert mount.text(here / "long" / ("e" * 100) / name) == "text"


@pytest.mark.parametrize("name", [*REFUSED_NAMES, "n" * 200, "n" * 300, ".git"])
def test_looking_for_a_name_that_nothing_can_have_just_finds_nothing(here: Path, name: str) -> None:
    assert errno_of(lambda: (here / name).lstat()) == errno.ENOENT


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("photo.png", errno.EINVAL),
        ("a b.md", errno.EINVAL),
        (".hidden.md", errno.EINVAL),
        ("n" * 200 + ".md", errno.ENAMETOOLONG),
    ],
)
def test_a_memory_cannot_be_renamed_to(mount: Mounted, here: Path, name: str, expected: int) -> None:
    write(here / "a.md", "a")
    assert errno_of(lambda: os.rename(here / "a.md", here / name)) == expected
    assert os.listdir(here) == ["a.md"]
    assert mount.text(here / "a.md") == "a"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".git", errno.EPERM),
        (".Trash-1000", errno.EPERM),
        ("a b", errno.EINVAL),
        (".hidden", errno.EINVAL),
        (".obsidian", errno.EINVAL),
    ],
)
def test_a_directory_of_memories_cannot_be_renamed_to(
    mount: Mounted, here: Path, name: str, expected: int
) -> None:
    (here / "sub").mkdir()
    write(here / "sub" / "a.md", "a")
    assert errno_of(lambda: os.rename(here / "sub", here / name)) == expected
    assert mount.text(here / "sub" / "a.md") == "a"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda directory: os.link(directory / "a.md", directory / "b.md"), errno.EPERM),
        (lambda directory: os.link(directory / "a.md", directory / "b.md~"), errno.EPERM),
        (lambda directory: os.symlink("a.md", directory / "b.md"), errno.EPERM),
        (lambda directory: os.symlink("a.md", directory / "link"), errno.EPERM),
        (lambda directory: os.symlink("a.md", directory / "a.md.bak.md"), errno.EPERM),
        (lambda directory: os.mkfifo(directory / "fifo"), errno.EPERM),
        (lambda directory: os.mkfifo(directory / "b.md"), errno.EPERM),
        (lambda directory: os.mknod(directory / "b.md", stat.S_IFREG | 0o644), errno.EPERM),
    ],
)
def test_nothing_but_files_and_directories_can_be_made(
    here: Path, make: Callable[[Path], None], expected: int
) -> None:
    write(here / "a.md", "a")
    assert errno_of(lambda: make(here)) == expected
    assert os.listdir(here) == ["a.md"]


def test_a_file_without_a_name_cannot_be_made(here: Path) -> None:
    assert errno_of(lambda: os.open(here, os.O_TMPFILE | os.O_RDWR)) == errno.EOPNOTSUPP


def test_the_root_of_the_mount_cannot_be_moved_or_removed(mount: Mounted, here: Path) -> None:
    assert errno_of(mount.path.rmdir) == errno.EBUSY
    assert errno_of(lambda: os.rename(mount.path, mount.path.parent / "elsewhere")) == errno.EBUSY


def test_nothing_moves_into_or_out_of_the_mount_by_renaming(here: Path, tmp_path: Path) -> None:
    write(here / "a.md", "a")
    write(tmp_path / "b.md", "b")
    assert errno_of(lambda: os.rename(here / "a.md", tmp_path / "a.md")) == errno.EXDEV
    assert errno_of(lambda: os.rename(tmp_path / "b.md", here / "b.md")) == errno.EXDEV


def test_names_are_case_sensitive(here: Path) -> None:
    write(here / "notes.md", "small")
    write(here / "Notes.md", "capital")
    assert sorted(os.listdir(here)) == ["Notes.md", "notes.md"]
    assert (here / "notes.md").read_text() == "small"


def test_a_name_that_is_no_text_is_refused_like_any_other(here: Path) -> None:
    name = bytes(here) + b"/\xff\xfe.md"
    assert errno_of(lambda: os.open(name, CREATE)) == errno.EINVAL
    assert errno_of(lambda: os.mkdir(name)) == errno.EINVAL
    assert errno_of(lambda: os.stat(name)) == errno.ENOENT


@pytest.mark.parametrize("flags", [2, 4], ids=["exchange", "whiteout"])
def test_special_renames_are_invalid(here: Path, flags: int) -> None:
    write(here / "a.md", "a")
    write(here / "b.md", "b")
    assert rename_with(here / "a.md", here / "b.md", flags) == errno.EINVAL
    assert (here / "a.md").read_text() == "a"


def test_a_rename_that_must_not_replace_does_not(here: Path) -> None:
    write(here / "a.md", "a")
    write(here / "b.md.tmp", "b")
    noreplace = 1
    assert rename_with(here / "b.md.tmp", here / "a.md", noreplace) == errno.EEXIST
    assert rename_with(here / "b.md.tmp", here / "c.md", noreplace) == 0
    assert (here / "c.md").read_text() == "b"


def rename_with(old: Path, new: Path, flags: int) -> int:
    """renameat2(2); the errno, or 0."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    at_cwd = -100
    done = libc.renameat2(at_cwd, bytes(old), at_cwd, bytes(new), flags)
    return ctypes.get_errno() if done else 0


def test_creating_in_a_missing_directory_finds_nothing(here: Path) -> None:
    assert errno_of(lambda: os.open(here / "sub" / "a.md", CREATE)) == errno.ENOENT
    with open_fd(here / "a.md", CREATE):
        assert errno_of(lambda: os.open(here / "a.md" / "b.md", CREATE)) == errno.ENOTDIR
