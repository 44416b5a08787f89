"""Editors' temporary files: ordinary files of the mount, and the way a save arrives by renaming."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, write

RDWR = os.O_RDWR | os.O_CREAT
EXCLUSIVE = RDWR | os.O_EXCL
TEMPORARY = "a.md.tmp"


def memory_id(mount: Mounted, file: Path) -> list[int]:
    """The ids that the history has for a path, each once, in order."""
    path = mount.port_path(file)
    return list(dict.fromkeys(record.id for record in mount.history() if record.path == path))


class TestAnOrdinaryFile:
    def test_it_never_reaches_the_store(self, mount: Mounted, here: Path) -> None:
        write(here / TEMPORARY, "text")
        assert (here / TEMPORARY).read_text() == "text"
        assert mount.records(here) == []

    def test_it_is_listed_and_has_its_size(self, here: Path) -> None:
        write(here / TEMPORARY, "text")
        assert os.listdir(here) == [TEMPORARY]
        assert (here / TEMPORARY).stat().st_size == 4

    def test_it_may_hold_any_bytes(self, here: Path) -> None:
        data = bytes(range(256)) * 100
        write(here / ".a.md.swp", data)
        assert (here / ".a.md.swp").read_bytes() == data

    def test_it_is_written_at_any_offset(self, here: Path) -> None:
        with open_fd(here / ".a.md.swp", EXCLUSIVE) as fd:
            os.pwrite(fd, b"end", 8192)
            os.pwrite(fd, b"begin", 0)
            os.ftruncate(fd, 8194)
            assert os.pread(fd, 10_000, 0) == b"begin" + bytes(8187) + b"en"

    def test_it_may_be_larger_than_a_memory(self, here: Path) -> None:
        write(here / ".a.md.swp", b"x" * 200_000)
        assert (here / ".a.md.swp").stat().st_size == 200_000

    def test_it_has_a_limit_of_its_own_and_keeps_what_it_has(self, here: Path) -> None:
        with open_fd(here / ".a.md.swp", EXCLUSIVE) as fd:
            os.write(fd, b"kept")
            assert errno_of(lambda: os.pwrite(fd, b"x", 1 << 20)) == errno.ENOSPC
            os.pwrite(fd, b" still", 4)
            os.fsync(fd)
        with open_fd(here / ".a.md.swp", os.O_RDWR) as fd:
            os.pwrite(fd, b"K", 0)
        assert (here / ".a.md.swp").read_bytes() == b"Kept still"

    def test_o_excl_refuses_one_that_is_there(self, here: Path) -> None:
        write(here / ".a.md.swp", b"")
        assert errno_of(lambda: os.open(here / ".a.md.swp", EXCLUSIVE)) == errno.EEXIST

    def test_it_can_be_unlinked_while_it_is_open(self, here: Path) -> None:
        with open_fd(here / ".a.md.swp", EXCLUSIVE) as fd:
            os.write(fd, b"text")
            (here / ".a.md.swp").unlink()
            assert os.pread(fd, 10, 0) == b"text"
            assert os.fstat(fd).st_nlink == 0
        assert os.listdir(here) == []

    def test_unlinked_while_it_is_open_it_takes_no_room_any_more(self, mount: Mounted, here: Path) -> None:
        def room_taken() -> int:
            status = json.loads((mount.path / ".memfs" / "status").read_text())
            return int(status["scratch"]["usedBytes"])

        before = room_taken()
        with open_fd(here / ".a.md.swp", EXCLUSIVE) as fd:
            os.write(fd, b"x" * 10_000)
            assert room_taken() == before + 10_000
            (here / ".a.md.swp").unlink()
            os.write(fd, b"x" * 10_000)
            os.ftruncate(fd, 15_000)
            assert os.fstat(fd).st_size == 15_000
        eventually(room_taken, before)

    def test_its_mode_and_times_are_kept(self, here: Path) -> None:
        with open_fd(here / TEMPORARY, EXCLUSIVE, 0o600) as fd:
            os.fchmod(fd, 0o640)
            os.fchown(fd, os.getuid(), os.getgid())
            os.utime(fd, ns=(1, 2))
        assert (here / TEMPORARY).stat().st_mode & 0o777 == 0o640
        assert (here / TEMPORARY).stat().st_mtime_ns == 2

    def test_closing_and_opening_again_loses_nothing(self, here: Path) -> None:
        for letter in "abc":
            with open_fd(here / "a.md~", os.O_WRONLY | os.O_CREAT | os.O_APPEND) as fd:
                os.write(fd, letter.encode())
        assert (here / "a.md~").read_text() == "abc"


class TestRenamedToScratch:
    def test_the_file_has_the_new_name_only(self, here: Path) -> None:
        write(here / TEMPORARY, "text")
        os.rename(here / TEMPORARY, here / "a.md~")
        assert os.listdir(here) == ["a.md~"]
        assert (here / "a.md~").read_text() == "text"

    def test_another_scratch_file_is_replaced(self, here: Path) -> None:
        write(here / TEMPORARY, "new")
        write(here / "a.md~", "old")
        with open_fd(here / "a.md~", os.O_RDONLY) as fd:
            os.rename(here / TEMPORARY, here / "a.md~")
            assert os.listdir(here) == ["a.md~"]
            assert (here / "a.md~").read_text() == "new"
            assert os.read(fd, 10) == b"old"
            assert os.fstat(fd).st_nlink == 0

    def test_a_directory_is_not_replaced(self, here: Path) -> None:
        (here / ".obsidian").mkdir()
        (here / ".obsidian" / "sub").mkdir()
        write(here / TEMPORARY, "text")
        assert errno_of(lambda: os.rename(here / TEMPORARY, here / ".obsidian" / "sub")) == errno.EISDIR


class TestRenamedToANewMemory:
    def test_it_is_one_created_record(self, mount: Mounted, here: Path) -> None:
        write(here / TEMPORARY, "text")
        os.rename(here / TEMPORARY, here / "a.md")
        assert os.listdir(here) == ["a.md"]
        assert mount.text(here / "a.md") == "text"
        assert mount.records(here) == [("created", "a.md")]

    def test_it_is_a_memory_from_then_on(self, mount: Mounted, here: Path) -> None:
        write(here / TEMPORARY, "text")
        os.rename(here / TEMPORARY, here / "a.md")
        with open_fd(here / "a.md", os.O_WRONLY | os.O_APPEND) as fd:
            os.write(fd, b" and more")
        assert mount.text(here / "a.md") == "text and more"
        (here / "a.md").unlink()
        assert mount.text(here / "a.md") is None

    def test_it_may_come_from_another_directory(self, mount: Mounted, here: Path) -> None:
        (here / ".~tmp~").mkdir()
        write(here / ".~tmp~" / "a.md", "text")
        assert mount.records(here) == []
        os.rename(here / ".~tmp~" / "a.md", here / "a.md")
        assert mount.text(here / "a.md") == "text"
        assert os.listdir(here / ".~tmp~") == []

    def test_a_program_that_still_writes_it_writes_the_memory(self, mount: Mounted, here: Path) -> None:
        with open_fd(here / TEMPORARY, EXCLUSIVE) as fd:
            os.write(fd, b"one")
            os.rename(here / TEMPORARY, here / "a.md")
            assert mount.text(here / "a.md") == "one"
            os.write(fd, b" two")
        assert mount.text(here / "a.md") == "one two"


class TestReplacingAMemory:
    @pytest.fixture
    def old(self, here: Path) -> Path:
        write(here / "a.md", "old")
        (here / "a.md").chmod(0o640)
        return here / "a.md"

    def replace(self, old: Path, data: bytes | str = "new") -> int:
        write(old.parent / TEMPORARY, data)
        return errno_of(lambda: os.rename(old.parent / TEMPORARY, old))

    def test_it_is_one_modified_record_of_the_same_memory(self, mount: Mounted, old: Path) -> None:
        assert self.replace(old) == 0
        assert mount.text(old) == "new"
        assert mount.records(old.parent) == [("created", "a.md"), ("modified", "a.md")]
        assert len(memory_id(mount, old)) == 1

    def test_the_mode_stays_the_memorys(self, old: Path) -> None:
        assert self.replace(old) == 0
        eventually(lambda: old.stat().st_mode & 0o777, 0o640)

    def test_the_inode_is_the_new_files(self, old: Path) -> None:
        before = old.stat().st_ino
        write(old.parent / TEMPORARY, "new")
        coming = (old.parent / TEMPORARY).stat().st_ino
        os.rename(old.parent / TEMPORARY, old)
        assert old.stat().st_ino == coming != before

    def test_a_reader_of_the_old_file_keeps_it(self, old: Path) -> None:
        with open_fd(old, os.O_RDONLY) as fd:
            assert self.replace(old) == 0
            assert os.read(fd, 10) == b"old"
            assert os.fstat(fd).st_nlink == 0

    def test_the_new_content_is_read_at_once(self, old: Path) -> None:
        assert old.read_text() == "old"
        assert self.replace(old, "new and longer") == 0
        assert old.read_text() == "new and longer"
        assert os.listdir(old.parent) == ["a.md"]

    def test_the_same_can_be_done_again_and_again(self, mount: Mounted, old: Path) -> None:
        for number in range(20):
            assert self.replace(old, f"version {number}") == 0
        assert mount.text(old) == "version 19"
        assert len(memory_id(mount, old)) == 1

    @pytest.mark.parametrize(
        ("data", "expected"), [(b"x" * 65_537, errno.EFBIG), (b"\xff", errno.EILSEQ), (b"\xc3", errno.EILSEQ)]
    )
    def test_what_no_memory_can_hold_is_refused_and_both_stay(
        self, mount: Mounted, old: Path, data: bytes, expected: int
    ) -> None:
        assert self.replace(old, data) == expected
        assert sorted(os.listdir(old.parent)) == ["a.md", TEMPORARY]
        assert old.read_text() == mount.text(old) == "old"
        assert (old.parent / TEMPORARY).read_bytes() == data
        assert mount.records(old.parent) == [("created", "a.md")]

    def test_a_refused_file_is_not_kept_open(self, mount: Mounted, old: Path) -> None:
        write(old.parent / TEMPORARY, b"\xff")
        before = len(os.listdir(f"/proc/{mount.pid}/fd"))
        for number in range(10):
            write(old.parent / f"a.md.tmp.{number}", b"\xff")
            refused = errno_of(lambda number=number: os.rename(old.parent / f"a.md.tmp.{number}", old))  # type: ignore[misc]
            assert refused == errno.EILSEQ
        assert len(os.listdir(f"/proc/{mount.pid}/fd")) < before + 5

    def test_a_refused_file_can_be_mended_and_moved_then(self, mount: Mounted, old: Path) -> None:
        assert self.replace(old, b"\xff") == errno.EILSEQ
        assert self.replace(old, "mended") == 0
        assert mount.text(old) == "mended"

    def test_a_directory_is_not_replaced(self, here: Path) -> None:
        (here / "sub").mkdir()
        write(here / TEMPORARY, "text")
        assert errno_of(lambda: os.rename(here / TEMPORARY, here / "sub")) == errno.EISDIR

    def test_a_name_that_no_memory_can_have_is_refused(self, here: Path) -> None:
        write(here / TEMPORARY, "text")
        assert errno_of(lambda: os.rename(here / TEMPORARY, here / "photo.png")) == errno.EINVAL
        assert os.listdir(here) == [TEMPORARY]


class TestDirectories:
    @pytest.mark.parametrize("name", [".~tmp~", ".obsidian", ".vscode", ".idea", ".sb-1234"])
    def test_everything_in_a_scratch_directory_is_scratch(
        self, mount: Mounted, here: Path, name: str
    ) -> None:
        (here / name / "any name").mkdir(parents=True)
        write(here / name / "notes.md", "text")
        write(here / name / "any name" / "photo.png", b"\xff")
        assert mount.records(here) == []
        assert (here / name / "any name" / "photo.png").read_bytes() == b"\xff"

    def test_a_memory_that_moves_into_it_is_scratch_from_then_on(self, here: Path) -> None:
        (here / ".obsidian").mkdir()
        write(here / "a.md", "text")
        (here / "a.md").rename(here / ".obsidian" / "a.md")
        assert (here / ".obsidian" / "a.md").read_text() == "text"
        assert not (here / "a.md").exists()

    def test_it_can_be_removed_with_all_in_it(self, here: Path) -> None:
        import shutil

        (here / ".obsidian" / "sub").mkdir(parents=True)
        write(here / ".obsidian" / "sub" / "x", b"x")
        shutil.rmtree(here / ".obsidian")
        assert os.listdir(here) == []

    def test_scratch_in_a_directory_goes_with_it(self, here: Path) -> None:
        (here / "one").mkdir()
        write(here / "one" / ".a.md.swp", "swap")
        os.rename(here / "one", here / "two")
        assert (here / "two" / ".a.md.swp").read_text() == "swap"


class TestLinks:
    """Emacs locks a file with a symbolic link that leads nowhere."""

    def test_a_lock_can_be_made_read_and_removed(self, here: Path) -> None:
        target = "user@host.1234:5678"
        os.symlink(target, here / ".#a.md")
        assert os.readlink(here / ".#a.md") == target
        assert os.lstat(here / ".#a.md").st_size == len(target)
        assert errno_of(lambda: os.stat(here / ".#a.md")) == errno.ENOENT
        assert errno_of(lambda: os.symlink("other", here / ".#a.md")) == errno.EEXIST
        (here / ".#a.md").unlink()
        assert os.listdir(here) == []

    def test_a_link_does_not_become_a_memory(self, here: Path) -> None:
        os.symlink("nowhere", here / ".#a.md")
        assert errno_of(lambda: os.rename(here / ".#a.md", here / "a.md")) == errno.EPERM

    def test_a_file_that_is_no_link_cannot_be_read_as_one(self, here: Path) -> None:
        write(here / "a.md", "a")
        assert errno_of(lambda: os.readlink(here / "a.md")) == errno.EINVAL


def test_a_memory_that_comes_at_a_scratch_files_name_is_not_in_its_way(mount: Mounted, here: Path) -> None:
    """A name on both lists is a memory's."""
    write(here / "notes.md.bak.md", "a memory")
    assert mount.text(here / "notes.md.bak.md") == "a memory"


def test_a_port_sees_no_scratch(mount: Mounted, here: Path) -> None:
    write(here / TEMPORARY, "text")
    write(here / "a.md", "text")
    view = mount.execute("view", path=mount.port_path(here))
    assert [entry.name for entry in view.entries] == ["a.md"]


def test_deleting_a_memory_at_another_door_leaves_its_scratch(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    write(here / ".a.md.swp", "swap")
    mount.execute("delete", path=mount.port_path(here / "a.md"))
    eventually(lambda: os.listdir(here), [".a.md.swp"])
    assert content(here / ".a.md.swp") == "swap"
