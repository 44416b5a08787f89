"""Mounts and terminals for real programs, and a line about the programs that this machine lacks."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.harness import Editing, Terminal, a_place, editing_in
from tests.mount.harness import skip_where_nothing_mounts
from tests.mount.watchdog import WATCHDOG

SECONDS = 110.0
MakeEditing = Callable[..., Editing]
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no mount can be made, say so for each test."""
    skip_where_nothing_mounts(items, Path(__file__).parent)


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """A test that hangs on its mount is freed, and fails."""
    with WATCHDOG.guards(SECONDS):
        yield


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for one test, where editors make backups."""
    with a_place() as directory:
        yield directory


@pytest.fixture
def editing(place: Path) -> Iterator[MakeEditing]:
    """Makes mounts of a test's own, started: ``editing(files={"a.md": "text\\n"}, max_files=8)``."""
    with editing_in(place) as make:
        yield make


@pytest.fixture
def terminal(place: Path, editing: MakeEditing) -> Iterator[Terminal]:
    """A terminal of a test's own; what runs in it ends before the mounts go."""
    opened = Terminal(place)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def second(place: Path, editing: MakeEditing) -> Iterator[Terminal]:
    """One more terminal."""
    opened = Terminal(place, "second")
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Editing]:
    """The module's mount, with room for all of its tests."""
    with a_place() as directory, editing_in(directory) as make:
        yield make(max_files=100_000, max_total_bytes=1 << 30)


@pytest.fixture
def here(shared: Editing) -> Iterator[Path]:
    """A directory in the module's mount for one test alone; what it holds is gone afterwards."""
    directory = shared.path / f"t{next(_numbers)}"
    directory.mkdir()
    shared.mark()
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
