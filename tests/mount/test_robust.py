"""Faults that somebody found who set out to break the mount: the right behaviour, kept."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, errno_of, eventually, write

DEEPEST = 504
"""Directories of one letter below the root, so that a file still fits into 1,024 bytes."""


def descend(directory: Path, name: str, most: int) -> int:
    """Make directories in each other until it is refused, and say how many; from the top, back again."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    os.chdir(directory)
    try:
        for depth in range(most):
            refused = errno_of(lambda: os.mkdir(name))
            if refused:
                assert refused == errno.ENAMETOOLONG
                return depth
            os.chdir(name)
        return most
    finally:
        os.fchdir(here)
        os.close(here)


@pytest.mark.slow
def test_scratch_directories_are_no_deeper_than_a_path_is_long(mounting: Mounting) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "a")
    (mounted.path / ".obsidian").mkdir()
    assert descend(mounted.path / ".obsidian", "x", 1000) < 520
    mounted.remount()
    assert (mounted.path / "a.md").read_text() == "a"


def test_a_tree_that_only_the_mount_knows_does_not_move_beyond_the_longest_path(mount: Mounted) -> None:
    descend(mount.path, "d", 300)
    (mount.path / "e").mkdir()
    descend(mount.path / "e", "e", 300)
    bottom = mount.path.joinpath(*["d"] * 300)
    assert errno_of(lambda: os.rename(mount.path / "e", bottom / "e")) == errno.ENAMETOOLONG
    shutil.rmtree(mount.path / "e")
    shutil.rmtree(mount.path / "d")


def test_the_deepest_directory_takes_files_directories_and_renames(mount: Mounted) -> None:
    deep = "/".join(["d"] * DEEPEST)
    mount.execute("create", path=f"/memories/{deep}/x.md", text="x")
    eventually((mount.path / deep / "x.md").exists)
    write(mount.path / deep / "y.md", "y")
    (mount.path / deep / "q").mkdir()
    os.rename(mount.path / deep / "x.md", mount.path / deep / "z.md")
    assert sorted(os.listdir(mount.path / deep)) == ["q", "y.md", "z.md"]
    mount.execute("delete", path="/memories/d")


def test_a_damaged_journal_and_strange_files_are_no_obstacle(mounting: Mounting, tmp_path: Path) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "a")
    write(mounted.path / ".a.md.swp", "swap")
    mounted.stop()
    (journal,) = tmp_path.rglob("local.jsonl")
    with journal.open("a") as lines:
        for line in (5, [1, "directory"], ["/memories/x", "link", 1, 2, 3], ["/memories/y", "?"], [], "text"):
            lines.write(json.dumps(line) + "\n")
        lines.write('["/memories/z", "file", 384, "../../secret", 0]\n{')
    (journal.parent / "scratch" / ".directory").touch()
    (journal.parent / "scratch" / "ff").mkdir()
    mounted.start()
    assert sorted(os.listdir(mounted.path)) == [".a.md.swp", "a.md"]
    assert (mounted.path / ".a.md.swp").read_text() == "swap"
    write(mounted.path / ".b.md.swp", "another")


def test_a_store_that_is_removed_beneath_the_mount_takes_no_save(mounting: Mounting, tmp_path: Path) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "old")
    (store,) = tmp_path.rglob("store")
    store.rename(store.with_name("elsewhere"))
    assert errno_of(lambda: write(mounted.path / "a.md", "new")) == errno.EIO
    assert (mounted.path / "a.md").read_text() == "old"
    events = (mounted.path / ".memfs" / "events").read_text().splitlines()
    assert any(json.loads(event)["code"] == "UNSAFE_STORAGE" for event in events)
    (kept,) = (mounted.path / ".memfs" / "rejected").iterdir()
    assert kept.read_text() == "new"


def test_an_internal_fault_in_a_commit_loses_nothing(mounting: Mounting, tmp_path: Path) -> None:
    flag = tmp_path / "broken"
    mounted = mounting(faults={"memfs.stores.sqlite.store:SqliteStore.commit": str(flag)})
    write(mounted.path / "a.md", "an old text")
    flag.touch()
    fd = os.open(mounted.path / "a.md", os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b"new")
    assert errno_of(lambda: os.fsync(fd)) == errno.EIO
    assert errno_of(lambda: os.close(fd)) == errno.EIO
    flag.unlink()
    eventually((mounted.path / "a.md").read_text, "an old text")
    (kept,) = (mounted.path / ".memfs" / "rejected").iterdir()
    assert kept.read_text() == "new"
    write(mounted.path / "a.md", "good")
    assert mounted.text(mounted.path / "a.md") == "good"
