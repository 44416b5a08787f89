"""The changes of a line of commits, by memory and by version: made from the commits, and thrown away freely.

A change is kept as the text that its commit carries, which takes a tenth of what it is as objects. In a
file of the sidecar the same lines spare the next process the reading of every commit.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from memfs.port.store import Record
from memfs.stores.git.recorded import LEFT, Recorded


class Log:
    """The changes up to the commit ``tip`` of memfs, oldest first; only ever added to."""

    def __init__(self) -> None:
        self.tip: str | None = None
        self._texts: list[str] = []
        self._versions: dict[int, int] = {}
        self.lengths: dict[str, int] = {}
        """By the commits: how many changes there were with each."""
        self._of: dict[int, list[int]] = {}
        self._left: dict[int, int | Record] = {}
        self._heads: list[str] = []
        """What stands before each text in the file: commit, version, memories (minus: it left)."""

    @classmethod
    def load(cls, path: Path) -> Log:
        """What a process has saved at *path*; nothing where that cannot be read."""
        log = cls()
        try:
            checksum, _, body = path.read_bytes().partition(b"\n")
            if int(checksum) != zlib.crc32(body):  # a power cut may have left a part of it
                return log
            for line in body.decode().splitlines():
                oid, version, ids, text = line.split(" ", 3)
                log._enter(oid, int(version), [int(each) for each in ids.split(",") if each], text)
        except (OSError, ValueError):
            return cls()
        return log

    def save(self, path: Path) -> None:
        """Leave all of it at *path* for other processes. Raises OSError."""
        temporary = path.with_name(f"{path.name}.new")
        lines = zip(self._heads, self._texts, strict=True)
        body = "".join(f"{head} {text}\n" for head, text in lines).encode()
        temporary.write_bytes(b"%d\n" % zlib.crc32(body) + body)
        temporary.rename(path)

    def add(self, oid: str, changes: Iterable[Recorded]) -> None:
        """Add the *changes* of the commit *oid*, which comes after ``tip``."""
        for recorded in changes:
            left = {record.id for record in recorded.records() if record.operation in LEFT}
            ids = [-each if each in left else each for each in recorded.blobs]
            self._enter(oid, recorded.version, ids, json.dumps(recorded.to_json()))

    def oldest_first(self, length: int) -> Iterator[Recorded]:
        """The first *length* changes."""
        return map(_parsed, self._texts[:length])

    def newest_first(self, length: int) -> Iterator[Recorded]:
        """The same from their end."""
        return map(_parsed, reversed(self._texts[:length]))

    def of(self, file_id: int, length: int) -> list[Recorded]:
        """Those among the first *length* that a memory was in, oldest first."""
        return [_parsed(self._texts[at]) for at in self._of.get(file_id, ()) if at < length]

    def at(self, version: int) -> Recorded | None:
        """The change *version*."""
        at = self._versions.get(version)
        return None if at is None else _parsed(self._texts[at])

    def left(self) -> Iterator[Record]:
        """The newest record of each memory that has left."""
        for file_id, known in list(self._left.items()):
            record = known
            if isinstance(record, int):
                records = _parsed(self._texts[record]).records()
                record = next(each for each in records if each.id == file_id and each.operation in LEFT)
                if self._left.get(file_id) == known:
                    self._left[file_id] = record
            yield record

    def _enter(self, oid: str, version: int, ids: list[int], text: str) -> None:
        at = len(self._texts)
        self._texts.append(text)
        self._versions[version] = at
        for each in ids:
            self._of.setdefault(abs(each), []).append(at)
            if each < 0:
                self._left[-each] = at
            else:
                self._left.pop(each, None)
        self.lengths[oid] = at + 1
        self._heads.append(f"{oid} {version} {','.join(map(str, ids))}")
        self.tip = oid


def _parsed(text: str) -> Recorded:
    return Recorded.from_json(json.loads(text))
