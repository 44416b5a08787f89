"""Everyday tools on 256 files, as a person runs them: no pinning, processes and all.

Here the scheduler may use every core, so the figures are what somebody at this machine would wait,
wake-ups of sleeping processors included, and they are worth comparing only within one run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.operations import (
    ABSENT_WORD,
    CORPUS,
    FILES,
    SMALL,
    Operation,
    Stage,
    Step,
    Steps,
    corpus,
    write_new,
)
from benchmarks.rounds import announce, rotated, take_turn

COPY = "copied"
_ANSWERS = {"grep": 1}  # grep says 1 when the word is nowhere


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != _ANSWERS.get(command[0], 0):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {said[0] if said else 'no message'}")


def _grep(stage: Stage, _count: int) -> Steps:
    yield Step(partial(_run, "grep", "-r", ABSENT_WORD, stage.path(CORPUS)))


def _cat(stage: Stage, _count: int) -> Steps:
    yield Step(partial(_run, "cat", *[stage.path(name) for name in corpus()]))


def _list(stage: Stage, _count: int) -> Steps:
    yield Step(partial(_run, "ls", "-lR", stage.path(CORPUS)))


def _copy_in(source: Path, stage: Stage, _count: int) -> Steps:
    """From a plain directory into the mount; everything has to have arrived before the next tool runs."""
    arrived = {f"{COPY}/{file.name}": file.read_bytes() for file in source.iterdir()}
    yield Step(partial(_run, "cp", "-r", str(source), stage.path(COPY)), leaves=arrived)


def _remove(stage: Stage, _count: int) -> Steps:
    gone = dict.fromkeys(name.replace(CORPUS, COPY) for name in corpus())
    yield Step(partial(_run, "rm", "-r", stage.path(COPY)), leaves=gone)


def _once(name: str, steps: Callable[[Stage, int], Steps]) -> Operation:
    return Operation(name, steps, batch=1, warm_up=0)


def tools(source: Path) -> tuple[Operation, ...]:
    """The tools, in an order in which the copy is there to be removed."""
    return (
        _once("grep -r", _grep),
        _once("cat", _cat),
        _once("ls -lR", _list),
        _once("cp -r into it", partial(_copy_in, source)),
        _once("rm -r", _remove),
    )


def measure_tools(stages: Sequence[Stage], work: Path, figures: Figures, rounds: int) -> None:
    """Every tool once per round on every target, nothing pinned."""
    source = work / "to-copy"
    source.mkdir()
    for number in range(FILES):
        write_new(str(source / f"note-{number:03d}.md"), stages[0].text(SMALL))
    for turn in range(rounds):
        for tool in tools(source):
            announce(tool.name)
            for stage in rotated(stages, turn):
                cell = figures.cell(tool.name, stage.target.name)
                if not cell.failed:
                    take_turn(tool, stage, cell)
    announce("")
