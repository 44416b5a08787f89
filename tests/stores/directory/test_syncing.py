"""The disk's part of a change: it goes on beside the rest, and whoever asks learns how it ended."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode
from memfs.stores.directory import aside
from memfs.stores.directory.syncing import Syncing
from tests.harness import failure, must
from tests.stores.directory.harness import files_in, open_folder, staged, told

A = "/memories/a.md"


@pytest.fixture
def syncing() -> Syncing:
    return Syncing()


def test_files_and_directories_are_synced_and_closed(syncing: Syncing, tmp_path: Path) -> None:
    for descriptor in (
        os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT),
        os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY),
    ):
        syncing.begin(descriptor)
        syncing.join()
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            os.fstat(descriptor)
    syncing.join()  # there is nothing to wait for
    syncing.close()


def test_what_has_no_sync_says_so_at_the_end(syncing: Syncing) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    syncing.begin(writer)
    with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
        syncing.join()
    syncing.close()


def test_a_child_that_does_not_have_the_kernels_context_waits_itself(tmp_path: Path) -> None:
    syncing = Syncing()
    syncing.begin(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
    syncing.join()
    child = os.fork()
    if child == 0:
        syncing.begin(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
        syncing.join()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    syncing.close()


@pytest.mark.parametrize("failing", [1, 2], ids=["the bytes", "the name"])
def test_a_sync_that_fails_refuses_the_change(
    fast_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    memory, store = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="before")
        history, joins, join = told(store), 0, Syncing.join

        def fails(self: Syncing) -> None:
            nonlocal joins
            joins += 1
            join(self)
            if joins == failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

        with monkeypatch.context() as patched:
            patched.setattr(Syncing, "join", fails)
            assert failure(memory, "create", path=A, text="after").code is ErrorCode.STORAGE_ERROR
        assert files_in(fast_path) == {"a.md": "before"}
        assert told(store) == history
        memory.maintain()
        assert staged(fast_path) == []
        must(memory, "create", path=A, text="after")
    assert files_in(fast_path) == {"a.md": "after"}
