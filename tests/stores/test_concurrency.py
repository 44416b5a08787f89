"""Several threads and processes at one scope: nothing acknowledged is lost, no update overtakes another."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memfs import Memory
from tests.harness import must, texts
from tests.stores.harness import DURABLE, open_pair, run_threads
from tests.stores.working import COUNTER, append_lines, count_up, create_files, lines_of, paths_of


def prepare(memory: Memory) -> None:
    must(memory, "create", path=COUNTER, text="count 0\n")
    must(memory, "create", path="/memories/log.md", text="")


def check(memory: Memory, workers: list[str], count: int) -> None:
    found = texts(memory)
    assert found.pop(COUNTER) == f"count {len(workers) * count}\n"
    log = found.pop("/memories/log.md").splitlines()
    for worker in workers:
        assert [line for line in log if line.split()[0] == worker] == lines_of(worker, count)
    assert len(log) == len(workers) * count
    assert found == {path: path for worker in workers for path in paths_of(worker, count)}


@pytest.mark.parametrize("kind", ["simple", *DURABLE])
def test_threads_share_one_memory(kind: str, fast_path: Path) -> None:
    with open_pair(fast_path, kind=kind)[0] as memory:
        prepare(memory)
        workers = ["one", "two", "three", "four"]

        def work(worker: str) -> None:
            create_files(memory, worker, 10)
            count_up(memory, 10)
            append_lines(memory, worker, 10)

        run_threads(*(lambda worker=worker: work(worker) for worker in workers))
        check(memory, workers, 10)


@pytest.mark.parametrize("kind", DURABLE)
def test_threads_have_each_a_memory_of_their_own(fast_path: Path, kind: str) -> None:
    with open_pair(fast_path, kind=kind)[0] as memory:
        prepare(memory)
        workers = ["one", "two", "three", "four"]

        def work(worker: str) -> None:
            with open_pair(fast_path, relaxed=worker in ("one", "two"), kind=kind)[0] as mine:
                create_files(mine, worker, 8)
                count_up(mine, 8)
                append_lines(mine, worker, 8)

        run_threads(*(lambda worker=worker: work(worker) for worker in workers))
        check(memory, workers, 8)


def test_upkeep_may_run_beside_writers_and_readers(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path, relaxed=True)
    with memory:
        prepare(memory)
        done = threading.Event()

        def write() -> None:
            try:
                count_up(memory, 200)
            finally:
                done.set()

        def keep_up() -> None:
            while not done.is_set():
                memory.maintain()
                memory.sync()

        def read() -> None:
            while not done.is_set():
                assert texts(memory)[COUNTER].startswith("count ")
                assert all(record.size >= 0 for record in store.history())

        run_threads(write, keep_up, read)
        assert texts(memory)[COUNTER] == "count 200\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DURABLE)
@pytest.mark.parametrize("modes", [("durable", "durable", "durable"), ("durable", "relaxed", "relaxed")])
def test_processes_lose_nothing_of_each_other(fast_path: Path, modes: tuple[str, ...], kind: str) -> None:
    memory, _ = open_pair(fast_path, kind=kind)
    with memory:
        prepare(memory)
        workers = [f"worker{number}" for number in range(len(modes))]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.stores.working", kind, str(fast_path), worker, "15", mode],
                stdin=subprocess.PIPE,
            )
            for worker, mode in zip(workers, modes, strict=True)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.close()
        assert [process.wait(60) for process in processes] == [0] * len(processes)
        check(memory, workers, 15)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DURABLE)
def test_two_processes_may_make_one_scope_at_the_same_time(tmp_path: Path, kind: str) -> None:
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.stores.working",
                kind,
                str(tmp_path / "new" / "store"),
                worker,
                "0",
                "durable",
            ],
            stdin=subprocess.PIPE,
        )
        for worker in ("one", "two", "three")
    ]
    for process in processes:
        process.communicate(b"\n", timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]


def test_a_second_memory_of_one_process_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """POSIX locks end with the first descriptor that a process closes; SQLite must not be tricked into it."""
    first, _ = open_pair(tmp_path)
    with first:
        must(first, "create", path="/memories/a.md", text="before")
        open_pair(tmp_path)[0].close()
        outsider = "import sys; from pathlib import Path; from tests.stores.harness import open_pair\n"
        outsider += "open_pair(Path(sys.argv[1]))[0].close()"
        subprocess.run([sys.executable, "-c", outsider, str(tmp_path)], check=True)
        must(first, "create", path="/memories/b.md", text="after")
        with open_pair(tmp_path)[0] as second:
            assert texts(second) == {"/memories/a.md": "before", "/memories/b.md": "after"}
