"""Mounts for the tests here: one daemon for a module where the test's own directory is isolation enough."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mount.harness import Mounted
from tests.mount.watchdog import WATCHDOG

SECONDS = 60.0
SLOW_SECONDS = 900.0
Mounting = Callable[..., Mounted]
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no mount can be made, say so for each test."""
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip("machine: /dev/fuse cannot be opened"))


@pytest.fixture(autouse=True)
def watchdog(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs on its mount is freed, and fails."""
    slow = request.node.get_closest_marker("slow") is not None
    WATCHDOG.expect_end_within(SLOW_SECONDS if slow else SECONDS)
    yield
    barked = WATCHDOG.barked
    WATCHDOG.expect_end_within(None)
    assert not barked, "the test hung; its mounts were aborted"


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    """The module's mount, with room for all of its tests."""
    mounted = Mounted(tmp_path_factory.mktemp("mount"), max_files=100_000, max_total_bytes=1 << 30)
    try:
        mounted.start()
        yield mounted
    finally:
        mounted.close()


@pytest.fixture
def here(mount: Mounted) -> Path:
    """A directory in the module's mount for one test alone."""
    directory = mount.path / f"t{next(_numbers)}"
    directory.mkdir()
    return directory


@pytest.fixture
def mounting(tmp_path: Path) -> Iterator[Mounting]:
    """Makes mounts of a test's own, started; the orders are the runner's."""
    made: list[Mounted] = []

    def make(**orders: Any) -> Mounted:
        mounted = Mounted(tmp_path / f"mount{len(made)}", **orders)
        made.append(mounted)
        mounted.start()
        return mounted

    try:
        yield make
    finally:
        for mounted in made:
            mounted.close()
