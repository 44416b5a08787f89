"""The rules of a scope: positive limits, plausible extensions, and nothing unknown."""

from __future__ import annotations

from typing import Any

import pytest

from memfs import ErrorCode, Limits, OpenError, Policy

LIMITS = ("max_file_bytes", "max_total_bytes", "max_files")


def test_the_usual_rules_are_those_of_the_contract() -> None:
    assert Policy().to_json() == {
        "max_file_bytes": 65_536,
        "max_total_bytes": 1_048_576,
        "max_files": 256,
        "extensions": [".txt", ".md", ".json", ".py", ".yaml", ".yml"],
        "layout": "flat",
        "eviction": "delete",
        "max_archive_bytes": None,
    }


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, True, False, 1.0, "1", None, [], 1 << 62], ids=repr)
def test_a_limit_is_a_positive_integer(name: str, value: Any) -> None:
    with pytest.raises(OpenError, match=name) as refused:
        Limits(**{name: value})
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(OpenError, match=name):
        Policy().changed({name: value})


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_may_be_one_or_enormous(name: str) -> None:
    for value in (1, (1 << 62) - 1):
        assert getattr(Limits(**{name: value}), name) == value


@pytest.mark.parametrize(
    "extensions", [[".org"], (".a", ".b"), [".tar-gz", ".x_1"], [".MD"], ["." + "x" * 15]]
)
def test_extensions_may_be_any_plausible_ones(extensions: Any) -> None:
    assert Policy().changed({"extensions": extensions}).extensions == tuple(extensions)


@pytest.mark.parametrize(
    "extensions",
    [
        [],
        "",
        ".md",
        None,
        5,
        ["md"],
        ["."],
        [""],
        [".m d"],
        [".a.b"],
        [".\u00e9"],
        [5],
        [".md\n"],
        ["." + "x" * 16],
    ],
    ids=repr,
)
def test_implausible_extensions_are_refused(extensions: Any) -> None:
    with pytest.raises(OpenError) as refused:
        Policy().changed({"extensions": extensions})
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT


def test_a_rule_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(OpenError, match="max_dreams"):
        Policy.from_json({"max_files": 3, "max_dreams": 1})


def test_what_is_recorded_is_read_back() -> None:
    policy = Policy(Limits(7, 8, 9), (".org",), "flat", "archive", 10)
    assert Policy.from_json(policy.to_json()) == policy
    assert Policy.from_json({}) == Policy()


def test_a_layout_brings_its_own_extension_and_eviction() -> None:
    policy = Policy.from_json({"layout": "para"})
    assert (policy.extensions, policy.eviction) == ((".html",), "archive")
    assert policy.has_archive
    assert Policy.from_json(policy.to_json()) == policy
    chosen = Policy.from_json({"layout": "para", "eviction": "refuse", "extensions": [".md"]})
    assert (chosen.extensions, chosen.eviction) == ((".md",), "refuse")


def test_a_scope_that_exists_keeps_what_is_not_named() -> None:
    policy = Policy().changed({"layout": "para"})
    assert (policy.layout, policy.eviction, policy.extensions) == ("para", "delete", Policy().extensions)


@pytest.mark.parametrize("name", ["layout", "eviction"])
@pytest.mark.parametrize("value", ["", "PARA", "Archive", None, 5, ["para"]], ids=repr)
def test_a_layout_and_an_eviction_are_one_of_those_there_are(name: str, value: Any) -> None:
    with pytest.raises(OpenError, match=f"{name} must be .* or .*, not") as refused:
        Policy.from_json({name: value})
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT


def test_the_archive_has_a_bound_or_none() -> None:
    assert Policy().changed({"max_archive_bytes": 5}).max_archive_bytes == 5
    assert Policy(max_archive_bytes=5).changed({"max_archive_bytes": None}).max_archive_bytes is None
    for value in (0, -1, True, 1.0, "none", 1 << 62):
        with pytest.raises(OpenError, match="max_archive_bytes"):
            Policy().changed({"max_archive_bytes": value})


def test_only_the_rules_that_were_named_are_compared() -> None:
    policy = Policy(Limits(max_files=32))
    assert policy.differences({}) == []
    assert policy.differences({"max_files": 32}) == []
    assert policy.differences({"max_files": 33, "extensions": [".md"]}) == [
        "max_files is 32, not 33",
        "extensions is ['.txt', '.md', '.json', '.py', '.yaml', '.yml'], not ['.md']",
    ]
