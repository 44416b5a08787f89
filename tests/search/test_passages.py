"""Where a text is split."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfs.port.lines import logical_lines
from memfs.search.passages import MOST_LINES, passages_of


def spans(text: str, path: str = "/memories/a.md") -> list[tuple[int, int]]:
    return [(passage.start, passage.end) for passage in passages_of(text, path)]


def test_paragraphs_are_passages() -> None:
    assert spans("one\ntwo\n\n\nthree\n") == [(1, 2), (5, 5)]


def test_a_heading_begins_a_passage_and_keeps_its_paragraph() -> None:
    assert spans("intro\n# Atlas\n\nsome text\nmore\n\nother\n") == [(1, 1), (2, 5), (7, 7)]


def test_each_heading_begins_a_passage() -> None:
    assert spans("# A\n\n## B\ntext\n### C\n") == [(1, 1), (3, 4), (5, 5)]


def test_a_comment_is_no_heading() -> None:
    assert spans("x = 1\n# note\ny = 2\n", "/memories/a.py") == [(1, 3)]
    assert spans("```sh\n# note\nls\n```\n# Heading\n") == [(1, 4), (5, 5)]


def test_a_long_paragraph_is_split() -> None:
    text = "line\n" * (2 * MOST_LINES + 1)
    assert spans(text) == [(1, MOST_LINES), (MOST_LINES + 1, 2 * MOST_LINES), (2 * MOST_LINES + 1,) * 2]


def test_what_holds_nothing_has_no_passage() -> None:
    assert spans("") == spans("\n \n\t\n") == []


@given(st.text(alphabet="a# `\n\r\f", max_size=200), st.sampled_from(["/memories/a.md", "/memories/a.json"]))
def test_the_passages_are_the_lines_that_are_not_blank(text: str, path: str) -> None:
    lines = logical_lines(text)
    covered: list[int] = []
    for start, end, passage in passages_of(text, path):
        assert passage == "\n".join(lines[start - 1 : end])
        assert lines[start - 1].strip()
        assert lines[end - 1].strip()
        covered += range(start, end + 1)
    assert covered == sorted(set(covered))
    assert all(not line.strip() or number in covered for number, line in enumerate(lines, 1))
