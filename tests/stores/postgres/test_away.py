"""While the server is away what is known is read, a write waits so long and no longer, and all recovers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from memfs import Memory, open_memory
from memfs.port.receipts import Result
from memfs.stores.postgres import schema
from tests.harness import must, texts
from tests.stores.postgres.server import Server, running
from tests.stores.postgres.test_store import eventually

pytestmark = pytest.mark.slow

A, B = "/memories/a.md", "/memories/b.md"
PATIENCE = 4


@pytest.fixture
def server(postgres: Server) -> Iterator[Server]:
    """A server that this test may stop; *postgres* says whether there can be one."""
    with running() as server:
        with server.connect() as connection:
            schema.initialise(connection)
        yield server


@pytest.fixture
def memory(server: Server) -> Iterator[Memory]:
    url = f"{server.url('postgres')}?memfs_patience={PATIENCE}"
    with open_memory(url, scope="work") as memory:
        must(memory, "create", path=A, text="1")
        watch = memory.watch(lambda: None)
        yield memory
        watch.close()


def create(memory: Memory, path: str, text: str) -> Result:
    return memory.execute({"command": "create", "path": path, "text": text})


def test_a_stopped_server_is_read_from_what_is_known(server: Server, memory: Memory) -> None:
    assert memory.away() is None
    server.stop()
    started = time.monotonic()
    refused = create(memory, A, "2")
    assert not refused.ok
    assert refused.error is not None
    assert "has been away for 4 s" in refused.error.message
    assert PATIENCE * 0.5 < time.monotonic() - started < PATIENCE + 10
    assert "reads go on" in str(memory.away())
    assert "since" in str(memory.report()["away"])
    started = time.monotonic()
    assert texts(memory) == {A: "1"}
    assert time.monotonic() - started < PATIENCE / 2
    server.start()
    eventually(lambda: memory.away() is None)
    must(memory, "create", path=A, text="3")
    assert [record.version for record in memory.history()] == [2, 1]


def test_who_reads_does_not_wait_for_who_waits(server: Server, memory: Memory) -> None:
    """A server that answers nothing: nobody knows yet that it is away."""
    server.freeze()
    answers: list[Result] = []
    writer = threading.Thread(target=lambda: answers.append(create(memory, B, "2")))
    writer.start()
    started = time.monotonic()
    assert texts(memory) == {A: "1"}
    assert time.monotonic() - started < PATIENCE - 1
    writer.join()
    assert not answers[0].ok, "and its patience is over"
    server.thaw()
    eventually(lambda: memory.away() is None)
    assert set(texts(memory)) <= {A, B}
    must(memory, "create", path=B, text="3")
    assert texts(memory)[B] == "3"


def test_a_write_outlasts_a_restart(server: Server, memory: Memory) -> None:
    answers: list[Result] = []
    server.stop("immediate")
    writer = threading.Thread(target=lambda: answers.append(create(memory, B, "2")))
    writer.start()
    server.start()
    writer.join()
    must(memory, "create", path=A, text="3")
    if answers[0].ok:  # else the server took longer than it had
        assert texts(memory) == {A: "3", B: "2"}


def test_what_was_committed_meanwhile_is_seen_when_it_is_back(server: Server, memory: Memory) -> None:
    woken = threading.Event()
    watch = memory.watch(woken.set)
    server.stop()
    eventually(lambda: memory.away() is not None)
    server.start()
    with open_memory(server.url("postgres"), scope="work") as other:
        must(other, "create", path=B, text="theirs")
    eventually(lambda: memory.away() is None and texts(memory) == {A: "1", B: "theirs"})
    assert woken.is_set()
    watch.close()
