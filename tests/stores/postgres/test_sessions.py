"""What others do to a session: an administrator's settings, one that stands between, a fork."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from memfs import OpenError, open_memory
from memfs.stores.postgres.grants import grant, revoke
from tests.harness import failure, must, texts
from tests.mount.harness import eventually
from tests.stores.postgres.conftest import STORE
from tests.stores.postgres.server import Server, running
from tests.stores.postgres.test_store import store_of

A, B = "/memories/a.md", "/memories/b.md"
SETTINGS = [
    "bytea_output = 'escape'",
    "client_encoding = 'LATIN1'",
    "default_transaction_isolation = 'serializable'",
    "idle_in_transaction_session_timeout = '50ms'",
    "idle_session_timeout = '300ms'",
    "quote_all_identifiers = on",
    "row_security = off",
    "search_path = 'nowhere'",
    "standard_conforming_strings = off",
    "statement_timeout = '50ms'",
]
"""Of a role, by ALTER ROLE."""


@pytest.fixture
def role(postgres: Server, postgres_url: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A role of this test's own that may use the test's scope, and whose password is in the environment."""
    name = f"role_{scope.replace('-', '_')}"
    monkeypatch.setenv("PGPASSWORD", "sesame")
    open_memory(postgres_url, scope=scope).close()
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'sesame'")
    with postgres.connect(STORE) as connection:
        grant(connection, name, [scope])
        yield name
        revoke(connection, name, None)
    postgres.execute(f"DROP ROLE {name}")


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_what_an_administrator_has_set_for_a_role_changes_nothing(
    postgres: Server, role: str, scope: str, setting: str
) -> None:
    postgres.execute(f"ALTER ROLE {role} SET {setting}")
    with open_memory(postgres.url(STORE, role), scope=scope) as memory:
        watch = memory.watch(lambda: None)
        with postgres.connect(STORE) as holder, holder.transaction():
            holder.execute("SELECT FROM memfs.scope FOR UPDATE")
            postgres.execute("SELECT pg_sleep(0.4)")  # as another writer's disk is slow
        must(memory, "create", path=A, text="ü\\'%s\0")
        must(memory, "rename", oldPath=A, newPath=B)
        with open_memory(postgres.url(STORE, role, memfs_connections="2"), scope=scope) as other:
            assert texts(other) == {B: "ü\\'%s\0"}
        watch.close()


@pytest.mark.slow
def test_a_role_whose_transactions_only_read_is_told_so(postgres: Server, role: str, scope: str) -> None:
    postgres.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    with open_memory(postgres.url(STORE, role, memfs_patience="1"), scope=scope) as memory:
        message = failure(memory, "create", path=A, text="x").message
    assert "made read-only" in message
    assert "Nothing was changed" in message


def test_a_session_that_has_lost_what_was_prepared_goes_on(postgres_url: str, scope: str) -> None:
    with open_memory(postgres_url, scope=scope) as memory:
        for turn in range(3):
            must(memory, "create", path=A, text=str(turn))
            must(memory, "rename", oldPath=A, newPath=B)
            must(memory, "delete", path=B)
            with store_of(memory)._database.pool.lease(time.monotonic() + 20) as connection:
                connection.execute("DEALLOCATE ALL")


def test_a_child_of_a_fork_leaves_the_connections_to_its_parent(postgres_url: str, scope: str) -> None:
    with open_memory(postgres_url, scope=scope) as memory:
        must(memory, "create", path=A, text="0")
        with store_of(memory)._database.pool.lease(time.monotonic() + 20) as connection:
            before = connection.info.backend_pid
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:  # nothing of pytest may run here
            said = "nothing"
            try:
                refused = memory.execute({"command": "create", "path": B, "text": "never"})
                memory.close()
                with open_memory(postgres_url, scope=scope) as own:
                    made = own.execute({"command": "create", "path": B, "text": "child"})
                said = f"{refused.error and refused.error.message} {made.ok}"
            finally:
                os.write(writer, said.encode())
                os._exit(0)
        os.close(writer)
        for number in range(50):
            must(memory, "create", path=A, text=str(number))
        with os.fdopen(reader) as answer:
            said = answer.read()
        os.waitpid(child, 0)
        assert said == "This memory was opened before the process forked; open it again. True"
        eventually(lambda: texts(memory), {A: "49", B: "child"})
        with store_of(memory)._database.pool.lease(time.monotonic() + 20) as connection:
            assert connection.info.backend_pid == before


@pytest.mark.slow
def test_a_server_without_a_connection_left_is_told_as_such(postgres: Server) -> None:
    with running(settings={"max_connections": 5, "superuser_reserved_connections": 1}) as server:
        taken = [server.connect() for _ in range(5)]
        with pytest.raises(OpenError, match="no connection left"):
            open_memory(server.url("postgres", memfs_patience="1"))
        for connection in taken:
            connection.close()


@pytest.mark.slow
def test_who_listens_and_is_thrown_out_listens_again(postgres: Server, postgres_url: str, scope: str) -> None:
    elsewhere = f"{postgres_url}?memfs_connections=3"
    with open_memory(postgres_url, scope=scope) as memory, open_memory(elsewhere, scope=scope) as other:
        watch = memory.watch(lambda: None)
        for number in range(3):
            eventually(lambda: store_of(memory)._database.hears(store_of(memory)._channel), True)
            with postgres.connect() as connection:
                ended = connection.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE application_name = 'memfs-listen'"
                ).fetchone()
            assert ended is not None
            assert ended[0] >= 1
            must(other, "create", path=A, text=str(number))
            eventually(lambda number=number: texts(memory), {A: str(number)})  # type: ignore[misc]
        watch.close()
