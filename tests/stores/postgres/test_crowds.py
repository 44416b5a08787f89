"""More writers, scopes and threads than a server or a process has room for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from memfs import Memory, open_memory
from memfs.port.errors import OpenError
from tests.harness import failure, must, texts
from tests.mount.harness import eventually
from tests.stores.harness import run_threads
from tests.stores.postgres.client import COUNTER, SHARED
from tests.stores.postgres.conftest import STORE, initialise
from tests.stores.postgres.ledger import Ledger
from tests.stores.postgres.server import Server, running

pytestmark = pytest.mark.slow
PROCESSES, WRITERS = 4, 16
NAMES = [f"p{number}" for number in range(PROCESSES)]
UNFAIR = 4.0
"""How many times as much as another one a process may get of a scope that all write to."""


@pytest.fixture
def memory(endless: str, scope: str) -> Iterator[Memory]:
    with open_memory(endless, scope=scope) as memory:
        yield memory


def test_64_writers_of_one_file_lose_no_update_and_meet_no_conflict(ledger: Ledger, memory: Memory) -> None:
    must(memory, "create", path=SHARED, text="first\n")
    ledger.start(*NAMES, writers=WRITERS, work="insert", times=5)
    ledger.join()
    assert not ledger.failed
    eventually(lambda: len(texts(memory)[SHARED].splitlines()), 1 + PROCESSES * WRITERS * 5)
    assert set(texts(memory)[SHARED].splitlines()) == {*ledger.done, "first"}


def test_64_writers_of_one_scope_are_served_alike(ledger: Ledger, memory: Memory) -> None:
    ledger.start(*NAMES, writers=WRITERS)
    ledger.wait_for(640)
    ledger.stop()
    assert not ledger.failed
    by_writer = Counter(path.rpartition("-")[0] for path in ledger.done)
    assert len(by_writer) == PROCESSES * WRITERS, "some had no turn at all"
    assert max(ledger.done_by.values()) < UNFAIR * min(ledger.done_by.values())
    ledger.check_created(memory)


def test_a_counter_that_each_counts_on_from_what_it_saw_counts_all(ledger: Ledger, memory: Memory) -> None:
    must(memory, "create", path=COUNTER, text="0")
    ledger.start(*NAMES, writers=2, work="count", times=10)
    ledger.join()
    eventually(lambda: texts(memory)[COUNTER], str(PROCESSES * 2 * 10))
    refusals = {(code, "should be" in message) for each in ledger.failed.values() for code, message in each}
    assert refusals <= {("CONFLICT", True), ("MATCH_NOT_FOUND", False)}, "refused for what it expected only"
    assert all(times == 1 for times in ledger.done.values()), "two have counted on from one number"


def test_more_scopes_and_threads_than_connections_take_turns(
    postgres: Server, postgres_url: str, scope: str
) -> None:
    url = f"{postgres_url}?memfs_connections=2"
    with ExitStack() as stack:
        memories = [stack.enter_context(open_memory(url, scope=f"{scope}-{n}")) for n in range(24)]

        def write(memory: Memory) -> None:
            for number in range(5):
                must(memory, "create", path=f"/memories/{number}.md", text="x")

        run_threads(*(lambda memory=memory: write(memory) for memory in memories))
        assert len(postgres.backends()) <= 3, "two, and the one that listens"
        assert [len(texts(memory)) for memory in memories] == [5] * 24


def test_connections_that_are_all_in_use_for_long_are_told_of(
    postgres: Server, postgres_url: str, scope: str
) -> None:
    url = f"{postgres_url}?memfs_connections=1&memfs_patience=2"
    with open_memory(url, scope=f"{scope}-a") as one, open_memory(url, scope=f"{scope}-b") as other:
        with postgres.connect(STORE) as holder:
            holder.execute("BEGIN")
            holder.execute("SELECT * FROM memfs.scope FOR UPDATE")
            blocked = threading.Thread(
                target=one.execute, args=({"command": "create", "path": "/memories/a.md", "text": "x"},)
            )
            blocked.start()
            eventually(lambda: len(postgres.execute("SELECT FROM pg_locks WHERE NOT granted")) > 0)
            error = failure(other, "create", path="/memories/a.md", text="x")
            blocked.join()
        assert error.code == "STORAGE_ERROR"
        must(one, "create", path="/memories/b.md", text="x")
        must(other, "create", path="/memories/b.md", text="x")


@pytest.fixture(scope="module")
def small_server() -> Iterator[Server]:
    """One that takes few connections, three of them its administrator's only."""
    with running(settings={"max_connections": 8, "superuser_reserved_connections": 3}) as server:
        server.execute(f"CREATE DATABASE {STORE}")
        initialise(server, STORE)
        server.execute("CREATE ROLE app LOGIN SUPERUSER")
        yield server


def test_a_server_that_is_full_is_waited_for_then_told_of_and_comes_back(small_server: Server) -> None:
    server = small_server
    local = f"postgresql://app@/{STORE}?host={server.directory}&port={server.port}&memfs_patience=3"
    with open_memory(local, scope="work") as memory, ExitStack() as taken:
        must(memory, "create", path="/memories/a.md", text="x")
        while True:
            try:
                taken.enter_context(server.connect(STORE))
            except psycopg.OperationalError:
                break
        server_full = open_and_fail(local)
        assert "connection" in server_full
        must(memory, "create", path="/memories/b.md", text="has its connection already")
        taken.close()
        with open_memory(local, scope="other") as other:
            must(other, "create", path="/memories/a.md", text="x")


def open_and_fail(url: str) -> str:
    """What a process that has no connection yet is told."""
    with pytest.raises(OpenError) as raised:
        open_memory(f"{url}&application_name=late", scope="late")
    return raised.value.error.message
