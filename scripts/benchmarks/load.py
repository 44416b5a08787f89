"""What one server carries: ten mounts' worth of writers on a thousand scopes.

First the capacity: ten processes with a hundred scopes each write as fast as they can. Then half of that,
each change due at a random moment, and what it took from then on. The clients share the machine with the
server.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from benchmarks.rounds import announce
from benchmarks.server import make_store, server_on_disk, settings_of
from benchmarks.writers import Orders
from memfs import open_memory
from tests.stores.postgres.server import Server

MOUNTS, SCOPES_A_MOUNT, THREADS = 10, 100, 4
SECONDS = 20.0
WARM = 3.0
"""Seconds before those that count: each process makes its connections, and the server a process for each."""
AT_MOST = 50.0
EACH = 0.05
DATABASE = "writers"


class Load(NamedTuple):
    """What writers got: changes a second, milliseconds of each, and what failed."""

    rate: float
    milliseconds: list[float]
    failures: list[str]


def percentile(milliseconds: Sequence[float], part: float) -> float:
    """The time within which this part of them was done."""
    ordered = sorted(milliseconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def load_figures(_work: Path) -> str:
    """The capacity, and the times at half of it."""
    with server_on_disk() as server:
        return "\n".join([settings_of(server), _writers(server)])


def _writers(server: Server) -> str:
    url = make_store(server, DATABASE)
    names = [f"scope-{number}" for number in range(MOUNTS * SCOPES_A_MOUNT)]
    announce("making scopes")
    for name in names:
        open_memory(url, scope=name).close()
    announce("the capacity")
    most = _write(url, names, 0.0)
    announce("half of it")
    with _bare_transactions(server) as bare:
        half = _write(url, names, most.rate / 2)
    failed = len(most.failures) + len(half.failures)
    verdict = "reached" if percentile(half.milliseconds, 0.99) < AT_MOST and not failed else "missed"
    return (
        f"{len(names):,} scopes, {MOUNTS} processes with {THREADS} writers each:\n"
        f"  as fast as can be: {most.rate:,.0f} durable changes a second, {_times(most.milliseconds)}\n"
        f"  at half of that: {half.rate:,.0f} a second, {_times(half.milliseconds)}, {failed} failed "
        f"(p99 under {AT_MOST:.0f} ms, none failed: {verdict})\n"
        f"  a bare UPDATE of one row meanwhile, {EACH:g} s apart: {_times(bare)}"
    )


def _times(milliseconds: Sequence[float]) -> str:
    return f"p50 {percentile(milliseconds, 0.5):.1f} ms, p99 {percentile(milliseconds, 0.99):.1f} ms"


@contextmanager
def _bare_transactions(server: Server) -> Iterator[list[float]]:
    """The smallest transaction there is, now and then: what the disk and the machine make of any of them.

    What each took goes to the list, in milliseconds.
    """
    server.execute("CREATE TABLE bare AS SELECT 0 AS number", database=DATABASE)
    taken: list[float] = []
    stopped = threading.Event()

    def update() -> None:
        with psycopg.connect(server.url(DATABASE), autocommit=True) as connection:
            while not stopped.wait(EACH):
                begun = time.monotonic()
                connection.execute("UPDATE bare SET number = number + 1", prepare=True)
                taken.append((time.monotonic() - begun) * 1_000)

    thread = threading.Thread(target=update)
    thread.start()
    try:
        yield taken
    finally:
        stopped.set()
        thread.join()


def _write(url: str, names: Sequence[str], rate: float) -> Load:
    """Let all processes write at once; *rate* is what they make together, 0 for as much as they can."""
    started = []
    for number in range(MOUNTS):
        scopes = list(names[number::MOUNTS])
        orders = Orders(
            url=url,
            scopes=scopes,
            threads=THREADS,
            warm=WARM,
            seconds=SECONDS,
            rate=rate / MOUNTS,
            seed=number,
        )
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.writers", json.dumps(orders)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
            )
        )
    for process in started:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("a writer did not start")
    answers = []
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        output, _ = process.communicate()
        answers.append(json.loads(output))
    milliseconds = [each for answer in answers for each in answer["milliseconds"]]
    failures = [each for answer in answers for each in answer["failures"]]
    return Load(len(milliseconds) / SECONDS, milliseconds, failures)
