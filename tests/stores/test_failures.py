"""A store that cannot write says so, changes nothing, and works again when the cause is gone."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memfs import OpenError
from memfs.opening import open_with
from memfs.port.errors import ErrorCode, StoreError
from memfs.stores.sqlite import store as sqlite_store
from memfs.stores.sqlite.upkeep import Upkeep
from tests.harness import failure, must, texts
from tests.stores.harness import files_of, open_pair, ordinary_user, small_disk

A, B, C = "/memories/a.md", "/memories/b.md", "/memories/c.md"


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that an ordinary user can reach and own, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def fill(disk: Path) -> Path:
    """A file that leaves no byte free."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


@pytest.mark.parametrize("relaxed", [False, True], ids=["durable", "relaxed"])
def test_a_full_disk_refuses_a_write_and_takes_it_when_there_is_room(tmp_path: Path, relaxed: bool) -> None:
    with small_disk(tmp_path):
        memory, _ = open_pair(tmp_path, relaxed)
        with memory:
            must(memory, "create", path=A, text="before")
            ballast = fill(tmp_path)
            for _ in range(3):
                error = failure(memory, "create", path=B, text="x" * 60_000)
                assert error.code is ErrorCode.STORAGE_ERROR
                assert "full" in error.message
            assert texts(memory) == {A: "before"}
            ballast.unlink()
            must(memory, "create", path=B, text="x" * 60_000)
        memory, _ = open_pair(tmp_path, relaxed)
        with memory:
            assert texts(memory) == {A: "before", B: "x" * 60_000}


def test_a_scope_that_a_full_disk_did_not_hold_can_be_made_later(tmp_path: Path) -> None:
    with small_disk(tmp_path):
        ballast = fill(tmp_path)
        with pytest.raises(OpenError) as refused:
            open_with(f"sqlite:{tmp_path}", "work", {})
        assert refused.value.error.code is ErrorCode.STORAGE_ERROR
        ballast.unlink()
        with open_with(f"sqlite:{tmp_path}", "work", {}) as memory:
            must(memory, "create", path=A, text="first")


def test_a_directory_that_may_not_be_written_refuses_a_new_scope(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        open_directory.chmod(0o500)
        with pytest.raises(StoreError, match="Permission denied") as refused:
            open_pair(open_directory)
        assert refused.value.code is ErrorCode.STORAGE_ERROR
        open_directory.chmod(0o700)
        memory, _ = open_pair(open_directory)
        with memory:
            must(memory, "create", path=A, text="first")


def test_a_database_that_may_not_be_written_refuses_writes_until_it_may(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_pair(open_directory)
        with memory:
            must(memory, "create", path=A, text="before")
        files_of(open_directory).database.chmod(0o400)
        memory, _ = open_pair(open_directory)
        with memory:
            assert texts(memory) == {A: "before"}
            error = failure(memory, "create", path=B, text="x")
            assert error.code is ErrorCode.STORAGE_ERROR
            assert "permissions" in error.message
        for path in open_directory.glob("*.db*"):
            path.chmod(0o600)
        memory, _ = open_pair(open_directory)
        with memory:
            must(memory, "create", path=B, text="after")


def test_a_database_that_may_not_be_read_is_no_damage(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_pair(open_directory)
        memory.close()
        files_of(open_directory).database.chmod(0)
        with pytest.raises(StoreError) as refused:
            open_pair(open_directory)
        assert refused.value.code is ErrorCode.STORAGE_ERROR


def test_a_file_in_the_place_of_the_store_directory_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    for url in (f"sqlite:{tmp_path}/notes", f"sqlite:{tmp_path}/notes/store"):
        with pytest.raises(OpenError) as refused:
            open_with(url, "work", {})
        assert refused.value.error.code is ErrorCode.STORAGE_ERROR
    assert (tmp_path / "notes").read_text() == "mine"


def test_another_program_that_keeps_the_database_locked_is_named_as_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "BUSY_MS", 20)
    memory, _ = open_pair(tmp_path)
    with memory:
        other = apsw.Connection(str(files_of(tmp_path).database))
        other.execute("BEGIN IMMEDIATE")
        error = failure(memory, "create", path=A, text="x")
        assert error.code is ErrorCode.STORAGE_ERROR
        assert "locked" in error.message
        other.close()
        must(memory, "create", path=A, text="x")


def test_a_write_stands_when_the_upkeep_after_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Upkeep) -> None:
        raise apsw.IOError("the disk is gone")

    monkeypatch.setattr(sqlite_store, "UPKEEP_EVERY", 2)
    monkeypatch.setattr(Upkeep, "run", fail)
    memory, _ = open_pair(tmp_path)
    with memory, caplog.at_level(logging.WARNING):
        for path in (A, B, C):
            must(memory, "create", path=path, text="x")
        assert texts(memory) == {A: "x", B: "x", C: "x"}
    assert "the disk is gone" in caplog.text


def test_a_watch_that_cannot_be_set_up_is_a_failure_of_the_store(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_pair(open_directory)
        with memory:
            open_directory.chmod(0o500)
            with pytest.raises(StoreError, match="Permission denied"):
                memory.watch(lambda: None)
            open_directory.chmod(0o700)
            memory.watch(lambda: None).close()


def test_a_store_whose_notice_cannot_be_removed_closes_all_the_same(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_pair(open_directory)
        must(memory, "create", path=A, text="x")
        files_of(open_directory).notices.chmod(0o500)
        memory.close()
        files_of(open_directory).notices.chmod(0o700)


def test_a_failure_shows_no_contents(open_directory: Path) -> None:
    with ordinary_user(open_directory):
        memory, _ = open_pair(open_directory)
        memory.close()
        files_of(open_directory).database.chmod(0o400)
        memory, _ = open_pair(open_directory)
        with memory:
            assert "secret" not in str(failure(memory, "create", path=A, text="secret").to_wire())


def test_a_closed_store_refuses_everything_and_opens_nothing_again(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path)
    must(memory, "create", path=A, text="x")
    memory.close()
    descriptors = len(os.listdir("/proc/self/fd"))
    for call in (store.load, store.sync, lambda: store.read(1, 1), lambda: list(store.history())):
        with pytest.raises(StoreError):
            call()
    memory.maintain()
    assert len(os.listdir("/proc/self/fd")) == descriptors
