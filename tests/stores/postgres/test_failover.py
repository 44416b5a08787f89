"""The primary dies under load and its synchronous standby takes over: nothing acknowledged is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from memfs import open_memory
from tests.mount.harness import eventually
from tests.stores.harness import ENDLESS, SCOPE
from tests.stores.postgres.conftest import STORE, initialise
from tests.stores.postgres.ledger import Ledger
from tests.stores.postgres.server import ADMINISTRATOR, LOOPBACK, Server, running

pytestmark = pytest.mark.slow
LOADED = f"{SCOPE} under load"


@pytest.fixture(scope="module")
def primary() -> Iterator[Server]:
    with running() as server:
        server.execute(f"CREATE DATABASE {STORE}")
        initialise(server, STORE)
        yield server


@pytest.fixture(scope="module")
def standby(primary: Server) -> Iterator[Server]:
    """In step with the primary, which waits for it from here on."""
    server = Server()
    try:
        server.copy(primary, "standby")
        server.start()
        eventually(lambda: primary.execute("SELECT state FROM pg_stat_replication"), [("streaming",)])
        await_standby(primary)
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module")
def url(primary: Server, standby: Server) -> str:
    """Names both, for whichever takes changes."""
    hosts = f"{LOOPBACK}:{primary.port},{LOOPBACK}:{standby.port}"
    return f"postgresql://{ADMINISTRATOR}@{hosts}/{STORE}?target_session_attrs=read-write&memfs_patience=60"


def await_standby(primary: Server) -> None:
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    primary.execute("SELECT pg_reload_conf()")
    eventually(lambda: primary.execute("SELECT sync_state FROM pg_stat_replication"), [("sync",)])


def test_a_commit_that_no_standby_has_is_not_acknowledged(primary: Server, standby: Server, url: str) -> None:
    with open_memory(url.replace("patience=60", "patience=3"), scope=SCOPE, limits=ENDLESS) as memory:
        create = {"command": "create", "path": "/memories/a.md", "text": "x"}
        standby.freeze()
        try:
            refused = memory.execute(create)
        finally:
            standby.thaw()
        assert refused.error is not None
        assert "not known" in refused.error.message
        assert memory.execute(create).ok
        assert [record.operation for record in memory.history()] in (["created"], ["modified", "created"])


def test_nothing_acknowledged_is_lost_and_clients_go_on_by_themselves(
    primary: Server, standby: Server, url: str
) -> None:
    open_memory(url, scope=LOADED, limits=ENDLESS).close()
    ledger = Ledger(url, LOADED)
    try:
        ledger.start("a", "b", writers=2)
        ledger.wait_for(60)
        standby.freeze()
        cancel_waits(primary, ledger)
        primary.kill()
        standby.thaw()
        standby.promote()
        ledger.wait_for(60)
        ledger.stop()
    finally:
        ledger.kill()
    assert not ledger.failed
    with open_memory(url, scope=LOADED) as memory:
        ledger.check_created(memory)


def cancel_waits(primary: Server, ledger: Ledger) -> None:
    """End the waits for the standby, upon which the server only warns and tells of each commit as done."""
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    eventually(lambda: len(primary.execute(waiting)) >= 1)
    time.sleep(1.0)  # for whatever was acknowledged before to have been said
    acknowledged = ledger.done.total()
    for _ in range(3):
        for (pid,) in primary.execute(waiting):
            primary.execute("SELECT pg_cancel_backend(%s)", pid)
        eventually(lambda: len(primary.execute(waiting)) >= 1)
    assert ledger.done.total() == acknowledged, "told as done, and on one machine only"
