"""kill -9 at any moment: what was acknowledged is there, the database is whole, and no lock is left."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.harness import must, texts
from tests.stores.harness import DATABASES, ENDLESS, damage_of, files_of, open_pair, rest_of, start_python

ROUNDS = 50

# Writes without end, and tells what was acknowledged. The upkeep comes often, to be hit as well.
WRITER = """
import os, sys
from pathlib import Path
from memfs.stores.sqlite import store as sqlite_store, upkeep
from tests.harness import must
from tests.stores.harness import open_pair

sqlite_store.UPKEEP_EVERY = 7
upkeep.CHECKPOINT_BYTES = 100_000
memory, _ = open_pair(Path(sys.argv[1]), relaxed=sys.argv[2] == "relaxed", kind=sys.argv[4])
name = f"{sys.argv[2]}{sys.argv[3]}"
for number in range(10_000):
    path = f"/memories/{name}/{number}.md"
    must(memory, "create", path=path, text=path)
    must(memory, "create", path=f"/memories/{name}.md", text=f"{number}\\n" + "a line\\n" * 300)
    print(path, flush=True)
    if number % 7 == 0:
        memory.maintain()
"""


def survivors(
    directory: Path, modes: tuple[str, ...], number: int, dice: random.Random, kind: str
) -> list[str]:
    """Start a writer for each of *modes*, kill them at some moment, and return what they acknowledged."""
    writers = [start_python(WRITER, str(directory), mode, str(number), kind) for mode in modes]
    acknowledged = []
    for writer in writers:
        assert writer.stdout is not None
        acknowledged.append(writer.stdout.readline().strip())
    time.sleep(dice.random() * 0.1)
    for writer in writers:
        writer.kill()
    for writer in writers:
        acknowledged += rest_of(writer)
    return acknowledged


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("modes", [("durable",), ("relaxed",), ("durable", "relaxed")], ids="+".join)
@pytest.mark.parametrize("kind", DATABASES)
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, modes: tuple[str, ...], kind: str) -> None:
    dice = random.Random(7)
    open_pair(tmp_path, limits=ENDLESS, kind=kind)[0].close()
    expected: set[str] = set()
    for number in range(ROUNDS):
        acknowledged = survivors(tmp_path, modes, number, dice, kind)
        assert len(acknowledged) >= len(modes)
        expected.update(acknowledged)
        assert damage_of(files_of(tmp_path, kind).database) == []
        memory, _ = open_pair(tmp_path, kind=kind)
        with memory:
            must(memory, "create", path="/memories/after.md", text=str(number))
            for path in acknowledged:
                assert must(memory, "view", path=path).text == path
    memory, store = open_pair(tmp_path, kind=kind)
    with memory:
        memory.maintain()
        assert expected <= texts(memory).keys()
        for record in store.history():
            if record.operation not in ("deleted", "evicted", "renamed"):
                assert len(store.read(record.id, record.version)) == record.size


def test_a_checkpoint_that_was_cut_short_is_completed(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    with open_pair(tmp_path)[0] as memory:
        must(memory, "create", path="/memories/a.md", text="before")
    before = files.database.read_bytes()
    with open_pair(tmp_path, relaxed=True)[0] as memory:
        must(memory, "create", path="/memories/b.md", text="x" * 50_000)
        log = files.wal.read_bytes()
    # The first page has arrived, and with it a size that the file does not have yet.
    files.database.write_bytes(files.database.read_bytes()[:4096] + before[4096:])
    files.wal.write_bytes(log)
    with open_pair(tmp_path)[0] as memory:
        assert texts(memory) == {"/memories/a.md": "before", "/memories/b.md": "x" * 50_000}
    assert damage_of(files.database) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_kill_while_the_scope_is_being_made_leaves_none_or_a_whole_one(tmp_path: Path) -> None:
    dice = random.Random(11)
    code = """
import sys
from pathlib import Path
from tests.stores.harness import open_pair
print("ready", flush=True)
for number in range(1_000):
    open_pair(Path(sys.argv[1]) / str(number))[0].close()
"""
    for number in range(ROUNDS // 2):
        directory = tmp_path / str(number)
        with start_python(code, str(directory)) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.random() * 0.05)
            process.kill()
        for store in directory.iterdir() if directory.exists() else ():
            memory, _ = open_pair(store)
            with memory:
                must(memory, "create", path="/memories/a.md", text="x")
            assert damage_of(files_of(store).database) == []
