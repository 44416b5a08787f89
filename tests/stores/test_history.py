"""The history: a record for each file a change touched, with who and when, and every version's bytes."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from memfs import Limits, Memory, Policy
from memfs.port.change import Actor
from memfs.port.errors import NotKept
from memfs.port.store import Record, Store
from memfs.stores.sqlite import open_sqlite
from tests.harness import must, texts
from tests.port.strategies import Session, sessions
from tests.stores.harness import open_pair, store_of

A, B, C, D = (f"/memories/{name}.md" for name in "abcd")
ACTOR = Actor("someone", "an editor", 77)


@pytest.fixture(params=["simple", "sqlite", "git"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return store_of(request.param, tmp_path, Policy(Limits(max_files=3)))


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


def test_a_version_that_never_was_is_not_kept(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "create", path=B, text="y")
        for file_id, version in ((1, 2), (1, 3), (7, 1)):
            with pytest.raises(NotKept, match=str(version)):
                store.read(file_id, version)


def test_every_record_of_a_memory_has_its_bytes(store: Store) -> None:
    """Also a rename, which brings none, and a deletion, which takes them away."""
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="first")
        must(memory, "rename", oldPath=A, newPath=B)
        must(memory, "create", path=B, text="second!")
        must(memory, "rename", oldPath=B, newPath=C)
        must(memory, "rename", oldPath=C, newPath=A)
        must(memory, "delete", path=A)
        found = {record.version: store.read(1, record.version) for record in store.history(file_id=1)}
    assert found == {1: b"first", 2: b"first", 3: b"second!", 4: b"second!", 5: b"second!", 6: b"second!"}


def test_one_memory_is_followed_through_renames_and_after_its_end(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "create", path=B, text="another")
        must(memory, "rename", oldPath=A, newPath=C)
        must(memory, "create", path=A, text="a new one at the old place")
        must(memory, "delete", path=C)
        expected = [(5, "deleted", C), (3, "renamed", C), (1, "created", A)]
        assert brief(list(store.history(file_id=1))) == expected
        assert brief(list(store.history(newest_first=False, file_id=1))) == expected[::-1]
        assert list(store.history(file_id=99)) == []


def test_the_long_chain_of_one_memory_is_read_while_it_grows(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path, relaxed=True)
    with memory:
        for number in range(1_200):
            must(memory, "create", path=A if number % 2 else B, text=str(number))
        chain = store.history(file_id=1)
        seen = [next(chain).version for _ in range(100)]
        must(memory, "create", path=B, text="meanwhile")
        seen += [record.version for record in chain]
    assert seen == list(range(1_199, 0, -2))


def test_what_has_left_is_known_by_its_last_path(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "create", path="/memories/d/b.md", text="y")
        must(memory, "create", path="/memories/d-e.md", text="z")
        must(memory, "rename", oldPath=A, newPath="/memories/d/a.md")
        must(memory, "create", path=B, text="makes a.md leave")
        must(memory, "delete", path="/memories/d-e.md")
        must(memory, "delete", path="/memories/d")
        assert brief(list(store.gone())) == [
            (6, "deleted", "/memories/d-e.md"),
            (5, "evicted", "/memories/d/a.md"),
            (7, "deleted", "/memories/d/b.md"),
        ]
        assert [record.path for record in store.gone("/memories/d")] == [
            "/memories/d/a.md",
            "/memories/d/b.md",
        ]
        assert [record.version for record in store.gone("/memories/d/a.md")] == [5]
        must(memory, "create", path="/memories/d/a.md", text="another memory at its place")
        assert [record.version for record in store.gone("/memories/d/a.md")] == [5]
        assert list(store.gone(B)) == []


def test_the_names_that_lead_to_what_has_left(store: Store) -> None:
    with Memory(store, ACTOR) as memory:
        for path in ("/memories/a.md", "/memories/a.md-b.md", "/memories/a.md/c.md", "/memories/a.md/d/e.md"):
            must(memory, "create", path=path, text="x")
            must(memory, "delete", path=path)
        must(memory, "create", path="/memories/still.md", text="x")
        found = store.gone_children("/memories")
        assert found == {"a.md": True, "a.md-b.md": False}
        assert store.gone_children("/memories/a.md") == {"c.md": False, "d": True}
        assert store.gone_children("/memories/a.md/c.md") == {}


@given(session=sessions)
@settings(max_examples=10, deadline=None)
def test_every_version_of_a_random_history_is_as_it_was(
    session: Session, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("history")
    after: dict[int, dict[str, str]] = {0: {}}
    with Memory(open_sqlite(directory, "work", session.policy, relaxed=True)[0], ACTOR) as memory:
        for command in session.sent[:40]:
            memory.execute(command)
            after.setdefault(memory.snapshot().version, texts(memory))
    store, _ = open_sqlite(directory, "work", session.policy)
    with Memory(store, ACTOR) as memory:
        for _ in range(2):  # as it was written, and as differences
            for record in store.history():
                left = record.operation in ("deleted", "evicted")
                expected = after[record.version - left][record.path].encode()
                assert store.read(record.id, record.version) == expected
                assert len(expected) == record.size
                assert hashlib.sha256(expected).hexdigest() == record.digest
            memory.maintain()
        for path, text in after[memory.snapshot().version].items():
            newest = next(memory.history(path))
            assert memory.read_version(path, newest.version).decode() == text


def test_many_that_have_left_are_read_whole(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path, relaxed=True)
    with memory:
        for number in range(700):
            must(memory, "create", path=f"/memories/d/{number % 350:03}.md", text="x")
            must(memory, "delete", path="/memories/d")
        found = [(record.path, record.version) for record in store.gone()]
    assert len(found) == 700
    assert found == sorted(found)


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
