"""What is refused while writing: sizes, text that is no UTF-8, and that nothing is half done then."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, errno_of, eventually, in_another_process, open_fd, write

LIMIT = 65_536
TRUNC = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
RDWR = os.O_RDWR | os.O_CREAT


def close_errno(fd: int) -> int:
    return errno_of(lambda: os.close(fd))


class TestTooLarge:
    """EFBIG: a file may have so many bytes and no more."""

    def test_the_largest_file_fits(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "x" * LIMIT)
        assert mount.text(here / "a.md") == "x" * LIMIT

    def test_a_write_beyond_fails(self, here: Path) -> None:
        with open_fd(here / "a.md", RDWR) as fd:
            assert errno_of(lambda: os.pwrite(fd, b"x" * (LIMIT + 1), 0)) == errno.EFBIG
            os.ftruncate(fd, 0)

    def test_an_append_beyond_fails(self, here: Path) -> None:
        write(here / "a.md", "x" * LIMIT)
        fd = os.open(here / "a.md", os.O_WRONLY | os.O_APPEND)
        assert errno_of(lambda: os.write(fd, b"y")) == errno.EFBIG
        assert close_errno(fd) == errno.EFBIG

    def test_a_write_far_beyond_fails(self, here: Path) -> None:
        fd = os.open(here / "a.md", RDWR)
        assert errno_of(lambda: os.pwrite(fd, b"x", 1 << 40)) == errno.EFBIG
        assert close_errno(fd) == errno.EFBIG

    @pytest.mark.parametrize("size", [LIMIT + 1, 1 << 30, 1 << 62])
    def test_truncating_up_beyond_fails_and_changes_nothing(
        self, mount: Mounted, here: Path, size: int
    ) -> None:
        write(here / "a.md", "abc")
        assert errno_of(lambda: os.truncate(here / "a.md", size)) == errno.EFBIG
        with open_fd(here / "a.md", os.O_RDWR) as fd:
            assert errno_of(lambda: os.ftruncate(fd, size)) == errno.EFBIG
        assert (here / "a.md").read_text() == "abc"
        assert mount.records(here) == [("created", "a.md")]


class TestNotUtf8:
    """EILSEQ: a memory is text."""

    @pytest.mark.parametrize(
        "data", [b"\xff", b"abc\xfedef", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88", b"\xc0\x80"]
    )
    def test_a_write_that_can_be_no_part_of_it_fails(self, here: Path, data: bytes) -> None:
        fd = os.open(here / "a.md", TRUNC)
        assert errno_of(lambda: os.write(fd, data)) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        eventually(lambda: os.listdir(here), [])

    @pytest.mark.parametrize("cut", range(1, 10))
    def test_characters_may_be_cut_across_writes(self, mount: Mounted, here: Path, cut: int) -> None:
        data = "é€😀!".encode()
        with open_fd(here / "a.md", TRUNC) as fd:
            os.write(fd, data[:cut])
            os.write(fd, data[cut:])
        assert mount.text(here / "a.md") == "é€😀!"

    def test_byte_by_byte_is_fine(self, mount: Mounted, here: Path) -> None:
        with open_fd(here / "a.md", TRUNC) as fd:
            for byte in "é€😀".encode():
                os.write(fd, bytes([byte]))
        assert mount.text(here / "a.md") == "é€😀"

    @pytest.mark.parametrize("call", ["fsync", "close"])
    def test_a_cut_character_at_the_end_fails_where_it_must_be_whole(
        self, mount: Mounted, here: Path, call: str
    ) -> None:
        write(here / "a.md", "old")
        fd = os.open(here / "a.md", TRUNC)
        os.write(fd, "é".encode()[:1])
        if call == "fsync":
            assert errno_of(lambda: os.fsync(fd)) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        assert mount.text(here / "a.md") == "old"

    def test_bytes_that_do_not_fit_together_fail_at_close(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        fd = os.open(here / "a.md", TRUNC)
        os.write(fd, "é".encode()[:1])
        os.write(fd, b"x")
        assert close_errno(fd) == errno.EILSEQ
        assert mount.text(here / "a.md") == "old"

    def test_truncating_a_path_inside_a_character_fails_and_changes_nothing(
        self, mount: Mounted, here: Path
    ) -> None:
        write(here / "a.md", "aé")
        assert errno_of(lambda: os.truncate(here / "a.md", 2)) == errno.EILSEQ
        assert (here / "a.md").read_text() == "aé"
        assert (here / "a.md").stat().st_size == 3
        assert mount.records(here) == [("created", "a.md")]


class TestRefused:
    """After a refused write the old content stays, and every further step says so."""

    def test_the_error_is_repeated_until_close(self, here: Path) -> None:
        fd = os.open(here / "a.md", RDWR)
        os.write(fd, b"good")
        assert errno_of(lambda: os.pwrite(fd, b"x" * (LIMIT + 1), 0)) == errno.EFBIG
        assert errno_of(lambda: os.pwrite(fd, b"y", 0)) == errno.EFBIG
        assert errno_of(lambda: os.fsync(fd)) == errno.EFBIG
        assert errno_of(lambda: os.fsync(fd)) == errno.EFBIG
        assert close_errno(os.dup(fd)) == errno.EFBIG
        assert close_errno(fd) == errno.EFBIG

    def test_the_old_content_stays(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        fd = os.open(here / "a.md", TRUNC)
        os.write(fd, b"the first part of the new")
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        eventually(lambda: (here / "a.md").read_text(), "old")
        assert (here / "a.md").stat().st_size == 3
        assert mount.records(here) == [("created", "a.md")]

    def test_the_old_time_stays(self, here: Path) -> None:
        write(here / "a.md", "old")
        before = (here / "a.md").stat().st_mtime_ns
        fd = os.open(here / "a.md", os.O_WRONLY)
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        eventually(lambda: (here / "a.md").stat().st_mtime_ns, before)

    def test_a_newborn_leaves_no_file(self, mount: Mounted, here: Path) -> None:
        fd = os.open(here / "a.md", TRUNC)
        os.write(fd, b"good")
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        eventually(lambda: os.listdir(here), [])
        eventually((here / "a.md").exists, False)
        assert mount.records(here) == []

    def test_it_can_be_saved_again_after_the_refusal(self, mount: Mounted, here: Path) -> None:
        fd = os.open(here / "a.md", TRUNC)
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ
        write(here / "a.md", "good")
        assert mount.text(here / "a.md") == "good"
        assert (here / "a.md").read_text() == "good"

    def test_emptying_the_file_takes_the_refusal_back(self, mount: Mounted, here: Path) -> None:
        with open_fd(here / "a.md", RDWR) as fd:
            assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
            os.ftruncate(fd, 0)
            os.pwrite(fd, b"good", 0)
        assert mount.text(here / "a.md") == "good"

    def test_shortening_it_does_not(self, here: Path) -> None:
        fd = os.open(here / "a.md", RDWR)
        os.write(fd, b"good")
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert errno_of(lambda: os.ftruncate(fd, 2)) == errno.EILSEQ
        assert close_errno(fd) == errno.EILSEQ

    def test_a_reader_that_closes_is_told_nothing(self, here: Path) -> None:
        write(here / "a.md", "old")
        fd = os.open(here / "a.md", os.O_WRONLY)
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert in_another_process("import sys; print(open(sys.argv[1]).read())", str(here / "a.md")) == "old"
        assert close_errno(fd) == errno.EILSEQ

    @pytest.mark.slow
    def test_what_was_refused_does_not_reach_the_store_at_unmount(self, mounting: Mounting) -> None:
        import signal

        mounted = mounting()
        write(mounted.path / "a.md", "old")
        fd = os.open(mounted.path / "a.md", TRUNC)
        os.write(fd, b"the first part of the new")
        assert errno_of(lambda: os.pwrite(fd, b"x", LIMIT)) == errno.EFBIG
        mounted.stop(signal.SIGTERM)
        assert close_errno(fd) != 0
        assert mounted.text(mounted.path / "a.md") == "old"

    def test_a_refusal_does_not_keep_others_from_their_files(self, mount: Mounted, here: Path) -> None:
        fd = os.open(here / "a.md", TRUNC)
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        write(here / "b.md", "good")
        assert mount.text(here / "b.md") == "good"
        assert close_errno(fd) == errno.EILSEQ


class TestEviction:
    """A full scope makes room: the earliest writes leave, and are gone for everybody at once."""

    def test_the_earliest_write_leaves_for_a_new_file(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=3)
        for name in ("a.md", "b.md", "c.md", "d.md"):
            write(mounted.path / name, name)
        eventually(lambda: sorted(os.listdir(mounted.path)), ["b.md", "c.md", "d.md"])
        eventually(lambda: (mounted.path / "a.md").exists(), False)

    def test_writing_again_makes_a_file_young(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=3)
        for name in ("a.md", "b.md", "c.md"):
            write(mounted.path / name, name)
        write(mounted.path / "a.md", "again")
        write(mounted.path / "d.md", "d")
        eventually(lambda: sorted(os.listdir(mounted.path)), ["a.md", "c.md", "d.md"])

    def test_bytes_make_room_too(self, mounting: Mounting) -> None:
        mounted = mounting(max_total_bytes=1000)
        for name in ("a.md", "b.md", "c.md"):
            write(mounted.path / name, name[0] * 400)
        eventually(lambda: sorted(os.listdir(mounted.path)), ["b.md", "c.md"])

    @pytest.mark.slow
    def test_a_file_larger_than_the_scope_is_too_large(self, mounting: Mounting) -> None:
        mounted = mounting(max_total_bytes=1000)
        write(mounted.path / "a.md", "old")
        fd = os.open(mounted.path / "b.md", TRUNC)
        assert errno_of(lambda: os.write(fd, b"x" * 1001)) == errno.EFBIG
        assert close_errno(fd) == errno.EFBIG
        eventually(lambda: os.listdir(mounted.path), ["a.md"])

    @pytest.mark.slow
    def test_an_evicted_file_that_is_being_written_comes_back_with_its_save(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=2)
        write(mounted.path / "a.md", "old")
        with open_fd(mounted.path / "a.md", os.O_WRONLY) as fd:
            os.write(fd, b"new")
            write(mounted.path / "b.md", "b")
            write(mounted.path / "c.md", "c")
            assert mounted.text(mounted.path / "a.md") is None
        assert mounted.text(mounted.path / "a.md") == "new"
        assert (mounted.path / "a.md").read_text() == "new"

    def test_a_reader_of_an_evicted_file_keeps_its_bytes(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=1)
        write(mounted.path / "a.md", "old")
        with open_fd(mounted.path / "a.md", os.O_RDONLY) as fd:
            write(mounted.path / "b.md", "b")
            eventually((mounted.path / "a.md").exists, False)
            assert os.read(fd, 10) == b"old"
            assert os.fstat(fd).st_nlink == 0

    @pytest.mark.slow
    def test_a_directory_whose_files_were_evicted_stays(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=1)
        (mounted.path / "sub").mkdir()
        write(mounted.path / "sub" / "a.md", "a")
        write(mounted.path / "b.md", "b")
        eventually(lambda: os.listdir(mounted.path / "sub"), [])
