"""No string makes these functions raise, and none costs more per character than another.

Counted, not timed: the steps of the interpreter, and the calls it makes. What one call of the regular
expressions and of ``str`` costs inside cannot be counted; that it is not quadratic shows in a million
characters, which would outlast the time limit of a test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given

from memfs import layout
from memfs.layout import PlacementInput
from tests.layout.strategies import ANYTHING

AT = datetime(2026, 8, 2, tzinfo=UTC)
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "normalize_path": layout.normalize_path,
    "para_bucket_of": layout.para_bucket_of,
    "memory_path_violation": layout.memory_path_violation,
    "is_valid_memory_path": layout.is_valid_memory_path,
    "placement_for a path": lambda text: layout.placement_for(PlacementInput(text, path=text)),
    "placement_for a workspace": lambda text: layout.placement_for(PlacementInput("task", workspace=text)),
    "placement_for tags": lambda text: layout.placement_for(
        PlacementInput("semantic", tags=[text], entities=[text, "person:" + text])
    ),
    "memory_path_for": lambda text: layout.memory_path_for(PlacementInput("episodic", path=text), text, AT),
    "filename_for": lambda text: layout.filename_for(text, True, AT),
    "slugify": layout.slugify,
    "is_slug": layout.is_slug,
    "with_collision_ordinal": lambda text: layout.with_collision_ordinal(text, 2),
    "archive_path_for": lambda text: layout.archive_path_for(text, 2026),
    "original_path_for": layout.original_path_for,
    "is_archive_path": layout.is_archive_path,
    "archive_year_of": layout.archive_year_of,
}
ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "slashes and a letter": lambda size: "/" * size + "a",
    "slashes within": lambda size: "projects/" + "/" * size + "a.html",
    "segments": lambda size: "projects" + "/a" * (size // 2) + "/b.html",
    "dots": lambda size: "projects/" + "./" * (size // 2) + "a.html",
    "digits of a year": lambda size: "archive/" + "9" * size + "/a",
    "no digits of a year": lambda size: "archive/" + "9" * size + "x/a",
    "hyphens": lambda size: "a" + "-" * size + "b",
    "words": lambda size: "a-" * (size // 2) + "-",
    "blanks": lambda size: " " * size + "a" + " " * size,
    "marks out of order": lambda size: "a" + "\u0301\u0323" * (size // 2),
    "spacing marks out of order": lambda size: "a" + "\u302e\U0001d165" * (size // 2),
    "sigmas": lambda size: "Σ'" * (size // 2),
    "surrogates": lambda size: "\ud800\udc00"[::-1] * (size // 2),
    "NUL": lambda size: "\0" * size,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_no_string_makes_it_raise(function: Callable[[str], object]) -> None:
    @given(ANYTHING)
    @example("\ud800")
    @example("\0")
    @example("/" * 65_536)
    @example("archive/" + "9" * 65_536 + "/a")
    def no_string(text: str) -> None:
        function(text)

    no_string()


def steps_of(action: Callable[[], object]) -> int:
    """How many instructions and calls the interpreter carries out in *action*."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event == "c_call"

    before, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(profiled)
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("shape", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_longer_string_costs_in_proportion(
    function: Callable[[str], object], shape: Callable[[int], str]
) -> None:
    short, long = shape(256), shape(2048)
    function(long)  # what is learned at a first call is not counted
    steps = [steps_of(lambda text=text: function(text)) for text in (short, long)]  # type: ignore[misc]
    assert steps[1] <= steps[0] * len(long) / len(short) * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("shape", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_a_million_characters_are_no_obstacle(shape: Callable[[int], str]) -> None:
    text = shape(1 << 20)
    for function in FUNCTIONS.values():
        function(text)
