"""A server for the tests of each process, and a store of its own for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest

from memfs import open_memory
from memfs.stores.postgres import schema
from tests.mount.watchdog import WATCHDOG
from tests.stores.harness import ENDLESS, SCOPE
from tests.stores.postgres.ledger import Ledger
from tests.stores.postgres.server import Server, programs, running

STORE = "store"
HANGS_AFTER = 300.0
_numbers = count()


def initialise(server: Server, database: str) -> None:
    """Make the tables of a store, owned by the administrator."""
    with server.connect(database) as connection:
        schema.initialise(connection)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that the tests of this process share; a test that stops it starts it again."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: ./scripts/test does it")
    with running() as server:
        server.execute(f"CREATE DATABASE {STORE}")
        initialise(server, STORE)
        yield server


@pytest.fixture
def empty_database(postgres: Server) -> Iterator[str]:
    """The name of a database of this test's own in which there is nothing."""
    name = postgres.create_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture
def own_store(postgres: Server) -> Iterator[str]:
    """The name of a database of this test's own that is a store without scopes: a second to make."""
    name = postgres.create_database()
    initialise(postgres, name)
    yield name
    postgres.drop_database(name)


@pytest.fixture
def postgres_url(postgres: Server) -> str:
    """The URL of the store that the tests of this process share."""
    return postgres.url(STORE)


@pytest.fixture
def scope() -> str:
    """The name of a scope of this test's own, which is not there yet."""
    return f"{SCOPE}-{next(_numbers)}"


@pytest.fixture
def endless(postgres_url: str, scope: str) -> str:
    """The URL of the store, in which the test's scope is made so that no file leaves for another."""
    open_memory(postgres_url, scope=scope, limits=ENDLESS).close()
    return postgres_url


@pytest.fixture
def ledger(endless: str, scope: str) -> Iterator[Ledger]:
    """What clients of the test's scope were told; none of them outlives the test."""
    ledger = Ledger(endless, scope)
    try:
        yield ledger
    finally:
        ledger.kill()


@pytest.fixture
def watchdog() -> Iterator[None]:
    """For a test with mounts: where it hangs on one, it is freed, and fails."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("machine: /dev/fuse cannot be opened")
    with WATCHDOG.guards(HANGS_AFTER):
        yield
