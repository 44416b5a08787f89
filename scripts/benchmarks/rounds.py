"""Interleaving: every target has its turn in every round, and the order rotates.

A shared machine speeds up and slows down by the second. Figures taken one target after the other
would compare minutes; taken in turns they compare filesystems.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from time import perf_counter_ns
from typing import TypeVar

from benchmarks.figures import Cell, Figures
from benchmarks.operations import Operation, Stage
from benchmarks.processes import pinned, pinning_core

T = TypeVar("T")


def rotated(items: Sequence[T], turn: int) -> list[T]:
    """*items* starting with another one each turn."""
    start = turn % len(items) if items else 0
    return [*items[start:], *items[:start]]


def measure(
    operations: Iterable[Operation], stages: Sequence[Stage], figures: Figures, share: float = 1.0
) -> None:
    """Fill *figures* with every operation on every target, client and daemons on one core.

    *share* is how many of an operation's rounds are run, at least two.
    """
    core = pinning_core()
    for operation in operations:
        announce(operation.name)
        # The witness too: were it elsewhere, this core would fall asleep while it is waited for.
        company = [pid for stage in stages for pid in stage.target.company()]
        with pinned(company, core):
            for turn in range(max(2, round(operation.rounds * share))):
                for stage in rotated(stages, turn):
                    cell = figures.cell(operation.name, stage.target.name)
                    if not cell.failed:
                        take_turn(operation, stage, cell)
    announce("")


def announce(what: str) -> None:
    """Say on a terminal what is being measured, in one line that is written over."""
    if sys.stderr.isatty():
        print(f"\r{what:<40}\r", end="", file=sys.stderr, flush=True)


def take_turn(operation: Operation, stage: Stage, cell: Cell) -> None:
    """One batch of one operation on one target; a failure is noted and ends the operation there."""
    gc.collect()
    gc.disable()  # a collection in the middle of a step would be taken for the filesystem
    try:
        with closing(operation.steps(stage, operation.warm_up + operation.batch)) as steps:
            for number, step in enumerate(steps):
                begun = perf_counter_ns()
                step.action()
                taken = perf_counter_ns() - begun
                if number >= operation.warm_up:
                    cell.samples.append(taken / step.calls / 1_000)
                stage.settle(step.leaves)
    except Exception as problem:
        cell.failed = f"{type(problem).__name__}: {problem}"
    finally:
        gc.enable()
