"""What memfs is to reach, as ratios of medians within one run, and whether it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from benchmarks.costs import Costs
from benchmarks.figures import Figures
from benchmarks.scale import Growth, MemfsOfFew, MemfsOfMany

EXAMPLES = ("tmpfs.py", "passthroughfs.py")
STORING_PEERS = (*EXAMPLES, "juicefs", "origofs")
SAME = 1.05  # "not slower": a shared machine repeats itself within five percent at best

_READS: tuple[tuple[str, str, float], ...] = (
    ("stat, warm", "plain", 1.3),
    ("missing name, again", "plain", 1.3),
    ("pread 4 KiB, warm", "plain", 1.3),
    ("stat, forced", "bindfs", 2.0),
    ("missing name, new", "bindfs", 2.0),
    ("missing name, again", "bindfs", 2.0),
    ("open+read 4 KiB, warm", "bindfs", 2.0),
    ("open+read 64 KiB, cold", "bindfs", 2.0),
    ("open+read 64 KiB, warm", "bindfs", 2.0),
    ("open+read 4 KiB, cold", "bindfs", 3.5),
    ("readdir of 256", "bindfs", 3.0),
    ("ls -l of 256", "bindfs", 3.0),
)
_CHANGES = (
    "create 4 KiB",
    "overwrite 4 KiB",
    "append 100 B",
    "temp+rename 4 KiB",
    "rename",
    "unlink",
    "mkdir+rmdir",
)
_TOOLS = ("grep -r", "cat", "ls -lR")
_THAN_EXAMPLES = (
    ("open+read 4 KiB, cold", 3.0),
    ("open+read 4 KiB, warm", 3.0),
    ("create 4 KiB", 2.0),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, the bound, and what was measured; None when one of its two sides is missing."""

    goal: str
    at_most: float
    measured: float | None
    unit: str = "x"

    @property
    def verdict(self) -> str:
        """In one or two words."""
        if self.measured is None:
            return "not measured"
        return "reached" if self.measured <= self.at_most else "missed"

    def to_json(self) -> dict[str, object]:
        """All of it."""
        return {**asdict(self), "verdict": self.verdict}


def verdicts_on_operations(figures: Figures) -> Iterator[Verdict]:
    """The table's goals: reads, changes, and the distance to the peers."""
    for row, against, bound in _READS:
        yield Verdict(f"{row} / {against}", bound, figures.ratio(row, "memfs", against))
    for row in _CHANGES:
        yield Verdict(f"{row} / bindfs", 6.0, figures.ratio(row, "memfs", "bindfs"))
    for row in _CHANGES:
        yield _ahead_of_every_peer(figures, row)
    for row, times in _THAN_EXAMPLES:
        for peer in EXAMPLES:
            yield Verdict(f"{row} / {peer}", round(1 / times, 3), figures.ratio(row, "memfs", peer))


def _ahead_of_every_peer(figures: Figures, row: str) -> Verdict:
    """Against the fastest of those that store anything, be it in memory as tmpfs.py does."""
    measured = [
        (ratio, peer) for peer in STORING_PEERS if (ratio := figures.ratio(row, "memfs", peer)) is not None
    ]
    ratio, peer = max(measured, default=(None, "none was measured"))
    return Verdict(f"{row} / fastest storing peer: {peer}", 1.0, ratio)


def verdicts_on_tools(figures: Figures) -> Iterator[Verdict]:
    """Unpinned: not slower than bindfs."""
    for row in _TOOLS:
        yield Verdict(f"{row}, unpinned / bindfs", SAME, figures.ratio(row, "memfs", "bindfs"))


def verdicts_on_costs(costs: Costs) -> Iterator[Verdict]:
    """The wait for the mount, memory, and rest."""
    yield Verdict("from command to mounted", 0.6, costs.start_seconds, "s")
    yield Verdict("resident memory at default limits", 45.0, costs.resident_bytes / 1e6, "MB")
    yield Verdict("CPU in 10 idle seconds", 0.0, costs.idle_cpu_seconds, "s")
    yield Verdict("wake-ups in 10 idle seconds", 10.0, costs.idle_wakeups, "")  # more would be a poll


def verdicts_on_scale(growth: Growth) -> Iterator[Verdict]:
    """100,000 files against 100."""
    for row in growth.figures.rows():
        ratio = growth.figures.ratio(row, MemfsOfMany.name, MemfsOfFew.name)
        yield Verdict(f"{row}, {MemfsOfMany.name} / {MemfsOfFew.name}", 1.5, ratio)
