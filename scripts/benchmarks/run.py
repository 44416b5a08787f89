"""One run: start what can be started, measure in turns, say what came out, leave nothing behind."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from benchmarks import goals, report
from benchmarks.changes import CHANGES
from benchmarks.costs import Costs, measure_costs
from benchmarks.figures import Figures
from benchmarks.folder import folder_figures
from benchmarks.git import git_figures
from benchmarks.goals import Verdict
from benchmarks.history import history_figures
from benchmarks.layout import layout_curves
from benchmarks.load import load_figures
from benchmarks.operations import Operation, Stage
from benchmarks.peers import TARGETS, install_peers
from benchmarks.processes import NotStartedError
from benchmarks.protocol import protocol_costs
from benchmarks.reads import READS
from benchmarks.rounds import measure
from benchmarks.scale import Growth, MemfsOfFew, MemfsOfMany, measure_scale
from benchmarks.scopes import scopes_figures
from benchmarks.searches import search_times
from benchmarks.store import store_figures
from benchmarks.targets import Target
from benchmarks.tools import measure_tools
from benchmarks.workdir import keep_settings_inside, make_workdir

QUICK = 0.3
TOOL_ROUNDS = 7
MILLISECONDS = 1_000.0


class Part(NamedTuple):
    """What can be measured by itself: *figures* does it in a folder of its own, and says it in words."""

    name: str
    what: str
    figures: Callable[[Path], str]


ALONE = (
    Part("git", "the git store: commits, waits, and an export of 20,000 versions", git_figures),
    Part("layout", "the layout's functions: cost per character, short and long", layout_curves),
    Part("history", "the history: what it adds to a commit, its room, reading it", history_figures),
    Part("folder", "the directory store: a durable replace, and the mount of 10,000 notes", folder_figures),
    Part("search", "searches over 10,000 memories, with and without their index", search_times),
    Part(
        "store",
        "the store on PostgreSQL: a durable create beside a bare transaction, warm reads",
        store_figures,
    ),
    Part("load", "what one PostgreSQL carries: the writers of ten mounts on a thousand scopes", load_figures),
    Part(
        "scopes",
        "the same questions to a thousand scopes on PostgreSQL and to a million (minutes)",
        scopes_figures,
    ),
    Part("mcp", "the start of memfs mcp, and a call beside the port's own", protocol_costs),
)


def arguments(argv: Sequence[str], description: str) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        "scripts/bench", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument(
        "--only", type=_words, metavar="OP,OP", help="operations whose name contains one of these"
    )
    parser.add_argument(
        "--targets", type=_targets, metavar="A,B", help=", ".join(kind.name for kind in TARGETS)
    )
    parser.add_argument("--no-shell", action="store_true", help="leave the unpinned tools out")
    parser.add_argument("--scale", action="store_true", help="also compare 100,000 files with 100 (minutes)")
    for part in ALONE:
        parser.add_argument(
            f"--{part.name}", dest="alone", action="store_const", const=part, help=f"only {part.what}"
        )
    parser.add_argument("--workdir", type=Path, metavar="DIR", help="work below DIR, whatever it is on")
    parser.add_argument("--keep", action="store_true", help="leave stores and logs of the run behind")
    parser.add_argument("--install-peers", action="store_true", help="fetch the peers from PyPI first")
    return parser.parse_args(argv)


def main(argv: Sequence[str], description: str) -> int:
    """Run the benchmark; 0 when it ran, whatever the goals."""
    wanted = arguments(argv, description)
    signal.signal(signal.SIGTERM, _leave)
    if wanted.install_peers:
        install_peers()
    with workdir(wanted) as work:
        if wanted.alone:
            print(wanted.alone.figures(work))
        else:
            run(wanted, work)
    return 0


def run(wanted: argparse.Namespace, work: Path) -> None:
    """Measure what was asked for, then print and write it."""
    operations = [item for item in (*READS, *CHANGES) if _named(item, wanted.only)]
    if not operations:
        raise SystemExit(f"no operation's name contains {' or '.join(wanted.only)}")
    machine = report.machine(work)
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    table, tools, missing = Figures(), Figures(), dict[str, str]()
    costs: Costs | None = None
    growth: Growth | None = None
    with ExitStack() as stack:
        kinds = [kind for kind in TARGETS if not wanted.targets or kind.name in wanted.targets]
        stages = list(started(kinds, work, missing, stack))
        columns = [stage.target.name for stage in stages]
        if not stages:
            raise SystemExit(f"nothing to measure: {missing}")
        measure(operations, stages, table, QUICK if wanted.quick else 1.0)
        if not (wanted.only or wanted.no_shell):
            measure_tools(stages, work, tools, 3 if wanted.quick else TOOL_ROUNDS)
    if "memfs" in columns and not wanted.only:
        costs = measure_costs(work)
    if "memfs" in columns and wanted.scale:
        growth = measure_scale(work)

    verdicts = list(judged(table, tools, costs, growth))
    if wanted.only:
        verdicts = [item for item in verdicts if item.measured is not None]
    print_report(columns, missing, table, tools, costs, growth, verdicts)
    if wanted.json:
        everything = {
            "machine": machine,
            "targets": {kind.name: missing.get(kind.name, "measured") for kind in kinds},
            "microseconds": table.to_json(),
            "tools_microseconds": tools.to_json(),
            "costs": asdict(costs) if costs else None,
            "scale": growth.to_json() if growth else None,
            "goals": [item.to_json() for item in verdicts],
        }
        wanted.json.write_text(json.dumps(everything, indent=1) + "\n")


def started(
    kinds: Sequence[type[Target]], work: Path, missing: dict[str, str], stack: ExitStack
) -> Iterator[Stage]:
    """The targets that start and take the common files; the others are named in *missing*."""
    for kind in kinds:
        target = kind(work)
        stack.callback(target.stop)
        try:
            target.start()
            stage = Stage(target)
            stage.furnish()
        except NotStartedError as reason:
            missing[kind.name] = str(reason)
        except Exception as problem:
            missing[kind.name] = f"it started, but: {type(problem).__name__}: {problem}"
        else:
            yield stage


def judged(table: Figures, tools: Figures, costs: Costs | None, growth: Growth | None) -> Iterator[Verdict]:
    """All goals that belong to what was run."""
    yield from goals.verdicts_on_operations(table)
    if tools.rows():
        yield from goals.verdicts_on_tools(tools)
    if costs:
        yield from goals.verdicts_on_costs(costs)
    if growth:
        yield from goals.verdicts_on_scale(growth)


def print_report(
    columns: Sequence[str],
    missing: dict[str, str],
    table: Figures,
    tools: Figures,
    costs: Costs | None,
    growth: Growth | None,
    verdicts: Sequence[Verdict],
) -> None:
    """Tables first, then what is missing, then the goals."""
    parts = [report.table("µs, one core", table, columns)]
    if tools.rows():
        parts.append(report.table("ms, 256 files", tools, columns, MILLISECONDS))
    if growth:
        parts.append(report.pairs("µs", growth.figures, MemfsOfMany.name, MemfsOfFew.name))
        parts.append(report.growth_in_words(growth))
    if costs:
        parts.append(report.costs_in_words(costs))
    notes = [f"missing: {name}: {reason}" for name, reason in missing.items()]
    notes += [f"failed: {sentence}" for figures in (table, tools) for sentence in figures.failures()]
    if notes:
        parts.append("\n".join(notes))
    if "memfs" in columns:
        parts.append(report.goals(verdicts))
    print("\n" + "\n\n".join(parts))


@contextmanager
def workdir(wanted: argparse.Namespace) -> Iterator[Path]:
    """A folder for this run, removed at its end unless it is to be kept."""
    work = make_workdir(wanted.workdir)
    keep_settings_inside(work)
    try:
        yield work
    finally:
        if wanted.keep:
            print(f"kept: {work}", file=sys.stderr)
        else:
            shutil.rmtree(work, ignore_errors=True)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(1)  # every mount is taken down on the way out


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _targets(text: str) -> list[str]:
    names, known = _words(text), [kind.name for kind in TARGETS]
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def _named(operation: Operation, words: Sequence[str] | None) -> bool:
    return not words or any(word in operation.name for word in words)
