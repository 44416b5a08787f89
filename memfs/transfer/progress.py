"""A progress bar on standard error: on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import sys
import time

PATIENCE = 1.0
"""Seconds before the bar appears."""
_EVERY = 0.1
_WIDTH = 30


class Progress:
    """How far something has come, out of *total* of *what* (a plural)."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._shown = False
        self._next = time.monotonic() + PATIENCE
        self._wanted = sys.stderr is not None and sys.stderr.isatty()

    def at(self, done: int) -> None:
        """Show that *done* of all is done; cheap to call often."""
        if not self._wanted or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        filled = _WIDTH * done // max(1, self._total)
        bar = "#" * filled + "-" * (_WIDTH - filled)
        self._show(f"\r[{bar}] {done:,} of {self._total:,} {self._what}")
        self._shown = True

    def end(self) -> None:
        """Take the bar away."""
        if self._shown:
            self._show("\r\033[K")

    def _show(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
