"""What a durable replace in a ``directory:`` store costs beside the same steps by hand, and its mount.

By hand: a temporary file, its bytes, fsync, an exchange with the file, fsync of the folder, and the old one
unlinked. The two take turns, pair by pair, for the disk is what both wait for.

The mount is that of a folder of many notes, from the start of the command to the answer of the directory.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import cost
from benchmarks.targets import Mounted, memfs_command
from memfs import open_memory

PAIRS = 400
TEXT = "A line of a note.\n" * 228  # about 4 KiB
NOTES = 10_000
AT_MOST = 1.3
WITHIN = 2.0
"""Seconds to the mount of that many notes that memfs has never seen."""
_EXCHANGE = 2
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


class Start(NamedTuple):
    """What it took until a mount answered: seconds of wall time, and of its processor's."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of CPU)"


class MountedNotes(Mounted):
    """memfs on a folder of many notes."""

    name = "notes"
    what = "this repository, a directory store of many notes on the same disk filesystem"

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.beneath = self.home / "folder"

    def prepare(self) -> None:
        """The notes: between 1 and 2 KiB each, a hundred to a directory."""
        for number in range(NOTES):
            note = self.beneath / str(number % 100) / f"{number}.md"
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"# Note {number}\n{TEXT[: 1_000 + number % 1_000]}")
        os.sync()

    def watch(self) -> None:
        """Nobody looks on: only the start is measured."""

    def command(self) -> list[str]:
        store = f"directory:{self.beneath}"
        return [*memfs_command(), "mount", str(self.root), "--store", store, "--foreground"]

    def ask_to_stop(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()

    def seen(self) -> Start:
        """What the last start took."""
        return Start(self.started_in, cost(self.pids()).cpu_seconds)


def folder_figures(work: Path) -> str:
    """Two lines for a person: the replace, and the mount of a folder of many notes."""
    by_hand, by_store = _replaces(work)
    ratio = by_store / by_hand
    first, again = _mounts(work)
    return (
        f"durable replace of 4 KiB: {by_store * 1e6:.0f} µs, by hand {by_hand * 1e6:.0f} µs: "
        f"{ratio:.2f} of {AT_MOST} ({_verdict(ratio, AT_MOST)})\n"
        f"a folder of {NOTES:,} notes: mounted in {first} of {WITHIN} s ({_verdict(first.wall, WITHIN)}), "
        f"again in {again}"
    )


def _verdict(measured: float, most: float) -> str:
    return "reached" if measured <= most else "missed"


def _replaces(work: Path) -> tuple[float, float]:
    """Seconds of the median replace by hand, and by the store."""
    hand, store = work / "by-hand", work / "folder"
    hand.mkdir()
    (hand / "a.md").write_text(TEXT)
    folder = os.open(hand, os.O_RDONLY | os.O_DIRECTORY)
    by_hand, by_store = [], []
    with open_memory(f"directory:{store}") as memory:
        for number in range(PAIRS):
            text = f"{number}\n{TEXT}"
            begun = time.perf_counter()
            _replace_by_hand(folder, text.encode())
            between = time.perf_counter()
            result = memory.execute({"command": "create", "path": "/memories/a.md", "text": text})
            by_store.append(time.perf_counter() - between)
            by_hand.append(between - begun)
            assert result.ok, result.error
    os.close(folder)
    return statistics.median(by_hand), statistics.median(by_store)


def _replace_by_hand(folder: int, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(".new", flags, 0o600, dir_fd=folder)
    os.write(descriptor, content)
    os.fsync(descriptor)
    os.close(descriptor)
    assert _renameat2(folder, b".new", folder, b"a.md", _EXCHANGE) == 0
    os.fsync(folder)
    os.unlink(".new", dir_fd=folder)


def _mounts(work: Path) -> tuple[Start, Start]:
    """The mount of a folder that memfs has never seen, and the one after that."""
    target = MountedNotes(work)
    try:
        target.start()
        first = target.seen()
        assert sum(len(files) for _, _, files in os.walk(target.root)) == NOTES
        target.unmount()
        target.mount()
        return first, target.seen()
    finally:
        target.stop()
