"""A directory for repositories: in memory where that can be, since each commit syncs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import MEMORY_DISK


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as directory:
        yield Path(directory)


@pytest.fixture
def repository(place: Path) -> Path:
    """Where a repository may be made."""
    return place / "repository"
