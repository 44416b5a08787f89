"""What is a word, and how well a passage answers."""

from __future__ import annotations

import pytest

from memfs.search.words import LONGEST_WORD, Query, Rank, folded, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Prefers short answers.", ["prefers", "short", "answers"]),
        ("snake_case, kebab-case", ["snake_case", "kebab", "case"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("cafe\u0301 caf\u00e9", ["caf\u00e9", "caf\u00e9"]),
        ("東京タワー3階", ["東", "京", "タ", "ワ", "ー", "3", "階"]),
        ("a\u2028b\x1cc", ["a", "b", "c"]),
        ("x" * 1000, ["x" * LONGEST_WORD]),
        ("-> ++ \U0001f600", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(folded(text)) == words


@pytest.mark.parametrize(
    ("query", "text", "rank"),
    [
        ("short answers", "Short, answers", Rank(True, 2, 2)),
        ("short answers", "answers: short", Rank(False, 2, 2)),
        ("short answers", "short and short", Rank(False, 1, 2)),
        ("answer", "Answers answered", Rank(False, 1, 2)),
        ("answer", "an answer", Rank(True, 1, 1)),
        ("an", "and answers", None),
        ("to be or not to be", "be not to or", Rank(False, 4, 4)),
        ("deadline", "dead line", None),
    ],
)
def test_a_rank_is_the_phrase_then_the_terms_then_the_occurrences(
    query: str, text: str, rank: Rank | None
) -> None:
    assert Query(query).rank(words_of(folded(text))) == rank
