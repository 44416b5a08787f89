"""Every store of ours keeps the contract, and is what the port asks of a store."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memfs import Memory, open_memory
from memfs.port.keeping import Keeper
from memfs.port.store import Reporting, Shared, Store, Watch
from memfs.stores.directory import DirectoryStore
from memfs.stores.directory.dirt import DirectoryWatch
from memfs.stores.git.store import GitStore
from memfs.stores.git.watch import ReferenceWatch
from memfs.stores.simple import SimpleStore, SimpleWatch
from memfs.stores.sqlite import SqliteStore
from memfs.stores.sqlite.watch import SqliteWatch
from memfs.testing import Case, conformance_cases

# Checked by mypy: the classes satisfy the protocols.
STORES: tuple[type[Store], ...] = (SimpleStore, SqliteStore, DirectoryStore, GitStore)
KEEPERS: tuple[type[Keeper], ...] = (SqliteStore, DirectoryStore, GitStore)
REPORTING: tuple[type[Reporting], ...] = (DirectoryStore, GitStore)
SHARED: tuple[type[Shared], ...] = (DirectoryStore,)
WATCHES: tuple[type[Watch], ...] = (SimpleWatch, SqliteWatch, DirectoryWatch, ReferenceWatch)


@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_simple_store_keeps_the_contract(case: Case) -> None:
    case.run(partial(open_memory, "simple:"))


@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_sqlite_store_keeps_the_contract(case: Case, fast_path: Path) -> None:
    case.run(partial(open_memory, f"sqlite:{fast_path}/store"))


@pytest.mark.slow
@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_directory_store_keeps_the_contract(case: Case, fast_path: Path) -> None:
    folders: dict[str, Path] = {}

    def open_folder(scope: str, **rules: Any) -> Memory:
        folder = folders.setdefault(scope, fast_path / str(len(folders)))  # a folder is one scope
        return open_memory(f"directory:{folder}", scope=scope, **rules)

    case.run(open_folder)


@pytest.mark.slow
@pytest.mark.parametrize("case", conformance_cases, ids=str)
def test_a_git_store_keeps_the_contract(case: Case, git_url: str) -> None:
    case.run(partial(open_memory, git_url))
