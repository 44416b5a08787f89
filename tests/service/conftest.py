"""One user manager for the tests of a module; each test has a memory of its own in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import shell  # noqa: F401 - a fixture
from tests.service.manager import Manager, new_home, running_manager


@pytest.fixture(scope="module")
def manager() -> Iterator[Manager]:
    with new_home() as home, running_manager(home) as running:
        yield running
