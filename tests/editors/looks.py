"""Looking at a file that may come and go while it is looked at."""

from __future__ import annotations

from pathlib import Path


def text_of(path: Path) -> str | None:
    """The text of *path*; None while there is none."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
