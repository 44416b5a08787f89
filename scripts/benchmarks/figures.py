"""Measured values: every sample is kept until the end, the median stands for them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Cell:
    """The samples of one operation on one target, in microseconds, or why there are none."""

    samples: list[float] = field(default_factory=list)
    failed: str = ""

    @property
    def median(self) -> float | None:
        """The middle sample; None when the operation failed or was never run."""
        return statistics.median(self.samples) if self.samples and not self.failed else None

    def to_json(self) -> dict[str, object]:
        """Median, the 10th and 90th percentile and the number of samples."""
        if self.failed or not self.samples:
            return {"failed": self.failed or "not run"}
        ordered = sorted(self.samples)
        return {
            "median": statistics.median(ordered),
            "p10": ordered[len(ordered) // 10],
            "p90": ordered[len(ordered) * 9 // 10],
            "samples": len(ordered),
        }


class Figures:
    """A table of cells: rows are operations, columns are targets."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Cell]] = defaultdict(lambda: defaultdict(Cell))

    def cell(self, row: str, target: str) -> Cell:
        """The cell, to be filled or read."""
        return self._rows[row][target]

    def median(self, row: str, target: str) -> float | None:
        """The median there, if that was measured."""
        return self._rows[row][target].median if row in self._rows and target in self._rows[row] else None

    def ratio(self, row: str, target: str, against: str) -> float | None:
        """How many times the other target's median this one's is."""
        mine, other = self.median(row, target), self.median(row, against)
        return mine / other if mine is not None and other else None

    def rows(self) -> list[str]:
        """The operations, in the order they ran."""
        return list(self._rows)

    def failures(self) -> list[str]:
        """One sentence for each cell that could not be measured."""
        return [
            f"{row} on {target}: {cell.failed}"
            for row, cells in self._rows.items()
            for target, cell in cells.items()
            if cell.failed
        ]

    def to_json(self) -> dict[str, object]:
        """Rows of cells."""
        return {
            row: {target: cell.to_json() for target, cell in cells.items()}
            for row, cells in self._rows.items()
        }
