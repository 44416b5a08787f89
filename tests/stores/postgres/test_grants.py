"""A role sees the scopes that are granted to it, and no trace of others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from memfs import OpenError, StoreError, open_memory
from memfs.stores.postgres.grants import Grant, grant, granted, revoke
from tests.harness import must, texts
from tests.stores.postgres.server import Server

pytestmark = pytest.mark.slow

A = "/memories/a.md"
_numbers = count()


@pytest.fixture
def role(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A role of this test's own, whose password is in the environment."""
    name = f"Rôle {next(_numbers)}"
    postgres.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD 'sesame'")
    monkeypatch.setenv("PGPASSWORD", "sesame")
    yield name
    postgres.execute(f'DROP ROLE "{name}"')


def url_of(server: Server, database: str, role: str) -> str:
    return server.url(database, role.replace(" ", "%20"))


def test_a_role_sees_what_is_granted_to_it(postgres: Server, own_store: str, role: str) -> None:
    for scope in ("mine", "theirs"):
        with open_memory(postgres.url(own_store), scope=scope) as memory:
            must(memory, "create", path=A, text=scope)
    url = url_of(postgres, own_store, role)
    with pytest.raises(OpenError, match="memfs store grant"):
        open_memory(url, scope="mine")
    with postgres.connect(own_store) as connection:
        grant(connection, role, ["mine"])
        grant(connection, role, ["mine"])
        assert granted(connection) == [Grant(role, "mine")]
    with open_memory(url, scope="mine") as memory:
        must(memory, "create", path="/memories/b.md", text="b")
        must(memory, "delete", path=A)
        must(memory, "create", path=A, text="again")
        assert texts(memory) == {A: "again", "/memories/b.md": "b"}
        memory.maintain()
    with pytest.raises(OpenError, match="memfs store grant"):
        open_memory(url, scope="theirs")
    with psycopg.connect(url, autocommit=True) as connection:
        for table in ("directory", "scope", "history", "file", "gone", "access"):
            found = connection.execute(f"SELECT DISTINCT scope FROM memfs.{table}".encode()).fetchall()
            assert len(found) <= 1, table
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO memfs.access SELECT 0, current_user::regrole")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO memfs.gone VALUES (7, 7, 'x', 7)")
        with pytest.raises(StoreError, match="who owns the store"):
            grant(connection, role, None)
    with postgres.connect(own_store) as connection:
        revoke(connection, role, None)
        assert granted(connection) == []
    with pytest.raises(OpenError, match="memfs store grant"):
        open_memory(url, scope="mine")


def test_a_role_that_may_create_has_what_it_creates(postgres: Server, own_store: str, role: str) -> None:
    open_memory(postgres.url(own_store), scope="theirs").close()
    with postgres.connect(own_store) as connection:
        grant(connection, role, may_create=True)
    with open_memory(url_of(postgres, own_store, role), scope="new") as memory:
        must(memory, "create", path=A, text="1")
    with pytest.raises(OpenError, match="another role"):
        open_memory(url_of(postgres, own_store, role), scope="theirs")
    with postgres.connect(own_store) as connection:
        assert granted(connection) == [Grant(role, None, may_create=True), Grant(role, "new")]
        revoke(connection, role, None)


def test_all_scopes_are_those_to_come_too(postgres: Server, own_store: str, role: str) -> None:
    with postgres.connect(own_store) as connection:
        grant(connection, role, None)
    open_memory(postgres.url(own_store), scope="later").close()
    with open_memory(url_of(postgres, own_store, role), scope="later") as memory:
        must(memory, "create", path=A, text="1")
    with postgres.connect(own_store) as connection:
        revoke(connection, role, None)


def test_what_is_not_there_cannot_be_granted(postgres: Server, own_store: str, role: str) -> None:
    with postgres.connect(own_store) as connection:
        with pytest.raises(StoreError, match="no role 'nobody here'"):
            grant(connection, "nobody here", None)
        with pytest.raises(StoreError, match="no scope 'nothing'"):
            grant(connection, role, ["nothing"])
        assert granted(connection) == []


def test_a_wrong_password_is_no_secret_told(
    postgres: Server, own_store: str, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "open-wheat")
    with pytest.raises(OpenError, match="password") as refused:
        open_memory(url_of(postgres, own_store, role))
    assert "wheat" not in refused.value.error.message
