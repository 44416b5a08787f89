"""The lock before which writers queue up: who waits, for how long, and what a dead holder leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode, StoreError
from memfs.port.plan import plan_write
from memfs.port.store import Busy
from memfs.stores import gate as gate_module
from memfs.stores.gate import Gate
from memfs.stores.sqlite import inspection
from tests.harness import failure, must, texts
from tests.stores.harness import files_of, open_pair, start_python

A, B = "/memories/a.md", "/memories/b.md"
HOLD = """
import sys, time
from pathlib import Path
from tests.stores.harness import open_pair

_, store = open_pair(Path(sys.argv[1]))
store.acquire(wait=True)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
store.release()
print("released", flush=True)
time.sleep(60)
"""


@contextmanager
def holder(directory: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Another process that keeps the scope for so long, and then lives on."""
    with start_python(HOLD, str(directory), str(seconds)) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_writer_waits_for_the_one_before_it(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory, holder(tmp_path, 0.3) as process:
        must(memory, "create", path=A, text="x")
        assert process.stdout is not None
        assert process.stdout.readline() == "released\n"


def test_who_may_not_wait_is_told_at_once_and_nothing_happens(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path, relaxed=True)
    with memory, holder(tmp_path, 60):
        with pytest.raises(Busy):
            memory.perform("create", lambda scope, now_ns: plan_write(scope, A, b"x", now_ns), wait=False)
        assert texts(memory) == {}


def test_a_view_waits_for_no_writer(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="x")
        with holder(tmp_path, 60):
            assert texts(memory) == {A: "x"}


@pytest.mark.slow
def test_a_holder_that_was_stopped_fails_others_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "PATIENCE", 0.2)
    memory, _ = open_pair(tmp_path)
    with memory, holder(tmp_path, 1.0) as process:
        process.send_signal(signal.SIGSTOP)
        for _ in range(3):
            error = failure(memory, "create", path=A, text="x")
            assert error.code is ErrorCode.STORAGE_ERROR
            assert "stopped" in error.message
        assert texts(memory) == {}
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        assert process.stdout.readline() == "released\n"
        monkeypatch.setattr(gate_module, "PATIENCE", 20.0)
        must(memory, "create", path=A, text="x")
        must(memory, "create", path=B, text="x")


def test_a_holder_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory, holder(tmp_path, 60) as process:
        process.kill()
        must(memory, "create", path=A, text="x")


def test_who_gave_up_waiting_lets_go_of_the_lock_that_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "PATIENCE", 0.05)
    open_pair(tmp_path)[0].close()
    path = files_of(tmp_path).lock
    one, two, three = Gate(path), Gate(path), Gate(path)
    until_nobody_queues()
    descriptors = len(os.listdir("/proc/self/fd"))
    one.acquire(wait=True)
    with pytest.raises(StoreError):
        two.acquire(wait=True)
    one.release()
    monkeypatch.setattr(gate_module, "PATIENCE", 20.0)
    three.acquire(wait=True)
    three.release()
    two.acquire(wait=True)
    two.release()
    until_nobody_queues()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    for gate in (one, two, three):
        gate.close()


def until_nobody_queues() -> None:
    """Wait for the threads that wait for a lock, or that gave up, to end."""
    for thread in threading.enumerate():
        if thread.name == "memfs-gate":
            thread.join(20)
            assert not thread.is_alive()


def test_one_of_many_is_in_at_a_time(tmp_path: Path) -> None:
    open_pair(tmp_path)[0].close()
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        gate = Gate(files_of(tmp_path).lock)
        for _ in range(50):
            gate.acquire(wait=True)
            inside += 1
            most = max(most, inside)
            inside -= 1
            gate.release()
        gate.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


LONG = """
import sys, time
from pathlib import Path
from memfs.stores.gate import Gate
from memfs.stores.sqlite import inspection

with Gate(Path(sys.argv[1])).held_long("rewrites the database"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_writer_waits_longer_for_who_says_that_it_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "PATIENCE", 0.2)
    memory, _ = open_pair(tmp_path)
    with memory, start_python(LONG, str(files_of(tmp_path).lock), "1.5") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        began = time.monotonic()
        must(memory, "create", path=A, text="x")
        assert time.monotonic() - began > 0.5
        assert process.wait() == 0


def test_but_not_for_ever_nor_for_one_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "PATIENCE", 0.2)
    monkeypatch.setattr(gate_module, "LONG_PATIENCE", 1.0)
    memory, _ = open_pair(tmp_path)
    lock = files_of(tmp_path).lock
    with memory:
        with start_python(LONG, str(lock), "60") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            error = failure(memory, "create", path=A, text="x")
            assert f"Process {process.pid} rewrites the database, and has for 1 seconds" in error.message
            process.kill()
        assert lock.read_text() != "", "it was killed before it could take its words back"
        with holder(tmp_path, 60):
            error = failure(memory, "create", path=A, text="x")
            assert error.message.startswith("Another process has held the scope for 0 seconds")
        must(memory, "create", path=A, text="x")


def test_who_works_for_long_is_not_taken_for_one_that_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "GATE_SECONDS", 0.3)
    memory, store = open_pair(tmp_path)
    with memory:
        looked = inspection.SqliteInspection(tmp_path, store.scope_name)
        with start_python(LONG, str(files_of(tmp_path).lock), "60") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            assert looked.holder() is None
            process.kill()
        with holder(tmp_path, 60):
            assert "has held the lock" in (looked.holder() or "")
