"""What memfs costs by being there: the wait for its mount, memory, and doing nothing.

At the default limits, with a scope filled to them: 256 files, 1 MiB.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operations import CORPUS, SMALL, Stage, corpus, read, write_new
from benchmarks.processes import cost, resident_bytes
from benchmarks.targets import Memfs

STARTS = 5
SETTLED_AFTER = 7.0  # a mount syncs what it committed within five seconds; only then is it idle
IDLE_FOR = 10.0


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds to a mount that answers, resident bytes, and what ten idle seconds used up."""

    start_seconds: float
    resident_bytes: int
    idle_cpu_seconds: float
    idle_wakeups: int


class MemfsByDefault(Memfs):
    """memfs with the limits a new scope gets when nobody names any."""

    name = "memfs-defaults"
    limits = {}  # noqa: RUF012 - an override of a ClassVar


@contextmanager
def running(target: Memfs) -> Iterator[Stage]:
    """A started target, stopped in any case."""
    try:
        target.start()
        yield Stage(target)
    finally:
        target.stop()


def measure_costs(work: Path) -> Costs:
    """Fill it, start it a few times, read everything, then leave it alone and look."""
    target = MemfsByDefault(work)
    with running(target) as stage:
        (target.root / CORPUS).mkdir()
        written = {name: stage.text(SMALL) for name in corpus()}
        for name, text in written.items():
            write_new(stage.path(name), text)
        stage.settle(written)
        starts = []
        for _ in range(STARTS):
            target.unmount()
            target.mount()
            starts.append(target.started_in)
        for name in written:
            read(stage.path(name), SMALL)
        target.dismiss_witness()
        time.sleep(SETTLED_AFTER)
        pids = target.pids()
        before = cost(pids)
        time.sleep(IDLE_FOR)
        after = cost(pids)
        return Costs(
            start_seconds=statistics.median(starts),
            resident_bytes=resident_bytes(pids),
            idle_cpu_seconds=after.cpu_seconds - before.cpu_seconds,
            idle_wakeups=after.wakeups_since(before),
        )
