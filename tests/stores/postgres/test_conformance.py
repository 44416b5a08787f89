"""A store on PostgreSQL keeps the contract, and is what the port asks of a store."""

from __future__ import annotations

from functools import partial

import pytest

from memfs import open_memory
from memfs.port.keeping import Keeper
from memfs.port.store import Reporting, Store
from memfs.stores.postgres.store import PostgresStore
from memfs.testing import Case, conformance_cases

# Checked by mypy: the class satisfies the protocols.
STORE: type[Store] = PostgresStore
KEEPER: type[Keeper] = PostgresStore
REPORTING: type[Reporting] = PostgresStore


@pytest.mark.slow
@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_postgresql_store_keeps_the_contract(case: Case, postgres_url: str) -> None:
    case.run(partial(open_memory, postgres_url))
