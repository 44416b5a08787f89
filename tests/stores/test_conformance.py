"""Every store of ours keeps the contract, and is what the port asks of a store."""

from __future__ import annotations

from functools import partial

import pytest

from memfs import open_memory
from memfs.port.store import Store, Watch
from memfs.stores.git.store import GitStore
from memfs.stores.git.watch import ReferenceWatch
from memfs.stores.simple import SimpleStore, SimpleWatch
from memfs.stores.sqlite import SqliteStore
from memfs.stores.sqlite.watch import SqliteWatch
from memfs.testing import Case, conformance_cases

# Checked by mypy: the classes satisfy the protocols.
STORES: tuple[type[Store], ...] = (SimpleStore, SqliteStore, GitStore)
WATCHES: tuple[type[Watch], ...] = (SimpleWatch, SqliteWatch, ReferenceWatch)


@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_simple_store_keeps_the_contract(case: Case) -> None:
    case.run(partial(open_memory, "simple:"))


@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_sqlite_store_keeps_the_contract(case: Case, sqlite_url: str) -> None:
    case.run(partial(open_memory, sqlite_url))


@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_git_store_keeps_the_contract(case: Case, git_url: str) -> None:
    case.run(partial(open_memory, git_url))
