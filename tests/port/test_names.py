"""Names: what is a path, a segment, an extension, a scope, and the sentence that says why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.port.errors import ErrorCode
from memfs.port.names import (
    DEFAULT_EXTENSIONS,
    extension_error,
    extension_of,
    is_segment,
    is_well_formed,
    parent_of,
    path_error,
    scope_name_fault,
    segment_fault,
)
from tests.port.model import Model, Refused

CHARACTERS = "aZ0_.-" * 3 + "/ %\\\n\0\x7f\u0430\u00e9\u0661\ud800"
NAMES = st.text(CHARACTERS, max_size=6) | st.sampled_from(("x" * 128, "x" * 129, ".", "..", "", "-", "_"))
PATHS = st.one_of(
    st.lists(NAMES, max_size=10).map(lambda names: "/".join(["/memories", *names])),
    st.text(CHARACTERS, max_size=12),
    st.text(max_size=12),
)


def model_takes(path: str) -> bool:
    try:
        Model().checked_path(path)
    except Refused:
        return False
    return True


@given(PATHS)
def test_a_path_is_one_where_the_model_takes_it(path: str) -> None:
    error = path_error(path)
    assert (error is None) == model_takes(path)
    if error is not None:
        assert error.code is ErrorCode.INVALID_PATH


@given(PATHS)
def test_a_refused_path_is_shown_so_that_any_reader_can_print_it(path: str) -> None:
    error = path_error(path)
    if error is not None:
        assert error.message.isprintable()
        assert error.path is not None
        assert is_well_formed(error.path)


@given(NAMES)
def test_a_segment_is_what_a_path_of_one_name_is(name: str) -> None:
    assert is_segment(name) == ("/" not in name and path_error(f"/memories/{name}") is None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty segment"),
        (".", "'.' segment"),
        ("..", "'..' segment"),
        ("x" * 129, "129 characters"),
        ("-x", "begins with '-'"),
        (".x", "begins with '.'"),
        ("a b", "other than"),
        ("\u00e9", "other than"),
    ],
)
def test_the_fault_of_a_segment_is_named(name: str, reason: str) -> None:
    assert not is_segment(name)
    assert reason in segment_fault(name)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/notes/a.md", "not inside /memories"),
        ("/memories/", "ends with a slash"),
        ("/memories/a//b.md", "empty segment"),
        ("/memories/a.md\n", "other than"),
        ("/memories" + "/d" * 508, "1025 bytes"),
    ],
)
def test_the_fault_of_a_path_is_named(path: str, reason: str) -> None:
    error = path_error(path)
    assert error is not None
    assert reason in error.message


@pytest.mark.parametrize("path", [None, 5, True, 1.5, [], {}, b"/memories"])
def test_what_is_no_string_is_an_invalid_argument(path: object) -> None:
    error = path_error(path)
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.path is None


@given(st.lists(st.sampled_from(("a", "b.md", "c.txt.bak", "d.")), min_size=1, max_size=4))
def test_an_extension_begins_at_the_last_dot_of_the_last_name(names: list[str]) -> None:
    path = "/".join(["/memories", *names])
    assert extension_of(path) == {"a": "", "b.md": ".md", "c.txt.bak": ".bak", "d.": "."}[names[-1]]
    assert parent_of(path) == "/".join(["/memories", *names[:-1]])


@pytest.mark.parametrize("extension", DEFAULT_EXTENSIONS)
def test_a_listed_extension_is_taken_and_in_upper_case_it_is_not(extension: str) -> None:
    assert extension_error(f"/memories/a{extension}", DEFAULT_EXTENSIONS) is None
    assert extension_error(f"/memories/a{extension.upper()}", DEFAULT_EXTENSIONS) is not None


def test_a_refused_extension_comes_with_those_allowed() -> None:
    error = extension_error("/memories/a", (".md", ".org"))
    assert error is not None
    assert "no extension" in error.message
    assert ".md, .org" in error.message


@given(st.text(st.characters(codec=None), max_size=6) | st.just(" \u2003"))
def test_a_scope_is_named_by_anything_visible(name: str) -> None:
    is_bad = (
        not name.strip()
        or any(ord(character) < 32 or ord(character) == 127 for character in name)
        or any(0xD800 <= ord(character) < 0xE000 for character in name)
    )
    assert (scope_name_fault(name) is not None) == is_bad


@pytest.mark.parametrize("name", [None, 5, b"work", ["work"]])
def test_a_scope_is_named_by_a_string(name: object) -> None:
    assert scope_name_fault(name) is not None
