"""What counts as a word, in a text and in what somebody searches for. Pure functions over strings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LONGEST_WORD = 100
"""In characters; a longer run counts by its beginning, so that no index has to hold an encoded file."""
SHORTEST_BEGINNING = 3
"""A searched word of so many characters also finds the words that begin with it."""

# Scripts written without spaces: each character is a word, and what is searched a phrase of them.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_AFTER_EVERY_CHARACTER = "\U0010ffff"


def folded(text: str) -> str:
    """*text* without the differences that a search passes over: case, and ways to encode a letter."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def words_of(folded_text: str) -> list[str]:
    """The words of a text that was folded, in their order."""
    return [word[:LONGEST_WORD] for word in _WORD.findall(folded_text)]


class Rank(NamedTuple):
    """How well a passage answers: what compares as larger is the better answer.

    ``phrase``: the searched words stand in it as they were typed. ``terms``: how many of them it has;
    ``occurrences``: how often in all.
    """

    phrase: bool
    terms: int
    occurrences: int


class Query:
    """Words that somebody searches for."""

    def __init__(self, text: str) -> None:
        self.phrase: Sequence[str] = words_of(folded(text))
        self.terms: Sequence[str] = tuple(dict.fromkeys(self.phrase))

    def may_match(self, folded_text: str) -> bool:
        """False where no word of the text is a searched one; a cheap question before the exact one."""
        return any(term in folded_text for term in self.terms)

    def rank(self, words: Sequence[str]) -> Rank | None:
        """How well a passage of these *words* answers; None if it has none of the terms."""
        counts = Counter(words)
        found = [sum(counts[word] for word in counts if matches(term, word)) for term in self.terms]
        terms = sum(map(bool, found))
        if not terms:
            return None
        return Rank(f" {' '.join(self.phrase)} " in f" {' '.join(words)} ", terms, sum(found))

    def spans(self) -> list[tuple[str, str]]:
        """For each term the words that match it: from the first to before the second, by code points."""
        return [
            (term, term + (_AFTER_EVERY_CHARACTER if len(term) >= SHORTEST_BEGINNING else "\0"))
            for term in self.terms
        ]


def matches(term: str, word: str) -> bool:
    """Whether *word* is found by *term*."""
    return word == term or (len(term) >= SHORTEST_BEGINNING and word.startswith(term))
