"""The rename table, cell by cell, and the saves that stay loud because a rename never overwrites."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.editors.harness import Editing
from tests.mount.harness import errno_of, eventually, run

pytestmark = pytest.mark.slow

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4


class Cell(NamedTuple):
    """What a rename comes to: an errno, and what is where afterwards."""

    source: str
    target: str
    exists: bool
    number: int = 0
    stored: dict[str, str] = {}  # noqa: RUF012 - never changed


SCRATCH, MEMORY, OTHER = "notes.md.tmp", "notes.md", "other.md"
CELLS = (
    Cell(SCRATCH, MEMORY, False, 0, {MEMORY: SCRATCH}),
    Cell(SCRATCH, MEMORY, True, 0, {MEMORY: SCRATCH}),
    Cell(MEMORY, OTHER, False, 0, {OTHER: MEMORY}),
    Cell(MEMORY, OTHER, True, errno.EEXIST, {MEMORY: MEMORY, OTHER: OTHER}),
    Cell(MEMORY, SCRATCH, False, 0, {MEMORY: MEMORY}),
    Cell(MEMORY, SCRATCH, True, 0, {MEMORY: MEMORY}),
    Cell(SCRATCH, "notes.md~", False, 0, {}),
    Cell(SCRATCH, "notes.md~", True, 0, {}),
    Cell(MEMORY, "photo.png", False, errno.EINVAL, {MEMORY: MEMORY}),
    Cell(SCRATCH, "photo.png", False, errno.EINVAL, {}),
)


@pytest.mark.parametrize("flags", [0, NOREPLACE], ids=["rename", "RENAME_NOREPLACE"])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.source}-{cell.target}-{cell.exists}")
def test_the_table(cell: Cell, flags: int, shared: Editing, here: Path) -> None:
    """zed#52029 met EINVAL for RENAME_NOREPLACE, vllm semantic-router#4027 fell back to truncating."""
    source, target = here / cell.source, here / cell.target
    source.write_text(cell.source)
    if cell.exists:
        target.write_text(cell.target)
    number = errno.EEXIST if flags and cell.exists else cell.number
    assert errno_of(lambda: renameat2(source, target, flags)) == number
    if number:
        assert source.read_text() == cell.source
        assert not cell.exists or target.read_text() == cell.target
    else:
        assert target.read_text() == cell.source
        assert not source.exists()
    if number == cell.number:
        assert stored(shared, here) == cell.stored


def stored(shared: Editing, here: Path) -> dict[str, str]:
    prefix = f"{here.name}/"
    return {
        name.removeprefix(prefix): text for name, text in shared.stored().items() if name.startswith(prefix)
    }


def renameat2(source: Path, target: Path, flags: int) -> None:
    """The system call that Python has no name for."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, bytes(source), -100, bytes(target), flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("flags", [EXCHANGE, WHITEOUT, EXCHANGE | NOREPLACE])
def test_other_kinds_of_renames_are_refused(flags: int, here: Path) -> None:
    for name in (MEMORY, OTHER):
        (here / name).write_text(name)
    assert errno_of(lambda: renameat2(here / MEMORY, here / OTHER, flags)) == errno.EINVAL
    assert [(here / name).read_text() for name in (MEMORY, OTHER)] == [MEMORY, OTHER]


@pytest.mark.parametrize("name", [MEMORY, SCRATCH])
def test_onto_itself_is_nothing(name: str, shared: Editing, here: Path) -> None:
    (here / name).write_text(name)
    shared.mark()
    (here / name).rename(here / name)
    assert (here / name).read_text() == name
    assert shared.changes() == []


def test_a_replacement_keeps_id_and_mode_and_brings_its_inode(shared: Editing, here: Path) -> None:
    """nextcloud/desktop#3240 and unison#215: it must not look like a deletion and a creation."""
    memory, temporary = here / MEMORY, here / SCRATCH
    memory.write_text("old\n")
    memory.chmod(0o640)
    temporary.write_text("new\n")
    temporary.chmod(0o600)
    before, inode = shared.id_of(f"{here.name}/{MEMORY}"), temporary.stat().st_ino
    shared.mark()
    temporary.rename(memory)
    assert [(change.operation, change.id) for change in shared.changes()] == [("modified", before)]
    found = memory.stat()
    eventually(lambda: stat.S_IMODE(memory.stat().st_mode), 0o640)
    assert found.st_ino == inode


@pytest.mark.parametrize(
    ("source", "target", "number"),
    [("a", "b", errno.EEXIST), ("a", "a/c", errno.EINVAL), ("a", "new", 0), ("a", "file.md", errno.EEXIST)],
)
def test_directories(source: str, target: str, number: int, shared: Editing, here: Path) -> None:
    for name in ("a", "b"):
        (here / name).mkdir()
        (here / name / "notes.md").write_text(name)
    (here / "file.md").write_text("file")
    found = errno_of(lambda: (here / source).rename(here / target))
    assert found in (number, errno.ENOTDIR) if number else found == 0
    assert (here / (source if number else target) / "notes.md").read_text() == source
    assert sorted(stored(shared, here).values()) == ["a", "b", "file"]


# What editors.md names as missed: a memory never takes another's place, and it is said aloud.


def refused(here: Path, *command: Any) -> str:
    """What *command* complains of; both memories are as they were."""
    (here / "a.md").write_text("a\n")
    (here / "b.md").write_text("b\n")
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0, "nobody was told"
    assert [(here / name).read_text() for name in ("a.md", "b.md")] == ["a\n", "b\n"]
    return done.stderr


@pytest.mark.parametrize("option", ["-f", "-T", "-v"])
def test_mv_does_not_overwrite(option: str, here: Path) -> None:
    assert "File exists" in refused(here, "mv", option, "a.md", "b.md")


def test_mv_n_leaves_both(here: Path) -> None:
    (here / "a.md").write_text("a\n")
    (here / "b.md").write_text("b\n")
    subprocess.run(["mv", "-n", "a.md", "b.md"], cwd=here, check=False, capture_output=True)
    assert [(here / name).read_text() for name in ("a.md", "b.md")] == ["a\n", "b\n"]


REPLACE = """
import os, tempfile
fd, name = tempfile.mkstemp(suffix='.md', dir='.')
os.write(fd, b'new')
os.close(fd)
os.replace(name, 'b.md')
"""
UNNAMED = """
import os
fd = os.open('.', os.O_TMPFILE | os.O_WRONLY)
os.write(fd, b'new')
os.link(f'/proc/self/fd/{fd}', 'b.md')
"""


def test_a_temporary_file_with_a_memorys_name_does_not_overwrite(shared: Editing, here: Path) -> None:
    assert "FileExistsError" in refused(here, "python3", "-c", REPLACE)
    assert "new" in stored(shared, here).values(), "what it wrote is a memory of its own"


def test_an_unnamed_temporary_file_is_not_supported(here: Path) -> None:
    """omacom/omawrite PR#50: QSaveFile must hear EOPNOTSUPP, and not ENOENT, to fall back."""
    assert "not supported" in refused(here, "python3", "-c", UNNAMED)


def test_mv_into_a_directory_and_back(shared: Editing, here: Path) -> None:
    (here / "a.md").write_text("a\n")
    (here / "archive").mkdir()
    run("mv", "a.md", "archive", cwd=here)
    run("mv", "archive/a.md", "b.md", cwd=here)
    assert stored(shared, here) == {"b.md": "a\n"}
    assert [change.operation for change in shared.changes()] == ["created", "renamed", "renamed"]
