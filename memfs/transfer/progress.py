"""A progress bar on standard error: on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from typing import Self

PATIENCE = 1.0
"""Seconds before the bar appears."""
_EVERY = 0.1
_WIDTH = 30


class Progress:
    """How far something has come, out of *total* (0: nobody knows) of *what* (a plural), in a ``with``."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._done = 0
        self._what = what
        self._shown = False
        self._next = time.monotonic() + PATIENCE
        self._wanted = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def step(self) -> None:
        """One more is done; cheap to call often."""
        self._done += 1
        self.at(self._done)

    def at(self, done: int) -> None:
        """Show that *done* of all is done; cheap to call often."""
        if not self._wanted or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        if self._total:
            filled = _WIDTH * done // self._total
            bar = "#" * filled + "-" * (_WIDTH - filled)
            self._show(f"\r[{bar}] {done:,} of {self._total:,} {self._what}")
        else:
            self._show(f"\r{done:,} {self._what}")
        self._shown = True

    def end(self) -> None:
        """Take the bar away."""
        if self._shown:
            self._show("\r\033[K")

    def _show(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
