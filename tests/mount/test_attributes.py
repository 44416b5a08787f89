"""Times, modes, owners, extended attributes and what ``df`` shows."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, errno_of, eventually, open_fd, run, write


def test_a_file_has_the_time_of_its_last_write(here: Path) -> None:
    before = time.time_ns()
    write(here / "a.md", "a")
    assert before <= (here / "a.md").stat().st_mtime_ns <= time.time_ns()


def test_each_write_moves_the_time(here: Path) -> None:
    with open_fd(here / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, b"a")
        first = os.fstat(fd).st_mtime_ns
        time.sleep(0.01)
        os.write(fd, b"b")
        assert os.fstat(fd).st_mtime_ns > first


def test_the_time_does_not_change_after_close(mount: Mounted, here: Path) -> None:
    """vim, micro and others would ask whether somebody else has changed the file."""
    file = here / "a.md"
    with open_fd(file, os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, b"a")
        time.sleep(0.02)
        os.fsync(fd)
        written = os.fstat(fd).st_mtime_ns
    eventually(lambda: mount.text(file), "a")
    mount.execute("create", path=mount.port_path(here / "other.md"), text="o")
    eventually(lambda: "other.md" in os.listdir(here))
    assert file.stat().st_mtime_ns == written


def test_reading_changes_no_time_of_change(here: Path) -> None:
    write(here / "a.md", "a")
    before = (here / "a.md").stat()
    assert (here / "a.md").read_text() == "a"
    after = (here / "a.md").stat()
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


@pytest.mark.parametrize("name", ["a.md", "a.md.tmp", "sub"])
def test_utimens_is_honoured(here: Path, name: str) -> None:
    path = here / name
    if name == "sub":
        path.mkdir()
    else:
        write(path, "a")
    os.utime(path, ns=(1_000_000_001, 2_000_000_002))
    status = path.stat()
    assert (status.st_atime_ns, status.st_mtime_ns) == (1_000_000_001, 2_000_000_002)


@pytest.mark.slow
def test_a_time_set_before_the_close_is_stored_with_the_file(mounting: Mounting) -> None:
    """As ``cp -p`` and ``tar`` do it."""
    mounted = mounting()
    with open_fd(mounted.path / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, b"a")
        os.utime(fd, ns=(1, 2_000_000_002))
    mounted.remount()
    assert (mounted.path / "a.md").stat().st_mtime_ns == 2_000_000_002


@pytest.mark.slow
def test_the_time_of_a_write_survives_a_remount(mounting: Mounting) -> None:
    mounted = mounting()
    with open_fd(mounted.path / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, b"a")
        written = os.fstat(fd).st_mtime_ns
        time.sleep(0.05)
    mounted.remount()
    assert (mounted.path / "a.md").stat().st_mtime_ns == written


def test_a_time_that_no_store_holds_is_no_reason_to_refuse_a_save(mount: Mounted, here: Path) -> None:
    with open_fd(here / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
        os.write(fd, b"a")
        os.utime(fd, (1, 1 << 34))  # in the year 2514
    assert mount.text(here / "a.md") == "a"


def test_touch_sets_the_time_and_makes_no_version(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "a")
    run("touch", "-d", "2020-01-02 03:04:05 UTC", here / "a.md")
    assert (here / "a.md").stat().st_mtime == 1577934245
    assert mount.records(here) == [("created", "a.md")]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o400])
def test_chmod_is_kept_while_mounted(here: Path, mode: int) -> None:
    write(here / "a.md", "a")
    (here / "a.md").chmod(mode)
    assert (here / "a.md").stat().st_mode & 0o7777 == mode
    write(here / "b.md", "b")
    assert (here / "a.md").stat().st_mode & 0o7777 == mode


def test_a_new_file_has_the_mode_that_was_asked_for(here: Path) -> None:
    umask = os.umask(0o027)
    try:
        with open_fd(here / "a.md", os.O_WRONLY | os.O_CREAT, 0o666):
            pass
        (here / "sub").mkdir(0o777)
    finally:
        os.umask(umask)
    assert (here / "a.md").stat().st_mode & 0o7777 == 0o640
    assert (here / "sub").stat().st_mode & 0o7777 == 0o750


def test_chown_to_the_owner_it_has_succeeds(here: Path) -> None:
    write(here / "a.md", "a")
    os.chown(here / "a.md", os.getuid(), os.getgid())
    os.chown(here / "a.md", -1, -1)
    assert ((here / "a.md").stat().st_uid, (here / "a.md").stat().st_gid) == (os.getuid(), os.getgid())


def test_chown_to_somebody_else_is_not_permitted(here: Path) -> None:
    write(here / "a.md", "a")
    assert errno_of(lambda: os.chown(here / "a.md", os.getuid() + 1, -1)) == errno.EPERM
    assert (here / "a.md").stat().st_uid == os.getuid()


def test_everything_belongs_to_who_mounted(mount: Mounted, here: Path) -> None:
    mount.execute("create", path=mount.port_path(here / "sub" / "a.md"), text="a")
    eventually((here / "sub" / "a.md").exists)
    for path in (mount.path, here, here / "sub", here / "sub" / "a.md"):
        assert (path.stat().st_uid, path.stat().st_gid) == (os.getuid(), os.getgid())


def test_the_umask_takes_bits_off_what_comes_from_the_port(mounting: Mounting) -> None:
    mounted = mounting(options={"umask": 0o027})
    mounted.execute("create", path="/memories/sub/a.md", text="a")
    eventually((mounted.path / "sub" / "a.md").exists)
    modes = [path.stat().st_mode & 0o777 for path in (mounted.path, mounted.path / "sub")]
    assert [*modes, (mounted.path / "sub" / "a.md").stat().st_mode & 0o777] == [0o750, 0o750, 0o640]


def test_blocks_are_those_of_the_size(here: Path) -> None:
    write(here / "a.md", "a" * 5000)
    status = (here / "a.md").stat()
    assert status.st_blocks == 10
    assert run("du", "-B1", "--apparent-size", here / "a.md").split()[0] == "5000"


@pytest.mark.parametrize("name", ["a.md", "a.md.tmp", "."])
def test_extended_attributes_are_not_supported(here: Path, name: str) -> None:
    write(here / "a.md", "a")
    write(here / "a.md.tmp", "a")
    path = here / name
    assert errno_of(lambda: os.setxattr(path, "user.x", b"1")) == errno.EOPNOTSUPP
    assert errno_of(lambda: os.getxattr(path, "user.x")) == errno.EOPNOTSUPP
    assert errno_of(lambda: os.removexattr(path, "user.x")) == errno.EOPNOTSUPP
    assert errno_of(lambda: os.listxattr(path)) in (0, errno.EOPNOTSUPP)


def test_space_is_not_reserved_but_files_can_be_filled_up(mount: Mounted, here: Path) -> None:
    """fallocate(2) is not supported; glibc's posix_fallocate writes zeroes instead."""
    import ctypes

    with open_fd(here / "a.md", os.O_RDWR | os.O_CREAT) as fd:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.fallocate(fd, 0, ctypes.c_long(0), ctypes.c_long(4096)) == -1
        assert ctypes.get_errno() == errno.EOPNOTSUPP
        os.posix_fallocate(fd, 0, 5000)
        assert os.fstat(fd).st_size == 5000
    assert mount.text(here / "a.md") == "\0" * 5000


class TestDf:
    """statvfs(3): the limits of the scope as a disk."""

    def test_size_and_files_are_the_limits(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=10, max_total_bytes=1 << 20)
        stats = os.statvfs(mounted.path)
        assert (stats.f_blocks * stats.f_frsize, stats.f_files) == (1 << 20, 10)
        assert (stats.f_bavail * stats.f_frsize, stats.f_favail) == (1 << 20, 10)
        assert stats.f_namemax == 128

    def test_what_is_stored_is_used(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=10, max_total_bytes=1 << 20)
        write(mounted.path / "a.md", "x" * 51_200)
        stats = os.statvfs(mounted.path)
        assert (stats.f_blocks - stats.f_bfree) * stats.f_frsize == 51_200
        assert stats.f_files - stats.f_ffree == 1

    def test_a_full_scope_has_room_for_one_largest_file(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=2, max_total_bytes=20_000, max_file_bytes=10_000)
        for name in ("a.md", "b.md"):
            write(mounted.path / name, "x" * 10_000)
        stats = os.statvfs(mounted.path)
        assert stats.f_bavail * stats.f_frsize == 10_000 // 512 * 512
        assert stats.f_favail == 1
