"""The write-ahead log stays small under steady writing, and is folded in at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memfs import Memory
from memfs.stores.sqlite import store as sqlite_store
from memfs.stores.sqlite import upkeep
from tests.harness import must, texts
from tests.stores.harness import chain_lengths, files_of, open_pair, run_threads


@pytest.fixture(autouse=True)
def early_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "CHECKPOINT_BYTES", 600_000)
    monkeypatch.setattr(sqlite_store, "UPKEEP_EVERY", 32)


def write_steadily(memory: Memory, directory: Path, writes: int, size: int) -> int:
    """Write often; the largest size that the log had."""
    largest = 0
    for number in range(writes):
        must(memory, "create", path=f"/memories/{number % 10}.md", text=f"{number:08}" * (size // 8))
        largest = max(largest, files_of(directory).wal.stat().st_size)
    return largest


def beside(done: threading.Event, work: Callable[[], object]) -> Callable[[], None]:
    """Do *work* again and again until *done*."""

    def repeat() -> None:
        while not done.wait(0.001):
            work()

    return repeat


def until(done: threading.Event, work: Callable[[], object]) -> Callable[[], None]:
    """Do *work* once, and say that it is done."""

    def once() -> None:
        try:
            work()
        finally:
            done.set()

    return once


@pytest.mark.slow
def test_the_log_of_a_durable_writer_is_bounded_while_another_reads(tmp_path: Path) -> None:
    done, sizes = threading.Event(), []
    with open_pair(tmp_path)[0] as writer, open_pair(tmp_path)[0] as reader:
        run_threads(
            until(done, lambda: sizes.append(write_steadily(writer, tmp_path, 200, 60_000))),
            beside(done, lambda: texts(reader)),
        )
    assert sizes[0] < 5_000_000


@pytest.mark.slow
def test_the_log_of_a_relaxed_writer_is_bounded_by_upkeep_in_a_worker(tmp_path: Path) -> None:
    done, sizes = threading.Event(), []
    with open_pair(tmp_path, relaxed=True)[0] as writer, open_pair(tmp_path, relaxed=True)[0] as reader:
        run_threads(
            until(done, lambda: sizes.append(write_steadily(writer, tmp_path, 3_000, 4_000))),
            beside(done, lambda: texts(reader)),
            beside(done, writer.maintain),
        )
    assert sizes[0] < 16_000_000


@pytest.mark.slow
def test_the_log_of_a_relaxed_writer_is_bounded_where_nobody_calls_for_upkeep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LARGE_LOG_BYTES", 2_000_000)
    with open_pair(tmp_path, relaxed=True)[0] as writer:
        assert write_steadily(writer, tmp_path, 3_000, 4_000) < 16_000_000


def test_upkeep_after_a_burst_takes_its_time_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_pair(tmp_path, relaxed=True)[0] as writer:
        write_steadily(writer, tmp_path, 3 * upkeep.BATCH, 4_000)
        monkeypatch.setattr(upkeep, "RUN_SECONDS", 0.0)
        lengths = []
        for _ in range(4):
            writer.maintain()
            lengths.append(sum(length > 0 for length in chain_lengths(files_of(tmp_path).database)))
        assert 0 < lengths[0] < lengths[1] < lengths[2] == lengths[3]


def test_the_last_to_close_folds_the_log_in(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path, relaxed=True)
    with memory:
        must(memory, "create", path="/memories/a.md", text="x")
        assert files_of(tmp_path).wal.stat().st_size > 0
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".db", ".lock", ".notices"]


def test_a_log_that_was_folded_in_is_cut_short(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path, relaxed=True)
    with memory:
        write_steadily(memory, tmp_path, 100, 60_000)
        assert files_of(tmp_path).wal.stat().st_size > 6_000_000
        memory.maintain()
        assert files_of(tmp_path).wal.stat().st_size < 2_000_000
