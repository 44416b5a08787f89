"""A workspace in a folder that holds it, and beside it a tree that must never change."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memfs import ensure_memory

STUB = b"# Memory\n"
EMPTY_PAGE_INDEX = b'{"version":1,"pages":{}}\n'
NOBODY = 65534


def picture(root: Path) -> dict[str, Any]:
    """All that can be seen of a tree but access times: contents, inodes, modes, links and times."""
    seen = {}
    for path in (root, *sorted(root.rglob("*"))):
        found = path.lstat()
        content: object = None
        if stat.S_ISREG(found.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(found.st_mode):
            content = path.readlink()
        seen[str(path.relative_to(root))] = (
            content, found.st_ino, found.st_mode, found.st_uid, found.st_nlink, found.st_rdev,
            found.st_mtime_ns, found.st_ctime_ns,
        )  # fmt: skip
    return seen


def names(root: Path) -> set[str]:
    """Every name below *root*."""
    return {str(path.relative_to(root)) for path in root.rglob("*")}


class Workspace:
    """An agent's folder, and what was said about it."""

    def __init__(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.path = path
        self.memory = path / "memory"
        self._caplog = caplog

    def ensure(self) -> list[str]:
        """Ensure its memory; the warnings. The path is always the same."""
        self._caplog.clear()
        assert ensure_memory(str(self.path)) == str(self.memory)
        return self.warnings

    @property
    def warnings(self) -> list[str]:
        assert {(record.name, record.levelno) for record in self._caplog.records} <= {
            ("memfs.workspace", logging.WARNING)
        }
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A tree outside of the workspace. It is as before when the test ends."""
    outside = tmp_path / "outside"
    (outside / ".meta").mkdir(parents=True)
    (outside / "kept.md").write_bytes(b"kept")
    (outside / "folder").mkdir()
    (outside / "folder" / "kept.md").write_bytes(b"kept too")
    before = picture(outside)
    yield outside
    assert picture(outside) == before


@pytest.fixture
def workspace(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Workspace:
    """A workspace that exists, without a memory."""
    path = tmp_path / "holder" / "agent"
    path.mkdir(parents=True)
    return Workspace(path, caplog)


@pytest.fixture
def public(caplog: pytest.LogCaptureFixture) -> Iterator[Workspace]:
    """The same where other users find it: pytest's own directories are closed to them."""
    root = Path(tempfile.mkdtemp(prefix="memfs-workspace-"))
    root.chmod(0o755)
    path = root / "holder" / "agent"
    path.mkdir(parents=True)
    if os.geteuid() == 0:
        for owned in (path.parent, path):
            os.chown(owned, NOBODY, NOBODY)
    yield Workspace(path, caplog)
    for folder, _folders, _files in os.walk(root):
        os.chmod(folder, 0o700)
    shutil.rmtree(root)


def as_ordinary_user(action: Callable[[], list[str]]) -> list[str]:
    """The result of *action* by somebody for whom modes count: root becomes nobody in one thread."""
    results: list[list[str]] = []

    def run() -> None:
        if os.geteuid() == 0:
            libc = ctypes.CDLL(None, use_errno=True)
            # Of this thread alone, and the capabilities that pass over modes go with the user.
            libc.setfsgid(NOBODY)
            libc.setfsuid(NOBODY)
        results.append(action())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]
