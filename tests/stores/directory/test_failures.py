"""A folder that cannot be written says so, changes nothing, and works again when the cause is gone."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memfs import Limits
from memfs.port.errors import ErrorCode, StoreError
from memfs.stores.directory import folder as folder_module
from tests.harness import failure, must, texts
from tests.stores.directory.harness import files_in, open_folder, staged, told
from tests.stores.harness import ordinary_user, small_disk
from tests.stores.test_failures import fill

A, B, D = "/memories/a.md", "/memories/b.md", "/memories/d"


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that an ordinary user can reach and own, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


@pytest.mark.parametrize("relaxed", [False, True], ids=["durable", "relaxed"])
def test_a_full_disk_refuses_a_write_and_takes_it_when_there_is_room(tmp_path: Path, relaxed: bool) -> None:
    with small_disk(tmp_path):
        memory, _ = open_folder(tmp_path, relaxed)
        with memory:
            must(memory, "create", path=A, text="before")
            ballast = fill(tmp_path)
            for text in ("x" * 60_000, "y" * 40_000):
                error = failure(memory, "create", path=A, text=text)
                assert error.code is ErrorCode.STORAGE_ERROR
                assert "full" in error.message
                assert failure(memory, "create", path=f"{D}/b.md", text=text).code is ErrorCode.STORAGE_ERROR
            assert (tmp_path / "a.md").read_text() == "before"
            assert not (tmp_path / "d").exists()
            assert staged(tmp_path) == []
            ballast.unlink()
            must(memory, "create", path=A, text="x" * 60_000)
        memory, _ = open_folder(tmp_path, relaxed)
        with memory:
            assert texts(memory) == {A: "x" * 60_000}


def test_a_directory_that_may_not_be_written_refuses_and_the_others_take_changes(
    open_directory: Path,
) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_folder(open_directory)
        with memory:
            must(memory, "create", path=f"{D}/x.md", text="before")
            (open_directory / "d").chmod(0o500)
            for command, fields in (
                ("create", {"path": f"{D}/x.md", "text": "after"}),
                ("create", {"path": f"{D}/y.md", "text": "after"}),
                ("delete", {"path": D}),
                ("rename", {"oldPath": D, "newPath": "/memories/e"}),
            ):
                error = failure(memory, command, **fields)
                assert error.code is ErrorCode.STORAGE_ERROR
                assert "permissions" in error.message
            must(memory, "create", path=A, text="x")
            assert files_in(open_directory) == {"a.md": "x", "d/x.md": "before"}
            (open_directory / "d").chmod(0o700)
            must(memory, "create", path=f"{D}/x.md", text="after")
            assert texts(memory) == {A: "x", f"{D}/x.md": "after"}


def test_a_folder_that_may_not_be_written_is_no_store(open_directory: Path) -> None:
    (open_directory / "a.md").write_text("theirs")
    with ordinary_user(open_directory):
        open_directory.chmod(0o500)
        with pytest.raises(StoreError, match="Permission denied"):
            open_folder(open_directory)
        open_directory.chmod(0o700)
    assert [path.name for path in open_directory.iterdir()] == ["a.md"]


@pytest.mark.parametrize("failing", range(1, 5))
def test_a_change_of_several_files_that_fails_half_way_is_taken_back(
    failing: int, fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, store = open_folder(fast_path, limits=Limits(max_files=4))
    with memory:
        for name in ("x", "y", "z", "e/w"):
            must(memory, "create", path=f"{D}/{name}.md", text=name)
        before, history = files_in(fast_path), told(store)
        rename, calls = folder_module._rename, 0

        def fails(*arguments: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            rename(*arguments)

        with monkeypatch.context() as patched:
            patched.setattr(folder_module, "_rename", fails)
            error = failure(memory, "rename", oldPath=D, newPath="/memories/new/place")
        assert error.code is ErrorCode.STORAGE_ERROR
        assert files_in(fast_path) == before
        assert not (fast_path / "new").exists()
        assert staged(fast_path) == []
        assert told(store) == history
        must(memory, "rename", oldPath=D, newPath="/memories/new/place")
        assert len(texts(memory)) == 4


def test_a_file_system_that_cannot_exchange_says_what_to_do(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="before")

        def fails(*_: Any) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        monkeypatch.setattr(folder_module, "_rename", fails)
        assert "sqlite:" in failure(memory, "create", path=A, text="after").message
        assert texts(memory) == {A: "before"}


def test_a_folder_that_was_moved_away_takes_no_change_elsewhere(fast_path: Path) -> None:
    folder = fast_path / "folder"
    memory, _ = open_folder(folder)
    with memory:
        must(memory, "create", path=A, text="before")
        folder.rename(fast_path / "moved")
        folder.mkdir()
        must(memory, "create", path=A, text="after")
        assert files_in(fast_path / "moved") == {"a.md": "after"}
        assert list(folder.iterdir()) == []


def test_a_database_that_was_removed_is_noticed(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="before")
        (fast_path / ".meta/memfs.db").unlink()
        error = failure(memory, "create", path=A, text="after")
        assert error.code is ErrorCode.UNSAFE_STORAGE
        assert str(fast_path / ".meta/memfs.db") in error.message
        assert (fast_path / "a.md").read_text() == "before"


@pytest.mark.parametrize("name", [".meta", ".meta/staged"])
def test_a_record_that_was_moved_away_is_noticed(fast_path: Path, name: str) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="before")
        (fast_path / name).rename(fast_path / ".elsewhere")
        error = failure(memory, "create", path=A, text="lost")
        assert error.code is ErrorCode.UNSAFE_STORAGE
        assert str(fast_path / ".meta") in error.message
        memory_again, _ = open_folder(fast_path)
        with memory_again:
            must(memory_again, "create", path=A, text="after")
        assert failure(memory, "create", path=A, text="lost").code is ErrorCode.UNSAFE_STORAGE
    assert (fast_path / "a.md").read_text() == "after"
