"""What the tests of the directory store share: a folder, its memory, and what lies in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from memfs.port.change import Actor
from memfs.port.memory import Memory
from memfs.port.policy import Limits, Policy
from memfs.stores.directory import DirectoryStore, open_directory

SCOPE = "work"
OURS = Actor("tester", "pytest")
THEIRS = Actor("", "another program", 0)
GENEROUS = 20.0
"""Seconds after which what has not come will not come."""


def open_folder(
    folder: Path, relaxed: bool = False, limits: Limits | None = None
) -> tuple[Memory, DirectoryStore]:
    """A memory over the directory store in *folder*, and that store; closing the memory closes both.

    With *limits*, they stay as they are, and the earliest writes leave where there is no room.
    """
    named = () if limits is None else ("max_files", "max_total_bytes", "max_file_bytes", "eviction")
    store, _ = open_directory(folder, SCOPE, Policy(limits or Limits()), relaxed, named)
    return Memory(store, OURS), store


def files_in(folder: Path) -> dict[str, str]:
    """The plain files of *folder* that are not hidden, and their texts."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("[!.]*"))
        if path.is_file() and ".meta" not in path.parts
    }


def told(store: DirectoryStore) -> list[tuple[str, str, Actor]]:
    """The history: operation, path and actor, the earliest first."""
    return [(record.operation, record.path, record.actor) for record in store.history(newest_first=False)]


def staged(folder: Path) -> list[str]:
    """What lies in ``.meta/staged``."""
    return sorted(path.name for path in (folder / ".meta" / "staged").iterdir())


def eventually(look: Callable[[], object], expected: object = True) -> None:
    """Look again and again, until it is as *expected*.

    A look of several commands may itself fail, where a file went between two of them: that is one too early.
    """
    end = time.monotonic() + GENEROUS
    while True:
        try:
            seen = look()
        except AssertionError as error:
            seen = error
        if seen == expected:
            return
        assert time.monotonic() < end, f"still {seen!r}, expected {expected!r}"
        time.sleep(0.005)
