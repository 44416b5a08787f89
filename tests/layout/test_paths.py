"""Paths: the normal form, the buckets, and the clause that says why a path is no memory's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.layout import (
    PARA_BUCKETS,
    is_valid_memory_path,
    memory_path_violation,
    normalize_path,
    para_bucket_of,
)
from tests.layout.strategies import PATHS


@given(PATHS)
def test_the_normal_form_is_the_segments_joined_by_single_slashes(path: str) -> None:
    assert normalize_path(path) == "/".join(segment for segment in path.split("/") if segment)


@given(PATHS)
def test_the_normal_form_of_a_normal_form_is_itself(path: str) -> None:
    normal = normalize_path(path)
    assert normalize_path(normal) == normal


@given(PATHS)
def test_whatever_is_asked_of_a_path_is_asked_of_its_normal_form(path: str) -> None:
    normal = normalize_path(path)
    assert para_bucket_of(path) == para_bucket_of(normal)
    assert memory_path_violation(path) == memory_path_violation(normal)


@pytest.mark.parametrize(
    ("path", "bucket"),
    [
        ("projects/a", "projects"),
        ("//areas//", None),
        ("resources", None),
        ("/archive//x", "archive"),
        ("Projects/a", None),
        ("projects.html", None),
        ("x/projects/a", None),
        ("projects /a", None),
        ("", None),
    ],
)
def test_a_bucket_is_the_first_of_several_segments(path: str, bucket: str | None) -> None:
    assert para_bucket_of(path) == bucket


@given(PATHS, st.sampled_from(((".html",), (".md", ".html"), ())))
def test_a_path_is_valid_where_there_is_no_reason_against_it(path: str, extensions: tuple[str, ...]) -> None:
    assert is_valid_memory_path(path, extensions) == (memory_path_violation(path, extensions) is None)


@given(PATHS)
def test_a_valid_path_stays_below_its_bucket(path: str) -> None:
    if is_valid_memory_path(path):
        first, *rest = normalize_path(path).split("/")
        assert first in PARA_BUCKETS
        assert rest
        assert not {"", ".", ".."} & set(rest)
        assert rest[-1].endswith(".html")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("notes/a.html", "projects, areas, resources, archive"),
        ("../a.html", "projects, areas, resources, archive"),
        ("", "buckets"),
        ("projects", "buckets"),
        ("notes/../a.md", "buckets"),
        ("projects/a.md", ".html"),
        ("projects/../a.md", ".html"),
        ("projects/a.HTML", ".html"),
        ("projects/a.html.", ".html"),
        ("projects/../../a.html", "'..'"),
        ("projects/./../a.html", "'.'"),
    ],
)
def test_the_first_reason_that_applies_is_named(path: str, reason: str) -> None:
    violation = memory_path_violation(path)
    assert violation is not None
    assert reason in violation


@pytest.mark.parametrize(
    "path",
    ["projects/a.html", "/areas//x/y.html/", "projects/.html", "archive/2024/a.html", "projects/a b.html"],
)
def test_a_memory_can_have_such_a_path(path: str) -> None:
    assert memory_path_violation(path) is None


def test_other_extensions_can_be_asked_for() -> None:
    assert memory_path_violation("projects/a.md", (".md", ".txt")) is None
    violation = memory_path_violation("projects/a.html", (".md", ".txt"))
    assert violation is not None
    assert ".md or .txt" in violation
