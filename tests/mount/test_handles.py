"""Several handles on one file, files without a name, and shared mappings."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, errno_of, eventually, in_another_process, open_fd, write

RDWR = os.O_RDWR | os.O_CREAT


def test_handles_on_one_file_share_its_bytes(here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as one, open_fd(file, os.O_RDWR) as two, open_fd(file, os.O_RDONLY) as three:
        os.pwrite(one, b"first ", 0)
        os.pwrite(two, b"second", 6)
        assert os.pread(three, 100, 0) == b"first second"
        assert os.fstat(three).st_size == 12


def test_a_truncation_on_one_handle_is_seen_on_the_others(here: Path) -> None:
    file = here / "notes.md"
    write(file, "a long content")
    with open_fd(file, os.O_RDONLY) as reader, open_fd(file, os.O_RDWR) as writer:
        assert os.pread(reader, 100, 0) == b"a long content"
        os.ftruncate(writer, 6)
        assert os.pread(reader, 100, 0) == b"a long"


def test_closing_one_of_two_writers_loses_nothing_of_the_other(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as one:
        os.write(one, b"one\n")
        with open_fd(file, os.O_WRONLY | os.O_APPEND) as two:
            os.write(two, b"two\n")
        os.write(one, b"ONE\n")  # at its own position: over the other's
    assert mount.text(file) == "one\nONE\n"


def test_a_reader_keeps_reading_what_a_writer_committed_meanwhile(here: Path) -> None:
    file = here / "notes.md"
    write(file, "old")
    with open_fd(file, os.O_RDONLY) as reader:
        assert os.pread(reader, 10, 0) == b"old"
        write(file, "newer")
        assert os.pread(reader, 10, 0) == b"newer"


def test_a_duplicated_descriptor_closes_without_ending_the_file(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        os.close(os.dup(fd))
        os.write(fd, b"one ")
        os.close(os.dup(fd))
        os.write(fd, b"two")
    assert mount.text(file) == "one two"


def test_a_forked_child_that_closes_leaves_the_parent_writing(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    in_another_process(
        "import os, sys\n"
        "fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
        "os.write(fd, b'one ')\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "os.write(fd, b'two')\n",
        str(file),
    )
    eventually(lambda: mount.text(file), "one two")


def test_a_file_that_nobody_closed_is_committed_when_its_program_dies(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    in_another_process(
        "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); os.write(fd, b'x'); os._exit(0)",
        str(file),
    )
    eventually(lambda: mount.text(file), "x")


class TestUnlinkedWhileOpen:
    """Unlinking takes the name; the bytes live as long as somebody has them open."""

    def test_it_can_still_be_read(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "still here")
        with open_fd(file, os.O_RDONLY) as fd:
            file.unlink()
            assert not file.exists()
            assert os.read(fd, 100) == b"still here"

    def test_it_can_still_be_written(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abc")
        with open_fd(file, os.O_RDWR) as fd:
            file.unlink()
            os.pwrite(fd, b"XYZ", 2)
            os.ftruncate(fd, 4)
            assert os.pread(fd, 100, 0) == b"abXY"
            assert os.fstat(fd).st_size == 4

    def test_it_has_no_link_any_more(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abc")
        with open_fd(file, os.O_RDONLY) as fd:
            assert os.fstat(fd).st_nlink == 1
            file.unlink()
            assert os.fstat(fd).st_nlink == 0

    def test_its_writes_do_not_come_back_as_a_file(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abc")
        with open_fd(file, os.O_RDWR) as fd:
            os.write(fd, b"new")
            file.unlink()
            os.write(fd, b"more")
            os.fsync(fd)
        assert os.listdir(here) == []
        assert mount.text(file) is None

    def test_a_newborn_never_reaches_the_store(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        with open_fd(file, RDWR) as fd:
            os.write(fd, b"abc")
            file.unlink()
            os.write(fd, b"def")
            assert os.pread(fd, 10, 0) == b"abcdef"
        assert os.listdir(here) == []
        assert mount.records(here) == []

    def test_a_new_file_of_the_name_is_another_one(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        write(file, "old")
        with open_fd(file, os.O_RDWR) as fd:
            file.unlink()
            write(file, "new")
            assert os.pread(fd, 10, 0) == b"old"
            os.pwrite(fd, b"OLD", 0)
            assert os.fstat(fd).st_ino != file.stat().st_ino
        assert file.read_text() == "new"
        assert mount.text(file) == "new"

    def test_a_reader_sees_what_a_writer_left_who_has_gone(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "old")
        with open_fd(file, os.O_RDONLY) as reader:
            with open_fd(file, os.O_RDWR | os.O_TRUNC) as writer:
                os.write(writer, b"newer")
                file.unlink()
                os.write(writer, b" yet")
            assert os.fstat(reader).st_size == 9
            assert os.pread(reader, 100, 0) == b"newer yet"

    def test_a_reader_sees_what_was_in_a_newborn_whose_writer_has_gone(self, here: Path) -> None:
        file = here / "notes.md"
        with open_fd(file, RDWR) as writer:
            os.write(writer, b"abc")
            reader = os.open(file, os.O_RDONLY)
            file.unlink()
        with os.fdopen(reader, "rb") as stream:
            assert stream.read() == b"abc"

    def test_it_can_be_opened_again_by_its_descriptor(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abc")
        with open_fd(file, os.O_RDONLY) as fd:
            file.unlink()
            with open_fd(f"/proc/self/fd/{fd}", os.O_RDONLY) as again:
                assert os.read(again, 10) == b"abc"


class TestSharedMapping:
    """mmap(2): what is stored through memory is a write like any other."""

    def test_a_mapping_shows_the_file(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef" * 1000)
        with open_fd(file, os.O_RDONLY) as fd, mmap.mmap(fd, 0, prot=mmap.PROT_READ) as mapping:
            assert mapping[:] == b"abcdef" * 1000

    def test_msync_commits(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        with open_fd(file, os.O_RDWR) as fd, mmap.mmap(fd, 0) as mapping:
            mapping[1:3] = b"XY"
            mapping.flush()
            assert mount.text(file) == "aXYdef"

    def test_a_descriptor_sees_what_a_mapping_stored(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        with open_fd(file, os.O_RDWR) as fd, mmap.mmap(fd, 0) as mapping:
            mapping[0:1] = b"X"
            assert os.pread(fd, 10, 0) == b"Xbcdef"

    def test_a_mapping_sees_what_a_descriptor_wrote(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        with open_fd(file, os.O_RDWR) as fd, mmap.mmap(fd, 0) as mapping:
            os.pwrite(fd, b"X", 0)
            assert mapping[:] == b"Xbcdef"

    @pytest.mark.parametrize("order", ["unmap, close", "close, unmap"])
    def test_the_last_to_let_go_commits(self, mount: Mounted, here: Path, order: str) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        fd = os.open(file, os.O_RDWR)
        mapping = mmap.mmap(fd, 0)
        mapping[0:3] = b"XYZ"
        if order == "close, unmap":
            os.close(fd)
            mapping.close()
        else:
            mapping.close()
            os.close(fd)
        eventually(lambda: mount.text(file), "XYZdef")
        assert file.read_text() == "XYZdef"

    def test_a_file_grown_before_it_is_mapped(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        with open_fd(file, RDWR) as fd:
            os.ftruncate(fd, 5000)
            with mmap.mmap(fd, 5000) as mapping:
                mapping[:] = b"x" * 5000
        eventually(lambda: mount.text(file), "x" * 5000)

    def test_a_private_mapping_changes_nothing(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        with open_fd(file, os.O_RDWR) as fd, mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE) as mapping:
            mapping[0:3] = b"XYZ"
        assert mount.text(file) == "abcdef"

    def test_what_no_memory_can_hold_is_refused_at_msync_and_close(self, mount: Mounted, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        fd = os.open(file, os.O_RDWR)
        with mmap.mmap(fd, 0) as mapping:
            mapping[0:3] = b"\xff\xfe\xfd"
            assert errno_of(mapping.flush) != 0
            assert errno_of(lambda: os.fsync(fd)) == errno.EILSEQ
        assert errno_of(lambda: os.close(fd)) == errno.EILSEQ
        eventually(file.read_bytes, b"abcdef")
        assert mount.text(file) == "abcdef"

    def test_a_mapping_outlives_the_name(self, here: Path) -> None:
        file = here / "notes.md"
        write(file, "abcdef")
        with open_fd(file, os.O_RDWR) as fd, mmap.mmap(fd, 0) as mapping:
            file.unlink()
            mapping[0:1] = b"X"
            mapping.flush()
            assert os.pread(fd, 10, 0) == b"Xbcdef"


def test_direct_io_goes_past_the_cache_with_the_same_bytes(mount: Mounted, here: Path) -> None:
    file = here / "notes.md"
    with open_fd(file, RDWR | os.O_DIRECT) as fd:
        os.write(fd, b"abc" * 100)
    assert mount.text(file) == "abc" * 100
    with open_fd(file, os.O_RDONLY | os.O_DIRECT) as fd:
        assert os.read(fd, 1000) == b"abc" * 100


@pytest.mark.parametrize("call", [os.fsync, os.fdatasync])
def test_syncing_an_open_file_commits_it(mount: Mounted, here: Path, call: object) -> None:
    assert callable(call)
    file = here / "notes.md"
    with open_fd(file, RDWR) as fd:
        os.write(fd, b"abc")
        call(fd)
        assert mount.text(file) == "abc"


def test_locks_are_those_of_the_kernel(here: Path) -> None:
    import fcntl

    file = here / "notes.md"
    write(file, "abc")
    with open_fd(file, os.O_RDWR) as one, open_fd(file, os.O_RDWR) as two:
        fcntl.flock(one, fcntl.LOCK_EX)
        assert errno_of(lambda: fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)) == errno.EWOULDBLOCK
        fcntl.flock(one, fcntl.LOCK_UN)
        fcntl.lockf(one, fcntl.LOCK_EX)
        code = (
            "import fcntl, sys; f = open(sys.argv[1], 'r+')\n"
            "try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print('free')\n"
            "except OSError: print('locked')"
        )
        assert in_another_process(code, str(file)) == "locked"
