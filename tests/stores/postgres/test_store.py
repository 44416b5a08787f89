"""What a store on PostgreSQL has that others have not: one server, many doors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from memfs import Memory, OpenError, open_memory
from memfs.port.keeping import Retention
from memfs.stores.postgres import schema
from memfs.stores.postgres.connections import Connection
from memfs.stores.postgres.store import PostgresStore
from tests.harness import must, texts
from tests.stores.harness import ENDLESS, run_python, run_threads
from tests.stores.postgres.server import Server

A, B = "/memories/a.md", "/memories/b.md"
SECONDS = 20.0


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def store_of(memory: Memory) -> PostgresStore:
    store = memory._store
    assert isinstance(store, PostgresStore)
    return store


@pytest.mark.slow
def test_a_database_without_a_store_is_refused_with_what_to_do(postgres: Server, empty_database: str) -> None:
    with pytest.raises(OpenError, match="memfs store init"):
        open_memory(postgres.url(empty_database))


@pytest.mark.slow
def test_making_a_store_again_changes_nothing(postgres: Server, own_store: str) -> None:
    with open_memory(postgres.url(own_store)) as memory:
        must(memory, "create", path=A, text="1")
        with postgres.connect(own_store) as connection:
            assert schema.initialise(connection) == (schema.FORMAT, schema.FORMAT)
        assert texts(memory) == {A: "1"}


@pytest.mark.slow
def test_many_make_a_store_at_once(postgres: Server, empty_database: str) -> None:
    found = []

    def make() -> None:
        with postgres.connect(empty_database) as connection:
            found.append(schema.initialise(connection))

    run_threads(*[make] * 3)
    assert sorted(found) == [
        (0, schema.FORMAT),
        (schema.FORMAT, schema.FORMAT),
        (schema.FORMAT, schema.FORMAT),
    ]


@pytest.mark.slow
def test_a_store_of_a_newer_memfs_is_refused(postgres: Server, own_store: str) -> None:
    postgres.execute("UPDATE memfs.format SET version = 99", database=own_store)
    with pytest.raises(OpenError, match="upgrade memfs"):
        open_memory(postgres.url(own_store))
    with postgres.connect(own_store) as connection, pytest.raises(Exception, match="upgrade memfs"):
        schema.initialise(connection)


@pytest.mark.slow
def test_a_schema_of_somebody_else_is_left_alone(postgres: Server, empty_database: str) -> None:
    postgres.execute("CREATE SCHEMA memfs", database=empty_database)
    with postgres.connect(empty_database) as connection, pytest.raises(Exception, match="did not make"):
        schema.initialise(connection)


def test_two_stores_of_one_process_see_each_other(postgres_url: str, scope: str) -> None:
    with open_memory(postgres_url, scope=scope) as one, open_memory(postgres_url, scope=scope) as other:
        for number in range(5):
            must(one, "create", path=A, text=str(number))
            assert texts(other) == {A: str(number)}
            must(other, "create", path=A, text=f"{number}!")
            assert texts(one) == {A: f"{number}!"}


def test_another_process_is_heard_and_its_own_commits_wake_nobody(postgres_url: str, scope: str) -> None:
    woken = []
    with open_memory(postgres_url, scope=scope) as memory:
        watch = memory.watch(lambda: woken.append(memory.catch_up()))
        channel = store_of(memory)._channel
        eventually(lambda: store_of(memory)._database.hears(channel))
        woken.clear()
        must(memory, "create", path=A, text="mine")
        assert woken == []
        run_python(
            "import sys, memfs\n"
            "with memfs.open_memory(sys.argv[1], scope=sys.argv[2]) as memory:\n"
            f"    assert memory.execute({{'command': 'create', 'path': {B!r}, 'text': 'theirs'}}).ok",
            postgres_url,
            scope,
        )
        eventually(lambda: memory.snapshot().file(B) is not None)
        watch.close()
        assert texts(memory) == {A: "mine", B: "theirs"}


def test_a_warm_command_is_one_round_trip(
    postgres_url: str, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(postgres_url, scope=scope) as memory:
        watch = memory.watch(lambda: None)
        store = store_of(memory)
        eventually(lambda: store._database.hears(store._channel))
        must(memory, "create", path=A, text="1")
        must(memory, "rename", oldPath=A, newPath=B)  # both functions are prepared now
        trips: list[str] = []
        wait = Connection.wait

        def counted(connection: Connection, *what: Any, **how: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                trips.append("")
            return wait(connection, *what, **how)

        monkeypatch.setattr(Connection, "wait", counted)
        must(memory, "create", path=B, text="2")
        must(memory, "rename", oldPath=B, newPath=A)
        must(memory, "view", path=A)
        must(memory, "delete", path=A)
        assert len(trips) == 3
        watch.close()


def test_writers_of_one_scope_lose_nothing(postgres_url: str, scope: str) -> None:
    open_memory(postgres_url, scope=scope, limits=ENDLESS).close()

    def write(number: int) -> None:
        url = f"{postgres_url}?memfs_connections={number + 2}"  # each with a queue of its own
        with open_memory(url, scope=scope) as memory:
            for turn in range(20):
                must(memory, "create", path=f"/memories/{number}-{turn}.md", text="x")

    run_threads(*[partial(write, number) for number in range(6)])
    with open_memory(postgres_url, scope=scope) as memory:
        assert len(memory.snapshot()) == 120
        assert [record.version for record in memory.history()] == list(range(120, 0, -1))


def test_writers_of_many_scopes_get_by_with_one_connection(postgres_url: str, scope: str) -> None:
    """A plan that reads while its scope is held must not wait for a connection that another holder has."""
    urls = [f"{postgres_url}?memfs_patience={number}" for number in (20, 30)]  # as of two processes
    urls = [f"{url}&memfs_connections=1" for url in urls]
    scopes = [f"{scope}-{number}" for number in range(3)]
    turns = 8

    def write(url: str, scope: str) -> None:
        with open_memory(url, scope=scope) as memory:
            for _ in range(turns):
                must(memory, "insert", path=A, insertLine=0, text="line")

    for name in scopes:
        with open_memory(postgres_url, scope=name) as memory:
            must(memory, "create", path=A, text="")
    run_threads(*[partial(write, url, name) for name in scopes for url in urls])
    for name in scopes:
        with open_memory(postgres_url, scope=name) as memory:
            assert texts(memory) == {A: "line\n" * turns * len(urls)}


def test_the_memories_that_left_are_found_by_their_directories(postgres_url: str, scope: str) -> None:
    names = ["a.md", "a.md-b.md", "a.md/c.md", "a.md0.md", "d/e/f.md"]
    with open_memory(postgres_url, scope=scope) as memory:
        for name in names:
            must(memory, "create", path=f"/memories/{name}", text="x")
            must(memory, "delete", path=f"/memories/{name}")
        left = {"a.md": True, "a.md-b.md": False, "a.md0.md": False, "d": True}
        assert memory.gone_children("/memories") == left
        assert [record.path for record in memory.gone()] == [f"/memories/{name}" for name in sorted(names)]
        assert [record.path for record in memory.gone(A)] == [A, f"{A}/c.md"]


def test_the_server_knows_a_change_that_it_has_made_already(
    postgres_url: str, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, list[Any]]] = []
    call = Connection.call

    def recorded(connection: Connection, statement: str, values: Sequence[Any]) -> str | None:
        sent.append((statement, list(values)))
        return call(connection, statement, values)

    monkeypatch.setattr(Connection, "call", recorded)
    with open_memory(postgres_url, scope=scope) as memory:
        must(memory, "create", path=A, text="1")
        must(memory, "create", path=A, text="2")
        (first, change), (second, other_change) = sent
        with store_of(memory)._database.pool.lease(time.monotonic() + SECONDS) as connection:
            assert call(connection, first, change) == "1", "made before: the version it led to"
            assert call(connection, second, other_change) == "2"
            memory.prune(Retention(None, 0))
            assert call(connection, first, change) == "1", "its record has gone"
            change[3] = "0" * 32
            assert call(connection, first, change) == "-2", "another change for the same place"
        assert [record.version for record in memory.history()] == [2]
