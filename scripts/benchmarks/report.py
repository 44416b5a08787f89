"""Figures as people read them: aligned tables, and one line for each goal."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.costs import Costs
from benchmarks.figures import Figures
from benchmarks.goals import Verdict
from benchmarks.scale import Growth, MemfsOfMany
from benchmarks.workdir import filesystem_of, without_journal


def machine(work: Path) -> dict[str, object]:
    """What a reader has to know about the place where the figures were taken."""
    return {
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "filesystem": filesystem_of(work) + (" without a journal" if without_journal(work) else ""),
        "load": round(os.getloadavg()[0], 1),
    }


def table(title: str, figures: Figures, columns: Sequence[str], unit: float = 1.0) -> str:
    """Rows of medians, and memfs's ratio to the plain directory and to bindfs."""
    against = [name for name in ("plain", "bindfs") if name in columns and "memfs" in columns]
    rows = [[title, *columns, *(f"memfs/{name}" for name in against)]]
    for row in figures.rows():
        medians = [_number(figures.median(row, name), unit) for name in columns]
        ratios = [_ratio(figures.ratio(row, "memfs", name)) for name in against]
        rows.append([row, *medians, *ratios])
    return aligned(rows)


def pairs(title: str, figures: Figures, mine: str, other: str) -> str:
    """Two columns and the ratio of the first to the second."""
    rows = [[title, other, mine, "ratio"]]
    for row in figures.rows():
        medians = [_number(figures.median(row, name), 1.0) for name in (other, mine)]
        rows.append([row, *medians, _ratio(figures.ratio(row, mine, other))])
    return aligned(rows)


def costs_in_words(costs: Costs) -> str:
    """The absolute figures of the daemon."""
    return (
        f"memfs by default: mounted {costs.start_seconds:.2f} s after the command, "
        f"{costs.resident_bytes / 1e6:.1f} MB resident with 256 files, "
        f"{costs.idle_cpu_seconds * 1000:.0f} ms of CPU and {costs.idle_wakeups} wake-ups in 10 idle seconds"
    )


def growth_in_words(growth: Growth) -> str:
    """What the large scope needs besides."""
    return (
        f"memfs with {MemfsOfMany.name}: mounted {growth.start_seconds:.2f} s after the command, "
        f"{growth.resident_bytes / 1e6:.0f} MB resident"
    )


def goals(verdicts: Iterable[Verdict]) -> str:
    """One line for each goal, and how many were reached."""
    judged = list(verdicts)
    rows = [["To reach", "at most", "measured", ""]]
    for item in judged:
        measured = "-" if item.measured is None else f"{item.measured:.2f} {item.unit}"
        rows.append([item.goal, f"{item.at_most:.2f} {item.unit}", measured, item.verdict])
    counted = Counter(item.verdict for item in judged)
    return aligned(rows) + "\n" + ", ".join(f"{number} {word}" for word, number in counted.items())


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def _number(median: float | None, unit: float) -> str:
    if median is None:
        return "-"
    value = median / unit
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"
