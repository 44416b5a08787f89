"""What the history costs: a commit with it and without, the room it takes, and reading it.

By the API and without a mount, on the disk of the run. The commit without history is this module's own:
the same transaction, with the present content and a counter as all it writes.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.commands import Create, Delete, Rename
from memfs.port.memory import Memory
from memfs.port.policy import Limits, Policy
from memfs.stores.gate import Gate
from memfs.stores.sqlite import SqliteStore, open_sqlite
from memfs.stores.sqlite.database import ScopeFiles

FILE_BYTES = 4_096
EDITS = 20_000
FILES = 50
LOGGED = 1_000
ROUNDS = 40
COMMITS_A_ROUND = 50
ROOMY = Policy(Limits(max_files=100_000, max_total_bytes=1 << 30))

WORDS = ("agent", "answer", "archive", "before", "change", "decide", "file", "first", "idea", "keep", "later",
         "line", "memory", "note", "often", "open", "people", "plan", "prefer", "project", "question", "read",
         "rule", "scope", "short", "store", "task", "text", "time", "today", "tool", "version",
         "word")  # fmt: skip

_PRESENT = """
CREATE TABLE IF NOT EXISTS present (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  written INTEGER NOT NULL, content BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS counter (version INTEGER NOT NULL) STRICT;
INSERT INTO counter VALUES (0);
"""
_PUT = """
INSERT INTO present VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
path = excluded.path, size = excluded.size, mtime_ns = excluded.mtime_ns, written = excluded.written,
content = excluded.content
"""


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """Microseconds a relaxed commit with and without history, by command; bytes; milliseconds."""

    with_history: dict[str, float]
    without_history: dict[str, float]
    edits: int
    edits_bytes: int
    log_ms: float
    oldest_ms: float

    def share(self, command: str) -> float:
        """How much longer the commit is for its history: 0.25 is a quarter."""
        return self.with_history[command] / self.without_history[command] - 1


class PresentOnly(SqliteStore):
    """Commits as the store does, and remembers nothing but the present."""

    def changed(self, version: int) -> bool:
        super().changed(version)
        return False

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        run = self._connection.execute
        version = expected + 1
        for remove in change.removes:
            run("DELETE FROM present WHERE id = ?", (remove.file.id,))
        for move in change.moves:
            run("UPDATE present SET path = ? WHERE id = ?", (move.new_path, move.file.id))
        for put in change.puts:
            run(_PUT, (put.id, put.path, put.size, origin.time_ns, version, put.content))
        run("UPDATE counter SET version = ?", (version,))
        run("COMMIT")
        return Commit(version, change, origin)


def history_figures(work: Path) -> str:
    """All of it, in words."""
    return history_in_words(measure_history(work))


def measure_history(work: Path) -> HistoryCosts:
    """All of it; takes about a minute."""
    kept, present = _commits(work)
    edits_bytes, log_ms, oldest_ms = _edits(work / "edits")
    return HistoryCosts(kept, present, EDITS, edits_bytes, log_ms, oldest_ms)


def history_in_words(costs: HistoryCosts) -> str:
    """A table of commits and a line for the rest."""
    lines = [f"{'µs, relaxed commit of 4 KiB':30}{'with history':>14}{'without':>10}{'adds':>8}"]
    lines += [
        f"{command:30}{costs.with_history[command]:>14.1f}{costs.without_history[command]:>10.1f}"
        f"{costs.share(command):>8.0%}"
        for command in costs.with_history
    ]
    lines += [
        f"{costs.edits:,} three-line edits in {FILES} memories of 4 KiB: {costs.edits_bytes / 1e6:.1f} MB",
        f"log of one of them, with {LOGGED:,} versions: {costs.log_ms:.1f} ms",
        f"its oldest version: {costs.oldest_ms:.2f} ms",
    ]
    return "\n".join(lines)


def _commits(work: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Medians by command, the two stores in turns."""
    memories = {}
    for name, kind in (("with", SqliteStore), ("without", PresentOnly)):
        directory = work / f"commits-{name}"
        open_sqlite(directory, "bench", ROOMY, relaxed=True)[0].close()
        files = ScopeFiles(directory, "bench")
        store = kind(files, Gate(files.lock), "bench", relaxed=True)
        store._connection.execute(_PRESENT)
        memories[name] = Memory(store, Actor("bench", "bench", 1))
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in memories}
    dice = random.Random(1)
    for turn in range(ROUNDS):
        for name, memory in memories.items():
            for command, seconds in _round(memory, turn, dice).items():
                figures[name].setdefault(command, []).append(seconds)
            memory.maintain()
    for memory in memories.values():
        memory.close()
    medians = {
        name: {command: statistics.median(times) * 1e6 for command, times in by_command.items()}
        for name, by_command in figures.items()
    }
    return medians["with"], medians["without"]


def _round(memory: Memory, turn: int, dice: random.Random) -> dict[str, float]:
    def each(action: Callable[[int], object]) -> float:
        gc.collect()
        # Such a commit waits for nothing: its processor time is its time, without what others take.
        begun = time.process_time()
        for number in range(COMMITS_A_ROUND):
            action(number)
        return (time.process_time() - begun) / COMMITS_A_ROUND

    texts = [_text(dice) for _ in range(COMMITS_A_ROUND)]
    path = f"/memories/{turn}-{{}}.md".format
    return {
        "create": each(lambda number: memory.execute(Create(path(number), texts[number]))),
        "overwrite": each(lambda number: memory.execute(Create(path(number), texts[-number]))),
        "rename": each(lambda number: memory.execute(Rename(path(number), path(f"{number}-moved")))),
        "delete": each(lambda number: memory.execute(Delete(path(f"{number}-moved")))),
    }


def _edits(directory: Path) -> tuple[int, float, float]:
    """Bytes on disk after many small edits; milliseconds to read the log of one memory, and its oldest."""
    store, _ = open_sqlite(directory, "bench", ROOMY, relaxed=True)
    dice = random.Random(2)
    with Memory(store, Actor("bench", "bench", 1)) as memory:
        contents = [_text(dice).splitlines() for _ in range(FILES)]
        first = "\n".join(contents[0])
        chosen = [0] * LOGGED + [dice.randrange(1, FILES) for _ in range(EDITS - LOGGED)]
        dice.shuffle(chosen)
        for number, lines in enumerate(contents):
            memory.execute(Create(f"/memories/{number}.md", "\n".join(lines)))
        for done, number in enumerate(chosen):
            lines = contents[number]
            for _ in range(3):
                lines[dice.randrange(len(lines))] = _line(dice)
            memory.execute(Create(f"/memories/{number}.md", "\n".join(lines)))
            if done % 500 == 0:
                memory.maintain()
        for _ in range(60):
            memory.maintain()
        log_ms, records = _milliseconds(lambda: memory.versions("/memories/0.md"))
        assert len(records) == LOGGED + 1
        oldest_ms, oldest = _milliseconds(lambda: memory.read_version("/memories/0.md", 1))
        assert oldest.decode() == first
    files = ScopeFiles(directory, "bench")
    taken = sum(path.stat().st_size for path in (files.database, files.wal) if path.exists())
    return taken, log_ms, oldest_ms


def _milliseconds(action: Callable[[], object]) -> tuple[float, object]:
    times = []
    for _ in range(9):
        begun = time.perf_counter()
        answer = action()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3, answer


def _text(dice: random.Random) -> str:
    lines: list[str] = []
    while sum(map(len, lines)) + len(lines) < FILE_BYTES:
        lines.append(_line(dice))
    return "\n".join(lines)


def _line(dice: random.Random) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(9))
