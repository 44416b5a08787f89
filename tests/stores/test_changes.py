"""What one door is told of the changes at another: the same from every store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Memory, Policy
from memfs.port.change import Actor, Commit
from memfs.port.plan import Joined, Plan, plan_write
from memfs.port.scope import Scope
from memfs.port.store import Store
from tests.conftest import MEMORY_DISK
from tests.harness import must, texts
from tests.port.strategies import Session, sessions
from tests.stores.harness import DURABLE, chain_lengths, files_of, open_pair, open_store

A, B = "/memories/a.md", "/memories/b.md"


def told(commit: Commit) -> tuple[Any, ...]:
    """What a door learns from a commit; bytes, receipt and the files' other metadata may be left out."""
    change = commit.change
    return (
        commit.version,
        [(remove.file.id, remove.file.path, remove.file.size, remove.evicted) for remove in change.removes],
        [(move.file.id, move.file.path, move.new_path) for move in change.moves],
        [(put.id, put.path, put.size, put.operation, put.mtime_ns, put.joins) for put in change.puts],
        change.policy,
        change.directories,
    )


@pytest.mark.parametrize(
    "kind", ["sqlite", *(pytest.param(kind, marks=pytest.mark.slow) for kind in DURABLE if kind != "sqlite")]
)
@settings(max_examples=settings().max_examples // 4)  # each makes a database, or a repository
@given(session=sessions, since=st.integers(0, 10))
def test_every_store_tells_the_same_of_the_same_commands(kind: str, session: Session, since: int) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as directory:
        policy = session.policy
        simple, lasting = (
            open_store(name, Path(directory), policy, relaxed=True) for name in ("simple", kind)
        )
        with Memory(simple, Actor()) as one, Memory(lasting, Actor()) as other:
            for number, command in enumerate(session.sent):
                one.execute(command)
                other.execute(command)
                if number == 12:
                    one.set_policy({"max_files": 3})
                    other.set_policy({"max_files": 3})
            expected, found = (store.changes(since) for store in (simple, lasting))
            assert expected is not None or since > one.snapshot().version
            assert found is not None
            assert [told(commit) for commit in found] == [told(commit) for commit in expected or []]


def test_a_directory_that_changed_as_a_whole_is_named(tmp_path: Path) -> None:
    one, _ = open_pair(tmp_path)
    two, _ = open_pair(tmp_path)
    with one, two:
        must(one, "create", path="/memories/d/a.md", text="x")
        must(one, "create", path="/memories/d/e/b.md", text="x")
        must(one, "rename", oldPath="/memories/d", newPath="/memories/f")
        must(one, "delete", path="/memories/f/e")
        must(one, "delete", path="/memories/f/a.md")
        directories = [commit.change.directories for commit in two.catch_up()]
    assert directories == [(), (), ("/memories/d",), ("/memories/f/e",), ()]


@pytest.fixture(params=["simple", *DURABLE])
def store(request: pytest.FixtureRequest, fast_path: Path) -> Store:
    policy = Policy()
    return open_store(request.param, fast_path, policy)


def write_joined(memory: Memory, data: bytes, joined: Joined) -> None:
    """Write a.md as the second half of a save."""

    def planner(scope: Scope, now_ns: int) -> Plan:
        return plan_write(scope, A, data, now_ns, joined=joined)

    assert memory.perform("create", planner).result.ok


def newest(store: Store) -> tuple[int, str, int | None]:
    record = next(store.history())
    return record.id, record.operation, record.joins


def test_a_save_that_deletes_first_carries_its_memory_on(store: Store) -> None:
    with Memory(store, Actor()) as memory:
        must(memory, "create", path=A, text="first")
        must(memory, "delete", path=A)
        write_joined(memory, b"second", Joined(1, 2, "modified"))
        assert newest(store) == (1, "modified", 2)
        must(memory, "create", path=B, text="x")
        assert newest(store) == (4, "created", None)
        assert texts(memory) == {A: "second", B: "x"}


def test_a_save_that_empties_first_carries_its_memory_on(store: Store) -> None:
    with Memory(store, Actor()) as memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path=A, text="")
        write_joined(memory, b"second", Joined(1, 2, "modified"))
        assert newest(store) == (1, "modified", 2)


def test_a_save_that_somebody_came_into_is_no_whole_one(store: Store) -> None:
    with Memory(store, Actor()) as memory:
        must(memory, "create", path=A, text="first")
        must(memory, "delete", path=A)
        must(memory, "create", path=A, text="somebody else's")
        write_joined(memory, b"second", Joined(1, 2, "modified"))
        assert newest(store) == (3, "modified", None)
        must(memory, "create", path=A, text="")
        must(memory, "create", path=A, text="somebody else's")
        write_joined(memory, b"third", Joined(3, 5, "modified"))
        assert newest(store) == (3, "modified", None)


def test_the_versions_of_a_joined_memory_are_one_chain(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path)
    with memory:
        versions = [f"{number}\n" + "a line that stays\n" * 50 for number in range(5)]
        must(memory, "create", path=A, text=versions[0])
        for number, text in enumerate(versions[1:]):
            must(memory, "delete", path=A)
            write_joined(memory, text.encode(), Joined(1, 2 * number + 2, "modified"))
        memory.maintain()
        assert [store.read(1, 2 * number + 1) for number in range(5)] == [text.encode() for text in versions]
    assert sorted(chain_lengths(files_of(tmp_path).database)) == [0, 1, 2, 3, 4]
