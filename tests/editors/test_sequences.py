"""Sequences of calls that a save is made of: what they come to depends on their order."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.looks import text_of
from tests.mount.harness import errno_of, eventually, open_fd

pytestmark = pytest.mark.slow

OLD = "the old line\n"


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount with one memory, notes.md."""
    return editing(files={"notes.md": OLD})


def replace(temporary: Path, memory: Path, data: bytes) -> None:
    """Write a temporary file and give it the memory's name."""
    temporary.write_bytes(data)
    temporary.rename(memory)


def test_synchronous_writes_are_one_version(mount: Editing) -> None:
    """IntelliJ opens with O_SYNC: the kernel then asks for an fsync after every write(2)."""
    with open_fd(mount.path / "notes.md", os.O_WRONLY | os.O_TRUNC | os.O_SYNC) as fd:
        os.write(fd, b"one\n")
        os.write(fd, b"two\n")
        assert mount.stored() == {"notes.md": OLD}
    assert mount.stored() == {"notes.md": "one\ntwo\n"}
    assert [change.operation for change in mount.changes()] == ["modified"]


def test_a_refused_synchronous_write_keeps_the_old_content(mount: Editing) -> None:
    fd = os.open(mount.path / "notes.md", os.O_WRONLY | os.O_TRUNC | os.O_SYNC)
    assert errno_of(lambda: [os.write(fd, b"x" * 6_000) for _ in range(12)]) == errno.EFBIG
    assert errno_of(lambda: os.close(fd)) == errno.EFBIG
    eventually(lambda: (mount.path / "notes.md").read_text(), OLD)
    assert mount.stored() == {"notes.md": OLD}


def test_a_replacement_with_the_same_bytes_is_no_version(mount: Editing) -> None:
    replace(mount.path / "notes.md.tmp", mount.path / "notes.md", OLD.encode())
    assert (mount.path / "notes.md").read_text() == OLD
    assert mount.changes() == []
    (mount.path / "notes.md").write_text("and it is a memory as before\n")
    eventually(lambda: mount.stored(), {"notes.md": "and it is a memory as before\n"})


def test_a_refused_replacement_of_a_memory_moved_away_brings_it_back(mount: Editing) -> None:
    """As ``sed -i.bak``: the backup has the name of the memory, and then its new content is refused."""
    memory, backup, temporary = (mount.path / name for name in ("notes.md", "notes.md.bak", "sedAAAAAA"))
    temporary.write_bytes(b"x" * 70_000)
    memory.rename(backup)
    assert errno_of(lambda: temporary.rename(memory)) == errno.EFBIG
    eventually(lambda: text_of(memory), OLD)
    backup.rename(memory)
    assert memory.read_text() == OLD
    assert mount.changes() == []


def test_a_refused_replacement_of_a_deleted_memory_brings_it_back(mount: Editing) -> None:
    memory, temporary = mount.path / "notes.md", mount.path / "notes.md.tmp"
    temporary.write_bytes(b"x" * 70_000)
    before = mount.id_of("notes.md")
    memory.unlink()
    assert errno_of(lambda: temporary.rename(memory)) == errno.EFBIG
    eventually(lambda: text_of(memory), OLD)
    assert [(change.operation, change.id) for change in mount.changes()] == [("restored", before)]
