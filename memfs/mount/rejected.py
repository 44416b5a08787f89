"""Bytes that a refused write would have lost, kept for a person to come back for.

They lie in the mount's state directory, one file of bytes and one of facts each, bounded in size
and age. ``.memfs/rejected`` and ``memfs rejected`` show them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memfs.places import read_ordinary
from memfs.port.names import ROOT

MAX_BYTES = 16 << 20
MAX_SECONDS = 30 * 24 * 3600


class RejectedFile(NamedTuple):
    """One refused save. ``complete`` is False where the program gave up before it had written all.

    ``path`` is where it should have gone, ``code`` and ``message`` say why it did not.
    """

    name: str
    path: str
    time_ns: int
    size: int
    complete: bool
    code: str
    message: str
    program: str
    pid: int


class Rejected:
    """The refused saves of one mount. Several processes may look; the mount alone adds."""

    def __init__(self, state: Path) -> None:
        self._directory = state / "rejected"

    def keep(
        self, path: str, data: bytes, *, complete: bool, code: str, message: str, program: str, pid: int
    ) -> RejectedFile:
        """Keep *data*, which should have become *path*; the oldest ones leave for it. Raises OSError."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        now_ns = time.time_ns()
        name = self._free_name(path, now_ns)
        kept = RejectedFile(name, path, now_ns, len(data), complete, code, message, program, pid)
        self._write(name, data)
        self._write(name + ".json", json.dumps(kept._asdict()).encode())
        self.sweep()
        return kept

    def __iter__(self) -> Iterator[RejectedFile]:
        """Everything kept, the oldest first."""
        for name in self._names():
            if not name.endswith(".json"):
                continue
            try:
                yield RejectedFile(**json.loads(read_ordinary(self._directory / name)))
            except (OSError, ValueError, TypeError):
                continue  # dropped meanwhile, or cut short by a crash

    def read(self, name: str) -> bytes:
        """The bytes of the refused save called *name*. Raises OSError."""
        return read_ordinary(self._directory / name)

    def drop(self, name: str) -> None:
        """Forget a refused save."""
        (self._directory / (name + ".json")).unlink(missing_ok=True)
        (self._directory / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Forget what is too old, and the oldest of what is too much; the newest always stays."""
        everything = list(self)
        known = {kept.name for kept in everything}
        for name in self._names():
            if name.removesuffix(".json") not in known:
                (self._directory / name).unlink(missing_ok=True)  # a crash came between the two files
        total = sum(kept.size for kept in everything)
        oldest_ns = time.time_ns() - MAX_SECONDS * 10**9
        for kept in everything[:-1]:
            if total > MAX_BYTES or kept.time_ns < oldest_ns:
                self.drop(kept.name)
                total -= kept.size
        if everything and everything[-1].time_ns < oldest_ns:
            self.drop(everything[-1].name)

    def _names(self) -> list[str]:
        """The files there. What else may lie there, or in the place of all this, is left alone."""
        try:
            with os.scandir(self._directory) as entries:
                return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _free_name(self, path: str, now_ns: int) -> str:
        """Time and path in one name that sorts by time and keeps the extension."""
        moment = datetime.fromtimestamp(now_ns / 1e9, UTC)
        flat = path.removeprefix(ROOT + "/").replace("/", "+")
        while True:
            stamp = f"{moment:%Y-%m-%dT%H.%M.%S}.{moment.microsecond:06d}Z"
            name = f"{stamp}+{flat}"
            if len(name.encode()) > 200:
                name = f"{stamp}+{flat[-150:]}"
            if not (self._directory / name).exists():
                return name
            now_ns += 1_000
            moment = datetime.fromtimestamp(now_ns / 1e9, UTC)

    def _write(self, name: str, data: bytes) -> None:
        descriptor = os.open(
            self._directory / name,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
