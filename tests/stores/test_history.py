"""The history: a record for each file a change touched, with who and when, and every version's bytes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memfs import Limits, Memory, Policy
from memfs.port.change import Actor
from memfs.port.store import Record, Store
from tests.harness import must
from tests.stores.harness import DURABLE, open_pair, open_store

A, B, C, D = (f"/memories/{name}.md" for name in "abcd")
ACTOR = Actor("someone", "an editor", 77)


@pytest.fixture(params=["simple", *DURABLE])
def store(request: pytest.FixtureRequest, fast_path: Path) -> Store:
    policy = Policy(Limits(max_files=3))
    return open_store(request.param, fast_path, policy)


def brief(records: list[Record]) -> list[tuple[int, str, str]]:
    return [(record.version, record.operation, record.path) for record in records]


def test_every_change_is_recorded_in_order(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path="/memories/d/b.md", text="second")
        must(memory, "create", path=A, text="third!")
        must(memory, "rename", oldPath="/memories/d", newPath="/memories/e")
        must(memory, "insert", path=A, insertLine=0, text="x")
        must(memory, "create", path=C, text="")
        must(memory, "create", path=D, text="")
        must(memory, "delete", path=A)
        oldest_first = list(store.history(newest_first=False))
        assert brief(oldest_first) == [
            (1, "created", A),
            (2, "created", "/memories/d/b.md"),
            (3, "modified", A),
            (4, "renamed", "/memories/e/b.md"),
            (5, "modified", A),
            (6, "created", C),
            (7, "evicted", "/memories/e/b.md"),
            (7, "created", D),
            (8, "deleted", A),
        ]
        assert [record.size for record in oldest_first] == [5, 6, 6, 6, 9, 0, 6, 0, 9]
        assert [record.old_path for record in oldest_first if record.old_path] == ["/memories/d/b.md"]
        assert list(store.history()) == oldest_first[::-1]


def test_a_memory_has_one_id_from_its_creation_to_its_end(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "create", path=B, text="x")
        must(memory, "create", path=A, text="y")
        must(memory, "rename", oldPath=A, newPath=C)
        must(memory, "delete", path=C)
        must(memory, "create", path=A, text="new")
        ids = [record.id for record in store.history(newest_first=False)]
    first, second, *others, last = ids
    assert others == [first, first, first]
    assert len({first, second, last}) == 3


def test_every_record_says_who_and_when(store: Store) -> None:
    before = time.time_ns()
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "delete", path=A)
        records = list(store.history())
    assert [record.actor for record in records] == [ACTOR, ACTOR]
    assert all(before <= record.time_ns <= time.time_ns() for record in records)


def test_what_changed_nothing_leaves_no_record(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        memory.execute({"command": "delete", "path": A})
        memory.execute({"command": "view", "path": "/memories"})
        memory.execute({"command": "create", "path": A, "text": "\ud800"})
        assert list(store.history()) == []
        memory.set_policy({"max_files": 2})
        assert list(store.history()) == []


def test_a_long_history_is_read_whole_while_it_grows(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path, relaxed=True)
    with memory:
        for number in range(1_200):
            must(memory, "create", path=A, text=str(number))
        seen: list[int] = []
        for record in store.history():
            if len(seen) == 700:
                must(memory, "create", path=A, text="meanwhile")
            seen.append(record.version)
        assert seen == list(range(1_200, 0, -1))
        assert [record.version for record in store.history(newest_first=False)] == list(range(1, 1_202))


def test_every_version_can_be_read(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path)
    with memory:
        for text in ("first", "", "third"):
            must(memory, "create", path=A, text=text)
        must(memory, "delete", path=A)
        assert [store.read(1, version) for version in (1, 2, 3)] == [b"first", b"", b"third"]


def test_the_history_is_there_again_when_the_store_is_opened_again(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="x")
        must(memory, "rename", oldPath=A, newPath=B)
        before = list(store.history())
    memory, store = open_pair(tmp_path)
    with memory:
        assert list(store.history()) == before
        must(memory, "delete", path=B)
        assert len(list(store.history())) == 3
