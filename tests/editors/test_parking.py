"""Parking: a memory's name that has gone to a backup is a save, or a deletion two seconds later."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import time
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.looks import text_of
from tests.harness import failure
from tests.mount.harness import errno_of, eventually, open_fd

OLD, NEW = "the old line\n", "the new line\n"
LONG = {"memfs.mount.renames:PARKED_SECONDS": 600.0}
"""For what has to happen in between: as long as any machine takes."""


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount that parks for as long as a test takes, with one memory."""
    return editing(files={"notes.md": OLD, "below/other.md": OLD}, constants=LONG)


@pytest.fixture
def memory(mount: Editing) -> Path:
    return mount.path / "notes.md"


@pytest.fixture
def backup(mount: Editing, memory: Path) -> Path:
    """The memory has gone to this name."""
    memory.rename(mount.path / "notes.md~")
    mount.mark()
    return mount.path / "notes.md~"


def operations(mount: Editing) -> list[tuple[str, str]]:
    return [(change.operation, change.path) for change in mount.changes()]


def test_the_store_keeps_it_while_its_name_is_away(mount: Editing, memory: Path, backup: Path) -> None:
    assert not memory.exists()
    assert backup.read_text() == OLD
    assert mount.listing() == {"notes.md~", "below", "below/other.md"}
    assert mount.stored()["notes.md"] == OLD
    assert operations(mount) == []


@pytest.mark.slow
def test_without_a_new_file_it_is_deleted_in_two_seconds(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD})
    (mount.path / "notes.md").rename(mount.path / "notes.md~")
    assert mount.stored() == {"notes.md": OLD}
    eventually(mount.stored, {})
    assert operations(mount) == [("deleted", "notes.md")]
    assert (mount.path / "notes.md~").read_text() == OLD
    assert mount.versions_of("notes.md") == [OLD]


def test_a_new_file_carries_the_memory_on(mount: Editing, memory: Path, backup: Path) -> None:
    before, inode = mount.id_of("notes.md"), backup.stat().st_ino
    memory.write_text(NEW)
    assert [(change.operation, change.id) for change in mount.changes()] == [("modified", before)]
    assert backup.read_text() == OLD
    assert backup.stat().st_ino == inode != memory.stat().st_ino
    backup.unlink()
    assert mount.stored()["notes.md"] == NEW


@pytest.mark.slow
def test_an_old_descriptor_stays_with_the_backup(mount: Editing, memory: Path) -> None:
    """microsoft/WSL#1615: a rename away while another handle was open lost the file."""
    with open_fd(memory, os.O_RDONLY) as fd:
        memory.rename(mount.path / "notes.md~")
        memory.write_text(NEW)
        assert os.pread(fd, 100, 0) == OLD.encode()
        assert memory.read_text() == NEW
    assert mount.stored()["notes.md"] == NEW


@pytest.mark.slow
def test_a_writer_that_is_still_open_writes_into_the_backup(mount: Editing, memory: Path) -> None:
    with open_fd(memory, os.O_WRONLY | os.O_APPEND) as fd:
        memory.rename(mount.path / "notes.md~")
        os.write(fd, b"more\n")
    assert (mount.path / "notes.md~").read_text() == OLD + "more\n"
    assert mount.stored()["notes.md"] == OLD


@pytest.mark.slow
@pytest.mark.parametrize("order", ["new file", "replacement"])
def test_the_new_file_has_the_memorys_mode(order: str, mount: Editing, memory: Path) -> None:
    memory.chmod(0o640)
    memory.rename(mount.path / "notes.md~")
    if order == "replacement":
        (mount.path / "notes.md.tmp").write_text(NEW)
        (mount.path / "notes.md.tmp").chmod(0o600)
        (mount.path / "notes.md.tmp").rename(memory)
        assert stat.S_IMODE(memory.stat().st_mode) == 0o640
    else:
        memory.write_text(NEW)
    assert mount.stored()["notes.md"] == NEW


@pytest.mark.slow
def test_the_backup_coming_back_is_no_version(mount: Editing, memory: Path, backup: Path) -> None:
    backup.rename(memory)
    assert memory.read_text() == OLD
    assert operations(mount) == []
    memory.write_text(NEW)
    assert operations(mount) == [("modified", "notes.md")]


@pytest.mark.slow
def test_a_changed_backup_coming_back_is_a_version(mount: Editing, memory: Path, backup: Path) -> None:
    before = mount.id_of("notes.md")
    backup.write_text(NEW)
    backup.rename(memory)
    assert [(change.operation, change.id) for change in mount.changes()] == [("modified", before)]
    assert mount.stored()["notes.md"] == NEW


@pytest.mark.slow
@pytest.mark.parametrize("end", ["unmount", "SIGTERM", "crash"])
def test_an_end_in_between_leaves_the_old_memory(
    end: str, mount: Editing, memory: Path, backup: Path
) -> None:
    if end == "crash":
        mount.kill()
    else:
        mount.stop(signal.SIGTERM if end == "SIGTERM" else None)
    assert mount.stored()["notes.md"] == OLD
    assert operations(mount) == []
    mount.start()
    assert memory.read_text() == OLD
    assert backup.read_text() == OLD


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [600.0, 0.3])
def test_a_change_from_elsewhere_brings_it_back(seconds: float, editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD}, constants={"memfs.mount.renames:PARKED_SECONDS": seconds})
    (mount.path / "notes.md").rename(mount.path / "notes.md~")
    mount.execute("create", path="/memories/notes.md", text="by another\n")
    eventually(lambda: (mount.path / "notes.md").exists())
    assert (mount.path / "notes.md").read_text() == "by another\n"
    assert (mount.path / "notes.md~").read_text() == OLD
    assert mount.stored() == {"notes.md": "by another\n"}
    assert [event["code"] for event in mount.events()] == ["RETURNED"]


def test_a_deletion_from_elsewhere_is_not_undone(mount: Editing, memory: Path, backup: Path) -> None:
    mount.execute("delete", path="/memories/notes.md")
    eventually(lambda: json.loads((mount.path / ".memfs/status").read_text())["parked"], [])
    assert not memory.exists()
    assert backup.read_text() == OLD
    memory.write_text(NEW)
    assert mount.stored()["notes.md"] == NEW


def test_a_rename_from_elsewhere_shows_it_where_it_is_now(mount: Editing, memory: Path, backup: Path) -> None:
    mount.execute("rename", oldPath="/memories/notes.md", newPath="/memories/moved.md")
    eventually((mount.path / "moved.md").exists)
    assert (mount.path / "moved.md").read_text() == OLD
    assert not memory.exists()
    memory.write_text(NEW)
    assert mount.stored() == {"notes.md": NEW, "moved.md": OLD, "below/other.md": OLD}


def test_a_directory_at_its_name_ends_it(mount: Editing, memory: Path, backup: Path) -> None:
    memory.mkdir()
    assert operations(mount) == [("deleted", "notes.md")]
    (memory / "inside.md").write_text(NEW)
    assert mount.stored() == {"notes.md/inside.md": NEW, "below/other.md": OLD}
    assert backup.read_text() == OLD


def test_another_memory_at_its_name_ends_it(mount: Editing, memory: Path, backup: Path) -> None:
    before = mount.id_of("below/other.md")
    (mount.path / "below/other.md").rename(memory)
    assert operations(mount) == [("deleted", "notes.md"), ("renamed", "notes.md")]
    assert mount.id_of("notes.md") == before
    assert mount.stored() == {"notes.md": OLD}


def test_the_removal_of_its_directory_ends_it(mount: Editing) -> None:
    below = mount.path / "below"
    (below / "other.md").rename(mount.path / "other.md~")
    below.rmdir()
    assert operations(mount) == [("deleted", "below/other.md")]
    assert mount.listing() == {"notes.md", "other.md~"}


def test_it_goes_with_its_directory(mount: Editing) -> None:
    before = mount.id_of("below/other.md")
    (mount.path / "below/other.md").rename(mount.path / "below/other.md~")
    (mount.path / "below").rename(mount.path / "above")
    (mount.path / "above/other.md").write_text(NEW)
    assert mount.stored() == {"notes.md": OLD, "above/other.md": NEW}
    assert mount.id_of("above/other.md") == before
    assert (mount.path / "above/other.md~").read_text() == OLD


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["too large", "no text"])
def test_a_refused_new_file_brings_it_back(fault: str, mount: Editing, memory: Path, backup: Path) -> None:
    data = b"x" * 70_000 if fault == "too large" else b"\xff\xfe"
    assert errno_of(lambda: memory.write_bytes(data)) == (errno.EFBIG if len(data) > 10 else errno.EILSEQ)
    eventually(lambda: text_of(memory), OLD)
    assert operations(mount) == []
    assert backup.read_text() == OLD
    assert len(mount.rejected()) == 1


def test_a_new_file_that_is_removed_at_once_leaves_it_parked(editing: MakeEditing) -> None:
    """vim and Helix do this where the new file cannot be written, before they rename the backup back."""
    mount = editing(files={"notes.md": OLD})
    memory, backup = mount.path / "notes.md", mount.path / "notes.md~"
    memory.rename(backup)
    os.close(os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    memory.unlink(missing_ok=True)
    eventually(lambda: (memory.exists(), "notes.md" in mount.stored()), (False, False))
    assert mount.versions_of("notes.md")[0] == OLD


def test_an_heir_without_a_write_unlinked_while_open(mount: Editing, memory: Path, backup: Path) -> None:
    with open_fd(memory, os.O_WRONLY | os.O_CREAT | os.O_EXCL):
        memory.unlink()
    assert mount.stored()["notes.md"] == OLD
    backup.rename(memory)
    assert memory.read_text() == OLD
    assert operations(mount) == []


def test_two_at_once_are_two(mount: Editing) -> None:
    ids = [mount.id_of(name) for name in ("notes.md", "below/other.md")]
    (mount.path / "notes.md").rename(mount.path / "notes.md~")
    (mount.path / "below/other.md").rename(mount.path / "below/other.md~")
    (mount.path / "below/other.md").write_text("other " + NEW)
    (mount.path / "notes.md").write_text(NEW)
    assert mount.stored() == {"notes.md": NEW, "below/other.md": "other " + NEW}
    assert [mount.id_of(name) for name in ("notes.md", "below/other.md")] == ids


@pytest.mark.slow
def test_the_same_name_twice_over(mount: Editing, memory: Path, backup: Path) -> None:
    memory.write_text(NEW)
    memory.rename(backup)
    memory.write_text("the third line\n")
    assert operations(mount) == [("modified", "notes.md"), ("modified", "notes.md")]
    assert backup.read_text() == NEW


@pytest.mark.slow
def test_a_full_scope_has_room_for_what_was_parked(editing: MakeEditing) -> None:
    """Re-creating a parked name is no new file: nothing else leaves for it."""
    mount = editing(files={"a.md": OLD, "b.md": OLD}, constants=LONG, max_files=2)
    (mount.path / "b.md").rename(mount.path / "b.md~")
    (mount.path / "b.md").write_text(NEW)
    assert mount.stored() == {"a.md": OLD, "b.md": NEW}


def test_a_directory_of_memories_is_never_parked(mount: Editing) -> None:
    for name in ("below~", ".~tmp~", "below.bak~"):
        assert errno_of(lambda name=name: (mount.path / "below").rename(mount.path / name)) == errno.EINVAL  # type: ignore[misc]
    (mount.path / "below").rename(mount.path / "below.bak")
    assert mount.stored() == {"notes.md": OLD, "below.bak/other.md": OLD}


def test_the_port_still_has_it(mount: Editing, memory: Path, backup: Path) -> None:
    """An agent sees the old memory until the save is there: a creation by it would replace."""
    error = failure(mount.memory, "rename", oldPath="/memories/below/other.md", newPath="/memories/notes.md")
    assert error.code is ErrorCode.ALREADY_EXISTS


@pytest.mark.slow
def test_a_name_whose_heir_is_given_up_late_is_a_deletion_all_the_same(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD}, constants={"memfs.mount.renames:PARKED_SECONDS": 0.3})
    memory = mount.path / "notes.md"
    memory.rename(mount.path / "notes.md~")
    heir = os.open(memory, os.O_RDWR | os.O_CREAT)
    time.sleep(1)  # nothing is due while the new file is there
    assert mount.stored() == {"notes.md": OLD}
    memory.unlink()
    os.close(heir)
    eventually(mount.stored, {})
    assert (mount.path / "notes.md~").read_text() == OLD
