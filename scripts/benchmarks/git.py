"""What the git store costs, and an export to git: commits in small and large scopes, and their waits.

A commit's time is mostly that of the disk, so a plain file's write and fsync is measured beside it, in
turns. The tick is how long another thread of the process waits for its turn while commits are made: a
mount's event loop is such a thread.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from random import Random
from statistics import median

import memfs
from memfs.opening import open_with
from memfs.stores.git.index import ref_of
from memfs.transfer.to_git import export_to_git

FEW, MANY = 200, 5_000
COMMITS = 100
VERSIONS = 20_000
TICK = 0.001
_LIMITS = {"max_files": 1_000_000, "max_total_bytes": 1 << 40}


def git_figures(work: Path) -> str:
    """A table of lines: what was done, and how long it took."""
    lines = []
    for files in (FEW, MANY):
        commit, plain, tick = _commits(work / f"{files}", files)
        lines.append(
            f"commit of 4 KiB, {files:,} files, p50: {commit:.1f} ms; write and fsync {plain:.1f} ms"
        )
        lines.append(f"  a {TICK * 1e3:.0f} ms tick beside it: p50 {tick[0]:.1f}, longest {tick[1]:.1f} ms")
    seconds, processor, size = _export(work)
    lines.append(
        f"export of {VERSIONS:,} versions of 4 KiB: {seconds:.1f} s, {processor:.1f} s of processor time, "
        f"{size / 1e6:.1f} MB"
    )
    return "\n".join(lines)


def _commits(work: Path, files: int) -> tuple[float, float, tuple[float, float]]:
    work.mkdir()
    with open_with(f"git:{work / 'repository'}", "bench", _LIMITS) as memory:
        for number in range(files):
            _create(memory, number, files)
        mine: list[float] = []
        plain: list[float] = []
        with Ticker() as ticker:
            for number in range(COMMITS):
                begun = time.perf_counter()
                _create(memory, number * 7, files)
                mine.append(time.perf_counter() - begun)
        for number in range(COMMITS):
            begun = time.perf_counter()
            with (work / f"plain{number}").open("wb") as stream:
                stream.write(b"x" * 4096)
                stream.flush()
                os.fsync(stream.fileno())
            plain.append(time.perf_counter() - begun)
    return median(mine) * 1e3, median(plain) * 1e3, ticker.milliseconds()


class Ticker:
    """A thread that wants to run every millisecond, and notes when it did."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def milliseconds(self) -> tuple[float, float]:
        """The usual gap between two ticks, and the longest."""
        return median(self._gaps) * 1e3, max(self._gaps) * 1e3

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._end.is_set():
            time.sleep(TICK)
            now = time.perf_counter()
            self._gaps.append(now - before)
            before = now


def _create(memory: memfs.Memory, number: int, files: int) -> None:
    path = f"/memories/projects/p{number % 50}/{number % files}.md"
    text = f"{number} {time.perf_counter_ns()}\n".ljust(4096, ".")
    assert memory.execute(memfs.Create(path=path, text=text)).ok


def _export(work: Path) -> tuple[float, float, int]:
    """The seconds that an export takes, those of the processor, and the bytes of its repository."""
    dice = Random(3)
    with open_with(f"sqlite:{work / 'store'}", "bench", _LIMITS, relaxed=True) as memory:
        texts = [[f"line {line} of memory {number}\n" for line in range(150)] for number in range(200)]
        for version in range(VERSIONS):
            lines = texts[version % len(texts)]
            for _ in range(3):
                lines[dice.randrange(len(lines))] = f"changed by version {version}\n"
            path = f"/memories/p{version % 20}/{version % len(texts)}.md"
            assert memory.execute(memfs.Create(path=path, text="".join(lines))).ok
            if version % 1_000 == 0:
                memory.maintain()
        begun, used = time.perf_counter(), _processor_seconds()
        export_to_git(memory, work / "export", ref_of("bench"))
        seconds, used = time.perf_counter() - begun, _processor_seconds() - used
    return seconds, used, sum(path.stat().st_size for path in (work / "export").rglob("*") if path.is_file())


def _processor_seconds() -> float:
    """What this process and those it has waited for have used so far."""
    return sum(os.times()[:4])
