"""Logical lines: the unit of a view's range and of an insertion."""

from __future__ import annotations

import re

_ENDING = re.compile(r"\r\n|\r|\n")


def logical_lines(text: str) -> list[str]:
    """The lines of *text* without their endings.

    ``\\r\\n``, ``\\r`` and ``\\n`` each end a line and nothing else does (a form feed or U+2028
    is text); a final ending adds no further line, and the empty text has none.
    """
    lines = _ENDING.split(text)
    if lines[-1] == "":
        lines.pop()
    return lines


def ends_in_line_ending(text: str) -> bool:
    """Whether the last logical line of *text* is complete."""
    return text.endswith(("\n", "\r"))
