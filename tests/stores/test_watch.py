"""How one process learns of another's changes: by notices, and by the log where a notice is missing."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from inotify_simple import INotify

from memfs import Memory
from memfs.stores.sqlite import watch as watching
from tests.harness import must, texts
from tests.stores.harness import files_of, open_pair, run_python

A, B = "/memories/a.md", "/memories/b.md"
GENEROUS = 20.0
"""Seconds after which a change that was not seen will not be seen."""

WRITE = """
import sys
from pathlib import Path
from tests.harness import must
from tests.stores.harness import open_pair

memory, _ = open_pair(Path(sys.argv[1]), relaxed=True)
must(memory, "create", path=sys.argv[2], text="theirs")
"""
CLOSE = "memory.close()\n"
KILLED_BEFORE_THE_NOTICE = """
import os
from memfs.stores.sqlite.notice import NoticeFile
NoticeFile.give = lambda self: os._exit(0)
"""


class Listener:
    """Catches up at every call of a watch and at no other time, and keeps the paths that came in."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.calls = 0
        self.paths: list[str] = []
        self._called = threading.Condition()

    def notify(self) -> None:
        commits = self.memory.catch_up()
        with self._called:
            self.calls += 1
            self.paths += [put.path for commit in commits for put in commit.change.puts]
            self._called.notify_all()

    def is_called(self) -> bool:
        with self._called:
            return self._called.wait_for(lambda: self.calls > 0, GENEROUS)

    def sees(self, path: str) -> bool:
        with self._called:
            return self._called.wait_for(lambda: path in self.paths, GENEROUS)


@contextmanager
def listening(directory: Path) -> Iterator[Listener]:
    """A memory that is watched, and whose watch has made its first call."""
    memory, _ = open_pair(directory, relaxed=True)
    with memory:
        listener = Listener(memory)
        watch = memory.watch(listener.notify)
        try:
            assert listener.is_called()
            yield listener
        finally:
            watch.close()


def test_a_change_of_another_process_is_seen(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        run_python(WRITE + CLOSE, str(tmp_path), A)
        assert listener.sees(A)
        run_python(WRITE + CLOSE, str(tmp_path), B)
        assert listener.sees(B)


def test_a_change_at_another_door_of_this_process_is_seen(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        other, _ = open_pair(tmp_path)
        with other:
            for path in (A, B):
                must(other, "create", path=path, text="x")
                assert listener.sees(path)


def test_each_of_two_sees_the_changes_of_the_other(tmp_path: Path) -> None:
    with listening(tmp_path) as one, listening(tmp_path) as two:
        must(one.memory, "create", path=A, text="one")
        assert two.sees(A)
        must(two.memory, "create", path=B, text="two")
        assert one.sees(B)


def test_a_change_before_the_watch_stood_is_announced_by_its_first_call(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory:
        run_python(WRITE + CLOSE, str(tmp_path), A)
        listener = Listener(memory)
        watch = memory.watch(listener.notify)
        assert listener.sees(A)
        watch.close()


def test_a_writer_killed_between_its_commit_and_its_notice_is_noticed(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        run_python(KILLED_BEFORE_THE_NOTICE + WRITE, str(tmp_path), A)
        assert listener.sees(A)
        run_python(KILLED_BEFORE_THE_NOTICE + WRITE, str(tmp_path), B)
        assert listener.sees(B)


def test_nobody_is_woken_again_and_again_by_changes_of_its_own(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        before = listener.calls
        for number in range(50):
            must(listener.memory, "create", path=A, text=str(number))
        time.sleep(sum(watching.RECHECKS) + 0.1)
        # The log's one event starts the pair of rechecks; no commit has a call of its own.
        assert listener.calls - before <= 3 * len(watching.RECHECKS)


def test_a_watch_that_was_closed_makes_no_call(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory:
        listener = Listener(memory)
        memory.watch(listener.notify).close()
        before = listener.calls
        run_python(WRITE + CLOSE, str(tmp_path), A)
        time.sleep(sum(watching.RECHECKS))
        assert listener.calls == before


def test_without_inotify_changes_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "no watches left")

    monkeypatch.setattr(INotify, "add_watch", refuse)
    with caplog.at_level(logging.WARNING), listening(tmp_path) as listener:
        run_python(WRITE + CLOSE, str(tmp_path), A)
        assert listener.sees(A)
    assert "inotify" in caplog.text


def test_the_notices_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    living, _ = open_pair(tmp_path)
    with living:
        must(living, "create", path=A, text="x")
        mine = set(os.listdir(files_of(tmp_path).notices))
        run_python(WRITE + "import os; os._exit(0)", str(tmp_path), B)
        assert len(os.listdir(files_of(tmp_path).notices)) == 2
        another, _ = open_pair(tmp_path)
        with another:
            must(another, "create", path=A, text="y")
            names = set(os.listdir(files_of(tmp_path).notices))
        assert mine < names
        assert len(names) == 2
    assert os.listdir(files_of(tmp_path).notices) == []


def test_a_notice_that_cannot_be_given_is_logged_and_the_change_stands(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory, _ = open_pair(tmp_path)
    with memory, caplog.at_level(logging.ERROR):
        files_of(tmp_path).notices.write_text("in the way")
        must(memory, "create", path=A, text="x")
        assert texts(memory) == {A: "x"}
    assert "notice" in caplog.text
