"""The store on PostgreSQL: a durable create beside the smallest transaction, and warm reads beside SQLite's.

The transaction is one ``UPDATE … RETURNING`` of one row, prepared, by psycopg, on the same server. The two
take turns, a few of each at a time: the disk is what both wait for, and a shared one changes by the second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg

from benchmarks import report
from benchmarks.figures import Figures
from benchmarks.operations import SMALL, Stage
from benchmarks.reads import READS
from benchmarks.rounds import measure
from benchmarks.server import make_store, server_on_disk, settings_of
from benchmarks.targets import Memfs
from memfs import Limits, open_memory
from memfs.port.commands import Create
from tests.stores.postgres.server import Server

DATABASE = "bench"
ROUNDS, A_ROUND = 150, 10
NOTE = 200
AT_MOST = 1.3
WARM = ("stat, warm", "open+read 4 KiB, warm", "pread 4 KiB, warm", "readdir of 256", "ls -l of 256")
UPDATE = "UPDATE bare SET number = number + 1 WHERE id = %s RETURNING number"


class MemfsOnPostgres(Memfs):
    """memfs on the server of the run."""

    name = "memfs on postgres"
    what = "this repository, a store on a PostgreSQL of this machine"
    url = ""

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.store = self.url


def store_figures(work: Path) -> str:
    """Creates beside bare transactions, then reads beside those of a SQLite store."""
    with server_on_disk() as server:
        url = make_store(server, DATABASE)
        MemfsOnPostgres.url = url
        return "\n\n".join([settings_of(server), _creates(server, url), _reads(work)])


def _creates(server: Server, url: str) -> str:
    server.execute("CREATE TABLE bare AS SELECT 1 AS id, 0 AS number", database=DATABASE)
    server.execute("ALTER TABLE bare ADD PRIMARY KEY (id)", database=DATABASE)
    numbers = iter(range(1_000_000))
    roomy = Limits(max_files=1_000_000, max_total_bytes=1 << 40)
    with ExitStack() as stack:
        memory = stack.enter_context(open_memory(url, scope="creates", limits=roomy))
        bare = stack.enter_context(psycopg.connect(url, autocommit=True))

        def create(size: int) -> Callable[[], None]:
            text = "x" * size

            def run() -> None:
                path = f"/memories/{size}/note-{next(numbers)}.md"
                result = memory.execute(Create(path, text))
                if result.error is not None:
                    raise RuntimeError(result.error.message)

            return run

        def update() -> None:
            bare.execute(UPDATE, [1], prepare=True).fetchone()

        figures = _in_turns({"bare": update, "small": create(NOTE), "large": create(SMALL)})
    bare_us = figures["bare"]
    lines = [f"one bare UPDATE … RETURNING, committed: {bare_us:,.0f} µs"]
    for name, size in (("small", NOTE), ("large", SMALL)):
        ratio = figures[name] / bare_us
        verdict = "reached" if ratio <= AT_MOST else "missed"
        lines.append(
            f"a durable create of {size} bytes through the port: {figures[name]:,.0f} µs, "
            f"{ratio:.2f}x (at most {AT_MOST}x: {verdict})"
        )
    return "\n".join(lines)


def _in_turns(work: dict[str, Callable[[], None]]) -> dict[str, float]:
    """The median of each in microseconds; all take turns, in an order that rotates."""
    samples: dict[str, list[float]] = {name: [] for name in work}
    names = list(work)
    for turn in range(ROUNDS + 5):
        names.append(names.pop(0))
        for name in names:
            for _ in range(A_ROUND):
                begun = time.perf_counter_ns()
                work[name]()
                if turn >= 5:
                    samples[name].append((time.perf_counter_ns() - begun) / 1_000)
    return {name: statistics.median(each) for name, each in samples.items()}


def _reads(work: Path) -> str:
    figures = Figures()
    with ExitStack() as stack:
        stages = []
        for kind in (Memfs, MemfsOnPostgres):
            target = kind(work)
            stack.callback(target.stop)
            target.start()
            stage = Stage(target)
            stage.furnish()
            stages.append(stage)
        reads = [replace(each, rounds=3 * each.rounds) for each in READS if each.name in WARM]
        measure(reads, stages, figures)
    return report.pairs("µs, one core", figures, MemfsOnPostgres.name, Memfs.name)
