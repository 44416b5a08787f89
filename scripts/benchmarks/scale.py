"""Whether a change costs more when a scope holds a thousand times as many files.

Two scopes, one of 100 files and one of 100,000, get the same changes in turns: through their
mounts, and then through the memory port, where each change also waits for the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.changes import CHANGES
from benchmarks.costs import running
from benchmarks.figures import Figures
from benchmarks.operations import SMALL, WORK, Operation, Stage, Step, Steps, write_new
from benchmarks.processes import resident_bytes
from benchmarks.rounds import measure, rotated, take_turn
from benchmarks.targets import SCOPE, Memfs

if TYPE_CHECKING:
    import memfs

FEW, MANY = 100, 100_000
PER_DIRECTORY = 1_000
FILL = 200
PORT_ROUNDS = 20
_MEASURED = ("create 4 KiB", "overwrite 4 KiB", "temp+rename 4 KiB", "unlink")


class MemfsOfFew(Memfs):
    """The scope to compare with."""

    name = "100 files"
    files = FEW
    limits = {"max_files": 200_000, "max_total_bytes": 1 << 30, "max_file_bytes": 1 << 20}  # noqa: RUF012


class MemfsOfMany(MemfsOfFew):
    """The large one."""

    name = "100,000 files"
    files = MANY


@dataclass(slots=True)
class Growth:
    """The figures of both scopes, and what the large one needs besides."""

    figures: Figures = field(default_factory=Figures)
    start_seconds: float = 0.0
    resident_bytes: int = 0

    def to_json(self) -> dict[str, object]:
        """All of it; the figures in microseconds."""
        return {
            "microseconds": self.figures.to_json(),
            "start_seconds": self.start_seconds,
            "resident_bytes": self.resident_bytes,
        }


def measure_scale(work: Path) -> Growth:
    """Fill both scopes through their mounts, restart those, measure; then again at the port."""
    growth = Growth()
    targets = [MemfsOfFew(work), MemfsOfMany(work)]
    with ExitStack() as stack:
        stages = [stack.enter_context(running(target)) for target in targets]
        for stage, target in zip(stages, targets, strict=True):
            _fill(stage, target.files)
            target.unmount()
            target.mount()
            (target.root / WORK).mkdir(exist_ok=True)
        growth.start_seconds = targets[-1].started_in
        measure([change for change in CHANGES if change.name in _MEASURED], stages, growth.figures)
        growth.resident_bytes = resident_bytes(targets[-1].pids())
    _measure_port(targets, growth.figures)
    return growth


def _fill(stage: Stage, files: int) -> None:
    last = {}
    for number in range(files):
        directory, place = divmod(number, PER_DIRECTORY)
        if place == 0:
            (stage.target.root / f"shelf-{directory}").mkdir()
        name, text = f"shelf-{directory}/note-{place}.md", stage.text(FILL)
        write_new(stage.path(name), text)
        last = {name: text}
    stage.settle(last)


class PortStage(Stage):
    """A scope at its port: the same names and texts, but no other process to wait for.

    A port's answer is the promise itself: when it comes, the change is on the disk.
    """

    def __init__(self, target: Memfs, memory: memfs.Memory) -> None:
        super().__init__(target)
        self._memory = memory

    def execute(self, command: str, name: str, **fields: object) -> None:
        """One command that has to succeed."""
        result = self._memory.execute({"command": command, "path": f"/memories/{name}", **fields})
        if result.error is not None:
            raise RuntimeError(f"{command} {name}: {result.error.message}")

    def settle(self, _outcome: object) -> None:
        return


def _create(stage: PortStage, names: Sequence[str]) -> Steps:
    for name in names:
        text = stage.text(SMALL).decode()
        yield Step(partial(stage.execute, "create", name, text=text))


def _life_of_files(stage: PortStage, figures: Figures, turn: int) -> None:
    names = [f"{WORK}/port-{turn}-{number}.md" for number in range(12)]
    steps = {
        "port: create 4 KiB": lambda _stage, _count: _create(stage, names),
        "port: replace 4 KiB": lambda _stage, _count: _create(stage, names),
        "port: delete": lambda _stage, _count: (Step(partial(stage.execute, "delete", n)) for n in names),
    }
    for name, made in steps.items():
        take_turn(Operation(name, made, warm_up=2), stage, figures.cell(name, stage.target.name))


def _measure_port(targets: Sequence[Memfs], figures: Figures) -> None:
    import memfs

    with ExitStack() as stack:
        stages = []
        for target in targets:
            memory = memfs.open_memory(target.store, scope=SCOPE)
            stack.callback(memory.close)
            stages.append(PortStage(target, memory))
        for turn in range(PORT_ROUNDS):
            for stage in rotated(stages, turn):
                _life_of_files(stage, figures, turn)
