"""What somebody else changes at another door is seen by the programs on the mount, whatever they hold."""

from __future__ import annotations

import errno
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, run, write

RDWR = os.O_RDWR | os.O_CREAT


def create(mount: Mounted, file: Path, text: str) -> None:
    mount.execute("create", path=mount.port_path(file), text=text)


def delete(mount: Mounted, path: Path) -> None:
    mount.execute("delete", path=mount.port_path(path))


def rename(mount: Mounted, old: Path, new: Path) -> None:
    mount.execute("rename", oldPath=mount.port_path(old), newPath=mount.port_path(new))


def read(fd: int) -> bytes:
    return os.pread(fd, 100_000, 0)


class TestContent:
    """Somebody else writes a memory."""

    def test_a_program_that_reads_the_path(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        assert (here / "a.md").read_text() == "old"
        create(mount, here / "a.md", "new and longer")
        eventually(lambda: content(here / "a.md"), "new and longer")

    def test_a_program_that_holds_it_open(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        with open_fd(here / "a.md", os.O_RDONLY) as fd:
            assert read(fd) == b"old"
            create(mount, here / "a.md", "new and longer")
            eventually(lambda: read(fd), b"new and longer")
            create(mount, here / "a.md", "short")
            eventually(lambda: read(fd), b"short")

    def test_a_program_that_polls_stat(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        before = (here / "a.md").stat().st_mtime_ns
        create(mount, here / "a.md", "new and longer")
        eventually(lambda: (here / "a.md").stat().st_size, 14)
        assert (here / "a.md").stat().st_mtime_ns > before

    def test_a_program_that_has_it_mapped(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old content")
        with open_fd(here / "a.md", os.O_RDONLY) as fd, mmap.mmap(fd, 0, prot=mmap.PROT_READ) as mapping:
            assert mapping[:] == b"old content"
            create(mount, here / "a.md", "new content")
            eventually(lambda: mapping[:], b"new content")

    def test_an_edit_of_large_content_is_seen_whole(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "x" * 60_000)
        with open_fd(here / "a.md", os.O_RDONLY) as fd:
            assert read(fd) == b"x" * 60_000
            mount.execute("insert", path=mount.port_path(here / "a.md"), insertLine=0, text="first")
            eventually(lambda: read(fd), b"first\n" + b"x" * 60_000 + b"\n")

    def test_an_appender_appends_to_the_new_content(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old\n")
        with open_fd(here / "a.md", os.O_WRONLY | os.O_APPEND) as fd:
            create(mount, here / "a.md", "new and longer\n")
            eventually(lambda: content(here / "a.md"), "new and longer\n")
            os.write(fd, b"more\n")
        assert mount.text(here / "a.md") == "new and longer\nmore\n"

    def test_its_inode_stays(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        inode = (here / "a.md").stat().st_ino
        create(mount, here / "a.md", "newer")
        eventually(lambda: (here / "a.md").stat().st_size, 5)
        assert (here / "a.md").stat().st_ino == inode

    def test_a_save_over_a_version_it_never_saw_is_committed(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        with open_fd(here / "a.md", os.O_WRONLY | os.O_TRUNC) as fd:
            os.write(fd, b"mine")
            create(mount, here / "a.md", "theirs")
            os.write(fd, b" and more")
        assert mount.text(here / "a.md") == "mine and more"
        assert (here / "a.md").read_text() == "mine and more"
        assert mount.records(here) == [("created", "a.md"), ("modified", "a.md"), ("modified", "a.md")]


class TestNames:
    """Somebody else makes, deletes and renames."""

    def test_a_name_that_was_missing_appears(self, mount: Mounted, here: Path) -> None:
        assert not (here / "a.md").exists()
        create(mount, here / "a.md", "here")
        eventually((here / "a.md").exists)
        assert (here / "a.md").read_text() == "here"

    def test_a_new_name_is_listed(self, mount: Mounted, here: Path) -> None:
        assert os.listdir(here) == []
        create(mount, here / "a.md", "a")
        eventually(lambda: os.listdir(here), ["a.md"])

    def test_a_new_directory_appears_with_its_file(self, mount: Mounted, here: Path) -> None:
        assert not (here / "one").exists()
        create(mount, here / "one" / "two" / "a.md", "a")
        eventually((here / "one" / "two" / "a.md").exists)
        assert os.listdir(here / "one") == ["two"]
        assert here.stat().st_nlink == 3

    def test_a_deleted_file_is_gone(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "a")
        delete(mount, here / "a.md")
        eventually((here / "a.md").exists, False)
        assert os.listdir(here) == []

    def test_a_deleted_file_that_is_open_keeps_its_bytes(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "still here")
        with open_fd(here / "a.md", os.O_RDONLY) as fd:
            delete(mount, here / "a.md")
            eventually(lambda: os.fstat(fd).st_nlink, 0)
            assert read(fd) == b"still here"

    def test_a_deleted_file_that_is_being_written_is_made_again(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        with open_fd(here / "a.md", os.O_RDWR) as fd:
            os.write(fd, b"new")
            delete(mount, here / "a.md")
            create(mount, here / "sign.md", "")
            eventually((here / "sign.md").exists)
            os.write(fd, b"er")
        assert mount.text(here / "a.md") == "newer"
        assert (here / "a.md").read_text() == "newer"

    def test_a_deleted_directory_is_gone_with_all_in_it(self, mount: Mounted, here: Path) -> None:
        (here / "sub" / "empty").mkdir(parents=True)
        write(here / "sub" / "a.md", "a")
        write(here / "sub" / "a.md.bak", "scratch")
        delete(mount, here / "sub")
        eventually((here / "sub").exists, False)
        assert os.listdir(here) == []

    def test_a_directory_that_lost_its_last_file_stays(self, mount: Mounted, here: Path) -> None:
        (here / "sub").mkdir()
        write(here / "sub" / "a.md", "a")
        delete(mount, here / "sub" / "a.md")
        eventually(lambda: os.listdir(here / "sub"), [])

    def test_a_renamed_file_is_found_under_its_new_name_only(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "text")
        assert not (here / "b.md").exists()
        rename(mount, here / "a.md", here / "b.md")
        eventually((here / "b.md").exists)
        eventually((here / "a.md").exists, False)
        assert (here / "b.md").read_text() == "text"

    def test_a_renamed_file_stays_open(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "text")
        with open_fd(here / "a.md", os.O_RDWR | os.O_APPEND) as fd:
            rename(mount, here / "a.md", here / "b.md")
            eventually((here / "b.md").exists)
            os.write(fd, b" and more")
            assert os.fstat(fd).st_nlink == 1
        assert mount.text(here / "b.md") == "text and more"
        assert mount.text(here / "a.md") is None

    def test_a_renamed_directory_is_found_under_its_new_name_only(self, mount: Mounted, here: Path) -> None:
        (here / "one" / "deep").mkdir(parents=True)
        write(here / "one" / "deep" / "a.md", "text")
        write(here / "one" / "b.md.bak", "scratch")
        rename(mount, here / "one", here / "two")
        eventually((here / "two").exists)
        eventually((here / "one").exists, False)
        assert (here / "two" / "deep" / "a.md").read_text() == "text"
        assert (here / "two" / "b.md.bak").read_text() == "scratch"

    def test_a_program_in_a_renamed_directory_goes_with_it(self, mount: Mounted, here: Path) -> None:
        (here / "one").mkdir()
        write(here / "one" / "a.md", "text")
        code = (
            "import os, sys; os.chdir(sys.argv[1])\n"
            "for _ in sys.stdin:\n"
            "    try: print(os.getcwd(), flush=True)\n"
            "    except FileNotFoundError: print('nowhere', flush=True)"
        )
        with subprocess.Popen(
            [sys.executable, "-S", "-c", code, str(here / "one")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as program:

            def where() -> str:
                assert program.stdin is not None
                assert program.stdout is not None
                program.stdin.write("\n")
                program.stdin.flush()
                return program.stdout.readline().rstrip("\n")

            assert where() == str(here / "one")
            rename(mount, here / "one", here / "two")
            eventually((here / "two").exists)
            eventually((here / "one").exists, False)
            # A notice that comes behind the first look takes the directory off its path, until the next look.
            eventually(lambda: (here / "two").exists() and where(), str(here / "two"))

    def test_a_file_and_a_directory_may_change_places(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "a")
        delete(mount, here / "a.md")
        create(mount, here / "a.md" / "b.md", "b")
        eventually(lambda: (here / "a.md").is_dir())
        assert (here / "a.md" / "b.md").read_text() == "b"
        delete(mount, here / "a.md")
        create(mount, here / "a.md", "again a file")
        eventually(lambda: (here / "a.md").is_file())
        assert (here / "a.md").read_text() == "again a file"

    def test_a_name_deleted_and_made_again_shows_the_new_file(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "old")
        with open_fd(here / "a.md", os.O_RDONLY) as fd:
            delete(mount, here / "a.md")
            create(mount, here / "a.md", "new")
            eventually(lambda: content(here / "a.md"), "new")
            assert read(fd) == b"old"

    def test_a_hundred_changes_in_a_row_all_arrive(self, mount: Mounted, here: Path) -> None:
        for number in range(50):
            create(mount, here / f"n{number}.md", str(number))
        for number in range(0, 50, 2):
            delete(mount, here / f"n{number}.md")
        for number in range(1, 50, 4):
            rename(mount, here / f"n{number}.md", here / f"m{number}.md")
        create(mount, here / "sign.md", "")
        eventually((here / "sign.md").exists)
        left = {f"{'m' if number % 4 == 1 else 'n'}{number}.md": str(number) for number in range(1, 50, 2)}
        eventually(lambda: [(here / name).exists() for name in ("n47.md", "n49.md")], [True, False])
        assert {path.name: path.read_text() for path in here.iterdir()} == left | {"sign.md": ""}


class TestCreation:
    """Two make the same name at once."""

    def test_the_port_refuses_nothing_and_the_save_comes_last(self, mount: Mounted, here: Path) -> None:
        with open_fd(here / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
            create(mount, here / "a.md", "theirs")
            os.write(fd, b"mine")
        assert mount.text(here / "a.md") == "mine"

    @pytest.mark.parametrize("seen", [False, True])
    def test_an_exclusive_creation_does_not_overwrite(self, mount: Mounted, here: Path, seen: bool) -> None:
        fd = os.open(here / "a.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(fd, b"mine")
        create(mount, here / "a.md", "theirs")
        if seen:
            create(mount, here / "sign.md", "")
            eventually((here / "sign.md").exists)
        assert errno_of(lambda: os.close(fd)) == errno.EEXIST
        eventually(lambda: content(here / "a.md"), "theirs")
        assert mount.text(here / "a.md") == "theirs"

    def test_a_file_where_somebody_made_a_directory_is_refused(self, mount: Mounted, here: Path) -> None:
        fd = os.open(here / "a.md", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"mine")
        create(mount, here / "a.md" / "b.md", "theirs")
        create(mount, here / "sign.md", "")
        eventually((here / "sign.md").exists)
        assert errno_of(lambda: os.close(fd)) == errno.EEXIST
        eventually(lambda: (here / "a.md").is_dir())
        assert (here / "a.md" / "b.md").read_text() == "theirs"

    def test_a_file_onto_which_somebody_renamed_another_is_refused(self, mount: Mounted, here: Path) -> None:
        write(here / "theirs.md", "theirs")
        fd = os.open(here / "a.md", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"mine")
        rename(mount, here / "theirs.md", here / "a.md")
        create(mount, here / "sign.md", "")
        eventually((here / "sign.md").exists)
        assert errno_of(lambda: os.close(fd)) == errno.EEXIST
        eventually(lambda: content(here / "a.md"), "theirs")
        assert mount.text(here / "a.md") == "theirs"


class TestBeforeTheKernelKnows:
    """In the instant in which the mount knows of a change and the kernel does not yet."""

    SLOW = 0.7

    def test_a_save_into_a_deleted_file_makes_it_anew(self, mounting: Mounting) -> None:
        mounted = mounting(slow_notices=self.SLOW)
        write(mounted.path / "a.md", "old")
        delete(mounted, mounted.path / "a.md")
        eventually(lambda: os.listdir(mounted.path), [])
        write(mounted.path / "a.md", "new")
        assert mounted.text(mounted.path / "a.md") == "new"

    def test_truncating_a_deleted_file_finds_nothing(self, mounting: Mounting) -> None:
        mounted = mounting(slow_notices=self.SLOW)
        write(mounted.path / "a.md", "old")
        delete(mounted, mounted.path / "a.md")
        eventually(lambda: os.listdir(mounted.path), [])
        assert errno_of(lambda: os.truncate(mounted.path / "a.md", 1)) == errno.ENOENT

    def test_a_save_into_a_file_that_has_come_replaces_it(self, mounting: Mounting) -> None:
        mounted = mounting(slow_notices=self.SLOW)
        assert not (mounted.path / "a.md").exists()
        create(mounted, mounted.path / "a.md", "theirs and longer")
        eventually(lambda: os.listdir(mounted.path), ["a.md"])
        write(mounted.path / "a.md", "mine")
        assert mounted.text(mounted.path / "a.md") == "mine"

    def test_an_exclusive_creation_finds_a_file_that_has_come(self, mounting: Mounting) -> None:
        mounted = mounting(slow_notices=self.SLOW)
        assert not (mounted.path / "a.md").exists()
        create(mounted, mounted.path / "a.md", "theirs")
        eventually(lambda: os.listdir(mounted.path), ["a.md"])
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        assert errno_of(lambda: os.open(mounted.path / "a.md", flags)) == errno.EEXIST

    def test_a_newborn_that_was_refused_can_be_saved_again_at_once(self, mounting: Mounting) -> None:
        mounted = mounting(slow_notices=self.SLOW)
        fd = os.open(mounted.path / "a.md", RDWR)
        assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
        assert errno_of(lambda: os.close(fd)) == errno.EILSEQ
        eventually(lambda: os.listdir(mounted.path), [])
        write(mounted.path / "a.md", "good")
        assert mounted.text(mounted.path / "a.md") == "good"


def test_evictions_by_somebody_else_vanish(mounting: Mounting) -> None:
    mounted = mounting(max_files=2)
    write(mounted.path / "a.md", "a")
    write(mounted.path / "b.md", "b")
    create(mounted, mounted.path / "c.md", "c")
    eventually(lambda: sorted(os.listdir(mounted.path)), ["b.md", "c.md"])
    eventually((mounted.path / "a.md").exists, False)


def test_a_policy_set_at_another_door_holds_here(mounting: Mounting) -> None:
    mounted = mounting()
    mounted.memory.set_policy({"max_file_bytes": 100, "extensions": [".md", ".rst"]})
    eventually(lambda: errno_of(lambda: os.close(os.open(mounted.path / "a.rst", RDWR))), 0)
    assert errno_of(lambda: os.open(mounted.path / "a.txt", RDWR)) == errno.EINVAL
    with open_fd(mounted.path / "a.md", RDWR) as fd:
        assert errno_of(lambda: os.pwrite(fd, b"x", 100)) == errno.EFBIG
        os.ftruncate(fd, 0)
    mounted.memory.set_policy({"max_total_bytes": 51_200})
    eventually(lambda: os.statvfs(mounted.path).f_blocks * 512, 51_200)


def test_the_port_sees_a_save_when_close_returns(mount: Mounted, here: Path) -> None:
    for number in range(50):
        write(here / "a.md", str(number))
        assert mount.text(here / "a.md") == str(number)


def test_a_foreign_change_reaches_every_program_at_once(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "old")
    code = (
        "import os, sys, time; fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.pread(fd, 9, 0); print('open', flush=True)\n"
        "while os.pread(fd, 9, 0) != b'new': time.sleep(0.01)\nprint('seen')"
    )
    programs = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", code, str(here / "a.md")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
    create(mount, here / "a.md", "new")
    assert [program.communicate(timeout=40)[0] for program in programs] == ["seen\n"] * 3


def test_what_a_mount_writes_is_read_by_a_port_in_a_shell(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "from the mount")
    code = (
        "import memfs, sys\n"
        "with memfs.open_memory(sys.argv[1], scope='work') as memory:\n"
        "    print(memory.execute(memfs.View(path=sys.argv[2])).value.text)"
    )
    url = f"sqlite:{mount.path.parent / 'store'}"
    assert run(sys.executable, "-c", code, url, mount.port_path(here / "a.md")) == "from the mount\n"


def test_a_program_at_memfs_port_and_the_mount_see_each_other(mount: Mounted, here: Path) -> None:
    url = f"sqlite:{mount.path.parent / 'store'}"
    with subprocess.Popen(
        [sys.executable, "-m", "memfs", "port", "--store", url, "--scope", "work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as port:

        def command(**fields: object) -> dict[str, object]:
            assert port.stdin is not None
            assert port.stdout is not None
            port.stdin.write(json.dumps(fields) + "\n")
            port.stdin.flush()
            result: dict[str, object] = json.loads(port.stdout.readline())
            return result

        path = mount.port_path(here / "a.md")
        assert command(command="create", path=path, text="from the port")["ok"]
        eventually(lambda: content(here / "a.md"), "from the port")
        write(here / "a.md", "from the mount")
        value = command(command="view", path=path)["value"]
        assert isinstance(value, dict)
        assert value["text"] == "from the mount"
        assert port.stdin is not None
        port.stdin.close()
        assert port.wait(30) == 0


@pytest.mark.parametrize("store", ["sqlite", "directory"])
class TestUndo:
    """Somebody takes back, at another door, what was done with a directory."""

    @pytest.fixture
    def tree(self, mounting: Mounting, tmp_path: Path, store: str) -> Mounted:
        mount = mounting(url=f"{store}:{tmp_path / 'kept'}")
        (mount.path / "d/e").mkdir(parents=True)
        write(mount.path / "d/a.md", "a")
        write(mount.path / "d/e/b.md", "b")
        write(mount.path / "c.md", "c")
        eventually(lambda: len(mount.memory.snapshot()), 3)
        return mount

    def test_a_directory_that_was_deleted_is_back(self, tree: Mounted) -> None:
        before = seen(tree.path)
        delete(tree, tree.path / "d")
        eventually(lambda: seen(tree.path), {"c.md": "c"})
        assert tree.memory.undo().ok
        eventually(lambda: seen(tree.path), before)

    @pytest.mark.parametrize("door", ["the mount", "elsewhere"])
    def test_a_directory_that_was_renamed_has_its_name_again(self, tree: Mounted, door: str) -> None:
        before = seen(tree.path)
        if door == "the mount":
            (tree.path / "d").rename(tree.path / "moved")
        else:
            rename(tree, tree.path / "d", tree.path / "moved")
        moved = {"c.md": "c", "moved": None, "moved/a.md": "a", "moved/e": None, "moved/e/b.md": "b"}
        eventually(lambda: seen(tree.path), moved)
        assert tree.memory.undo().ok
        eventually(lambda: seen(tree.path), before)

    def test_a_directory_that_holds_more_than_what_goes_back_stays(self, tree: Mounted) -> None:
        before = seen(tree.path)
        rename(tree, tree.path / "c.md", tree.path / "d/c.md")
        eventually(lambda: "c.md" in seen(tree.path), False)
        assert tree.memory.undo().ok
        eventually(lambda: seen(tree.path), before)


def seen(directory: Path) -> dict[str, str | None]:
    """What lies below *directory*, as a program finds it: names, and the texts of files."""
    found: dict[str, str | None] = {}
    for below, directories, files in os.walk(directory):  # which takes what goes meanwhile for empty
        directories[:] = [name for name in directories if not name.startswith(".")]
        found |= {str((Path(below) / name).relative_to(directory)): None for name in directories}
        for name in files:
            found[str((Path(below) / name).relative_to(directory))] = content(Path(below) / name)
    return found
