"""The difference of two states, for a door that has to be told what happened in between."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memfs import Limits, Policy
from memfs.port.difference import difference
from memfs.port.scope import Scope
from tests.port.planned import Planned, picture
from tests.port.strategies import commands

LIMITS = Limits(max_file_bytes=12, max_total_bytes=60, max_files=5)


def copy(scope: Scope) -> Scope:
    return Scope(scope.policy, scope.version, scope.in_write_order())


def by_id(scope: Scope) -> dict[int, tuple[str, int, int]]:
    return {file.id: (file.path, file.size, file.mtime_ns) for file in scope.in_write_order()}


@given(before=st.lists(commands, max_size=20), after=st.lists(commands, max_size=20))
def test_the_difference_leads_from_the_old_state_to_the_new(before: list[Any], after: list[Any]) -> None:
    planned = Planned(LIMITS)
    for command in before:
        planned.execute(command)
    old = copy(planned.scope)
    for command in after:
        planned.execute(command)
    new = planned.scope
    old.apply(difference(old, new))
    assert by_id(old) == by_id(new)
    assert picture(old)["directories"] == picture(new)["directories"]
    assert (old.version, old.total_bytes) == (new.version, new.total_bytes)


@given(before=st.lists(commands, max_size=20))
def test_nothing_changed_makes_no_difference(before: list[Any]) -> None:
    planned = Planned(LIMITS)
    for command in before:
        planned.execute(command)
    change = difference(planned.scope, copy(planned.scope)).change
    assert (change.removes, change.moves, change.puts, change.policy) == ((), (), (), None)


def test_another_policy_is_a_difference() -> None:
    old, new = Scope(Policy(), 3), Scope(Policy(Limits(max_files=9)), 4)
    old.apply(difference(old, new))
    assert old.policy == new.policy
