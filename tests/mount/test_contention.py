"""The mount asks for something while another writer is in the middle of a change of the same thing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memfs.port.commands import Command, Create, Delete, Rename
from memfs.port.plan import Plan, plan
from memfs.port.scope import Scope
from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, write

pytestmark = pytest.mark.slow

RDWR = os.O_RDWR | os.O_CREAT


@contextmanager
def in_the_middle_of(mount: Mounted, *commands: Command) -> Iterator[None]:
    """Somebody else has the scope to himself within, and ends with *commands*, of which each is committed."""
    memory = mount.memory
    holds, go_on = threading.Event(), threading.Event()

    def planner(scope: Scope, now_ns: int) -> Plan:
        holds.set()
        go_on.wait()
        return plan(scope, commands[0], memory.read, now_ns)

    def change() -> None:
        assert memory.perform("held", planner).result.ok
        for command in commands[1:]:
            assert memory.execute(command).ok

    thread = threading.Thread(target=change)
    thread.start()
    holds.wait()
    try:
        yield
    finally:
        go_on.set()
        thread.join()


class Call:
    """A system call in a thread, which may have to wait."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._errno = -1
        self._action = action
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        time.sleep(0.15)  # so that the daemon has it: the scope is held for longer

    def _run(self) -> None:
        self._errno = errno_of(self._action)

    @property
    def waits(self) -> bool:
        return self._thread.is_alive()

    def errno(self) -> int:
        self._thread.join()
        return self._errno


def at(mount: Mounted, path: Path) -> str:
    return mount.port_path(path)


def test_reads_and_listings_go_on(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    write(here / "b.md", "b")
    with open_fd(here / "a.md", os.O_WRONLY) as fd:
        os.write(fd, b"new")
        with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
            saving = Call(lambda: os.fsync(fd))
            assert (here / "b.md").read_text() == "b"
            assert sorted(os.listdir(here)) == ["a.md", "b.md"]
            assert os.statvfs(mount.path).f_files > 0
            assert saving.waits
        assert saving.errno() == 0
    assert mount.text(here / "a.md") == "new"


def test_a_save_after_another_of_the_same_file(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    fd = os.open(here / "a.md", os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b"mine")
    with in_the_middle_of(mount, Create(at(mount, here / "a.md"), "theirs, which is longer")):
        closing = Call(lambda: os.close(fd))
    assert closing.errno() == 0
    assert mount.text(here / "a.md") == "mine"
    assert (here / "a.md").stat().st_size == 4
    eventually(lambda: content(here / "a.md"), "mine")


def test_a_save_of_a_file_that_is_deleted_makes_it_again(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    with open_fd(here / "a.md", os.O_WRONLY) as fd:
        os.write(fd, b"one")
        with in_the_middle_of(mount, Delete(at(mount, here / "a.md"))):
            saving = Call(lambda: os.fsync(fd))
        assert saving.errno() == 0
        os.write(fd, b" two")
    assert mount.text(here / "a.md") == "one two"
    assert (here / "a.md").read_text() == "one two"


def test_a_save_of_a_file_that_is_renamed_goes_along(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    with open_fd(here / "a.md", os.O_WRONLY) as fd:
        os.write(fd, b"one")
        with in_the_middle_of(mount, Rename(at(mount, here / "a.md"), at(mount, here / "b.md"))):
            saving = Call(lambda: os.fsync(fd))
        assert saving.errno() == 0
        os.write(fd, b" two")
    assert mount.text(here / "b.md") == "one two"
    assert mount.text(here / "a.md") is None
    eventually(lambda: content(here / "b.md"), "one two")


def test_a_newborn_in_a_directory_that_is_renamed_is_found_where_its_content_is(
    mount: Mounted, here: Path
) -> None:
    (here / "one").mkdir()
    write(here / "one" / "old.md", "old")
    with open_fd(here / "one" / "a.md", RDWR) as fd:
        os.write(fd, b"one")
        with in_the_middle_of(mount, Rename(at(mount, here / "one"), at(mount, here / "two"))):
            saving = Call(lambda: os.fsync(fd))
        assert saving.errno() == 0
        os.write(fd, b" two")
    stored = {
        path: text for path in ("one/a.md", "two/a.md") if (text := mount.text(here / path)) is not None
    }
    assert list(stored.values()) == ["one two"]
    eventually(lambda: content(here / next(iter(stored))), "one two")
    eventually(lambda: content(here / "two" / "old.md"), "old")


def test_unlinking_a_newborn_whose_first_commit_is_under_way(mount: Mounted, here: Path) -> None:
    with open_fd(here / "a.md", RDWR) as fd:
        os.write(fd, b"one")
        with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
            saving = Call(lambda: os.fsync(fd))
            unlinking = Call((here / "a.md").unlink)
        assert (saving.errno(), unlinking.errno()) == (0, 0)
    eventually(lambda: os.listdir(here), ["c.md"])
    assert mount.text(here / "a.md") is None


def test_renaming_a_newborn_whose_first_commit_is_under_way(mount: Mounted, here: Path) -> None:
    with open_fd(here / "a.md", RDWR) as fd:
        os.write(fd, b"one")
        with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
            saving = Call(lambda: os.fsync(fd))
            renaming = Call(lambda: os.rename(here / "a.md", here / "b.md"))
        assert (saving.errno(), renaming.errno()) == (0, 0)
    assert mount.text(here / "b.md") == "one"
    assert mount.text(here / "a.md") is None


def test_unlinking_what_is_deleted_finds_nothing_and_takes_nothing_else(mount: Mounted, here: Path) -> None:
    name = f"{here.name}.md"
    (here / "sub").mkdir()
    write(here / "sub" / name, "theirs to delete")
    write(mount.path / name, "another file of the same name")
    with in_the_middle_of(mount, Delete(at(mount, here / "sub"))):
        unlinking = Call((here / "sub" / name).unlink)
    assert unlinking.errno() in (0, errno.ENOENT)
    assert mount.text(mount.path / name) == "another file of the same name"
    assert (mount.path / name).exists()


def test_unlinking_what_is_renamed_leaves_it_there(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    with in_the_middle_of(mount, Rename(at(mount, here / "a.md"), at(mount, here / "b.md"))):
        unlinking = Call((here / "a.md").unlink)
    assert unlinking.errno() == errno.ENOENT
    eventually(lambda: os.listdir(here), ["b.md"])
    assert (here / "b.md").read_text() == "text"


def test_renaming_what_is_deleted_or_renamed_finds_nothing(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "a")
    write(here / "b.md", "b")
    commands = Delete(at(mount, here / "a.md")), Rename(at(mount, here / "b.md"), at(mount, here / "d.md"))
    with in_the_middle_of(mount, *commands):
        deleted = Call(lambda: os.rename(here / "a.md", here / "c.md"))
    assert deleted.errno() == errno.ENOENT
    eventually(lambda: sorted(os.listdir(here)), ["d.md"])
    write(here / "e.md", "e")
    with in_the_middle_of(mount, Rename(at(mount, here / "e.md"), at(mount, here / "f.md"))):
        renamed = Call(lambda: os.rename(here / "e.md", here / "g.md"))
    assert renamed.errno() == errno.ENOENT
    eventually(lambda: sorted(os.listdir(here)), ["d.md", "f.md"])


def test_renaming_a_directory_that_is_renamed_finds_nothing(mount: Mounted, here: Path) -> None:
    (here / "one").mkdir()
    write(here / "one" / "a.md", "a")
    with in_the_middle_of(mount, Rename(at(mount, here / "one"), at(mount, here / "two"))):
        renaming = Call(lambda: os.rename(here / "one", here / "three"))
    assert renaming.errno() == errno.ENOENT
    eventually(lambda: os.listdir(here), ["two"])
    assert (here / "two" / "a.md").read_text() == "a"


def test_a_second_close_promises_as_much_as_the_first(mount: Mounted, here: Path) -> None:
    one = os.open(here / "a.md", RDWR)
    two = os.open(here / "a.md", os.O_RDWR)
    os.write(one, b"one")
    os.pwrite(two, b" two", 3)
    with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
        first, second = Call(lambda: os.close(one)), Call(lambda: os.close(two))
        assert second.waits
    assert (first.errno(), second.errno()) == (0, 0)
    assert mount.text(here / "a.md") == "one two"


def test_a_program_that_is_killed_while_it_closes_has_saved(mount: Mounted, here: Path) -> None:
    code = "import os; fd = os.open('a.md', os.O_WRONLY | os.O_CREAT); os.write(fd, b'text'); os.close(fd)"
    with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
        program = subprocess.Popen([sys.executable, "-S", "-c", code], cwd=here)
        eventually(lambda: content(here / "a.md"), "text")
        time.sleep(0.1)
        program.kill()
    program.wait()
    eventually(lambda: mount.text(here / "a.md"), "text")
    write(here / "b.md", "the mount serves on")
    assert mount.text(here / "b.md") == "the mount serves on"


def test_what_is_written_while_a_commit_waits_is_committed_too(mount: Mounted, here: Path) -> None:
    fd = os.open(here / "a.md", RDWR)
    os.write(fd, b"one")
    with in_the_middle_of(mount, Create(at(mount, here / "c.md"), "c")):
        saving = Call(lambda: os.close(os.dup(fd)))
        os.write(fd, b" two")
        assert saving.waits
    assert saving.errno() == 0
    os.close(fd)
    assert mount.text(here / "a.md") == "one two"


def test_a_directory_moved_onto_one_that_only_the_mount_has_is_joined_with_it(
    mount: Mounted, here: Path
) -> None:
    (here / "one" / "empty").mkdir(parents=True)
    (here / "two" / "other").mkdir(parents=True)
    write(here / "one" / "a.md", "a")
    write(here / "one" / "b.md.bak", "scratch")
    strange = os.fsdecode(b"\xff\xfe~")
    write(here / "one" / strange, "scratch")
    assert mount.memory.execute(Rename(at(mount, here / "one"), at(mount, here / "two"))).ok
    eventually((here / "one").exists, False)
    assert sorted(os.listdir(here / "two")) == ["a.md", "b.md.bak", "empty", "other", strange]
    assert (here / "two" / "a.md").read_text() == "a"


def test_replacing_a_file_that_is_replaced(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    write(here / "a.md.tmp", "mine")
    with in_the_middle_of(mount, Create(at(mount, here / "a.md"), "theirs, which is longer")):
        renaming = Call(lambda: os.rename(here / "a.md.tmp", here / "a.md"))
    assert renaming.errno() == 0
    assert mount.text(here / "a.md") == "mine"
    eventually(lambda: os.listdir(here), ["a.md"])
    assert (here / "a.md").read_text() == "mine"


@pytest.fixture(scope="module")
def impatient(shared_mounting: Mounting) -> Mounted:
    """A mount that waits half a second for whoever holds the scope."""
    return shared_mounting(constants={"memfs.stores.gate:PATIENCE": 0.5})


class TestNoBound:
    """Whoever holds the scope for too long does not hold up the mount for ever."""

    def test_a_save_fails_with_eio_and_the_old_content_stays(self, impatient: Mounted) -> None:
        file = impatient.path / "old.md"
        write(file, "old")
        fd = os.open(file, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b"new")
        with in_the_middle_of(impatient, Create("/memories/c.md", "c")):
            assert errno_of(lambda: os.close(fd)) == errno.EIO
            eventually(lambda: content(file), "old")
        assert impatient.text(file) == "old"

    @pytest.mark.parametrize("what", ["unlink", "rename", "truncate"])
    def test_a_change_fails_with_eio_and_nothing_has_changed(self, impatient: Mounted, what: str) -> None:
        here = impatient.path / what
        here.mkdir()
        file = here / "a.md"
        write(file, "old")
        with in_the_middle_of(impatient, Create("/memories/c.md", "c")):
            match what:
                case "unlink":
                    assert errno_of(file.unlink) == errno.EIO
                case "rename":
                    assert errno_of(lambda: os.rename(file, here / "b.md")) == errno.EIO
                case _:
                    assert errno_of(lambda: os.truncate(file, 1)) == errno.EIO
            assert os.listdir(here) == ["a.md"]
            assert file.read_text() == "old"

    def test_it_works_again_as_soon_as_the_scope_is_free(self, impatient: Mounted) -> None:
        file = impatient.path / "new.md"
        with in_the_middle_of(impatient, Create("/memories/c.md", "c")):
            fd = os.open(file, RDWR)
            os.write(fd, b"lost, and its program knows")
            assert errno_of(lambda: os.close(fd)) == errno.EIO
        write(file, "new")
        assert impatient.text(file) == "new"
        eventually(lambda: content(impatient.path / "c.md"), "c")
