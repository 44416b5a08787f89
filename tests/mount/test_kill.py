"""Killed at a random moment, again and again: nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mount.harness import Mounted, eventually

ROUNDS = 50
WRITERS = 3
NAMES = 5
FAILED = 7
"""How a writer ends whose mount has gone."""

# A writer logs what it is about to do and, when the call has returned, that it is done. It owns its
# names, so that what must be there afterwards is known: the last thing done, or the one that was begun.
WRITER = """
import json, os, random, sys
root, log_path, mark, seed, names = sys.argv[1:6]
choose = random.Random(int(seed))
log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
here = os.path.join(root, mark)
def say(event, **what): os.write(log, (json.dumps([event, what]) + "\\n").encode())
def save(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try: os.write(fd, text.encode())
    finally: os.close(fd)
number = 0
known = set(sys.argv[6:])
print("ready", flush=True)
try:
    while True:
        number += 1
        name = f"n{choose.randrange(int(names))}.md"
        new = f"m{number}-{seed}.md"
        text = f"{mark} {seed} {number} " + "x" * choose.randrange(2000)
        path, moved = os.path.join(here, name), os.path.join(here, new)
        kind = choose.choice(["save", "replace", "unlink", "rename"])
        if kind in ("unlink", "rename") and name not in known: kind = "save"
        say("begin", kind=kind, name=name, text=text, new=new)
        if kind == "save": save(path, text)
        elif kind == "replace":
            save(path + ".tmp", text)
            os.rename(path + ".tmp", path)
        elif kind == "unlink": os.unlink(path)
        else: os.rename(path, moved)
        say("done")
        if kind == "rename":
            say("begin", kind="unlink", name=new)
            os.unlink(moved)
            say("done")
        known.discard(name) if kind in ("unlink", "rename") else known.add(name)
except OSError:
    sys.exit(7)
"""

# The same through the port. An acknowledged command survives more than a kill; here it is one of the writers.
PORT_WRITER = """
import json, os, random, sys, memfs
url, log_path, seed = sys.argv[1:4]
choose = random.Random(int(seed))
log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def say(event, **what): os.write(log, (json.dumps([event, what]) + "\\n").encode())
number = 0
with memfs.open_memory(url, scope="work") as memory:
    print("ready", flush=True)
    while True:
        number += 1
        name, text = f"n{choose.randrange(5)}.md", f"port {seed} {number}"
        say("begin", kind="save", name=name, text=text, new="")
        result = memory.execute(memfs.Create(path=f"/memories/port/{name}", text=text))
        assert result.ok, result.to_wire()
        say("done")
"""


class Ledger:
    """What one writer's directory may hold: one of a few states, by its own log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.sure: dict[str, str] = {}
        self.begun: dict[str, Any] | None = None
        self._read = 0

    def take_in(self) -> None:
        """Read what was logged since the last time."""
        if not self.log.exists():
            return
        lines = self.log.read_text().splitlines()
        for line in lines[self._read :]:
            kind, what = json.loads(line)
            if kind == "begin":
                self.begun = what
            elif self.begun is not None:
                self.sure = self.after(self.begun)
                self.begun = None
        self._read = len(lines)

    def after(self, what: dict[str, Any]) -> dict[str, str]:
        """The state once *what* is done."""
        state = dict(self.sure)
        if what["kind"] in ("save", "replace"):
            state[what["name"]] = what["text"]
        elif what["kind"] == "unlink":
            state.pop(what["name"], None)
        else:
            state[what["new"]] = state.pop(what["name"])
        return state

    def settle(self, found: dict[str, str]) -> None:
        """*found* must be the state before or after what was begun; it is what is sure from here on."""
        possible = [self.sure] if self.begun is None else [self.sure, self.after(self.begun)]
        if self.begun is not None and self.begun["kind"] == "save":
            possible.append(self.sure | {self.begun["name"]: ""})  # made or emptied, and not yet written
        assert found in possible, (found.keys(), [state.keys() for state in possible], self.begun)
        self.sure, self.begun = found, None


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounted]:
    mounted = Mounted(tmp_path / "mount", max_files=10_000, max_total_bytes=1 << 30)
    try:
        mounted.start()
        yield mounted
    finally:
        mounted.close()


def start_writer(mounted: Mounted, ledger: Ledger, mark: str, seed: int) -> subprocess.Popen[bytes]:
    return start(WRITER, mounted.path, ledger.log, mark, seed, NAMES, *ledger.sure)


def start(code: str, *orders: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, orders)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def stored(mounted: Mounted) -> dict[str, dict[str, str]]:
    """Every text in the store, by directory and name, as a fresh port finds it."""
    from memfs.opening import open_with

    found: dict[str, dict[str, str]] = {}
    with open_with(f"sqlite:{mounted.path.parent / 'store'}", "work", {}) as memory:
        for file in memory.snapshot().in_write_order():
            _, _, directory, name = file.path.split("/")
            found.setdefault(directory, {})[name] = memory.read(file).decode()
    return found


def check_integrity(store: Path) -> None:
    import apsw

    for database in store.glob("*.db"):
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)]
        connection.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_was_acknowledged_is_there_after_every_kill(mounted: Mounted, tmp_path: Path) -> None:
    marks = [f"w{number}" for number in range(WRITERS)]
    ledgers = {mark: Ledger(tmp_path / f"{mark}.log") for mark in (*marks, "port")}
    for mark in marks:
        (mounted.path / mark).mkdir()
    store = mounted.path.parent / "store"
    chance = random.Random(7)
    for turn in range(ROUNDS):
        writers = [start_writer(mounted, ledgers[mark], mark, turn) for mark in marks]
        writers.append(start(PORT_WRITER, f"sqlite:{store}", ledgers["port"].log, turn))
        try:
            for writer in writers:
                assert writer.stdout is not None
                assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.random() * 0.3)
            os.kill(mounted.pid, signal.SIGKILL)
            for writer in writers[:-1]:
                assert writer.wait(60) == FAILED, "a writer on a dead mount fails"
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()
            mounted.discard()
        found = stored(mounted)
        check_integrity(store)
        for mark, ledger in ledgers.items():
            ledger.take_in()
            ledger.settle(found.get(mark, {}))
        mounted.start()
        for mark in marks:
            shown = {path.name: path.read_text() for path in (mounted.path / mark).glob("*.md")}
            assert shown == ledgers[mark].sure
    done = sum(ledger.log.read_text().count('"done"') for ledger in ledgers.values())
    assert done > ROUNDS, "the writers got to work"
    assert mounted.stop() == "ENDED"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_acknowledged_is_there_after_stops_in_the_middle(mounted: Mounted, tmp_path: Path) -> None:
    """SIGTERM while three programs write: they fail at some point, and nothing is half."""
    (mounted.path / "w0").mkdir()
    ledger = Ledger(tmp_path / "w0.log")
    for turn in range(10):
        with start_writer(mounted, ledger, "w0", turn) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.05 * turn)
            mounted.stop(signal.SIGTERM)
            assert writer.wait(60) == FAILED
        ledger.take_in()
        ledger.settle(stored(mounted).get("w0", {}))
        mounted.start()
        eventually(lambda: {path.name for path in (mounted.path / "w0").glob("*.md")}, set(ledger.sure))
