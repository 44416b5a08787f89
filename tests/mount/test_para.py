"""The PARA layout, the archive, and the eviction that refuses, as programs meet them in a mount."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, run, write

_numbers = itertools.count()
BUCKETS = ["archive", "areas", "projects", "resources"]


@pytest.fixture(scope="module")
def para(shared_mounting: Mounting) -> Mounted:
    """A mount in the layout, with room for all tests of this module."""
    return shared_mounting(
        layout="para",
        extensions=[".md", ".html"],
        max_files=100_000,
        max_total_bytes=1 << 30,
        options={"umask": 0o022},
    )


@pytest.fixture
def desk(para: Mounted) -> Path:
    """A project of the test's own."""
    directory = para.path / "projects" / f"p{next(_numbers)}"
    directory.mkdir()
    return directory


@pytest.fixture
def small(mounting: Mounting) -> Mounted:
    """A mount of two files, which archives."""
    return mounting(layout="para", extensions=[".md"], max_files=2, max_file_bytes=100)


def archived(mounted: Mounted, name: str) -> Path:
    """Where a memory of the mount is archived now."""
    return mounted.path / "archive" / str(datetime.now(UTC).year) / name


def events(mounted: Mounted) -> list[dict[str, Any]]:
    lines = (mounted.path / ".memfs/events").read_text().splitlines()
    return [json.loads(line) for line in lines]


def last_event(mounted: Mounted) -> dict[str, Any]:
    return events(mounted)[-1]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def live_files(mounted: Mounted) -> list[str]:
    scope = mounted.memory
    scope.catch_up()
    return [file.path.removeprefix("/memories/") for file in scope.snapshot().live_in_write_order()]


class TestLayout:
    """Four buckets and an inbox, always there, and nothing beside them."""

    def test_the_buckets_and_the_inbox_are_there_from_the_start(self, mounting: Mounting) -> None:
        mounted = mounting(layout="para")
        assert sorted(os.listdir(mounted.path)) == BUCKETS
        assert os.listdir(mounted.path / "areas") == ["inbox"]
        assert os.listdir(mounted.path / "areas/inbox") == []
        mounted.remount()
        assert sorted(os.listdir(mounted.path)) == BUCKETS

    @pytest.mark.parametrize("name", [*BUCKETS, "areas/inbox"])
    def test_what_the_layout_has_is_neither_removed_nor_renamed(self, para: Mounted, name: str) -> None:
        directory = para.path / name
        assert errno_of(lambda: os.rmdir(directory)) == errno.EBUSY
        assert last_event(para)["code"] == "ROOT_PROTECTED"
        assert errno_of(lambda: os.rename(directory, para.path / "projects/elsewhere")) in (
            errno.EBUSY,
            errno.EINVAL,  # the kernel's own answer, for projects
        )
        assert directory.is_dir()

    def test_a_bucket_with_something_in_it_is_not_removed_either(self, para: Mounted, desk: Path) -> None:
        write(desk / "a.md", "x")
        assert errno_of(lambda: os.rmdir(para.path / "projects")) == errno.EBUSY
        assert errno_of(lambda: shutil.rmtree(para.path / "projects")) == errno.EBUSY
        assert (para.path / "projects").is_dir()

    @pytest.mark.parametrize(
        "make",
        [
            lambda path: os.mkdir(path / "stuff"),
            lambda path: write(path / "a.md", "x"),
            lambda path: os.mkdir(path / "project"),
        ],
        ids=["mkdir", "a file", "mkdir of a bucket in the singular"],
    )
    def test_the_top_level_takes_nothing_else(self, para: Mounted, make: Callable[[Path], None]) -> None:
        assert errno_of(lambda: make(para.path)) == errno.EINVAL
        event = last_event(para)
        assert event["code"] == "INVALID_PATH"
        assert "lies in none of the buckets projects, areas, resources, archive" in event["message"]
        assert sorted(os.listdir(para.path)) == BUCKETS

    def test_nothing_moves_to_the_top_level(self, para: Mounted, desk: Path) -> None:
        write(desk / "a.md", "x")
        assert errno_of(lambda: os.rename(desk / "a.md", para.path / "a.md")) == errno.EINVAL
        assert errno_of(lambda: os.rename(desk, para.path / "desk")) == errno.EINVAL
        empty = desk / "empty"
        empty.mkdir()
        assert errno_of(lambda: os.rename(empty, para.path / "empty")) == errno.EINVAL
        assert sorted(os.listdir(desk)) == ["a.md", "empty"]

    def test_programs_keep_their_settings_and_temporary_files_there(self, para: Mounted) -> None:
        (para.path / ".obsidian").mkdir()
        (para.path / ".obsidian/app.json").write_text("{}")
        (para.path / ".DS_Store").write_bytes(b"\0")
        shutil.rmtree(para.path / ".obsidian")
        (para.path / ".DS_Store").unlink()

    def test_a_save_by_rename_does_not_reach_the_top_level(self, para: Mounted) -> None:
        (para.path / "a.md.tmp").write_text("x")
        assert errno_of(lambda: os.rename(para.path / "a.md.tmp", para.path / "a.md")) == errno.EINVAL
        (para.path / "a.md.tmp").unlink()

    def test_a_memory_moves_between_the_buckets(self, para: Mounted, desk: Path) -> None:
        write(desk / "a.md", "x")
        run("mv", desk, para.path / "resources")
        assert content(para.path / "resources" / desk.name / "a.md") == "x"
        assert para.text(para.path / "resources" / desk.name / "a.md") == "x"

    def test_a_bucket_stays_when_another_door_deletes_what_it_held(self, para: Mounted) -> None:
        para.execute("create", path="/memories/areas/inbox/a.md", text="x")
        eventually(lambda: content(para.path / "areas/inbox/a.md"), "x")
        para.execute("delete", path="/memories/areas/inbox/a.md")
        eventually(lambda: os.listdir(para.path / "areas/inbox"), [])

    def test_a_layout_that_is_set_while_mounted_shows_at_once(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=9)
        write(mounted.path / "a.md", "x")
        (mounted.path / "archive").mkdir()
        write(mounted.path / "archive/b.md", "x")
        assert not (mounted.path / "projects").exists()
        mounted.memory.set_policy({"layout": "para"})
        eventually(lambda: sorted(os.listdir(mounted.path)), ["a.md", *BUCKETS])
        eventually(lambda: (mounted.path / "projects").is_dir())
        eventually(lambda: mode_of(mounted.path / "archive/b.md"), 0o400)

    def test_what_was_there_before_the_layout_is_read_and_moves_into_it(self, mounting: Mounting) -> None:
        mounted = mounting(max_files=9)
        old = mounted.path / "a.md"
        write(old, "x")
        mounted.memory.set_policy({"layout": "para"})
        eventually(lambda: (mounted.path / "projects").is_dir())
        assert old.read_text() == "x"
        assert errno_of(lambda: write(old, "y")) == errno.EINVAL
        run("mv", old, mounted.path / "projects")
        write(mounted.path / "projects/a.md", "y")
        assert live_files(mounted) == ["projects/a.md"]


class TestArchive:
    """A record: read, moved in and out, deleted, and never written."""

    @pytest.fixture
    def kept(self, para: Mounted, desk: Path) -> Path:
        """An archived memory."""
        write(desk / "kept.md", "kept\n")
        directory = para.path / "archive/1999" / desk.name
        directory.mkdir(parents=True)
        os.rename(desk / "kept.md", directory / "kept.md")
        return directory / "kept.md"

    def test_its_files_show_that_they_are_not_written(self, kept: Path) -> None:
        eventually(lambda: mode_of(kept), 0o444)
        assert kept.read_text() == "kept\n"

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: write(path, "y"),
            lambda path: open_fd(path, os.O_RDWR).__enter__(),
            lambda path: open_fd(path, os.O_WRONLY | os.O_APPEND).__enter__(),
            lambda path: os.truncate(path, 0),
            lambda path: write(path.with_name("new.md"), "y"),
        ],
        ids=["save", "open for reading and writing", "append", "truncate", "a new file"],
    )
    def test_nothing_in_it_is_written(
        self, para: Mounted, kept: Path, change: Callable[[Path], None]
    ) -> None:
        assert errno_of(lambda: change(kept)) == errno.EROFS
        event = last_event(para)
        assert (event["code"], event["errno"]) == ("ROOT_PROTECTED", "EROFS")
        assert "the archive, which is a record" in event["message"]
        assert kept.read_text() == "kept\n"

    def test_a_save_by_rename_is_refused_and_its_bytes_are_kept(self, para: Mounted, kept: Path) -> None:
        temporary = kept.with_name("kept.md.tmp")
        temporary.write_text("precious")
        assert errno_of(lambda: os.replace(temporary, kept)) == errno.EROFS
        assert kept.read_text() == "kept\n"
        rejected = last_event(para)["rejected"]
        assert (para.path / ".memfs/rejected" / rejected).read_text() == "precious"
        temporary.unlink()

    def test_a_mode_may_be_changed_and_means_nothing(self, kept: Path) -> None:
        kept.chmod(0o644)
        assert errno_of(lambda: write(kept, "y")) == errno.EROFS

    def test_its_files_are_deleted(self, para: Mounted, kept: Path) -> None:
        kept.unlink()
        assert para.text(kept) is None
        os.rmdir(kept.parent)

    def test_a_memory_that_moves_out_is_written_again(self, para: Mounted, desk: Path, kept: Path) -> None:
        run("mv", kept, desk)
        back = desk / "kept.md"
        eventually(lambda: mode_of(back), 0o644)
        write(back, "again")
        assert para.text(back) == "again"
        assert para.records(desk)[-2:] == [("restored", "kept.md"), ("modified", "kept.md")]

    def test_a_directory_moves_in_and_out_with_its_files(self, para: Mounted, desk: Path) -> None:
        write(desk / "a.md", "1")
        write(desk / "b.md", "2")
        there = para.path / "archive" / desk.name
        os.rename(desk, there)
        eventually(lambda: {mode_of(there / name) for name in os.listdir(there)}, {0o444})
        os.rename(there, desk)
        eventually(lambda: {mode_of(desk / name) for name in os.listdir(desk)}, {0o644})
        write(desk / "a.md", "3")

    def test_nothing_is_overwritten_on_the_way_out(self, desk: Path, kept: Path) -> None:
        write(desk / "kept.md", "newer")
        assert errno_of(lambda: os.rename(kept, desk / "kept.md")) == errno.EEXIST

    @pytest.mark.slow
    def test_the_modes_are_there_after_a_remount(self, small: Mounted) -> None:
        write(small.path / "projects/a.md", "x")
        os.rename(small.path / "projects/a.md", small.path / "archive/a.md")
        small.remount()
        assert mode_of(small.path / "archive/a.md") == 0o400

    def test_a_file_that_is_being_written_when_its_directory_is_archived_keeps_its_bytes_as_rejected(
        self, para: Mounted, desk: Path
    ) -> None:
        write(desk / "a.md", "old")
        fd = os.open(desk / "a.md", os.O_WRONLY)
        os.write(fd, b"new")
        os.rename(desk, para.path / "archive" / desk.name)
        assert errno_of(lambda: os.fsync(fd)) == errno.EROFS
        assert errno_of(lambda: os.close(fd)) == errno.EROFS
        assert content(para.path / "archive" / desk.name / "a.md") == "old"
        eventually(lambda: last_event(para)["code"], "REJECTED")
        assert (para.path / ".memfs/rejected" / last_event(para)["rejected"]).read_text() == "new"


class TestEviction:
    """What leaves moves to the archive, and the kernel knows."""

    def test_the_earliest_write_moves_to_the_archive(self, small: Mounted) -> None:
        first, there = small.path / "projects/a.md", archived(small, "projects/a.md")
        assert not there.exists()  # and the kernel remembers
        assert not (small.path / "archive" / there.parts[-3]).exists()
        write(first, "first")
        inode = first.stat().st_ino
        write(small.path / "projects/b.md", "x")
        write(small.path / "projects/c.md", "x")
        eventually(lambda: content(first), None)
        eventually(lambda: content(there), "first")
        assert there.stat().st_ino == inode
        assert mode_of(there) == 0o400
        eventually(lambda: sorted(os.listdir(small.path / "projects")), ["b.md", "c.md"])
        event = next(event for event in events(small) if event["code"] == "EVICTED")
        assert event["path"] == "/memories/projects/a.md"
        assert event["archived"] == small.port_path(there)
        assert "to make room for /memories/projects/c.md" in event["message"]

    def test_mv_brings_it_back_and_the_next_one_leaves(self, small: Mounted) -> None:
        for name in "abc":
            write(small.path / f"projects/{name}.md", name)
        there = archived(small, "projects/a.md")
        eventually(lambda: content(there), "a")
        run("mv", there, small.path / "projects/")
        eventually(lambda: content(archived(small, "projects/b.md")), "b")
        assert live_files(small) == ["projects/c.md", "projects/a.md"]
        assert content(small.path / "projects/a.md") == "a"
        eventually(lambda: content(small.path / "projects/b.md"), None)
        event = last_event(small)
        assert event["code"] == "EVICTED"
        assert "to make room for /memories/projects/a.md" in event["message"]

    @pytest.mark.slow
    @pytest.mark.parametrize("door", ["here", "elsewhere"])
    def test_what_leaves_for_a_directory_of_the_archive_goes_to_its_old_name(
        self, mounting: Mounting, door: str
    ) -> None:
        mounted = mounting(eviction="archive", max_files=2)
        year = archived(mounted, "a.md").parent
        for name in ("a", "b"):
            write(mounted.path / f"{name}.md", name)
        year.mkdir(parents=True)
        for name in ("a", "b"):
            os.rename(mounted.path / f"{name}.md", year / f"{name}.md")
        for name in ("c", "d"):
            write(mounted.path / f"{name}.md", name)
        if door == "here":
            os.rename(year, mounted.path / "e")
        else:
            mounted.execute("rename", oldPath=mounted.port_path(year), newPath="/memories/e")
        eventually(lambda: sorted(os.listdir(mounted.path)), ["archive", "e"])
        eventually(
            lambda: {name: content(year / name) for name in os.listdir(year)}, {"c.md": "c", "d.md": "d"}
        )
        assert sorted(os.listdir(mounted.path / "e")) == ["a.md", "b.md"]

    def test_evictions_by_another_door_are_seen(self, small: Mounted) -> None:
        for name in "ab":
            write(small.path / f"projects/{name}.md", name)
        there = archived(small, "projects/a.md")
        assert not there.exists()
        small.execute("create", path="/memories/projects/c.md", text="c")
        eventually(lambda: content(there), "a")
        eventually(lambda: content(small.path / "projects/a.md"), None)
        small.execute("rename", oldPath=small.port_path(there), newPath="/memories/areas/inbox/a.md")
        eventually(lambda: content(small.path / "areas/inbox/a.md"), "a")
        eventually(lambda: content(archived(small, "projects/b.md")), "b")

    @pytest.mark.slow
    def test_a_reader_goes_on_in_what_has_left(self, small: Mounted) -> None:
        write(small.path / "projects/a.md", "first")
        with open_fd(small.path / "projects/a.md", os.O_RDONLY) as fd:
            for name in "bc":
                write(small.path / f"projects/{name}.md", "x")
            assert os.read(fd, 100) == b"first"

    @pytest.mark.slow
    def test_a_memory_that_is_being_written_while_it_leaves_is_made_again(self, small: Mounted) -> None:
        first = small.path / "projects/a.md"
        write(first, "old")
        with open_fd(first, os.O_WRONLY | os.O_TRUNC) as fd:
            os.write(fd, b"new")
            for name in "bc":
                write(small.path / f"projects/{name}.md", "x")
        assert content(first) == "new"
        eventually(lambda: content(archived(small, "projects/a.md")), "old")
        assert live_files(small) == ["projects/c.md", "projects/a.md"]

    def test_the_name_of_what_has_just_left_is_free_at_once(self, mounting: Mounting) -> None:
        mounted = mounting(eviction="archive", max_files=2, slow_notices=0.2)
        for number in range(12):  # each makes the one leave whose name comes next
            write(mounted.path / f"{number % 3}.md", str(number))
        eventually(lambda: sorted(os.listdir(mounted.path)), ["1.md", "2.md", "archive"])
        assert live_files(mounted) == ["1.md", "2.md"]
        assert len(os.listdir(archived(mounted, ""))) == 10

    def test_a_name_that_is_taken_in_the_archive_gets_an_ordinal(self, small: Mounted) -> None:
        for text in ("first", "second"):
            write(small.path / "projects/a.md", text)
            for name in "bc":
                write(small.path / f"projects/{name}.md", "x")
            for name in "bc":
                (small.path / f"projects/{name}.md").unlink()
        eventually(lambda: content(archived(small, "projects/a.md")), "first")
        eventually(lambda: content(archived(small, "projects/a-2.md")), "second")

    @pytest.mark.slow
    def test_an_archive_that_is_full_refuses_the_write_and_keeps_its_bytes(self, mounting: Mounting) -> None:
        mounted = mounting(eviction="archive", max_total_bytes=6, max_archive_bytes=1)
        write(mounted.path / "a.md", "123")
        descriptor = os.open(mounted.path / "b.md", os.O_WRONLY | os.O_CREAT)
        try:
            assert errno_of(lambda: os.write(descriptor, b"1234")) == errno.ENOSPC
        finally:
            assert errno_of(lambda: os.close(descriptor)) == errno.ENOSPC
        eventually(lambda: last_event(mounted)["code"], "REJECTED")
        assert last_event(mounted)["path"] == "/memories/b.md"
        refused = next(event for event in events(mounted) if event["code"] == "LIMIT_EXCEEDED")
        assert refused["path"] == "/memories/b.md"
        assert "/memories/a.md does not fit into the archive" in refused["message"]
        assert content(mounted.path / "a.md") == "123"

    def test_an_archive_that_is_full_refuses_a_new_name_at_once(self, mounting: Mounting) -> None:
        mounted = mounting(eviction="archive", max_files=1, max_archive_bytes=2)
        write(mounted.path / "a.md", "123")
        creating = os.O_WRONLY | os.O_CREAT
        assert errno_of(lambda: os.open(mounted.path / "b.md", creating)) == errno.ENOSPC
        assert last_event(mounted)["path"] == "/memories/b.md"

    def test_df_shows_what_is_live(self, small: Mounted) -> None:
        for number in range(6):
            write(small.path / f"projects/{number}.md", "x" * 100)
        status = os.statvfs(small.path)
        assert (status.f_files, status.f_ffree) == (2, 1)
        shown = json.loads((small.path / ".memfs/status").read_text())
        assert shown["use"] == {"files": 2, "totalBytes": 200}
        assert shown["archive"] == {"files": 4, "totalBytes": 400}
        assert shown["leavesNext"] == "/memories/projects/4.md"


class TestRefusing:
    """A full scope that refuses: nothing leaves by itself."""

    @pytest.fixture
    def full(self, mounting: Mounting) -> Mounted:
        mounted = mounting(eviction="refuse", max_files=2, max_file_bytes=100, max_total_bytes=120)
        for name in "ab":
            write(mounted.path / f"{name}.md", "x" * 50)
        return mounted

    def test_a_new_memory_is_refused_when_it_is_made(self, full: Mounted) -> None:
        assert errno_of(lambda: write(full.path / "c.md", "x")) == errno.ENOSPC
        assert "nothing leaves it by itself" in last_event(full)["message"]
        assert sorted(os.listdir(full.path)) == ["a.md", "b.md"]

    def test_a_memory_that_grows_is_refused_when_it_is_written(self, full: Mounted) -> None:
        fd = os.open(full.path / "a.md", os.O_WRONLY | os.O_TRUNC)
        assert errno_of(lambda: os.write(fd, b"y" * 80)) == errno.ENOSPC
        assert errno_of(lambda: os.close(fd)) == errno.ENOSPC
        eventually(lambda: content(full.path / "a.md"), "x" * 50)
        eventually(lambda: last_event(full)["code"], "REJECTED")
        assert (full.path / ".memfs/rejected" / last_event(full)["rejected"]).read_text() == "y" * 80

    def test_what_needs_no_more_room_is_taken(self, full: Mounted) -> None:
        write(full.path / "a.md", "y" * 70)
        os.rename(full.path / "b.md", full.path / "c.md")
        assert full.text(full.path / "a.md") == "y" * 70

    def test_a_deletion_makes_room(self, full: Mounted) -> None:
        (full.path / "a.md").unlink()
        write(full.path / "c.md", "x")
        assert full.text(full.path / "c.md") == "x"

    def test_df_shows_that_it_is_full(self, full: Mounted) -> None:
        assert os.statvfs(full.path).f_ffree == 0
        assert json.loads((full.path / ".memfs/status").read_text())["leavesNext"] is None

    def test_a_save_of_an_editor_that_moves_the_old_one_away_fits(self, full: Mounted) -> None:
        os.rename(full.path / "a.md", full.path / "a.md~")
        write(full.path / "a.md", "y" * 50)
        assert full.text(full.path / "a.md") == "y" * 50


class TestTools:
    """Editors and shells work in the layout as anywhere."""

    @pytest.mark.parametrize(
        "command",
        [
            "sed -i s/old/new/ a.md",
            "printf 'new\\n' > a.md",
            "cp a.md b.md && sed -i s/old/new/ b.md && rm a.md && mv b.md a.md",
            "printf 'new\\n' > a.md.tmp && mv a.md.tmp a.md",
            "mv a.md a.md~ && printf 'new\\n' > a.md",
        ],
    )
    def test_a_memory_is_edited(self, para: Mounted, desk: Path, command: str) -> None:
        write(desk / "a.md", "old\n")
        run("sh", "-c", command, cwd=desk)
        assert para.text(desk / "a.md") == "new\n"
        shutil.rmtree(desk)

    @pytest.mark.skipif(shutil.which("vim") is None, reason="machine: vim is not installed")
    @pytest.mark.parametrize("backup", ["no", "yes"])
    def test_vim_saves(self, para: Mounted, desk: Path, backup: str) -> None:
        write(desk / "a.md", "old\n")
        vim = ("vim", "-u", "NONE", "-es", "--cmd", f"set backupcopy={backup} nocompatible")
        run(*vim, "-c", "%s/old/new/", "-c", "wq", "a.md", cwd=desk)
        assert para.text(desk / "a.md") == "new\n"
        shutil.rmtree(desk)
