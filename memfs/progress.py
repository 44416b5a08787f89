"""How far something is that takes longer than a second: a line on standard error, for a terminal only.

It appears after a second, is drawn anew ten times a second at most, and is gone when the work is done, so
that neither a quick command nor a pipe ever sees it. What a line needs to fit on a terminal is here too.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import IO, Self, TypeVar

Step = TypeVar("Step")

QUICK_SECONDS = 1.0
"""What takes no longer than this shows nothing."""
DRAWN_SECONDS = 0.1
WIDTH = 80
"""Columns, where nobody says how many there are."""


class Progress:
    """Work of *total* steps (0: nobody knows how many), to be used in a ``with``.

    *what* says what is being done, *unit* what is counted, in the plural; either may be empty.
    """

    def __init__(self, what: str, total: int = 0, unit: str = "") -> None:
        self._what = what
        self._total = total
        self._unit = unit
        self._done = 0
        self._next = time.monotonic() + QUICK_SECONDS
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def through(self, steps: Iterable[Step]) -> Iterator[Step]:
        """*steps*, each of them counted when it is taken."""
        for each in steps:
            self.step()
            yield each

    def step(self, detail: str = "", steps: int = 1) -> None:
        """So many more steps are done; *detail* says what comes now. Cheap to call often."""
        self._done += steps
        now = time.monotonic()
        if now < self._next or not is_terminal(sys.stderr):
            return
        self._next = now + DRAWN_SECONDS
        self._shown = True
        if self._total:
            how_far = (
                f"{bar(self._done, self._total)} {self._done:,} of {self._total:,} {self._unit}".rstrip()
            )
        else:
            how_far = f"{self._done:,} {self._unit}" if self._unit else ""
        line = "  ".join(filter(None, (f"{self._what} {how_far}".strip(), detail)))
        self._write(f"\r{cut(line, columns() - 1)}\x1b[K")

    def _write(self, text: str) -> None:
        assert sys.stderr is not None, "only a terminal is written to"
        sys.stderr.write(text)
        sys.stderr.flush()


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at *stream*, on a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def columns() -> int:
    """How wide a line may be."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def bar(part: float, whole: float, width: int = 20) -> str:
    """How much *part* is of *whole*, as a bar of *width* characters between brackets."""
    share = min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
    filled = round(share * width)
    if part > 0 and not filled:
        filled = 1  # a little is not nothing
    return f"[{'#' * filled}{'.' * (width - filled)}]"


def cut(text: str, width: int) -> str:
    """*text*, at most *width* characters of it; what is left out in the middle shows as an ellipsis."""
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]
