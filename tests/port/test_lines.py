"""Logical lines: three endings, no phantom line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfs.port.lines import ends_in_line_ending, logical_lines
from tests.port.model import split

TEXTS = st.text("ab\n\r\f\v\x1c\x85\u2028", max_size=30) | st.text(max_size=30)


@given(TEXTS)
def test_lines_are_split_as_the_model_splits_them(text: str) -> None:
    assert logical_lines(text) == split(text)


@given(TEXTS)
def test_no_line_holds_an_ending(text: str) -> None:
    assert not any(ending in line for line in logical_lines(text) for ending in "\r\n")


@given(st.lists(st.text("ab\f\u2028"), max_size=8), st.sampled_from(("\n", "\r", "\r\n")))
def test_lines_that_each_end_are_found_again(lines: list[str], ending: str) -> None:
    text = "".join(line + ending for line in lines)
    assert logical_lines(text) == lines
    assert ends_in_line_ending(text) == bool(lines)


@given(TEXTS, st.sampled_from(("\n", "\r", "\r\n")))
def test_a_final_ending_adds_no_line(text: str, ending: str) -> None:
    if text and not ends_in_line_ending(text):
        assert logical_lines(text + ending) == logical_lines(text)


@given(TEXTS)
def test_only_line_endings_are_lost(text: str) -> None:
    kept = "".join(logical_lines(text))
    assert kept == text.replace("\r", "").replace("\n", "")
