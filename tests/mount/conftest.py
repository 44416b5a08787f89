"""Mounts for the tests here: one daemon for a module where the test's own directory is isolation enough."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mount.harness import Mounted, skip_where_nothing_mounts
from tests.mount.watchdog import WATCHDOG

SECONDS = 60.0
SLOW_SECONDS = 900.0
Mounting = Callable[..., Mounted]
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no mount can be made, say so for each test."""
    skip_where_nothing_mounts(items, Path(__file__).parent)


@pytest.fixture(autouse=True)
def watchdog(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs on its mount is freed, and fails."""
    slow = request.node.get_closest_marker("slow") is not None
    with WATCHDOG.guards(SLOW_SECONDS if slow else SECONDS):
        yield


@pytest.fixture(scope="module")
def shared_mounting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounting]:
    """As ``mounting``, for mounts that several tests of a module share."""
    with mounts_below(tmp_path_factory.mktemp("shared")) as make:
        yield make


@pytest.fixture(scope="module")
def mount(shared_mounting: Mounting) -> Mounted:
    """The module's mount, with room for all of its tests."""
    return shared_mounting(max_files=100_000, max_total_bytes=1 << 30)


@pytest.fixture
def here(mount: Mounted) -> Path:
    """A directory in the module's mount for one test alone."""
    directory = mount.path / f"t{next(_numbers)}"
    directory.mkdir()
    return directory


@pytest.fixture
def mounting(tmp_path: Path) -> Iterator[Mounting]:
    """Makes mounts of a test's own, started; the orders are the runner's."""
    with mounts_below(tmp_path) as make:
        yield make


@contextmanager
def mounts_below(directory: Path) -> Iterator[Mounting]:
    """Makes mounts, and takes them away at the end."""
    made: list[Mounted] = []

    def make(**orders: Any) -> Mounted:
        mounted = Mounted(directory / f"mount{len(made)}", **orders)
        made.append(mounted)
        mounted.start()
        return mounted

    try:
        yield make
    finally:
        for mounted in made:
            mounted.close()
