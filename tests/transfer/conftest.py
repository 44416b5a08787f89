"""Memories to take out of and bring into, and directories for repositories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs import Memory, open_memory
from tests.conftest import MEMORY_DISK


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as directory:
        yield Path(directory)


@pytest.fixture
def memory(sqlite_url: str) -> Iterator[Memory]:
    """An empty memory in a store of its own."""
    with open_memory(sqlite_url) as opened:
        yield opened
