"""Old scratch is swept: locks at once, temporaries after a day, swap files and backups after a week."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memfs.mount import scratch
from memfs.mount.scratch import Kept
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import eventually, open_fd

pytestmark = pytest.mark.slow

HOUR, DAY = 3600, 24 * 3600


def grow_old(mount: Editing, seconds: float) -> None:
    """Everything in the mount's scratch, which is not mounted, is older by so much."""
    then = time.time() - seconds
    for path in (mount.state / "scratch").iterdir():
        os.utime(path, (then, then))
    journal = mount.state / "local.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    old = [[*line[:-1], line[-1] - int(seconds * 1e9)] if len(line) > 1 else line for line in lines]
    journal.write_text("".join(json.dumps(line) + "\n" for line in old))


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (0, {"notes.md.tmp", ".notes.md.swp", "notes.md~", ".~tmp~", ".~tmp~/a.md", ".idea", ".idea/a.xml"}),
        (DAY + 1, {".notes.md.swp", "notes.md~", ".idea", ".idea/a.xml"}),
        (7 * DAY + 1, {".idea", ".idea/a.xml"}),
    ],
)
def test_what_a_mount_finds_is_swept_by_age(seconds: int, left: set[str], editing: MakeEditing) -> None:
    mount = editing()
    for name in ("notes.md.tmp", ".notes.md.swp", "notes.md~", "#lock"):
        (mount.path / name).write_bytes(b"x")
    os.symlink("somebody", mount.path / ".#notes.md")
    for name in (".~tmp~/a.md", ".idea/a.xml"):
        (mount.path / name).parent.mkdir()
        (mount.path / name).write_bytes(b"x")
    mount.stop()
    grow_old(mount, seconds)
    mount.start()
    assert mount.listing() == left
    assert len(mount.scratch()) == sum(1 for name in left if (mount.path / name).is_file())


def test_a_write_makes_it_young_again(editing: MakeEditing) -> None:
    mount = editing()
    (mount.path / "notes.md~").write_bytes(b"x")
    mount.stop()
    grow_old(mount, 6 * DAY)
    mount.start()
    assert (mount.path / "notes.md~").stat().st_mtime < time.time() - 5 * DAY
    with open_fd(mount.path / "notes.md~", os.O_WRONLY | os.O_APPEND) as fd:
        os.write(fd, b"y")
    mount.stop()
    grow_old(mount, 6 * DAY)
    mount.start()
    assert (mount.path / "notes.md~").read_bytes() == b"xy"


def test_it_goes_on_while_mounted_but_never_takes_what_is_open(editing: MakeEditing) -> None:
    mount = editing(constants={"memfs.mount.sweep:SWEEP_SECONDS": 0.1})
    for name in ("open.tmp", "closed.tmp", "young.tmp"):
        (mount.path / name).write_bytes(b"x")
    os.symlink("somebody", mount.path / ".#notes.md")
    then = time.time() - 2 * DAY
    with open_fd(mount.path / "open.tmp", os.O_RDWR) as fd:
        files = sorted((mount.state / "scratch").iterdir(), key=lambda path: int(path.name, 16))
        for path in files[:2]:
            os.utime(path, (then, then))
        eventually(mount.listing, {"open.tmp", "young.tmp", ".#notes.md"})
        assert os.pread(fd, 1, 0) == b"x"
    eventually(mount.listing, {"young.tmp", ".#notes.md"})
    (mount.path / "closed.tmp").write_bytes(b"again")
    assert (mount.path / "closed.tmp").read_bytes() == b"again"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        (".notes.md.swp", Kept.RECOVERY),
        (".notes.md.un~", Kept.RECOVERY),
        ("notes.md~", Kept.RECOVERY),
        ("notes.md.bak", Kept.RECOVERY),
        ("notes.md.orig", Kept.RECOVERY),
        ("#notes.md#", Kept.RECOVERY),
        (".notes.md.kate-swp", Kept.RECOVERY),
        ("DEADJOE", Kept.RECOVERY),
        (".#notes.md", Kept.LOCK),
        (".~lock.notes.md#", Kept.LOCK),
        ("notes.md.tmp.12.ab", Kept.TEMPORARY),
        ("sedAAAAAA", Kept.TEMPORARY),
        ("4913", Kept.TEMPORARY),
        (".goutputstream-AAAAAA", Kept.TEMPORARY),
        (".~tmp~", Kept.TEMPORARY),
        (".obsidian", Kept.ALWAYS),
        ("a name of more_scratch", Kept.TEMPORARY),
    ],
)
def test_a_name_says_for_how_long(name: str, kept: Kept) -> None:
    assert scratch.kept_for(name) is kept


def test_nothing_of_a_directory_of_memories_is_swept(editing: MakeEditing) -> None:
    mount = editing(files={"below/notes.md": "old\n"})
    (mount.path / "empty").mkdir()
    (mount.path / "below/notes.md~").write_bytes(b"x")
    mount.stop()
    grow_old(mount, 365 * DAY)
    mount.start()
    assert mount.listing() == {"empty", "below", "below/notes.md"}
    assert Path(mount.path / "below/notes.md").read_text() == "old\n"
