"""Which commits a redaction has replaced, so that nobody who had seen them takes it for a loss.

A file in the sidecar: the commit with which the redaction ended, then a line for each that was replaced:
its id, and that of the one in its place. It is written before the reference moves, and holds as soon as
the reference has got to that commit: a redaction that was killed in between has replaced nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from memfs.stores.git.objects import sync
from memfs.stores.git.repository import Repository, storage_errors


class Superseded:
    """The replaced commits of one reference; safe to ask from any thread."""

    def __init__(self, repository: Repository, ref: str, path: Path) -> None:
        self._repository = repository
        self._ref = ref
        self._path = path
        self._read: tuple[tuple[int, int], str, dict[str, str]] | None = None

    def newest(self, oid: str) -> str:
        """The commit in the place of *oid*, or *oid* itself."""
        end, commits = self._commits()
        new = commits.get(oid)
        if new is None:
            return oid
        tip = self._repository.target(self._ref)
        holds = tip is not None and self._repository.has(end) and self._repository.descends(tip, end)
        return new if holds else oid

    def add(self, commits: dict[str, str], end: str) -> None:
        """Say that *commits* are replaced, each by its value, once the reference has come to *end*."""
        _, earlier = self._commits()
        commits = {old: commits.get(new, new) for old, new in earlier.items()} | {
            old: new for old, new in commits.items() if old != new
        }
        lines = "".join(f"{old} {new}\n" for old, new in commits.items())
        with storage_errors(self._path):
            write_whole(self._path, f"{end}\n{lines}")

    def _commits(self) -> tuple[str, dict[str, str]]:
        try:
            status = self._path.stat()
            read, seen = self._read, (status.st_ino, status.st_mtime_ns)
            if read is None or read[0] != seen:
                end, *lines = self._path.read_text().splitlines()
                read = self._read = (seen, end, {line[:40]: line[41:] for line in lines})
        except (OSError, ValueError):
            return "", {}
        return read[1], read[2]


def write_whole(path: Path, text: str) -> None:
    """Write a file of the sidecar so that it is there with all of *text*, or as it was; under the gate."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync(path.parent)
