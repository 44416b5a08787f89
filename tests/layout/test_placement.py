"""Placement: the rules in their order, and a place for whatever comes."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

import pytest
from hypothesis import given

from memfs.layout import (
    PARA_BUCKETS,
    PlacementInput,
    is_valid_memory_path,
    memory_path_for,
    normalize_path,
    placement_for,
)
from tests.layout.strategies import INPUTS, TITLES

AT = datetime(2026, 8, 2, 12, tzinfo=UTC)
EVERYTHING = PlacementInput(
    "semantic", workspace="Atlas", tags=("SQL tips",), entities=("person:Ada",), path="areas/x/y.html"
)
ADA = ("org:x", "person:Ada")


def wanting(**fields: object) -> PlacementInput:
    return dataclasses.replace(EVERYTHING, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memory", "directory"),
    [
        # 1. a path that a memory can have
        (EVERYTHING, "areas/x"),
        (wanting(path="//areas//x/deep//y.html/"), "areas/x/deep"),
        (wanting(memory_type="arc"), "areas/x"),
        (wanting(path="archive/2024/projects/a.html"), "archive/2024/projects"),
        (wanting(path="projects/a.html"), "projects"),
        # 2. an arc
        (wanting(memory_type="arc", path="elsewhere/y.html"), "areas/arcs"),
        (wanting(memory_type="arc", path=None), "areas/arcs"),
        # 3. a task
        (wanting(memory_type="task", path=None), "projects/atlas/tasks"),
        (wanting(memory_type="task", path=None, workspace=None), "areas/inbox/tasks"),
        (wanting(memory_type="task", path="", workspace=""), "areas/inbox/tasks"),
        (wanting(memory_type="task", path=None, workspace="日本"), "projects/untitled/tasks"),
        # 4. a person
        (wanting(path=None), "resources/people"),
        (wanting(path="areas/../y.html"), "resources/people"),
        (wanting(path=None, entities=ADA), "resources/people"),
        (
            wanting(path=None, entities=("person: \u3000\ufeff", "Person:Ada", "org:person:Ada")),
            "projects/atlas",
        ),
        (wanting(path=None, entities=("person:\x1c",)), "resources/people"),
        (wanting(path=None, memory_type="procedural"), "projects/atlas"),
        # 5. a workspace
        (wanting(path=None, entities=None), "projects/atlas"),
        (wanting(path=None, entities=(), memory_type="episodic"), "projects/atlas"),
        (wanting(path=None, entities=(), workspace=" "), "projects/untitled"),
        # 6. a topic
        (PlacementInput("semantic", tags=["SQL tips", "other"]), "resources/sql-tips"),
        (PlacementInput("procedural", tags=["", " \t", "b"]), "resources/b"),
        (PlacementInput("precedent", workspace="", tags=["日本"]), "resources/untitled"),
        (PlacementInput("semantic", tags=["\x1c", "b"]), "resources/untitled"),
        # 7. the inbox
        (PlacementInput("semantic", tags=["", " "]), "areas/inbox"),
        (PlacementInput("semantic"), "areas/inbox"),
        (PlacementInput("episodic", tags=["a"], entities=["person:Ada"]), "areas/inbox"),
        (PlacementInput("verdict", tags=["a"]), "areas/inbox"),
        (PlacementInput("Semantic", tags=["a"]), "areas/inbox"),
        (PlacementInput(""), "areas/inbox"),
    ],
)
def test_the_first_rule_that_applies_decides(memory: PlacementInput, directory: str) -> None:
    assert placement_for(memory) == directory


@given(INPUTS, TITLES)
def test_every_memory_has_a_place_that_a_memory_can_have(memory: PlacementInput, title: str) -> None:
    path = memory_path_for(memory, title, AT)
    assert is_valid_memory_path(path)
    assert path == normalize_path(path)
    assert path.rpartition("/")[0] == placement_for(memory)
    assert placement_for(memory).split("/")[0] in PARA_BUCKETS


@given(INPUTS, TITLES)
def test_a_path_once_given_is_kept_when_it_is_asked_for(memory: PlacementInput, title: str) -> None:
    path = memory_path_for(memory, title, AT)
    again = dataclasses.replace(memory, path=path)
    assert memory_path_for(again, "another title", AT) == path


@given(INPUTS)
def test_a_path_that_no_memory_can_have_is_passed_over(memory: PlacementInput) -> None:
    if memory.path is not None and not is_valid_memory_path(memory.path):
        assert placement_for(memory) == placement_for(dataclasses.replace(memory, path=None))


@pytest.mark.parametrize(
    ("memory", "path"),
    [
        (PlacementInput("episodic"), "areas/inbox/20260802-the-plan.html"),
        (PlacementInput("task", workspace="Atlas"), "projects/atlas/tasks/the-plan.html"),
        (PlacementInput("episodic", path="/projects//a.html"), "projects/a.html"),
        (PlacementInput("episodic", path="/projects//a.md"), "areas/inbox/20260802-the-plan.html"),
    ],
)
def test_a_path_is_the_directory_and_the_name(memory: PlacementInput, path: str) -> None:
    assert memory_path_for(memory, "The plan!", AT) == path
