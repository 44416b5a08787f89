"""A save over a version that its editor never saw: committed, as POSIX wants, and told of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import eventually, open_fd

OLD, NEW, FOREIGN = "the old line\n", "the new line\n", "by another\n"


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount with one memory."""
    return editing(files={"notes.md": OLD, "below/other.md": OLD})


@pytest.fixture
def memory(mount: Editing) -> Path:
    return mount.path / "notes.md"


def write_while_open(mount: Editing, memory: Path, meanwhile: str, **fields: str) -> None:
    """A save that began before a command at the port, and ends after it."""
    with open_fd(memory, os.O_WRONLY) as fd:
        os.write(fd, NEW.encode())
        mount.execute(meanwhile, **fields)
        wait_until_known(mount)
        os.ftruncate(fd, len(NEW))


def wait_until_known(mount: Editing) -> None:
    """The mount has taken in what the port did."""
    version = mount.memory.snapshot().version
    eventually(lambda: f'"version": {version}' in (mount.path / ".memfs/status").read_text())


def test_it_is_committed_and_the_other_version_kept(mount: Editing, memory: Path) -> None:
    write_while_open(mount, memory, "create", path="/memories/notes.md", text=FOREIGN)
    assert mount.stored()["notes.md"] == NEW
    assert memory.read_text() == NEW
    assert mount.versions_of("notes.md") == [OLD, FOREIGN, NEW]


@pytest.mark.slow
def test_the_event_names_both_writers(mount: Editing, memory: Path) -> None:
    write_while_open(mount, memory, "create", path="/memories/notes.md", text=FOREIGN)
    (event,) = [event for event in mount.events() if event["code"] == "OVERTAKEN"]
    assert (event["path"], event["pid"]) == ("/memories/notes.md", os.getpid())
    assert event["overtaken_program"] == mount.memory.actor.program
    versions = [record.version for record in mount.history() if record.path == "/memories/notes.md"]
    assert [event["overtaken_version"], event["version"]] == versions[-2:]
    theirs, ours = versions[-2:]
    user, program, _ = mount.memory.actor
    assert event["message"] == (
        f"/memories/notes.md was saved over what {user} with {program} wrote after it was opened: theirs is "
        f"version {theirs}, this save version {ours}; `memfs diff /memories/notes.md {theirs} {ours}` "
        "compares them."
    )


@pytest.mark.slow
def test_an_edit_at_the_port_is_overtaken_as_well(mount: Editing, memory: Path) -> None:
    write_while_open(mount, memory, "str_replace", path="/memories/notes.md", oldText="old", newText="older")
    assert mount.versions_of("notes.md") == [OLD, "the older line\n", NEW]
    assert [event["code"] for event in mount.events()] == ["OVERTAKEN"]


@pytest.mark.slow
def test_a_save_after_reading_the_newest_version_overtakes_nothing(mount: Editing, memory: Path) -> None:
    mount.execute("create", path="/memories/notes.md", text=FOREIGN)
    eventually(memory.read_text, FOREIGN)
    with open_fd(memory, os.O_WRONLY | os.O_APPEND) as fd:
        os.write(fd, NEW.encode())
    assert mount.stored()["notes.md"] == FOREIGN + NEW
    assert mount.events() == []


@pytest.mark.slow
def test_a_change_before_the_first_write_is_what_is_written_to(mount: Editing, memory: Path) -> None:
    with open_fd(memory, os.O_WRONLY | os.O_APPEND) as fd:
        mount.execute("create", path="/memories/notes.md", text=FOREIGN)
        eventually(lambda: os.fstat(fd).st_size, len(FOREIGN))
        os.write(fd, NEW.encode())
    assert mount.stored()["notes.md"] == FOREIGN + NEW
    assert mount.events() == []


@pytest.mark.slow
def test_a_foreign_deletion_is_answered_by_making_it_again(mount: Editing, memory: Path) -> None:
    write_while_open(mount, memory, "delete", path="/memories/notes.md")
    eventually(lambda: mount.stored().get("notes.md"), NEW)
    assert memory.read_text() == NEW


def test_a_foreign_rename_leaves_both(mount: Editing, memory: Path) -> None:
    """The save makes the memory again at the path that its editor saved."""
    before = mount.id_of("notes.md")
    write_while_open(mount, memory, "rename", oldPath="/memories/notes.md", newPath="/memories/moved.md")
    eventually(lambda: mount.stored().get("notes.md"), NEW)
    assert mount.stored()["moved.md"] == OLD
    assert mount.id_of("moved.md") == before
    eventually(mount.listing, {"notes.md", "moved.md", "below", "below/other.md"})


@pytest.mark.slow
def test_a_foreign_removal_of_the_directory(mount: Editing) -> None:
    memory = mount.path / "below/other.md"
    write_while_open(mount, memory, "delete", path="/memories/below")
    eventually(lambda: mount.stored().get("below/other.md"), NEW)
    assert memory.read_text() == NEW


@pytest.mark.slow
def test_a_foreign_rename_of_the_directory(mount: Editing) -> None:
    memory = mount.path / "below/other.md"
    write_while_open(mount, memory, "rename", oldPath="/memories/below", newPath="/memories/above")
    eventually(lambda: mount.stored().get("below/other.md"), NEW)
    assert mount.stored()["above/other.md"] == OLD


def test_two_editors_that_do_not_lock_last_close_wins(mount: Editing, memory: Path) -> None:
    with open_fd(memory, os.O_WRONLY | os.O_TRUNC) as first, open_fd(memory, os.O_WRONLY) as second:
        os.write(first, b"first\n")
        os.pwrite(second, b"second\n", 0)
    assert memory.read_text() == "second\n"
    assert mount.stored()["notes.md"] == "second\n"
    assert mount.versions_of("notes.md")[0] == OLD


@pytest.mark.slow
def test_a_replacement_of_a_version_never_seen_is_told_of(mount: Editing, memory: Path) -> None:
    """An editor that replaces has opened the memory before; which version it saw cannot be known."""
    (mount.path / "notes.md.tmp").write_text(NEW)
    mount.execute("create", path="/memories/notes.md", text=FOREIGN)
    wait_until_known(mount)
    (mount.path / "notes.md.tmp").rename(memory)
    assert mount.versions_of("notes.md") == [OLD, FOREIGN, NEW]
