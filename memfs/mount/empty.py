"""The directories that only this mount knows: made here, or left without files.

The port's directories exist by their files, so these are written to a journal in the mount's
state directory, one line a change, and read back at the next mount.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)


class EmptyDirectories:
    """A set of paths that survives the process. Not synced: it is comfort, not memory."""

    def __init__(self, state: Path) -> None:
        self._path = state / "directories.jsonl"
        self.paths: set[str] = self._read()
        self._descriptor = self._rewrite()
        self._torn = False

    def add(self, path: str) -> None:
        """*path* is a directory without files."""
        if path not in self.paths:
            self.paths.add(path)
            self._append("+", path)

    def discard(self, path: str) -> None:
        """*path* is gone."""
        if path in self.paths:
            self.paths.remove(path)
            self._append("-", path)

    def move(self, old: str, new: str) -> None:
        """The directory *old* is called *new* now, and so are those below it."""
        for path in self._at_or_below(old):
            self.discard(path)
            self.add(new + path[len(old) :])

    def close(self) -> None:
        """Close the journal; it stays."""
        os.close(self._descriptor)

    def _at_or_below(self, path: str) -> list[str]:
        return [each for each in self.paths if each == path or each.startswith(path + "/")]

    def _append(self, sign: str, path: str) -> None:
        """A line that cannot be written is logged: what it is about stands, in the mount as in the store."""
        line = json.dumps([sign, path]).encode() + b"\n"
        try:
            whole = os.write(self._descriptor, b"\n" + line if self._torn else line) >= len(line)
        except OSError as error:
            log.warning("%s may not be remembered over a remount: %s", path, error.strerror)
            whole = False
        self._torn = not whole

    def _read(self) -> set[str]:
        paths: set[str] = set()
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return paths
        for line in lines:
            try:
                sign, path = json.loads(line)
            except ValueError:
                continue  # a line cut short by a crash
            if sign == "+":
                paths.add(path)
            else:
                paths.discard(path)
        return paths

    def _rewrite(self) -> int:
        """Begin a new journal with what is left of the old one."""
        aside = self._path.with_suffix(".new")
        descriptor = os.open(
            aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        for path in sorted(self.paths):
            os.write(descriptor, json.dumps(["+", path]).encode() + b"\n")
        aside.rename(self._path)
        return descriptor
