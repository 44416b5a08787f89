"""A server for the tests of each process, and an empty database for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stores.postgres.server import Server, programs, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that the tests of this process share; a test that stops it starts it again."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: ./scripts/test does it")
    with running() as server:
        yield server


@pytest.fixture
def empty_database(postgres: Server) -> Iterator[str]:
    """The name of a database of this test's own in which there is nothing."""
    name = postgres.create_database()
    yield name
    postgres.drop_database(name)
