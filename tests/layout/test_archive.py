"""The archive: there and back, for every path, as often as one likes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.layout import (
    archive_path_for,
    archive_year_of,
    is_archive_path,
    is_valid_memory_path,
    normalize_path,
    original_path_for,
)
from tests.layout.strategies import PATHS

YEARS = st.integers(0, 12_000) | st.integers(0, 10**30)
NORMAL = PATHS.map(normalize_path).filter(bool)


@given(NORMAL, YEARS)
def test_what_is_archived_has_a_way_back(path: str, year: int) -> None:
    archived = archive_path_for(path, year)
    assert original_path_for(archived) == path
    assert archive_year_of(archived) == year
    assert is_archive_path(archived)


@given(NORMAL, YEARS, YEARS)
def test_what_is_archived_twice_comes_back_in_two_steps(path: str, first: int, second: int) -> None:
    once = archive_path_for(path, first)
    assert original_path_for(archive_path_for(once, second)) == once


@given(NORMAL, YEARS, NORMAL, YEARS)
def test_two_memories_never_go_to_one_place(one: str, year: int, other: str, another: int) -> None:
    if (one, year) != (other, another):
        assert archive_path_for(one, year) != archive_path_for(other, another)


@given(PATHS, YEARS)
def test_an_archived_memory_is_still_one(path: str, year: int) -> None:
    assert archive_path_for(path, year) == archive_path_for(normalize_path(path), year)
    if is_valid_memory_path(path):
        assert is_valid_memory_path(archive_path_for(path, year))


@given(PATHS)
def test_three_questions_agree_on_what_is_archived(path: str) -> None:
    original, year = original_path_for(path), archive_year_of(path)
    assert is_archive_path(path) == (original is not None) == (year is not None)
    if original is not None:
        assert original
        assert normalize_path(path).endswith(f"/{original}")


@pytest.mark.parametrize(
    ("path", "year", "archived"),
    [
        ("/projects//a.html", 2026, "archive/2026/projects/a.html"),
        ("a", 7, "archive/0007/a"),
        ("a", 12_026, "archive/12026/a"),
        ("archive/2025/a", 2026, "archive/2026/archive/2025/a"),
    ],
)
def test_the_whole_path_is_mirrored_under_the_year(path: str, year: int, archived: str) -> None:
    assert archive_path_for(path, year) == archived


@pytest.mark.parametrize(
    "path",
    ["", "archive", "archive/2024", "archive/2024/", "archive/202/a", "archive/20x4/a", "archive/٢٠٢٤/a",
     "archive/+2024/a", "archive/2024\n/a", "Archive/2024/a", "projects/archive/2024/a"],
)  # fmt: skip
def test_these_are_not_in_the_archive(path: str) -> None:
    assert not is_archive_path(path)


@pytest.mark.parametrize(
    ("path", "year", "original"),
    [
        ("//archive//2024///a//b.html/", 2024, "a/b.html"),
        ("archive/0000/a", 0, "a"),
        ("archive/00002024/a", 2024, "a"),
        ("archive/2024/a\nb", 2024, "a\nb"),
        ("archive/" + "0" * 5000 + "2024/a", 2024, "a"),
        ("archive/" + "9" * 640 + "/a", 10**640 - 1, "a"),
        ("archive/" + "9" * 65_536 + "/a", 10**640, "a"),
    ],
)
def test_these_are_in_the_archive(path: str, year: int, original: str) -> None:
    assert archive_year_of(path) == year
    assert original_path_for(path) == original
