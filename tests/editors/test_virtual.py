"""``.memfs``: what the mount says about itself, reachable by name and never in the way."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import errno_of, eventually, open_fd, run


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount with two memories."""
    return editing(files={"first.md": "one\n", "second.md": "two\n"})


@pytest.fixture
def own(mount: Editing) -> Path:
    """The directory."""
    return mount.path / ".memfs"


def status(own: Path) -> dict[str, Any]:
    told = json.loads((own / "status").read_text())
    assert isinstance(told, dict)
    return told


def test_it_is_reachable_and_not_listed(mount: Editing, own: Path) -> None:
    assert own.is_dir()
    assert mount.listing() == {"first.md", "second.md"}
    assert run("ls", "-a", mount.path).split() == [".", "..", "first.md", "second.md"]
    assert run("find", mount.path, "-name", "status") == ""


@pytest.mark.slow
def test_a_recursive_removal_takes_the_memories_and_not_it(mount: Editing, own: Path) -> None:
    run("sh", "-c", 'rm -r "$0"/*', mount.path)
    assert mount.listing() == set()
    assert (own / "README").exists()


def test_it_is_listed_when_it_is_asked_for(own: Path) -> None:
    names = {path.name for path in own.iterdir()}
    assert names >= {"README", "status", "events", "rejected"}
    for name in ("README", "status", "events"):
        found = (own / name).stat()
        assert stat.S_ISREG(found.st_mode)
        assert stat.S_IMODE(found.st_mode) == 0o444
        assert found.st_size == len((own / name).read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda own: (own / "status").write_text("x"),
        lambda own: (own / "status").unlink(),
        lambda own: (own / "new.md").write_text("x"),
        lambda own: (own / "new").mkdir(),
        lambda own: (own / "rejected").rmdir(),
        lambda own: (own / "README").rename(own / "README.md"),
        lambda own: (own / "README").rename(own.parent / "README.md"),
        lambda own: (own.parent / "first.md").rename(own / "first.md"),
        lambda own: os.truncate(own / "events", 0),
        lambda own: (own / "events").chmod(0o666),
        lambda own: os.utime(own / "events", (1, 1)),
        lambda own: os.symlink("x", own / ".#x"),
    ],
)
def test_it_is_read_only(change: Callable[[Path], object], own: Path) -> None:
    assert errno_of(lambda: change(own)) in (errno.EROFS, errno.EACCES, errno.EXDEV)


def test_its_name_is_taken(mount: Editing, own: Path) -> None:
    assert errno_of(own.mkdir) == errno.EEXIST
    assert errno_of(own.rmdir) in (errno.EROFS, errno.EBUSY)
    assert errno_of(lambda: own.rename(mount.path / "x")) in (errno.EROFS, errno.EBUSY)
    (mount.path / "below").mkdir()
    assert not (mount.path / "below/.memfs").exists()
    assert errno_of((mount.path / "below/.memfs").mkdir) == errno.EINVAL


def test_the_readme_tells_a_stranger_what_to_do(own: Path) -> None:
    text = (own / "README").read_text()
    for word in ("events", "rejected", "status", "UTF-8", "never overwrite"):
        assert word in text
    assert len(text.splitlines()) <= 40


def test_the_status_is_true(mount: Editing, own: Path) -> None:
    told = status(own)
    assert told["scope"] == "work"
    assert told["policy"]["max_file_bytes"] == 65_536
    assert told["use"] == {"files": 2, "totalBytes": 8}
    assert told["leavesNext"] == "/memories/first.md"
    assert told["store"]["state"] == "ok"
    (mount.path / "first.md").write_text("one again\n")
    (mount.path / "second.md~").write_bytes(bytes(1000))
    with open_fd(mount.path / "second.md", os.O_WRONLY) as fd:
        os.write(fd, b"x")
        later = status(own)
        assert later["openFiles"] == 1
        assert later["beingWritten"] == ["/memories/second.md"]
    assert later["leavesNext"] == "/memories/second.md"
    assert later["version"] == told["version"] + 1
    assert later["scratch"]["usedBytes"] == 1000


def test_nothing_of_it_stays_in_the_kernels_cache(mount: Editing, own: Path) -> None:
    with open_fd(own / "status", os.O_RDONLY) as fd:
        before = json.loads(os.pread(fd, 100_000, 0))
        mount.execute("create", path="/memories/third.md", text="three\n")
        eventually(lambda: json.loads(os.pread(fd, 100_000, 0))["version"], before["version"] + 1)
    mount.execute("create", path="/memories/fourth.md", text="four\n")
    eventually(lambda: status(own)["use"]["files"], 4)
    assert (own / "status").stat().st_size == len((own / "status").read_bytes())


def test_events_can_be_followed(mount: Editing, own: Path) -> None:
    tail = subprocess.Popen(["tail", "-n", "+1", "-s", "0.1", "-f", own / "events"], stdout=subprocess.PIPE)
    try:
        assert tail.stdout is not None
        for name in ("photo.png", "report.docx"):
            assert errno_of(lambda name=name: (mount.path / name).touch()) == errno.EINVAL  # type: ignore[misc]
            assert json.loads(tail.stdout.readline())["path"] == f"/memories/{name}"
    finally:
        tail.kill()
        tail.communicate()


def test_a_search_through_the_mount_does_not_meet_it(mount: Editing) -> None:
    assert run("grep", "-r", "-l", "one", mount.path).splitlines() == [str(mount.path / "first.md")]
    assert run("du", "-a", mount.path).count("\n") == 3
