"""One file through the mount: bytes at any offset, its size, and what truncation does."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, errno_of, eventually, in_another_process, open_fd, write

RDWR = os.O_RDWR | os.O_CREAT


def test_what_was_written_is_read_back_and_in_the_store(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    write(file, "Keep it small.\n")
    assert file.read_text() == "Keep it small.\n"
    assert mount.text(file) == "Keep it small.\n"


def test_a_new_file_is_empty_and_readable_before_it_is_written(here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        assert os.read(fd, 10) == b""
        assert file.read_bytes() == b""
        assert file.stat().st_size == 0


def test_a_write_at_an_offset_changes_those_bytes_only(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abcdefgh")
    with open_fd(file, os.O_RDWR) as fd:
        assert os.pwrite(fd, b"XY", 3) == 2
        assert os.pread(fd, 100, 0) == b"abcXYfgh"
    assert file.read_text() == "abcXYfgh"


def test_a_write_over_the_end_makes_the_file_longer(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abcd")
    with open_fd(file, os.O_WRONLY) as fd:
        os.pwrite(fd, b"XYZ", 3)
    assert file.read_text() == "abcXYZ"


def test_a_hole_is_zeroes(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    write(file, "ab")
    with open_fd(file, os.O_WRONLY) as fd:
        os.pwrite(fd, b"z", 9000)
    assert file.read_bytes() == b"ab" + bytes(8998) + b"z"
    assert mount.text(file) == "ab" + "\0" * 8998 + "z"


def test_reading_stops_at_the_end(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abc")
    with open_fd(file, os.O_RDONLY) as fd:
        assert os.pread(fd, 100, 2) == b"c"
        assert os.pread(fd, 100, 3) == b""
        assert os.pread(fd, 100, 1 << 40) == b""


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 40_000, 65_536])
def test_sizes_around_pages_come_back_whole(mount: Mounted, here: Path, size: int) -> None:
    file, data = here / "notes.md", random.Random(size).randbytes(size).hex()[:size]
    write(file, data)
    assert file.read_text() == data
    assert in_another_process("import sys; print(len(open(sys.argv[1]).read()))", str(file)) == str(size)
    assert mount.text(file) == data


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDWR])
def test_append_writes_at_the_end_wherever_the_position_is(here: Path, flags: int) -> None:
    file = here / "notes.md"
    write(file, "one\n")
    with open_fd(file, flags | os.O_APPEND) as fd:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b"two\n")
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b"three\n")
    assert file.read_text() == "one\ntwo\nthree\n"


def test_appenders_on_two_handles_do_not_overwrite_each_other(here: Path) -> None:
    file = here / "notes.md"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with open_fd(file, flags) as one, open_fd(file, flags) as two:
        for number in range(10):
            os.write(one if number % 2 else two, f"{number}\n".encode())
    assert file.read_text() == "".join(f"{number}\n" for number in range(10))


@pytest.mark.parametrize("flags", ["os.O_WRONLY", "os.O_RDWR"])
def test_appenders_in_several_processes_lose_nothing(mount: Mounted, here: Path, flags: str) -> None:
    code = (
        f"import os, sys; fd = os.open(sys.argv[1], {flags} | os.O_CREAT | os.O_APPEND)\n"
        "for number in range(100): os.write(fd, f'{os.getpid()}-{number}\\n'.encode())"
    )
    programs = [subprocess.Popen([sys.executable, "-S", "-c", code, here / "log.md"]) for _ in range(3)]
    assert [program.wait(60) for program in programs] == [0, 0, 0]
    lines = (here / "log.md").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 300
    eventually(lambda: mount.text(here / "log.md"), (here / "log.md").read_text())


def test_o_trunc_leaves_no_old_tail(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    write(file, "a long first content")
    write(file, "short")
    assert file.read_text() == "short"
    assert mount.text(file) == "short"


def test_o_trunc_shows_an_empty_file_at_once(here: Path) -> None:
    file = here / "notes.md"
    write(file, "content")
    with open_fd(file, os.O_WRONLY | os.O_TRUNC):
        assert file.stat().st_size == 0
        assert file.read_bytes() == b""


def test_the_old_content_is_in_the_store_until_the_new_is_complete(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    write(file, "old")
    with open_fd(file, os.O_WRONLY | os.O_TRUNC) as fd:
        os.write(fd, b"ne")
        assert mount.text(file) == "old"
        os.write(fd, b"w")
    assert mount.text(file) == "new"


def test_o_excl_refuses_a_name_that_exists(here: Path) -> None:
    file = here / "notes.md"
    write(file, "mine")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    assert errno_of(lambda: os.open(file, flags)) == errno.EEXIST
    assert file.read_text() == "mine"


@pytest.mark.parametrize("by", ["path", "descriptor"])
@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, b""), (3, b"abc"), (6, b"abcdef"), (10, b"abcdef\0\0\0\0"), (5000, b"abcdef" + bytes(4994))],
)
def test_truncate(mount: Mounted, here: Path, by: str, size: int, expected: bytes) -> None:
    file = here / "notes.md"
    write(file, "abcdef")
    if by == "path":
        os.truncate(file, size)
    else:
        with open_fd(file, os.O_RDWR) as fd:
            os.ftruncate(fd, size)
            assert os.fstat(fd).st_size == size
            assert os.pread(fd, 10_000, 0) == expected
    assert file.stat().st_size == size
    assert file.read_bytes() == expected
    eventually(lambda: mount.text(file), expected.decode())


def test_truncating_a_path_is_committed_when_it_returns(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    write(file, "abcdef")
    os.truncate(file, 2)
    assert mount.text(file) == "ab"


def test_bytes_cut_off_do_not_come_back_when_it_grows_again(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abcdef")
    with open_fd(file, os.O_RDWR) as fd:
        os.ftruncate(fd, 2)
        os.pwrite(fd, b"z", 5)
        assert os.pread(fd, 10, 0) == b"ab\0\0\0z"
    assert file.read_bytes() == b"ab\0\0\0z"


def test_a_write_followed_by_a_truncation_is_committed_when_close_returns(mount: Mounted, here: Path) -> None:
    """As ``sort -o`` and ``rsync --inplace`` save: the length comes last."""
    file = here / "notes.md"
    write(file, "a longer old content")
    with open_fd(file, os.O_WRONLY) as fd:
        os.write(fd, b"new")
        os.ftruncate(fd, 3)
    assert mount.text(file) == "new"


def test_truncating_needs_a_descriptor_for_writing(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abc")
    with open_fd(file, os.O_RDONLY) as fd:
        assert errno_of(lambda: os.ftruncate(fd, 0)) == errno.EINVAL
    assert file.read_text() == "abc"


def test_a_file_being_written_has_its_size_for_every_process(here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        for length in (1, 4096, 9000):
            os.pwrite(fd, b"x", length - 1)
            seen = in_another_process(
                "import os, sys; f = sys.argv[1]; print(os.stat(f).st_size, len(open(f, 'rb').read()))",
                str(file),
            )
            assert seen == f"{length} {length}"


def test_a_position_moves_with_reads_and_writes(here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        os.write(fd, b"abcdef")
        assert os.lseek(fd, -4, os.SEEK_CUR) == 2
        assert os.read(fd, 2) == b"cd"
        assert os.lseek(fd, 0, os.SEEK_END) == 6


def test_seek_data_and_hole_see_one_run_of_data(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abc")
    with open_fd(file, os.O_RDONLY) as fd:
        assert os.lseek(fd, 0, os.SEEK_DATA) == 0
        assert os.lseek(fd, 0, os.SEEK_HOLE) == 3


def test_a_read_only_descriptor_refuses_writes(here: Path) -> None:
    file = here / "notes.md"
    write(file, "abc")
    with open_fd(file, os.O_RDONLY) as fd:
        assert errno_of(lambda: os.write(fd, b"x")) == errno.EBADF


def test_vectored_io_keeps_the_order(here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        assert os.writev(fd, [b"one ", b"two ", b"three"]) == 13
        first, second = bytearray(4), bytearray(9)
        assert os.preadv(fd, [first, second], 0) == 13
        assert bytes(first) + bytes(second) == b"one two three"


def test_many_small_writes_are_one_content(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    lines = [f"line {number}\n" for number in range(500)]
    with open_fd(file, RDWR) as fd:
        for line in lines:
            os.write(fd, line.encode())
    assert mount.text(file) == "".join(lines)


def test_files_are_copied_inside_the_kernel_by_fallback(mount: Mounted, here: Path) -> None:
    source, target = here / "a.md", here / "b.md"
    write(source, "x" * 10_000)
    with open_fd(source, os.O_RDONLY) as read_fd, open_fd(target, RDWR) as write_fd:
        assert os.copy_file_range(read_fd, write_fd, 10_000) == 10_000
    assert mount.text(target) == "x" * 10_000


def test_sendfile_reads_from_the_mount(here: Path, tmp_path: Path) -> None:
    source = here / "a.md"
    write(source, "x" * 10_000)
    with open_fd(source, os.O_RDONLY) as read_fd, open_fd(tmp_path / "out", RDWR) as write_fd:
        assert os.sendfile(write_fd, read_fd, 0, 10_000) == 10_000
    assert (tmp_path / "out").read_text() == "x" * 10_000
