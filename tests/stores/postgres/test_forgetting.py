"""What goes out of the history of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memfs import Memory, NotKept, StoreError, open_memory
from memfs.port.keeping import Retention
from memfs.stores.postgres.store import PostgresStore
from tests.harness import must, texts
from tests.stores.harness import ENDLESS
from tests.stores.postgres.server import Server

A, B = "/memories/a.md", "/memories/b.md"
DAY_NS = 24 * 3600 * 10**9
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def memory(postgres_url: str, scope: str) -> Iterator[Memory]:
    with open_memory(postgres_url, scope=scope, limits=ENDLESS) as memory:
        yield memory


def versions(memory: Memory, path: str) -> list[int]:
    return [record.version for record in memory.versions(path)]


def age(postgres: Server, memory: Memory, days: int, upto: int) -> None:
    store = memory._store
    assert isinstance(store, PostgresStore)
    postgres.execute(
        "UPDATE memfs.history SET time_ns = time_ns - %s WHERE scope = %s AND record < %s",
        days * DAY_NS, store._scope, (upto + 1) << 24, database="store",
    )  # fmt: skip


def test_the_last_versions_of_each_memory_stay(memory: Memory) -> None:
    for number in range(6):
        must(memory, "create", path=A, text=f"a{number}")
        must(memory, "create", path=B, text=f"b{number}")
    assert memory.prune(Retention(None, 2)) == 8
    assert (versions(memory, A), versions(memory, B)) == ([11, 9], [12, 10])
    assert memory.read_version(A, 9) == b"a4"
    with pytest.raises(NotKept):
        memory.read_version(A, 7)
    assert texts(memory) == {A: "a5", B: "b5"}


def test_the_upkeep_keeps_ninety_days_and_then_the_last_twenty(postgres: Server, memory: Memory) -> None:
    for number in range(30):
        must(memory, "create", path=A, text=str(number))
    age(postgres, memory, 100, upto=28)
    memory.maintain()
    assert len(versions(memory, A)) == 20
    age(postgres, memory, 100, upto=30)
    memory.maintain()
    assert len(versions(memory, A)) == 20, "once a day is enough"


def test_of_one_that_has_left_the_last_content_stays_with_its_record(memory: Memory) -> None:
    for text in "123":
        must(memory, "create", path=A, text=text)
    must(memory, "delete", path=A)
    memory.prune(Retention(None, 1))
    assert versions(memory, A) == [4, 3]
    assert memory.restore(A).ok
    assert texts(memory) == {A: "3"}
    assert versions(memory, A) == [5, 4, 3]


def test_another_door_goes_on_after_a_pruning(memory: Memory, postgres_url: str) -> None:
    with open_memory(f"{postgres_url}?memfs_connections=2", scope=memory.scope) as other:
        for number in range(4):
            must(memory, "create", path=A, text=str(number))
        memory.prune(Retention(None, 1))
        must(other, "create", path=B, text="x")
        assert texts(other) == {A: "3", B: "x"}
        assert versions(other, A) == [4]


def test_a_redacted_version_is_out_of_the_tables(postgres: Server, memory: Memory) -> None:
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "create", path=B, text="harmless")
    must(memory, "create", path=A, text=SECRET)
    must(memory, "create", path=A, text="harmless too")
    redaction = memory.redact([(B, 1)], reason="leaked")
    assert "VACUUM FULL" in redaction.left_over
    assert [(record.path, record.version) for record in redaction.same] == [(A, 4)]
    for version in (1, 2):
        with pytest.raises(NotKept, match="redacted by"):
            memory.read_version(B, version)
    assert memory.read_version(A, 4) == SECRET.encode()
    memory.redact([(A, 4)])
    found = postgres.execute(
        "SELECT count(*) FROM memfs.history WHERE content = convert_to(%s, 'UTF8')",
        SECRET,
        database="store",
    )
    assert found == [(0,)]
    assert texts(memory) == {A: "harmless too", B: "harmless"}
    assert [record.operation for record in memory.history()][:2] == ["redacted", "redacted"]
    must(memory, "create", path=A, text="and on")


def test_the_present_and_what_is_redacted_cannot_be_redacted(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    with pytest.raises(StoreError, match="holds now"):
        memory.redact([(A, 1), (A, 2)])
    assert memory.read_version(A, 1) == b"1", "nothing is done then"
    memory.redact([(A, 1)])
    with pytest.raises(NotKept, match="already"):
        memory.redact([(A, 1)])


def test_the_history_says_what_it_takes(memory: Memory) -> None:
    empty = memory.history_use()
    assert empty is not None
    assert empty.since_ns is None
    must(memory, "create", path=A, text="1" * 3000)
    must(memory, "create", path=A, text="2")
    use = memory.history_use()
    assert use is not None
    assert use.size > 0
    assert use.since_ns == next(memory.history()).time_ns or use.since_ns is not None
