"""A disk that is full or read-only, rights that are missing: warnings, the path, and nothing half-made."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workspace.conftest import Workspace, as_ordinary_user, names, picture

ALL = {"memory", "memory/index.md", "memory/.meta", "memory/.meta/index.json"}
Disk = Callable[[str], Workspace]


@pytest.fixture
def disk(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Disk]:
    """Makes a workspace on a filesystem of its own, in memory, with the options given."""
    mounted: list[Path] = []

    def mount(options: str) -> Workspace:
        place = tmp_path / "disk"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"machine: no filesystem of one's own can be mounted: {done.stderr.splitlines()[:1]}")
        mounted.append(place)
        (place / "agent").mkdir()
        return Workspace(place / "agent", caplog)

    yield mount
    for place in mounted:
        subprocess.run(["umount", place], check=True)


def starting_with(warnings: list[str], *places: Path) -> list[str]:
    """The warnings, which are one for each of *places*, in this order."""
    assert [warning.split(" could not be used: ")[0] for warning in warnings] == [
        str(place) for place in places
    ]
    return warnings


def test_a_parent_that_is_read_only(public: Workspace) -> None:
    public.path.rmdir()
    public.path.parent.chmod(0o555)
    before = picture(public.path.parent)
    (warning,) = starting_with(as_ordinary_user(public.ensure), public.path)
    assert "Permission denied" in warning
    assert picture(public.path.parent) == before


def test_a_workspace_that_is_read_only(public: Workspace) -> None:
    (public.path / "MEMORY.md").write_bytes(b"old")
    public.path.chmod(0o555)
    before = picture(public.path)
    (warning,) = starting_with(as_ordinary_user(public.ensure), public.memory)
    assert "Permission denied" in warning
    assert picture(public.path) == before


def test_a_memory_that_is_read_only_and_complete_is_no_reason_to_warn(public: Workspace) -> None:
    assert as_ordinary_user(public.ensure) == []
    for folder in (public.memory / ".meta", public.memory, public.path, public.path.parent):
        folder.chmod(0o555)
    before = picture(public.path)
    assert as_ordinary_user(public.ensure) == []
    assert picture(public.path) == before


def test_a_memory_that_is_read_only_and_empty(public: Workspace) -> None:
    public.memory.mkdir(mode=0o555)
    before = picture(public.path)
    starting_with(as_ordinary_user(public.ensure), public.memory / "index.md", public.memory / ".meta")
    assert picture(public.path) == before


def test_an_old_memory_that_cannot_be_read_makes_no_index(public: Workspace) -> None:
    """A stub now would hide for ever that there is something to begin with."""
    old = public.path / "MEMORY.md"
    old.write_bytes(b"old")
    old.chmod(0)
    (warning,) = starting_with(as_ordinary_user(public.ensure), old)
    assert "Permission denied" in warning
    assert names(public.path) == ALL - {"memory/index.md"} | {"MEMORY.md"}
    old.chmod(0o644)
    assert as_ordinary_user(public.ensure) == []
    assert (public.memory / "index.md").read_bytes() == b"old"


def test_a_filesystem_that_is_read_only(disk: Disk) -> None:
    workspace = disk("size=1m")
    subprocess.run(["mount", "-o", "remount,ro", workspace.path.parent], check=True)
    (warning,) = starting_with(workspace.ensure(), workspace.memory)
    assert "Read-only file system" in warning


def test_a_disk_that_is_full(disk: Disk) -> None:
    workspace = disk("size=64k")
    with pytest.raises(OSError, match="No space"):
        (workspace.path / "full").write_bytes(bytes(1 << 20))
    warnings = starting_with(
        workspace.ensure(), workspace.memory / "index.md", workspace.memory / ".meta" / "index.json"
    )
    assert all("No space left" in warning for warning in warnings)
    assert names(workspace.path) == {"full", "memory", "memory/.meta"}
    (workspace.path / "full").unlink()
    assert workspace.ensure() == []
    assert names(workspace.path) == ALL


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_a_disk_that_becomes_full_in_the_middle(
    disk: Disk, unnamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not unnamed:
        monkeypatch.setattr("memfs.workspace._LINKED_FROM", "/nowhere")
    workspace = disk("size=4m")
    (workspace.path / "MEMORY.md").write_bytes(bytes(2_500_000))
    (warning,) = starting_with(workspace.ensure(), workspace.memory / "index.md")
    assert "No space left" in warning
    assert names(workspace.path) == ALL - {"memory/index.md"} | {"MEMORY.md"}
    used = os.statvfs(workspace.path)
    assert (used.f_blocks - used.f_bfree) * used.f_frsize < 3_000_000, "what was begun is still there"
    (workspace.path / "MEMORY.md").write_bytes(b"shorter")
    assert workspace.ensure() == []
    assert (workspace.memory / "index.md").read_bytes() == b"shorter"


@pytest.mark.parametrize("inodes", range(2, 7))
def test_a_disk_that_takes_no_more_files(disk: Disk, inodes: int) -> None:
    workspace = disk(f"size=1m,nr_inodes={inodes}")
    warnings = workspace.ensure()
    assert all("No space left" in warning for warning in warnings)
    assert bool(warnings) == (names(workspace.path) != ALL)
    for file in workspace.path.rglob("index.*"):
        assert file.stat().st_size > 0
