"""From mounting to unmounting, however it ends: what is there afterwards, and what is not left behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, write
from tests.mount.watchdog import minor_of

pytestmark = pytest.mark.slow

RDWR = os.O_RDWR | os.O_CREAT
STOPS = [None, signal.SIGTERM, signal.SIGINT]


def by_kill(mounted: Mounted) -> None:
    mounted.kill()
    mounted.start()


def by_unmount(mounted: Mounted) -> None:
    mounted.remount()


class TestRemount:
    """What survives: everything that was acknowledged."""

    @pytest.mark.parametrize("again", [by_unmount, by_kill])
    def test_files_and_directories_survive(self, mounting: Mounting, again: object) -> None:
        assert callable(again)
        mounted = mounting()
        here = mounted.path
        (here / "sub" / "empty").mkdir(parents=True)
        (here / "lonely").mkdir()
        write(here / "sub" / "a.md", "text")
        write(here / "gone.md", "gone")
        (here / "gone.md").unlink()
        os.rename(here / "lonely", here / "renamed")
        (here / "was").mkdir()
        (here / "was").rmdir()
        again(mounted)
        assert sorted(str(path.relative_to(here)) for path in here.rglob("*")) == [
            "renamed",
            "sub",
            "sub/a.md",
            "sub/empty",
        ]
        assert (here / "sub" / "a.md").read_text() == "text"

    @pytest.mark.parametrize("again", [by_unmount, by_kill])
    def test_a_directory_that_lost_its_files_survives(self, mounting: Mounting, again: object) -> None:
        assert callable(again)
        mounted = mounting()
        (mounted.path / "sub").mkdir()
        write(mounted.path / "sub" / "a.md", "text")
        (mounted.path / "sub" / "a.md").unlink()
        again(mounted)
        assert os.listdir(mounted.path) == ["sub"]

    @pytest.mark.parametrize("again", [by_unmount, by_kill])
    def test_a_directory_whose_last_file_became_a_backup_survives(
        self, mounting: Mounting, again: object
    ) -> None:
        assert callable(again)
        mounted = mounting(constants={"memfs.mount.renames:PARKED_SECONDS": 0.01})
        mounted.execute("create", path="/memories/sub/a.md", text="text")
        eventually((mounted.path / "sub" / "a.md").exists)
        os.rename(mounted.path / "sub" / "a.md", mounted.path / "a.md~")
        status = mounted.path / ".memfs" / "status"
        eventually(lambda: json.loads(status.read_text())["parked"], [])
        assert mounted.text(mounted.path / "sub" / "a.md") is None
        again(mounted)
        assert sorted(os.listdir(mounted.path)) == ["a.md~", "sub"]

    def test_a_directory_moved_with_empty_ones_in_it_survives(self, mounting: Mounting) -> None:
        mounted = mounting()
        (mounted.path / "one" / "empty" / "deep").mkdir(parents=True)
        write(mounted.path / "one" / "a.md", "a")
        os.rename(mounted.path / "one", mounted.path / "two")
        by_kill(mounted)
        assert (mounted.path / "two" / "empty" / "deep").is_dir()
        assert os.listdir(mounted.path) == ["two"]

    def test_a_file_made_elsewhere_where_a_directory_was_takes_its_place(self, mounting: Mounting) -> None:
        mounted = mounting()
        (mounted.path / "a.md").mkdir()
        mounted.stop()
        mounted.execute("create", path="/memories/a.md", text="a file")
        mounted.start()
        assert (mounted.path / "a.md").read_text() == "a file"
        mounted.remount()
        assert (mounted.path / "a.md").read_text() == "a file"

    def test_what_others_did_meanwhile_is_there(self, mounting: Mounting) -> None:
        mounted = mounting()
        write(mounted.path / "a.md", "old")
        mounted.stop()
        mounted.execute("create", path="/memories/a.md", text="new")
        mounted.execute("create", path="/memories/sub/b.md", text="b")
        mounted.start()
        assert (mounted.path / "a.md").read_text() == "new"
        assert (mounted.path / "sub" / "b.md").read_text() == "b"

    @pytest.mark.parametrize("again", [by_unmount, by_kill])
    def test_scratch_survives_whatever_its_name(self, mounting: Mounting, again: object) -> None:
        assert callable(again)
        mounted = mounting()
        (mounted.path / ".obsidian" / "any name").mkdir(parents=True)
        contents = {
            b".a.md.swp": b"swap",
            b"\xff\xfe~": b"a name that is no text",
            b".obsidian/any name/\xff": b"deep",
            b"a.md~": b"",
        }
        for name, data in contents.items():
            with open_fd(os.fsdecode(bytes(mounted.path) + b"/" + name), RDWR) as fd:
                os.write(fd, data)
        os.symlink("user@host.1", mounted.path / "link.md~")
        again(mounted)
        for name, data in contents.items():
            assert Path(os.fsdecode(bytes(mounted.path) + b"/" + name)).read_bytes() == data
        assert os.readlink(mounted.path / "link.md~") == "user@host.1"

    def test_a_torn_journal_of_empty_directories_is_no_obstacle(self, mounting: Mounting) -> None:
        mounted = mounting()
        (mounted.path / "one").mkdir()
        mounted.kill()
        with (mounted.path.parent / "state" / "local.jsonl").open("ab") as journal:
            journal.write(b'["/memories/cut')
        mounted.start()
        (mounted.path / "two").mkdir()
        mounted.remount()
        assert sorted(os.listdir(mounted.path)) == ["one", "two"]

    @pytest.mark.parametrize("how", ["close", "fsync"])
    def test_a_kill_takes_nothing_that_was_closed_or_synced(self, mounting: Mounting, how: str) -> None:
        mounted = mounting()
        for number in range(20):
            write(mounted.path / f"n{number}.md", str(number))
        fd = os.open(mounted.path / "last.md", RDWR)
        os.write(fd, b"last")
        if how == "fsync":
            os.fsync(fd)
        else:
            os.close(fd)
        mounted.kill()
        if how == "fsync":
            assert errno_of(lambda: os.close(fd)) == errno.ENOTCONN
        assert mounted.text(mounted.path / "last.md") == "last"
        assert all(mounted.text(mounted.path / f"n{number}.md") == str(number) for number in range(20))


class TestStop:
    """Unmounting and signals finish what is staged."""

    @pytest.mark.parametrize("by", STOPS)
    def test_an_idle_mount_ends_and_leaves_nothing(
        self, mounting: Mounting, by: signal.Signals | None
    ) -> None:
        mounted = mounting()
        write(mounted.path / "a.md", "text")
        assert mounted.stop(by) == "ENDED"
        assert minor_of(str(mounted.path)) is None
        assert os.listdir(mounted.path) == []
        assert "Traceback" not in mounted.log()

    @pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_commits_what_a_program_has_not_closed(
        self, mounting: Mounting, by: signal.Signals
    ) -> None:
        mounted = mounting()
        write(mounted.path / "a.md", "a long old content")
        with open_fd(mounted.path / "a.md", os.O_WRONLY | os.O_TRUNC) as fd:
            os.write(fd, b"staged")
            newborn = os.open(mounted.path / "b.md", RDWR)
            assert mounted.stop(by) == "ENDED"
            assert errno_of(lambda: os.write(fd, b"x")) == errno.ENOTCONN
            assert errno_of(lambda: os.close(newborn)) == errno.ENOTCONN
            os.close(os.open("/dev/null", os.O_RDONLY))
            with pytest.raises(OSError, match="not connected"):
                os.fsync(fd)
            assert mounted.text(mounted.path / "a.md") == "staged"
            assert mounted.text(mounted.path / "b.md") == ""
            os.dup2(os.open("/dev/null", os.O_WRONLY), fd)

    def test_a_program_inside_does_not_keep_it_from_ending(self, mounting: Mounting) -> None:
        mounted = mounting()
        (mounted.path / "sub").mkdir()
        with subprocess.Popen(
            ["cat"], cwd=mounted.path / "sub", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ):
            assert mounted.stop(signal.SIGTERM) == "ENDED"
        assert minor_of(str(mounted.path)) is None

    def test_two_signals_are_as_good_as_one(self, mounting: Mounting) -> None:
        mounted = mounting()
        with open_fd(mounted.path / "a.md", RDWR) as fd:
            os.write(fd, b"staged")
            os.kill(mounted.pid, signal.SIGTERM)
            os.kill(mounted.pid, signal.SIGTERM)
            os.kill(mounted.pid, signal.SIGINT)
            assert mounted.wait_for_end() == "ENDED"
            assert mounted.text(mounted.path / "a.md") == "staged"
            os.dup2(os.open("/dev/null", os.O_WRONLY), fd)

    def test_a_lazy_unmount_ends_when_the_last_program_lets_go(self, mounting: Mounting) -> None:
        mounted = mounting()
        with open_fd(mounted.path / "a.md", RDWR) as fd:
            os.write(fd, b"one")
            subprocess.run(["fusermount3", "-u", "-z", str(mounted.path)], check=True)
            os.write(fd, b" two")
        assert mounted.wait_for_end() == "ENDED"
        assert mounted.text(mounted.path / "a.md") == "one two"

    def test_a_creation_right_before_the_end_is_kept(self, mounting: Mounting) -> None:
        mounted = mounting()
        for number in range(10):
            (mounted.path / f"n{number}.md").touch()
        mounted.stop()
        assert all(mounted.text(mounted.path / f"n{number}.md") == "" for number in range(10))


@pytest.fixture(scope="module")
def read_only(shared_mounting: Mounting) -> Mounted:
    """A mount that can only be read, with a file and a directory in it."""
    mounted = shared_mounting()
    (mounted.path / "sub").mkdir()
    write(mounted.path / "a.md", "text")
    mounted.stop()
    mounted.start(options={"read_only": True})
    return mounted


class TestReadOnly:
    """Nothing can be changed, and everything read."""

    def test_reading_works(self, read_only: Mounted) -> None:
        assert sorted(os.listdir(read_only.path)) == ["a.md", "sub"]
        assert (read_only.path / "a.md").read_text() == "text"

    def test_every_change_says_that_it_is_read_only(self, read_only: Mounted) -> None:
        here = read_only.path
        changes = [
            lambda: os.open(here / "b.md", RDWR),
            lambda: os.open(here / "a.md", os.O_WRONLY),
            lambda: os.truncate(here / "a.md", 0),
            lambda: os.unlink(here / "a.md"),
            lambda: os.mkdir(here / "new"),
            lambda: os.rmdir(here / "sub"),
            lambda: os.rename(here / "a.md", here / "b.md"),
            lambda: os.chmod(here / "a.md", 0o600),
            lambda: os.utime(here / "a.md"),
            lambda: os.symlink("x", here / ".#a.md"),
        ]
        assert [errno_of(change) for change in changes] == [errno.EROFS] * len(changes)

    def test_what_others_change_is_seen(self, read_only: Mounted) -> None:
        assert (read_only.path / "a.md").read_text() == "text"
        read_only.execute("create", path="/memories/a.md", text="changed")
        eventually(lambda: content(read_only.path / "a.md"), "changed")


def test_a_dead_mount_answers_that_it_is_not_connected(mounting: Mounting) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "text")
    os.kill(mounted.pid, signal.SIGKILL)
    eventually(lambda: errno_of(lambda: os.statvfs(mounted.path)), errno.ENOTCONN)
    mounted.discard()
    mounted.start()
    assert (mounted.path / "a.md").read_text() == "text"


def test_a_store_in_the_process_can_be_mounted(mounting: Mounting) -> None:
    mounted = mounting(url="simple:")
    write(mounted.path / "a.md", "text")
    os.rename(mounted.path / "a.md", mounted.path / "b.md")
    assert (mounted.path / "b.md").read_text() == "text"
    with open_fd(mounted.path / "b.md", os.O_RDONLY) as fd:
        (mounted.path / "b.md").unlink()
        assert os.read(fd, 10) == b"text"


def test_a_file_that_is_executed_from_the_mount_runs(mounting: Mounting) -> None:
    mounted = mounting()
    write(mounted.path / "a.py", f"#!{sys.executable} -S\nprint('ran')\n")
    (mounted.path / "a.py").chmod(0o755)
    done = subprocess.run([Path(mounted.path / "a.py")], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"ran\n"
