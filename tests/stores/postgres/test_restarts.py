"""A server that ends, is killed, or stops answering: nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from memfs import open_memory
from tests.stores.postgres.ledger import Ledger
from tests.stores.postgres.server import Server

pytestmark = pytest.mark.slow
ROUNDS = 4
BETWEEN = 30
"""Commands that clients have answered between two blows."""


def restart(server: Server) -> None:
    server.restart("fast")


def crash(server: Server) -> None:
    server.restart("immediate")


def kill_server(server: Server) -> None:
    server.kill()
    server.start()


def kill_a_backend(server: Server) -> None:
    """Which makes the postmaster end all others and recover, as after a crash of one."""
    for pid in random.sample(backends := server.backends(), min(1, len(backends))):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_backends(server: Server) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'memfs%'"
    )


def freeze(server: Server) -> None:
    server.freeze()
    time.sleep(1.0)
    server.thaw()


@pytest.mark.parametrize("blow", [restart, crash, kill_server, kill_a_backend, end_backends, freeze])
def test_writers_go_on_and_nothing_acknowledged_is_lost(
    postgres: Server, endless: str, scope: str, ledger: Ledger, blow: Callable[[Server], None]
) -> None:
    ledger.start("a", "b", writers=2)
    for _ in range(ROUNDS):
        ledger.wait_for(BETWEEN)
        blow(postgres)
    ledger.wait_for(BETWEEN)
    ledger.stop()
    assert not ledger.failed, "each blow is shorter than a writer's patience"
    with open_memory(endless, scope=scope) as memory:
        ledger.check_created(memory)


def test_clients_killed_in_the_midst_of_commits_leave_whole_ones(
    endless: str, scope: str, ledger: Ledger
) -> None:
    for number in range(ROUNDS):
        ledger.start(f"a{number}", f"b{number}", writers=2)
        ledger.wait_for(BETWEEN)
        ledger.kill()
    with open_memory(endless, scope=scope) as memory:
        ledger.check_created(memory)


def test_a_server_that_stays_away_is_told_of_in_time_and_reads_go_on(
    postgres: Server, endless: str, scope: str
) -> None:
    impatient = f"{endless}?memfs_patience=2"
    with open_memory(impatient, scope=scope) as memory:
        create = {"command": "create", "path": "/memories/a.md", "text": "before"}
        assert memory.execute(create).ok
        postgres.stop()
        try:
            begun = time.monotonic()
            refused = memory.execute(create | {"text": "meanwhile"})
            assert time.monotonic() - begun >= 1.0
            assert refused.error is not None
            assert refused.error.code == "STORAGE_ERROR"
            begun = time.monotonic()
            seen = memory.execute({"command": "view", "path": "/memories/a.md"}).to_wire()
            assert seen["ok"], seen
            assert seen["value"]["text"] == "before"  # type: ignore[index]
            assert time.monotonic() - begun < 1.0
            assert "reads go on" in str(memory.report()["away"])
        finally:
            postgres.start()
        assert memory.execute(create | {"text": "after"}).ok
        assert [record.operation for record in memory.history()] == ["modified", "created"]
