"""Where a text is split into passages: at headings, at paragraphs, and where one would be too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memfs.port.lines import logical_lines

MOST_LINES = 30
"""A longer paragraph (a JSON file, say) is split: an answer should be worth its length."""
_HEADING = re.compile(r"#{1,6}(\s|$)").match
_FENCE = re.compile(r"\s{0,3}(```|~~~)").match
_PROSE = (".md", ".txt")


class Passage(NamedTuple):
    """Some lines of a text, from ``start`` to ``end``, counted from 1."""

    start: int
    end: int
    text: str


def passages_of(text: str, path: str) -> Iterator[Passage]:
    """The passages of the file *path*, in order; together they are all its lines that are not blank.

    A heading begins a passage, and the paragraph below it belongs to it. Only ``.md`` and ``.txt`` have
    headings: elsewhere, and in a fenced block, ``#`` begins a comment.
    """
    has_headings = path.endswith(_PROSE)
    passage: list[str] = []
    start = end = 0  # end: the last line of the passage that is not blank
    fenced = only_heading = False
    for number, line in enumerate(logical_lines(text), 1):
        if has_headings and _FENCE(line):
            fenced = not fenced
        blank = not line.strip()
        heading = has_headings and not fenced and _HEADING(line) is not None
        after_gap = not blank and end < number - 1 and not only_heading
        if passage and (heading or after_gap or (not blank and number - start >= MOST_LINES)):
            yield Passage(start, end, "\n".join(passage[: end - start + 1]))
            passage = []
        if not passage:
            if blank:
                continue
            start = number
            only_heading = heading
        elif not blank:
            only_heading = False
        passage.append(line)
        if not blank:
            end = number
    if passage:
        yield Passage(start, end, "\n".join(passage[: end - start + 1]))
