"""What only this mount has: directories without files, and scratch. It survives the process.

A journal in the mount's state directory, one line a change, read back and begun anew at the next
mount. It is written without a sync: it is comfort and crash recovery for editors, not memory.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memfs.mount.lines import begin_anew, lines_of

log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """One such thing. ``data`` is the name of a scratch file's bytes, or a link's target."""

    kind: Literal["directory", "file", "link"]
    mode: int = 0
    data: str = ""
    made_ns: int = 0


def _is_well_formed(kind: Any, mode: Any, data: Any, made_ns: Any) -> bool:
    return (
        kind in ("directory", "file", "link")
        and isinstance(mode, int)
        and isinstance(data, str)
        and isinstance(made_ns, int)
    )


class Local:
    """Entries by path."""

    def __init__(self, state: Path) -> None:
        self._path = state / "local.jsonl"
        self._entries = self._read()
        self._descriptor = self._rewrite()
        self._torn = False

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        """Every entry, parents before what they hold."""
        return iter(sorted(self._entries.items()))

    def get(self, path: str) -> Entry | None:
        """The entry at *path*, or None."""
        return self._entries.get(path)

    def put(self, path: str, entry: Entry) -> None:
        """*path* is this now."""
        if self._entries.get(path) != entry:
            self._entries[path] = entry
            self._append([path, *entry])

    def discard(self, path: str) -> None:
        """*path* is gone, or has become a memory."""
        if self._entries.pop(path, None) is not None:
            self._append([path])

    def move(self, old: str, new: str) -> None:
        """*old* is called *new* now."""
        entry = self._entries.get(old)
        if entry is not None:
            self.discard(old)
            self.put(new, entry)

    def move_below(self, old: str, new: str) -> None:
        """Everything below the directory *old* is below *new* now."""
        for path in [each for each in self._entries if each.startswith(old + "/")]:
            self.move(path, new + path[len(old) :])

    def close(self) -> None:
        """Close the journal; it stays."""
        os.close(self._descriptor)

    def _append(self, fields: list[object]) -> None:
        """A line that cannot be written is logged: what it is about stands, in the mount as in the store."""
        line = json.dumps(fields).encode() + b"\n"
        try:
            whole = os.write(self._descriptor, b"\n" + line if self._torn else line) >= len(line)
        except OSError as error:
            log.warning("%s may not be remembered over a remount: %s", fields[0], error.strerror)
            whole = False
        self._torn = not whole

    def _read(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for line in lines_of(self._path):
            try:
                path, *fields = json.loads(line)
                entry = Entry(*fields) if fields else None
            except (ValueError, TypeError):
                continue  # cut short by a crash, or not ours
            if not isinstance(path, str) or not path.startswith("/"):
                continue
            if entry is None:
                entries.pop(path, None)
            elif _is_well_formed(*entry):
                entries[path] = entry
        return entries

    def _rewrite(self) -> int:
        """Begin a new journal with what the old one came to."""
        return begin_anew(self._path, (json.dumps([path, *entry]).encode() + b"\n" for path, entry in self))
