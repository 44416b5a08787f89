"""Which memory a command is about, and what its paths mean."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from memfs import places
from memfs.cli import running
from memfs.cli.choose import Chosen, choose, port_path
from memfs.cli.complaint import Complaint
from memfs.places import MountPoint, resolve

WORK = Chosen("sqlite:/stores/work", "work")
HOME = Chosen("sqlite:/stores/home", "home")


class Mounts:
    """Mounts as both lists show them, without one: what is decided here asks nothing but the lists."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[MountPoint] = []
        monkeypatch.setattr(places, "mount_points", lambda: iter(self.points))

    def add(self, mountpoint: Path | str, memory: Chosen | None) -> None:
        """A mount; without a *memory* it is one that this user's list does not have."""
        self.points.append(MountPoint(str(mountpoint), "fuse.memfs", "memfs"))
        if memory is not None:
            running.record(running.Mount(str(mountpoint), *memory, pid=1, started=0.0, read_only=False))


@pytest.fixture
def mounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mounts:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Mounts(monkeypatch)


def options(memory: str | None = None, store: str | None = None, scope: str | None = None) -> Namespace:
    return Namespace(memory=memory, store=store, scope=scope)


def test_without_a_mount_it_is_the_default_memory(mounts: Mounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert choose(options(), "notes.md") == ("sqlite:/somewhere/memfs/store", "default")


def test_a_named_store_wins_over_every_mount(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mount").mkdir()
    mounts.add(tmp_path / "mount", WORK)
    monkeypatch.chdir(tmp_path / "mount")
    named = options(store="sqlite:/stores/home", scope="home")
    assert choose(named, "notes.md") == HOME
    assert port_path("notes.md", HOME) == "/memories/notes.md"
    assert choose(options(scope="other")).scope == "other"
    assert choose(options(store="simple:")) == ("simple:", "default")


def test_the_mount_that_holds_the_path_wins_over_the_working_directory(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, memory in (("a", WORK), ("b", HOME)):
        (tmp_path / name).mkdir()
        mounts.add(tmp_path / name, memory)
    monkeypatch.chdir(tmp_path / "a")
    inside_b = f"{tmp_path}/b/notes.md"
    assert choose(options(), inside_b) == HOME
    assert port_path(inside_b, HOME) == "/memories/notes.md"
    assert choose(options(), "../b/notes.md") == HOME
    assert choose(options(), "notes.md") == WORK
    assert choose(options(), "/memories/notes.md") == WORK
    assert choose(options()) == WORK
    monkeypatch.chdir(tmp_path)
    assert choose(options(), "a/notes.md") == WORK
    assert port_path("a/notes.md", WORK) == "/memories/notes.md"


def test_a_path_is_relative_to_the_working_directory_in_a_mount(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mount" / "people").mkdir(parents=True)
    mounts.add(tmp_path / "mount", WORK)
    monkeypatch.chdir(tmp_path / "mount" / "people")
    assert port_path("ann.md", WORK) == "/memories/people/ann.md"
    assert port_path("./", WORK) == "/memories/people"
    assert port_path("../notes.md", WORK) == "/memories/notes.md"
    assert port_path("..", WORK) == "/memories"
    assert port_path("/memories/notes.md", WORK) == "/memories/notes.md"
    assert port_path("../../notes.md", WORK) == "/memories/../../notes.md", "left for the port to refuse"
    assert port_path("", WORK) == "", "an unset variable is not the directory one is in"


def test_elsewhere_a_path_is_relative_to_the_root(mounts: Mounts, tmp_path: Path) -> None:
    assert port_path("notes.md", WORK) == "/memories/notes.md"
    assert port_path("./people/", WORK) == "/memories/people"
    assert port_path(".", WORK) == "/memories"
    for path in ("../x", "a/../x.md", "a/..", "a/../../x", "./a/../x.md"):
        assert port_path(path, WORK) == f"/memories/{path}", "left for the port to refuse"
    for path in ("a/../x.md", "a//x.md", "a/./x.md", "a/"):
        assert port_path(f"/memories/{path}", WORK) == f"/memories/{path}", "left for the port to refuse"
    assert port_path("/etc/passwd", WORK) == "/etc/passwd"
    assert port_path("/memories/../x", WORK) == "/memories/../x"


def test_a_mount_may_be_at_memories_itself(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts.add("/memories", WORK)
    monkeypatch.chdir(tmp_path)
    assert choose(options(), "/memories/a.md") == WORK
    assert port_path("/memories/a.md", WORK) == "/memories/a.md"
    assert port_path("/memories/../a.md", WORK) == "/memories/../a.md"
    assert port_path("/memories/a.md", HOME) == "/memories/a.md", "in the memory that was named"


def test_a_mount_is_found_through_a_link(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mount").mkdir()
    (tmp_path / "link").symlink_to("mount")
    mounts.add(tmp_path / "mount", WORK)
    assert choose(options(), f"{tmp_path}/link/a.md") == WORK
    assert port_path(f"{tmp_path}/link/a.md", WORK) == "/memories/a.md"


def test_a_path_in_the_mount_of_another_memory_is_refused(mounts: Mounts, tmp_path: Path) -> None:
    mounts.add(tmp_path / "mount", WORK)
    with pytest.raises(Complaint, match="mount of another memory"):
        port_path(f"{tmp_path}/mount/a.md", HOME)


def test_a_mount_that_the_list_does_not_have_is_not_taken_for_the_default(
    mounts: Mounts, tmp_path: Path
) -> None:
    mounts.add(tmp_path / "mount", None)
    with pytest.raises(Complaint, match="--store and --scope"):
        choose(options(), f"{tmp_path}/mount/a.md")


def test_a_memory_that_lives_in_its_mount_has_no_other_door(mounts: Mounts, tmp_path: Path) -> None:
    mounts.add(tmp_path / "mount", Chosen("simple:", "default"))
    with pytest.raises(Complaint, match="work in the directory"):
        choose(options(), f"{tmp_path}/mount/a.md")


def test_a_record_that_is_no_record_counts_for_nothing(mounts: Mounts, tmp_path: Path) -> None:
    mounts.add(tmp_path / "mount", WORK)
    file = running.directory_of(str(tmp_path / "mount")) / "mount.json"
    assert file.stat().st_mode & 0o777 == 0o600
    for content in ("", "[]", "{}", file.read_text().replace("1", '"1"'), file.read_text()[:-5]):
        file.write_text(content)
        assert running.recorded_at(str(tmp_path / "mount")) is None
        assert list(running.recorded()) == []


def test_a_working_directory_that_is_gone_is_in_no_mount(
    mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert choose(options(), "a.md").scope == "default"
    assert port_path("a.md", WORK) == "/memories/a.md"


def test_links_are_followed_as_the_kernel_does(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "absolute").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "up").symlink_to("../a/b/..")
    (tmp_path / "loop").symlink_to("loop")
    for path in (
        "absolute/b",
        "a/up/b",
        "a/./b/../up",
        "absolute/../absolute",
        "missing/x",
        "a/missing/../b",
    ):
        assert resolve(f"{tmp_path}/{path}") == os.path.realpath(tmp_path / path)
    assert resolve(f"{tmp_path}/loop/x") == f"{tmp_path}/loop/x"
    assert resolve("/") == resolve("/..") == "/"
