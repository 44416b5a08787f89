"""Bugs and failing stores: an answer for the program, a line in the log, and the mount serves on."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, write

pytestmark = pytest.mark.slow

RDWR = os.O_RDWR | os.O_CREAT
OPERATIONS = "memfs.mount.operations:Operations"


def sync(path: Path, flags: int) -> None:
    with open_fd(path, flags) as fd:
        os.fsync(fd)


# What each kind of request goes through, to break there.
PLANTED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "lookup": (f"{OPERATIONS}._lookup_virtual", lambda here: os.stat(here / ".memfs")),
    "setattr": ("memfs.mount.working:WorkingCopies.truncate", lambda here: os.truncate(here / "a.md", 1)),
    "statfs": ("memfs.port.memory:Memory.snapshot", lambda here: os.statvfs(here)),
    "readdir": ("memfs.mount.handles:Handles.directory", os.listdir),
    "mkdir": ("memfs.mount.tree:Tree.new_directory", lambda here: os.mkdir(here / "new")),
    "rmdir": ("memfs.mount.tree:Tree.remove", lambda here: os.rmdir(here / "sub")),
    "create": ("memfs.mount.tree:Tree.new_file", lambda here: os.open(here / "new.md", RDWR)),
    "open": (f"{OPERATIONS}._opened", lambda here: os.open(here / "a.md", os.O_RDONLY)),
    "read": ("memfs.mount.working:WorkingCopies.read", lambda here: (here / "a.md").read_text()),
    "write": ("memfs.mount.staging:Staged.write", lambda here: write(here / "a.md", "x")),
    "flush": ("memfs.mount.saves:Saves.commit", lambda here: write(here / "a.md", "x")),
    "unlink": ("memfs.mount.saves:Saves.delete", lambda here: os.unlink(here / "a.md")),
    "rename": ("memfs.mount.saves:Saves.rename", lambda here: os.rename(here / "a.md", here / "b.md")),
    "replace": ("memfs.mount.saves:Saves.replace", lambda here: os.rename(here / "a.md.tmp", here / "a.md")),
    "fsync": ("memfs.port.memory:Memory.sync", lambda here: sync(here / "a.md", os.O_WRONLY)),
    "fsyncdir": ("memfs.mount.saves:Saves.sync", lambda here: sync(here, os.O_RDONLY | os.O_DIRECTORY)),
    "symlink": ("memfs.mount.tree:Tree.new_link", lambda here: os.symlink("x", here / ".#a.md")),
}


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose files switch the faults on."""
    return tmp_path_factory.mktemp("flags")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory, flags: Path) -> Iterator[Mounted]:
    """A mount with a bug in every kind of request, to be switched on."""
    faults = {name: str(flags / kind) for kind, (name, _) in PLANTED.items()}
    mounted = Mounted(tmp_path_factory.mktemp("faulty"), faults=faults)
    try:
        mounted.start()
        yield mounted
    finally:
        mounted.close()


@contextmanager
def broken(flags: Path, kind: str) -> Iterator[None]:
    (flags / kind).touch()
    try:
        yield
    finally:
        (flags / kind).unlink()


@pytest.mark.parametrize("kind", PLANTED)
def test_a_bug_answers_eio_and_the_mount_serves_on(faulty: Mounted, flags: Path, kind: str) -> None:
    here = faulty.path / kind
    (here / "sub").mkdir(parents=True)
    write(here / "a.md", "text")
    write(here / "a.md.tmp", "scratch")
    logged = faulty.log().count("Traceback")
    name, request = PLANTED[kind]
    with broken(flags, kind):
        assert errno_of(lambda: request(here)) == errno.EIO
        log = faulty.log()
        assert log.count("Traceback") > logged
        assert f"PlantedError: {name}" in log
    write(here / "good.md", "good")
    assert (here / "good.md").read_text() == "good"
    eventually(lambda: content(here / "a.md") in ("text", "x"))
    assert faulty.text(here / "good.md") == "good"


def test_one_fault_logs_one_traceback(faulty: Mounted, flags: Path) -> None:
    logged = faulty.log().count("Traceback")
    with broken(flags, "statfs"):
        assert errno_of(lambda: os.statvfs(faulty.path)) == errno.EIO
    assert faulty.log().count("Traceback") == logged + 1


def test_a_fault_at_the_last_close_leaves_the_file_usable(faulty: Mounted, flags: Path) -> None:
    here = faulty.path / "release"
    here.mkdir()
    fd = os.open(here / "a.md", RDWR)
    with broken(flags, "flush"):
        os.close(fd)  # a creation without a write is committed at the release, which nobody awaits
        eventually(lambda: "internal fault in a save when its file was closed" in faulty.log())
        eventually(lambda: os.listdir(here), [])
    write(here / "a.md", "later")
    assert faulty.text(here / "a.md") == "later"
    os.truncate(here / "a.md", 2)
    assert faulty.text(here / "a.md") == "la"
    (here / "a.md").unlink()
    assert os.listdir(here) == []


@pytest.mark.parametrize("task", ["_follow", "_keep_synced", "_keep_appended", "end_overdue_parking"])
def test_a_bug_beside_the_requests_is_logged_and_the_mount_goes_on(
    mounting: Mounting, tmp_path: Path, task: str
) -> None:
    flag = tmp_path / "flag"
    inside = {
        "_follow": "memfs.mount.saves:Saves.catch_up",
        "_keep_synced": "memfs.port.memory:Memory.maintain",
        "_keep_appended": "memfs.mount.session:whole_characters",
        "end_overdue_parking": "memfs.mount.saves:Saves.end_parking",
    }
    mounted = mounting(
        faults={inside[task]: str(flag)},
        constants={
            "memfs.mount.session:SYNC_SECONDS": 0.05,
            "memfs.mount.session:APPEND_SECONDS": 0.05,
            "memfs.mount.session:FAULT_SECONDS": 0.05,
            "memfs.mount.renames:PARKED_SECONDS": 0.05,
        },
    )
    flag.touch()
    write(mounted.path / "a.md", "text")
    os.rename(mounted.path / "a.md", mounted.path / "a.md~")
    with open_fd(mounted.path / "b.md", RDWR) as fd:
        os.write(fd, b"appended")
        mounted.execute("create", path="/memories/c.md", text="c")
        eventually(lambda: "internal fault beside the requests" in mounted.log())
        assert f"PlantedError: {inside[task]}" in mounted.log()
        flag.unlink()
        os.write(fd, b" more")
        eventually(lambda: mounted.text(mounted.path / "b.md"), "appended more")
    mounted.execute("create", path="/memories/d.md", text="d")
    eventually(lambda: sorted(os.listdir(mounted.path)), ["a.md~", "b.md", "c.md", "d.md"])
    eventually(lambda: mounted.text(mounted.path / "a.md"), None)
    assert mounted.stop() == "ENDED"


class TestStoreFails:
    """The disk below the store: EIO while it fails, and good again afterwards."""

    def test_a_disk_that_is_full(self, mounting: Mounting, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk") as disk:
            mounted = mounting(url=f"sqlite:{disk / 'store'}")
            write(mounted.path / "a.md", "old")
            write(mounted.path / "other.md", "other")
            fill(disk)
            saves = (
                errno_of(lambda: write(mounted.path / "a.md", os.urandom(20_000).hex())) for _ in range(100)
            )
            assert next(filter(None, saves)) == errno.EIO
            assert (mounted.path / "other.md").read_text() == "other"
            eventually(lambda: content(mounted.path / "a.md") == mounted.text(mounted.path / "a.md"))
            (disk / "filler").unlink()
            write(mounted.path / "a.md", "new")
            assert (mounted.path / "a.md").read_text() == "new"
            mounted.close()

    def test_a_process_that_was_stopped_in_the_middle(self, mounting: Mounting) -> None:
        mounted = mounting(constants={"memfs.stores.gate:PATIENCE": 0.5})
        write(mounted.path / "a.md", "old")
        code = (
            "import sys; from pathlib import Path\n"
            "from memfs.port.policy import Policy; from memfs.stores.sqlite import open_sqlite\n"
            "store, _ = open_sqlite(Path(sys.argv[1]), 'work', Policy())\n"
            "store.acquire(True); print('holds', flush=True); sys.stdin.read()"
        )
        store = mounted.path.parent / "store"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"holds\n"
            holder.send_signal(signal.SIGSTOP)
            try:
                fd = os.open(mounted.path / "a.md", os.O_WRONLY | os.O_TRUNC)
                os.write(fd, b"new")
                started = time.monotonic()
                assert errno_of(lambda: os.close(fd)) == errno.EIO
                assert time.monotonic() - started < 30
                eventually(lambda: content(mounted.path / "a.md"), "old")
                assert os.listdir(mounted.path) == ["a.md"]
            finally:
                holder.send_signal(signal.SIGCONT)
                holder.kill()
        write(mounted.path / "a.md", "new")
        assert mounted.text(mounted.path / "a.md") == "new"

    def test_scratch_for_which_the_disk_has_no_room(self, mounting: Mounting, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk") as disk:
            mounted = mounting(state=str(disk))
            here = mounted.path
            write(here / "a.md", "memory")
            with open_fd(here / ".a.md.swp", RDWR) as fd:
                os.write(fd, b"swap")
                fill(disk)
                errors = {errno_of(partial(os.pwrite, fd, b"x" * 4096, 8192 * turn)) for turn in range(1, 9)}
                assert errors == {errno.ENOSPC}
                assert os.pread(fd, 100_000, 0) == b"swap"
                assert os.fstat(fd).st_size == 4
            assert errno_of(lambda: os.rename(here / "a.md", here / "a.md~")) == errno.ENOSPC
            assert mounted.text(here / "a.md") == (here / "a.md").read_text() == "memory"
            for number in range(200):  # until there is no inode left either
                if errno_of(partial(write, here / f"n{number}.tmp", "")):
                    break
            assert errno_of(lambda: os.open(here / "last.tmp", RDWR)) == errno.ENOSPC
            assert "last.tmp" not in os.listdir(here)
            (disk / "filler").unlink()
            write(here / ".a.md.swp", "again")
            assert (here / ".a.md.swp").read_text() == "again"
            mounted.close()

    def test_state_that_cannot_be_written(self, mounting: Mounting, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk") as disk:
            mounted = mounting(state=str(disk))
            fill(disk)
            names = [f"{'d' * 100}{number}" for number in range(100)]
            for name in names:
                (mounted.path / name).mkdir()
            assert "may not be remembered" in mounted.log()
            assert sorted(os.listdir(mounted.path)) == sorted(names)
            (disk / "filler").unlink()
            (mounted.path / "one_more").mkdir()
            mounted.remount()
            assert "one_more" in os.listdir(mounted.path)
            mounted.close()


@contextmanager
def small_disk(mount_point: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    if os.geteuid() != 0:
        pytest.skip("machine: only root can mount a small file system")
    mount_point.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=100", "tmpfs", str(mount_point)]
    if subprocess.run(["mount", *options], check=False, capture_output=True).returncode:
        pytest.skip("machine: mount(8) is not allowed here")
    try:
        yield mount_point
    finally:
        subprocess.run(["umount", "--lazy", str(mount_point)], check=True)


def fill(disk: Path) -> None:
    """Leave no room on a small disk."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            pass


def test_an_idle_daemon_sleeps(mounting: Mounting) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "text")
    time.sleep(0.2)

    def switches() -> int:
        tasks = Path(f"/proc/{mounted.pid}/task").glob("*/status")
        return sum(int(task.read_text().split("voluntary_ctxt_switches:")[1].split()[0]) for task in tasks)

    before = switches()
    time.sleep(0.5)
    assert switches() - before < 50


def test_what_the_daemon_had_open_is_closed_with_its_files(mount: Mounted, here: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir(f"/proc/{mount.pid}/fd"))

    write(here / "a.md", "text")
    before = descriptors()
    for number in range(50):
        write(here / f"n{number}.md", "x")
        assert (here / f"n{number}.md").read_text() == "x"
        os.listdir(here)
    assert descriptors() <= before + 2


def test_readers_are_answered_while_a_large_save_is_under_way(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    with open_fd(here / "b.md", RDWR) as fd:
        for _ in range(20):
            os.pwrite(fd, b"x" * 65_536, 0)
            os.fsync(fd)
            assert (here / "a.md").read_text() == "text"
