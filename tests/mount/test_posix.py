"""Behaviours that POSIX names, after the groups of pjdfstest, as far as they apply to a memory.

Left out on purpose, each for its reason:

- link, mknod, mkfifo, bind: a memory is one regular file with one name (EPERM, in ``test_names``).
- rename over an existing memory or directory: never overwritten (EEXIST, in ``test_directories``).
- symlink to an ordinary name: only editors' locks are links (in ``test_scratch``).
- chown, chgrp to others; set-id bits cleared by chown: everything belongs to who mounted.
- granular, sticky and permission checks between users: the kernel's (``default_permissions``), and by
  default nobody else may enter the mount at all.
- posix_fallocate, xattr, ACL, chflags: not supported, and said so (in ``test_attributes``).
- ENOSPC of a full disk: a full scope makes room, and a failing store is ``test_faults``.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, errno_of, eventually, open_fd, write

pytestmark = pytest.mark.slow

CREATE = os.O_WRONLY | os.O_CREAT
Action = Callable[[Path], object]


@pytest.fixture
def place(here: Path) -> Path:
    """A directory with one of each: a file, a directory, a scratch file, a link."""
    write(here / "file.md", "text")
    (here / "dir").mkdir()
    write(here / "scratch.md.tmp", "text")
    os.symlink("nowhere", here / ".#link")
    return here


# name: (what is done in the directory, the errno)
REFUSED: dict[str, tuple[Action, int]] = {
    "open of a missing file": (lambda d: os.open(d / "no.md", os.O_RDONLY), errno.ENOENT),
    "open below a missing directory": (lambda d: os.open(d / "no" / "a.md", CREATE), errno.ENOENT),
    "open below a file": (lambda d: os.open(d / "file.md" / "a.md", CREATE), errno.ENOTDIR),
    "open of a directory for writing": (lambda d: os.open(d / "dir", os.O_RDWR), errno.EISDIR),
    "open with O_CREAT of a directory": (lambda d: os.open(d / "dir", CREATE), errno.EISDIR),
    "open with O_EXCL of a file": (lambda d: os.open(d / "file.md", CREATE | os.O_EXCL), errno.EEXIST),
    "open with O_EXCL of a directory": (lambda d: os.open(d / "dir", CREATE | os.O_EXCL), errno.EEXIST),
    "open with O_EXCL of a link": (lambda d: os.open(d / ".#link", CREATE | os.O_EXCL), errno.EEXIST),
    "open with O_NOFOLLOW of a link": (lambda d: os.open(d / ".#link", os.O_NOFOLLOW), errno.ELOOP),
    "open of a link that leads nowhere": (lambda d: os.open(d / ".#link", os.O_RDONLY), errno.ENOENT),
    "open with O_DIRECTORY of a file": (lambda d: os.open(d / "file.md", os.O_DIRECTORY), errno.ENOTDIR),
    "open of a file with a slash": (lambda d: os.open(f"{d}/file.md/", os.O_RDONLY), errno.ENOTDIR),
    "open with O_CREAT of a name with a slash": (lambda d: os.open(f"{d}/new.md/", CREATE), errno.EISDIR),
    "mkdir of a file's name": (lambda d: os.mkdir(d / "file.md"), errno.EEXIST),
    "mkdir of a directory's name": (lambda d: os.mkdir(d / "dir"), errno.EEXIST),
    "mkdir of a link's name": (lambda d: os.mkdir(d / ".#link"), errno.EEXIST),
    "mkdir below a missing directory": (lambda d: os.mkdir(d / "no" / "dir"), errno.ENOENT),
    "mkdir below a file": (lambda d: os.mkdir(d / "file.md" / "dir"), errno.ENOTDIR),
    "mkdir of dot": (lambda d: os.mkdir(d / "dir" / "."), errno.EEXIST),
    "rmdir of a missing directory": (lambda d: os.rmdir(d / "no"), errno.ENOENT),
    "rmdir of a file": (lambda d: os.rmdir(d / "file.md"), errno.ENOTDIR),
    "rmdir of a link": (lambda d: os.rmdir(d / ".#link"), errno.ENOTDIR),
    "rmdir of a full directory": (os.rmdir, errno.ENOTEMPTY),
    "rmdir of dot": (lambda d: os.rmdir(f"{d}/dir/."), errno.EINVAL),
    "rmdir of dot dot": (lambda d: os.rmdir(f"{d}/dir/.."), errno.ENOTEMPTY),
    "unlink of a missing file": (lambda d: os.unlink(d / "no.md"), errno.ENOENT),
    "unlink of a directory": (lambda d: os.unlink(d / "dir"), errno.EISDIR),
    "unlink below a file": (lambda d: os.unlink(d / "file.md" / "a.md"), errno.ENOTDIR),
    "truncate of a missing file": (lambda d: os.truncate(d / "no.md", 0), errno.ENOENT),
    "truncate of a directory": (lambda d: os.truncate(d / "dir", 0), errno.EISDIR),
    "truncate to a negative length": (lambda d: os.truncate(d / "file.md", -1), errno.EINVAL),
    "rename of a missing name": (lambda d: os.rename(d / "no.md", d / "new.md"), errno.ENOENT),
    "rename into a missing directory": (lambda d: os.rename(d / "file.md", d / "no" / "a.md"), errno.ENOENT),
    "rename into a file": (lambda d: os.rename(d / "dir", d / "file.md" / "a"), errno.ENOTDIR),
    "rename of a file over a directory": (lambda d: os.rename(d / "file.md", d / "dir"), errno.EISDIR),
    "rename of a directory over a file": (lambda d: os.rename(d / "dir", d / "file.md"), errno.ENOTDIR),
    "rename of a directory into itself": (lambda d: os.rename(d / "dir", d / "dir" / "dir"), errno.EINVAL),
    "rename of dot": (lambda d: os.rename(f"{d}/dir/.", d / "new"), errno.EBUSY),
    "rename over its own parent": (lambda d: os.rename(d / "file.md", d), errno.ENOTEMPTY),
    "chmod of a missing file": (lambda d: os.chmod(d / "no.md", 0o600), errno.ENOENT),
    "utimensat of a missing file": (lambda d: os.utime(d / "no.md"), errno.ENOENT),
    "readlink of a file": (lambda d: os.readlink(d / "file.md"), errno.EINVAL),
    "symlink of a name that exists": (lambda d: os.symlink("x", d / ".#link"), errno.EEXIST),
    "a name of 256 characters": (lambda d: os.mkdir(d / ("n" * 256)), errno.ENAMETOOLONG),
    "a path longer than any": (lambda d: os.stat(f"{d}/{'n/' * 2100}"), errno.ENAMETOOLONG),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(place: Path, name: str) -> None:
    before = sorted(os.listdir(place))
    action, expected = REFUSED[name]
    assert os.strerror(errno_of(lambda: action(place))) == os.strerror(expected)
    assert sorted(os.listdir(place)) == before


TIMES: dict[str, tuple[Action, str, set[str]]] = {
    "chmod": (lambda d: os.chmod(d / "file.md", 0o600), "file.md", {"ctime"}),
    "chown to the owner it has": (lambda d: os.chown(d / "file.md", os.getuid(), -1), "file.md", {"ctime"}),
    "write": (lambda d: write(d / "file.md", "new"), "file.md", {"ctime", "mtime"}),
    "truncate to another length": (lambda d: os.truncate(d / "file.md", 1), "file.md", {"ctime", "mtime"}),
    "reading": (lambda d: (d / "file.md").read_text(), "file.md", set()),
    "rename, for the file": (lambda d: os.rename(d / "file.md", d / "new.md"), "new.md", {"ctime"}),
    "rename, for its directory": (lambda d: os.rename(d / "file.md", d / "new.md"), ".", {"ctime", "mtime"}),
    "unlink, for its directory": (lambda d: os.unlink(d / "file.md"), ".", {"ctime", "mtime"}),
    "mkdir, for its directory": (lambda d: os.mkdir(d / "new"), ".", {"ctime", "mtime"}),
    "mkdir below, for the one above": (lambda d: os.mkdir(d / "dir" / "new"), ".", set()),
    "rmdir, for its directory": (lambda d: os.rmdir(d / "dir"), ".", {"ctime", "mtime"}),
    "symlink, for its directory": (lambda d: os.symlink("x", d / ".#other"), ".", {"ctime", "mtime"}),
    "open without a change": (lambda d: os.close(os.open(d / "file.md", os.O_RDWR)), "file.md", set()),
    "a refused rename": (lambda d: errno_of(lambda: os.rename(d / "file.md", d / "x")), "file.md", set()),
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times(place: Path, name: str) -> None:
    action, looked_at, expected = TIMES[name]
    source = "file.md" if looked_at == "new.md" else looked_at
    before = (place / source).stat()
    time.sleep(0.01)
    action(place)
    after = (place / looked_at).stat()
    changed = {
        time_name
        for time_name in ("ctime", "mtime")
        if getattr(after, f"st_{time_name}_ns") > getattr(before, f"st_{time_name}_ns")
    }
    assert changed == expected


def test_unlinking_an_open_file_changes_its_ctime(place: Path) -> None:
    with open_fd(place / "file.md", os.O_RDONLY) as fd:
        before = os.fstat(fd).st_ctime_ns
        time.sleep(0.01)
        os.unlink(place / "file.md")
        eventually(lambda: os.fstat(fd).st_ctime_ns > before)


def test_a_new_file_belongs_to_its_maker_and_is_empty(place: Path) -> None:
    with open_fd(place / "new.md", CREATE | os.O_EXCL, 0o600) as fd:
        status = os.fstat(fd)
        assert (status.st_uid, status.st_gid, status.st_size, status.st_nlink) == (
            os.getuid(),
            os.getgid(),
            0,
            1,
        )


def test_o_append_on_a_descriptor_can_be_set_later(place: Path) -> None:
    import fcntl

    with open_fd(place / "file.md", os.O_RDWR) as fd:
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b" more")
    assert (place / "file.md").read_text() == "text more"


def test_utimensat_can_leave_one_time_out(place: Path) -> None:
    import ctypes
    import struct

    omit = (1 << 30) - 2
    before = (place / "file.md").stat().st_atime_ns
    times = struct.pack("qqqq", 0, omit, 12345, 678)
    assert ctypes.CDLL(None).utimensat(-100, bytes(place / "file.md"), times, 0) == 0
    status = (place / "file.md").stat()
    assert (status.st_atime_ns, status.st_mtime_ns) == (before, 12345 * 10**9 + 678)


def test_times_of_1970_and_beyond_2038(place: Path) -> None:
    for seconds in (1 << 33, 1):
        os.utime(place / "file.md", (seconds, seconds))
        assert (place / "file.md").stat().st_mtime == seconds


def test_setuid_bits_can_be_set_and_read(place: Path) -> None:
    (place / "file.md").chmod(0o4755)
    assert (place / "file.md").stat().st_mode & 0o7777 == 0o4755


def test_a_write_of_nothing_changes_nothing(mount: Mounted, place: Path) -> None:
    with open_fd(place / "file.md", os.O_WRONLY) as fd:
        assert os.write(fd, b"") == 0
    assert mount.records(place) == [("created", "file.md")]


def test_dot_dot_leads_above(place: Path) -> None:
    assert (place / "dir" / "..").stat().st_ino == place.stat().st_ino
    with open_fd(place / "dir", os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.rename(place / "dir", place / "moved")
        assert os.stat("..", dir_fd=fd).st_ino == place.stat().st_ino


def test_a_directory_can_be_used_by_its_descriptor(place: Path) -> None:
    with open_fd(place, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.mkdir("new", dir_fd=fd)
        os.close(os.open("new/a.md", CREATE, dir_fd=fd))
        os.rename("new/a.md", "b.md", src_dir_fd=fd, dst_dir_fd=fd)
        os.unlink("b.md", dir_fd=fd)
        os.rmdir("new", dir_fd=fd)
        assert sorted(os.listdir(fd)) == [".#link", "dir", "file.md", "scratch.md.tmp"]
