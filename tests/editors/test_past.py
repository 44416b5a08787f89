"""``.memfs/history`` and ``.memfs/deleted``: what was, for ``ls``, ``diff``, ``cp`` and ``grep``."""

from __future__ import annotations

import errno
import mmap
import os
import re
import stat
from pathlib import Path

import pytest

from memfs.port.store import Record
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import errno_of, eventually, run

NAME = re.compile(r"\d{8}-\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\dZ-[A-Za-z0-9._-]+\.md")


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount in which notes.md has been written three times and moved in between."""
    mount = editing(files={"notes.md": "one\n", "below/other.md": "beside\n"})
    (mount.path / "notes.md").write_text("one\ntwo\n")
    os.rename(mount.path / "notes.md", mount.path / "kept.md")
    mount.execute("str_replace", path="/memories/kept.md", oldText="two", newText="three")
    return mount


@pytest.fixture
def history(mount: Editing) -> Path:
    return mount.path / ".memfs/history"


@pytest.fixture
def deleted(mount: Editing) -> Path:
    return mount.path / ".memfs/deleted"


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def records(mount: Editing, name: str) -> list[Record]:
    """What the port says of the memory, oldest first, without renames."""
    return [record for record in mount.memory.versions(f"/memories/{name}") if not record.old_path][::-1]


def test_the_versions_of_a_memory_are_files_that_sort(mount: Editing, history: Path) -> None:
    found = names(history / "kept.md")
    assert [int(name[:8]) for name in found] == [record.version for record in records(mount, "kept.md")]
    assert all(NAME.fullmatch(name) for name in found)
    assert [(history / "kept.md" / name).read_text() for name in found] == [
        "one\n", "one\ntwo\n", "one\nthree\n",
    ]  # fmt: skip


def test_sizes_times_and_modes_are_those_of_the_versions(mount: Editing, history: Path) -> None:
    for name, record in zip(names(history / "kept.md"), records(mount, "kept.md"), strict=True):
        found = (history / "kept.md" / name).stat()
        assert (found.st_size, found.st_mtime_ns) == (record.size, record.time_ns)
        assert stat.S_IMODE(found.st_mode) == 0o444
        assert stat.S_ISREG(found.st_mode)


def test_the_history_has_a_directory_for_each_path(history: Path) -> None:
    assert names(history) == ["below", "kept.md"]
    assert names(history / "below") == ["other.md"]
    assert len(names(history / "below/other.md")) == 1


def test_a_new_version_appears_at_once(mount: Editing, history: Path) -> None:
    before = names(history / "kept.md")
    (mount.path / "kept.md").write_text("four\n")
    after = names(history / "kept.md")
    assert after[:-1] == before
    assert (history / "kept.md" / after[-1]).read_text() == "four\n"
    mount.execute("create", path="/memories/kept.md", text="five\n")
    eventually(lambda: len(names(history / "kept.md")), len(after) + 1)


@pytest.mark.slow
def test_a_version_can_be_named_without_a_listing(mount: Editing, history: Path) -> None:
    found = names(history / "kept.md")
    mount.stop()
    mount.start()
    assert (history / "kept.md" / found[0]).read_text() == "one\n"
    assert errno_of(lambda: (history / "kept.md/00000099-x.md").read_text()) == 2
    assert errno_of(lambda: names(history / "none.md")) == 2


def test_programs_work_on_versions(mount: Editing, history: Path) -> None:
    first, _, last = names(history / "kept.md")
    assert run(
        "sh", "-c", 'diff "$0" "$1" || true', history / "kept.md" / first, history / "kept.md" / last
    ) == ("1a2\n> three\n")
    assert run("grep", "-rl", "two", history).strip().endswith(names(history / "kept.md")[1])
    run("cp", history / "kept.md" / first, mount.path / "kept.md")
    assert (mount.path / "kept.md").read_text() == "one\n"
    assert len(run("find", history, "-type", "f").split()) == 5
    with (
        (history / "kept.md" / last).open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data,
    ):
        assert data[:] == b"one\nthree\n"
    run("cp", "-r", history, mount.home / "copy")
    assert (mount.home / "copy/kept.md" / last).read_text() == "one\nthree\n"


def test_what_was_deleted_is_there_with_its_last_content(
    mount: Editing, deleted: Path, history: Path
) -> None:
    assert names(deleted) == []
    (mount.path / "kept.md").unlink()
    os.remove(mount.path / "below/other.md")
    assert names(deleted) == ["below", "kept.md"]
    assert (deleted / "kept.md").read_text() == "one\nthree\n"
    assert (deleted / "below/other.md").read_text() == "beside\n"
    assert (deleted / "kept.md").stat().st_size == 10
    assert len(names(history / "kept.md")) == 3, "its versions are still there"
    run("cp", deleted / "kept.md", mount.path / "again.md")
    assert (mount.path / "again.md").read_text() == "one\nthree\n"


@pytest.mark.slow
def test_the_latest_of_those_that_were_at_a_path_is_shown(mount: Editing, deleted: Path) -> None:
    path = mount.path / "kept.md"
    path.unlink()
    assert (deleted / "kept.md").read_text() == "one\nthree\n"
    mount.execute("create", path="/memories/kept.md", text="another\n")
    mount.execute("delete", path="/memories/kept.md")
    eventually(lambda: (deleted / "kept.md").read_text(), "another\n")
    mount.execute("create", path="/memories/kept.md/now-a-directory.md", text="x")
    mount.execute("delete", path="/memories/kept.md")
    eventually(lambda: names(deleted / "kept.md"), ["now-a-directory.md"])


def test_what_was_evicted_is_there_too(editing: MakeEditing) -> None:
    mount = editing(wanted={"max_files": 1})
    (mount.path / "a.md").write_text("first\n")
    (mount.path / "b.md").write_text("second\n")
    assert (mount.path / ".memfs/deleted/a.md").read_text() == "first\n"
    assert names(mount.path) == ["b.md"]


def test_a_save_that_begins_with_a_deletion_is_one_version(
    mount: Editing, history: Path, deleted: Path
) -> None:
    (mount.path / "kept.md").unlink()
    (mount.path / "kept.md").write_text("anew\n")
    contents = [(history / "kept.md" / name).read_text() for name in names(history / "kept.md")]
    assert contents == ["one\n", "one\ntwo\n", "one\nthree\n", "anew\n"]
    assert names(deleted) == []


@pytest.mark.slow
def test_nothing_can_be_changed_in_it(mount: Editing, history: Path) -> None:
    version = history / "kept.md" / names(history / "kept.md")[0]
    for change in (
        lambda: version.write_text("x"),
        version.unlink,
        lambda: (history / "new.md").mkdir(),
        lambda: version.rename(mount.path / "x.md"),
        (history / "kept.md").rmdir,
    ):
        assert errno_of(change) in (1, 13, 18, 30)


@pytest.mark.slow
def test_a_listing_of_many_versions_can_be_read_again(mount: Editing, history: Path) -> None:
    for number in range(300):
        mount.execute("create", path="/memories/kept.md", text=f"{number}\n")
    eventually(lambda: len(names(history / "kept.md")), 303)
    with os.scandir(history / "kept.md") as entries:
        assert len(list(entries)) == 303
    contents = run("sh", "-c", 'cat "$0"/*', history / "kept.md")
    assert contents.endswith("298\n299\n")


def test_what_was_redacted_is_there_for_nobody_who_opens_it_then(mount: Editing, history: Path) -> None:
    name = names(history / "kept.md")[0]
    with (history / "kept.md" / name).open() as file:
        assert file.read(2) == "on"
        mount.memory.redact([("/memories/kept.md", int(name[:8]))])
        assert errno_of((history / "kept.md" / name).read_text) == errno.ENOENT
        assert file.read() == "e\n", "as of a file that was deleted"
    redacted = names(history / "kept.md")[0]
    assert redacted.endswith("-redacted.md")
    assert (history / "kept.md" / redacted).read_bytes() == b""


def test_what_left_and_was_redacted_is_not_there_as_an_empty_file(mount: Editing, history: Path) -> None:
    deleted, before = mount.path / ".memfs/deleted", mount.stored()["kept.md"]  # the mount may be behind
    (mount.path / "kept.md").unlink()
    assert (deleted / "kept.md").read_text() == before
    *_, last = names(history / "kept.md")
    mount.memory.redact([("/memories/kept.md", int(last[:8]))])
    assert "kept.md" not in os.listdir(deleted)
    assert errno_of((deleted / "kept.md").stat) == errno.ENOENT
    assert names(history / "kept.md")[-1].endswith("-redacted.md")


@pytest.mark.slow
def test_an_open_version_stays_readable_and_unused_nodes_are_forgotten(mount: Editing, history: Path) -> None:
    version = history / "kept.md" / names(history / "kept.md")[0]
    with version.open() as file:
        assert file.read(2) == "on"
        names(history / "kept.md")
        (mount.path / "kept.md").unlink()
        names(history)
        assert file.read() == "e\n"
