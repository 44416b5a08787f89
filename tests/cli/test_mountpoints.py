"""Which directory is mounted on where none is named, and who may be in the way: without a mount."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memfs.mount import lifecycle
from memfs.mount.lifecycle import Health, MountpointError, check_apart, default_mountpoint, prepare, probe

pytestmark = pytest.mark.slow


@pytest.fixture
def preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /memories."""
    monkeypatch.setattr(lifecycle, "PREFERRED", str(tmp_path / "memories"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "memories"


def test_memories_is_mounted_on_where_it_is_the_users(preferred: Path) -> None:
    preferred.mkdir()
    assert default_mountpoint() == str(preferred)


def test_a_link_there_is_followed(preferred: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    preferred.symlink_to("elsewhere")
    assert default_mountpoint() == str(tmp_path / "elsewhere")


def test_a_file_there_is_left_alone(preferred: Path, tmp_path: Path) -> None:
    preferred.write_text("")
    assert default_mountpoint() == str(tmp_path / "home" / "memories")


@pytest.mark.skipif(os.geteuid() != 0, reason="machine: only root can give a directory away")
def test_the_directory_of_another_user_is_left_alone(preferred: Path, tmp_path: Path) -> None:
    preferred.mkdir()
    os.chown(preferred, 12345, 12345)
    assert default_mountpoint() == str(tmp_path / "home" / "memories")


def test_where_there_is_none_it_is_made_by_who_may(preferred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for may, chosen in ((True, str(preferred)), (False, os.path.expanduser("~/memories"))):
        monkeypatch.setattr(os, "access", lambda path, mode, may=may: may and path == "/")
        assert default_mountpoint() == chosen


def test_an_empty_directory_is_made_where_it_is_missing(tmp_path: Path) -> None:
    assert prepare(str(tmp_path / "new")) is True
    assert prepare(str(tmp_path / "new")) is False
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    with pytest.raises(MountpointError, match="does not exist"):
        prepare(str(tmp_path / "a" / "b"))


def test_data_and_mount_are_kept_apart() -> None:
    check_apart("/a/mount", "the store", "/a/store")
    check_apart("/a/mount", "the store", "/a/mount-store")
    for store in ("/a/mount", "/a/mount/store"):
        with pytest.raises(MountpointError, match="would cover the store"):
            check_apart("/a/mount", "the store", store)


def test_an_ordinary_directory_is_alive(tmp_path: Path) -> None:
    assert probe(str(tmp_path)) is Health.ALIVE
