"""What a durable replace in a ``directory:`` store costs beside the same steps by hand, and its opening.

By hand: a temporary file, its bytes, fsync, an exchange with the file, fsync of the folder, and the old one
unlinked. The two take turns, pair by pair, for the disk is what both wait for.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from pathlib import Path

from memfs import open_memory

PAIRS = 400
TEXT = "A line of a note.\n" * 228  # about 4 KiB
NOTES = 10_000
AT_MOST = 1.3
_EXCHANGE = 2
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2


def folder_figures(work: Path) -> str:
    """Two lines for a person: the replace, and the opening of a folder of many notes."""
    by_hand, by_store = _replaces(work)
    ratio = by_store / by_hand
    verdict = "reached" if ratio <= AT_MOST else "missed"
    first, again = _openings(work)
    return (
        f"durable replace of 4 KiB: {by_store * 1e6:.0f} µs, by hand {by_hand * 1e6:.0f} µs: "
        f"{ratio:.2f} of {AT_MOST} ({verdict})\n"
        f"a folder of {NOTES:,} notes: opened in {first:.2f} s at first, then in {again:.2f} s"
    )


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


def _openings(work: Path) -> tuple[float, float]:
    """Seconds until a folder of many notes is a memory, and until it is one again."""
    folder = work / "notes"
    for number in range(NOTES):
        note = folder / str(number % 100) / f"{number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"# Note {number}\n{TEXT[:2_000]}")
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        memory = open_memory(f"directory:{folder}")
        seconds.append(time.perf_counter() - begun)
        assert len(memory.snapshot()) == NOTES
        memory.close()
    return seconds[0], seconds[1]
