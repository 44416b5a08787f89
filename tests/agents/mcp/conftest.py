"""A home for the servers of these tests, and one server that the tests which only ask share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.mcp.peer import LEGACY, MODERN, Peer, spoken_to
from tests.cli.conftest import Place, Shell, place, shell

__all__ = ["Place", "place", "shell"]


@pytest.fixture(scope="module", params=[LEGACY, pytest.param(MODERN, marks=pytest.mark.slow)])
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """A client of a server over an empty scope, for all tests of a module."""
    home: Path = tmp_path_factory.mktemp("home")
    with spoken_to(Shell(home).environment, mode=request.param) as connected:
        yield connected
