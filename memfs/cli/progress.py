"""How far something is that takes longer than a second: a line on standard error, for a terminal only.

It appears after a second, is drawn anew ten times a second at most, and is gone when the work is done, so
that neither a quick command nor a pipe ever sees it.
"""

from __future__ import annotations

import sys
import time

from memfs.cli.terminal import bar, columns, cut, is_terminal

QUICK_SECONDS = 1.0
"""What takes no longer than this shows nothing."""
DRAWN_SECONDS = 0.1


class Progress:
    """Work of *total* steps (0: nobody knows how many), to be used in a ``with``."""

    def __init__(self, what: str, total: int = 0) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._next = time.monotonic() + QUICK_SECONDS
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def step(self, detail: str = "", steps: int = 1) -> None:
        """So many more steps are done; *detail* says what comes now."""
        self._done += steps
        now = time.monotonic()
        if now < self._next or not is_terminal(sys.stderr):
            return
        self._next = now + DRAWN_SECONDS
        self._shown = True
        how_far = f" {bar(self._done, self._total)} {self._done:,} of {self._total:,}" if self._total else ""
        line = f"{self._what}{how_far}  {detail}".rstrip()
        self._write(f"\r{cut(line, columns() - 1)}\x1b[K")

    def _write(self, text: str) -> None:
        assert sys.stderr is not None, "only a terminal is written to"
        sys.stderr.write(text)
        sys.stderr.flush()
