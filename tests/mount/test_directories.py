"""Directories: listing, making, removing, renaming, and the numbers stat shows for them."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, errno_of, eventually, in_another_process, open_fd, write

LIBC = ctypes.CDLL(None, use_errno=True)
RDWR = os.O_RDWR | os.O_CREAT


def entries(fd: int, room: int) -> Iterator[tuple[str, int]]:
    """(name, cookie) of the next entries that getdents64(2) gives in *room* bytes."""
    buffer = ctypes.create_string_buffer(room)
    length = LIBC.syscall(217, fd, buffer, room)
    assert length >= 0, os.strerror(ctypes.get_errno())
    at = 0
    while at < length:
        _, cookie, size, _ = struct.unpack_from("<QqHB", buffer.raw, at)
        yield buffer.raw[at + 19 : at + size].split(b"\0", 1)[0].decode(), cookie
        at += size


def test_a_listing_has_files_and_directories_and_nothing_else(here: Path) -> None:
    write(here / "b.md", "b")
    write(here / "a.txt", "a")
    (here / "sub").mkdir()
    assert sorted(os.listdir(here)) == ["a.txt", "b.md", "sub"]
    kinds = {entry.name: (entry.is_dir(follow_symlinks=False), entry.inode()) for entry in os.scandir(here)}
    assert {name: is_directory for name, (is_directory, _) in kinds.items()} == {
        "a.txt": False,
        "b.md": False,
        "sub": True,
    }
    assert all(inode == (here / name).stat().st_ino for name, (_, inode) in kinds.items())


def test_dot_and_dot_dot_are_listed_once(here: Path) -> None:
    write(here / "a.md", "a")
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        assert sorted(name for name, _ in entries(fd, 4096)) == [".", "..", "a.md"]


def test_a_large_directory_is_listed_whole_in_small_pieces(here: Path) -> None:
    names = {f"n{number:03}.md" for number in range(300)}
    for name in names:
        write(here / name, "x")
    seen: list[str] = []
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        while piece := [name for name, _ in entries(fd, 300)]:
            seen += piece
    assert len(seen) == len(set(seen))
    assert set(seen) - {".", ".."} == names


def test_what_stays_is_listed_once_while_others_come_and_go(here: Path) -> None:
    stays = {f"stays{number:03}.md" for number in range(100)}
    for number, name in enumerate(sorted(stays)):
        write(here / name, "x")
        write(here / f"goes{number:03}.md", "x")
    seen: list[str] = []
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        while piece := [name for name, _ in entries(fd, 500)]:
            seen += piece
            turn = len(seen)
            (here / f"goes{99 - turn // 4:03}.md").unlink(missing_ok=True)
            write(here / f"comes{turn:03}.md", "x")
    assert len(seen) == len(set(seen))
    assert stays <= set(seen)


def test_a_listing_goes_on_from_any_earlier_place(here: Path) -> None:
    """telldir(3) and seekdir(3)."""
    for number in range(50):
        write(here / f"n{number:02}.md", "x")
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        everything: list[tuple[str, int]] = []
        while piece := list(entries(fd, 300)):
            everything += piece
        for at in (0, 1, 2, 20, 50):
            os.lseek(fd, everything[at][1], os.SEEK_SET)
            rest: list[str] = []
            while piece := list(entries(fd, 300)):
                rest += [name for name, _ in piece]
            assert rest == [name for name, _ in everything[at + 1 :]]


def test_a_listing_that_is_rewound_shows_what_is_there_now(here: Path) -> None:
    write(here / "old.md", "x")
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        assert {name for name, _ in entries(fd, 4096)} == {".", "..", "old.md"}
        write(here / "new.md", "x")
        (here / "old.md").unlink()
        os.lseek(fd, 0, os.SEEK_SET)
        assert {name for name, _ in entries(fd, 4096)} == {".", "..", "new.md"}


def test_a_file_that_is_replaced_during_a_listing_is_still_listed(here: Path) -> None:
    names = [f"n{number:02}.md" for number in range(40)]
    for name in names:
        write(here / name, "old")
    seen: list[str] = []
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        seen += [name for name, _ in entries(fd, 300)]
        write(here / "n39.md.tmp", "new")
        os.rename(here / "n39.md.tmp", here / "n39.md")
        while piece := [name for name, _ in entries(fd, 300)]:
            seen += piece
    assert seen.count("n39.md") == 1


def test_mkdir_makes_an_empty_directory(here: Path) -> None:
    (here / "sub").mkdir()
    assert os.listdir(here / "sub") == []
    assert (here / "sub").is_dir()


def test_the_port_sees_a_directory_with_its_first_file(mount: Mounted, here: Path) -> None:
    (here / "sub").mkdir()
    view = {"command": "view", "path": mount.port_path(here / "sub")}
    assert not mount.memory.execute(view).ok
    write(here / "sub" / "a.md", "a")
    assert mount.memory.execute(view).ok


def test_a_directory_stays_when_its_last_file_leaves(here: Path) -> None:
    (here / "sub").mkdir()
    write(here / "sub" / "a.md", "a")
    (here / "sub" / "a.md").unlink()
    assert os.listdir(here / "sub") == []


def test_rmdir_removes_an_empty_directory(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub").rmdir()
    assert not (here / "sub").exists()


@pytest.mark.parametrize("content", ["a.md", "a.md.tmp", "sub"])
def test_rmdir_refuses_a_directory_with_anything_in_it(here: Path, content: str) -> None:
    (here / "full").mkdir()
    if content == "sub":
        (here / "full" / content).mkdir()
    else:
        write(here / "full" / content, "x")
    assert errno_of((here / "full").rmdir) == errno.ENOTEMPTY


def test_a_directory_and_a_file_do_not_take_each_others_place(here: Path) -> None:
    (here / "sub").mkdir()
    write(here / "a.md", "a")
    assert errno_of((here / "sub").unlink) == errno.EISDIR
    assert errno_of((here / "a.md").rmdir) == errno.ENOTDIR
    assert errno_of((here / "a.md").mkdir) == errno.EEXIST
    assert errno_of((here / "sub").mkdir) == errno.EEXIST
    assert errno_of(lambda: os.open(here / "sub", os.O_WRONLY)) == errno.EISDIR
    assert errno_of(lambda: os.open(here / "a.md", os.O_RDONLY | os.O_DIRECTORY)) == errno.ENOTDIR
    assert errno_of(lambda: os.stat(here / "a.md" / "b.md")) == errno.ENOTDIR
    assert errno_of(lambda: os.rename(here / "a.md", here / "sub")) == errno.EISDIR
    assert errno_of(lambda: os.rename(here / "sub", here / "a.md")) == errno.ENOTDIR


class TestRename:
    """Memories and directories take new names; nothing is ever overwritten."""

    def test_a_memory_takes_its_content_and_its_history_along(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "text")
        os.rename(here / "a.md", here / "b.md")
        assert os.listdir(here) == ["b.md"]
        assert mount.text(here / "b.md") == "text"
        assert mount.records(here) == [("created", "a.md"), ("renamed", "b.md")]

    def test_a_memory_moves_into_another_directory(self, mount: Mounted, here: Path) -> None:
        (here / "sub").mkdir()
        write(here / "a.md", "text")
        os.rename(here / "a.md", here / "sub" / "a.md")
        assert mount.text(here / "sub" / "a.md") == "text"
        assert mount.text(here / "a.md") is None

    def test_it_keeps_its_inode(self, here: Path) -> None:
        write(here / "a.md", "text")
        inode = (here / "a.md").stat().st_ino
        os.rename(here / "a.md", here / "b.md")
        assert (here / "b.md").stat().st_ino == inode

    @pytest.mark.parametrize("target", ["memory", "directory"])
    def test_an_existing_name_is_never_overwritten(self, mount: Mounted, here: Path, target: str) -> None:
        (here / "sub").mkdir()
        (here / "other").mkdir()
        write(here / "a.md", "a")
        write(here / "b.md", "b")
        old, new = ("a.md", "b.md") if target == "memory" else ("sub", "other")
        assert errno_of(lambda: os.rename(here / old, here / new)) == errno.EEXIST
        assert sorted(os.listdir(here)) == ["a.md", "b.md", "other", "sub"]
        assert mount.text(here / "b.md") == "b"

    def test_onto_itself_is_nothing(self, here: Path, mount: Mounted) -> None:
        write(here / "a.md", "a")
        os.rename(here / "a.md", here / "a.md")
        assert mount.records(here) == [("created", "a.md")]

    def test_a_directory_takes_everything_in_it_along(self, mount: Mounted, here: Path) -> None:
        (here / "one" / "deep").mkdir(parents=True)
        (here / "one" / "empty").mkdir()
        write(here / "one" / "a.md", "a")
        write(here / "one" / "deep" / "b.md", "b")
        write(here / "one" / "a.md.bak", "scratch")
        os.rename(here / "one", here / "two")
        assert os.listdir(here) == ["two"]
        assert sorted(os.listdir(here / "two")) == ["a.md", "a.md.bak", "deep", "empty"]
        assert mount.text(here / "two" / "a.md") == "a"
        assert mount.text(here / "two" / "deep" / "b.md") == "b"
        assert mount.text(here / "one" / "a.md") is None

    def test_a_directory_without_memories_moves_too(self, here: Path) -> None:
        (here / "one" / "empty").mkdir(parents=True)
        os.rename(here / "one", here / "two")
        assert os.listdir(here / "two") == ["empty"]

    def test_open_files_in_a_renamed_directory_stay_open(self, mount: Mounted, here: Path) -> None:
        (here / "one").mkdir()
        write(here / "one" / "a.md", "a")
        with open_fd(here / "one" / "a.md", os.O_RDWR | os.O_APPEND) as fd:
            os.rename(here / "one", here / "two")
            assert os.pread(fd, 10, 0) == b"a"
            os.write(fd, b"b")
        assert mount.text(here / "two" / "a.md") == "ab"
        assert mount.text(here / "one" / "a.md") is None

    def test_a_newborn_in_a_renamed_directory_is_committed_at_the_new_path(
        self, mount: Mounted, here: Path
    ) -> None:
        (here / "one").mkdir()
        write(here / "one" / "old.md", "old")
        with open_fd(here / "one" / "a.md", RDWR) as fd:
            os.write(fd, b"a")
            os.rename(here / "one", here / "two")
            os.write(fd, b"b")
        assert mount.text(here / "two" / "a.md") == "ab"
        assert mount.text(here / "one" / "a.md") is None

    def test_a_newborn_that_is_renamed_is_committed_at_the_new_path(self, mount: Mounted, here: Path) -> None:
        with open_fd(here / "a.md", RDWR) as fd:
            os.write(fd, b"a")
            os.rename(here / "a.md", here / "b.md")
        assert mount.text(here / "b.md") == "a"
        assert mount.records(here) == [("created", "b.md")]

    def test_a_directory_does_not_move_into_itself(self, here: Path) -> None:
        (here / "one" / "two").mkdir(parents=True)
        write(here / "one" / "a.md", "a")
        assert errno_of(lambda: os.rename(here / "one", here / "one" / "two" / "three")) == errno.EINVAL

    def test_a_missing_name_is_not_found(self, here: Path) -> None:
        assert errno_of(lambda: os.rename(here / "a.md", here / "b.md")) == errno.ENOENT

    def test_a_program_inside_a_renamed_directory_stays_in_it(self, here: Path) -> None:
        (here / "one").mkdir()
        write(here / "one" / "a.md", "a")
        code = (
            "import os, sys; os.chdir(sys.argv[1] + '/one'); os.rename('../one', '../two')\n"
            "print(os.getcwd(), open('a.md').read(), os.listdir('.'), os.listdir('..'))"
        )
        assert in_another_process(code, str(here)) == f"{here}/two a ['a.md'] ['two']"


class TestNumbers:
    """Link counts, inodes and times."""

    def test_a_directory_counts_its_directories(self, here: Path) -> None:
        assert here.stat().st_nlink == 2
        (here / "one").mkdir()
        (here / "two").mkdir()
        write(here / "a.md", "a")
        assert here.stat().st_nlink == 4
        (here / "one").rmdir()
        assert here.stat().st_nlink == 3
        os.rename(here / "two", here / "three")
        assert here.stat().st_nlink == 3

    def test_a_directory_that_moves_counts_where_it_is(self, here: Path) -> None:
        (here / "one").mkdir()
        (here / "two").mkdir()
        os.rename(here / "one", here / "two" / "one")
        assert (here.stat().st_nlink, (here / "two").stat().st_nlink) == (3, 3)

    def test_a_file_has_one_link(self, here: Path) -> None:
        write(here / "a.md", "a")
        assert (here / "a.md").stat().st_nlink == 1

    def test_inodes_are_unique_and_stable(self, here: Path) -> None:
        (here / "sub").mkdir()
        for number in range(20):
            write(here / f"n{number}.md", "x")
            write(here / "sub" / f"n{number}.md", "x")
        paths = [here, *here.rglob("*")]
        inodes = [path.stat().st_ino for path in paths]
        assert len(set(inodes)) == len(paths) == 42
        for path in paths:
            if path.is_file():
                write(path, "changed")
        assert [path.stat().st_ino for path in paths] == inodes

    @pytest.mark.parametrize("change", ["create", "unlink", "mkdir", "rmdir", "rename", "replace"])
    def test_a_directory_has_the_time_of_its_last_change(self, here: Path, change: str) -> None:
        write(here / "a.md", "a")
        write(here / "b.md.tmp", "b")
        (here / "sub").mkdir()
        os.utime(here, ns=(1, 1))
        match change:
            case "create":
                write(here / "c.md", "c")
            case "unlink":
                (here / "a.md").unlink()
            case "mkdir":
                (here / "new").mkdir()
            case "rmdir":
                (here / "sub").rmdir()
            case "rename":
                os.rename(here / "a.md", here / "sub" / "a.md")
            case _:
                os.rename(here / "b.md.tmp", here / "a.md")
        eventually(lambda: here.stat().st_mtime_ns > 1)

    def test_writing_into_a_file_leaves_its_directory_alone(self, here: Path) -> None:
        write(here / "a.md", "a")
        before = here.stat().st_mtime_ns
        write(here / "a.md", "b")
        assert here.stat().st_mtime_ns == before


def test_a_removed_directory_takes_no_new_file(here: Path) -> None:
    (here / "sub").mkdir()
    with open_fd(here / "sub", os.O_RDONLY | os.O_DIRECTORY) as fd:
        (here / "sub").rmdir()
        assert errno_of(lambda: os.open("a.md", RDWR, dir_fd=fd)) == errno.ENOENT
        assert errno_of(lambda: os.mkdir("b", dir_fd=fd)) == errno.ENOENT
        assert os.fstat(fd).st_nlink == 0


def test_syncing_a_directory_succeeds(here: Path) -> None:
    with open_fd(here, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)
