"""The difference of two states, for a door that has to be told what happened in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memfs import Limits, Policy
from memfs.port.change import File
from memfs.port.difference import difference
from memfs.port.scope import Scope
from tests.port.planned import Planned, picture
from tests.port.strategies import Session, sessions


def copy(scope: Scope) -> Scope:
    return Scope(scope.policy, scope.version, scope.in_write_order())


def by_id(scope: Scope) -> dict[int, File]:
    return {file.id: file for file in scope.in_write_order()}


@given(sessions, st.floats(0, 1))
def test_the_difference_leads_from_the_old_state_to_the_new(session: Session, part: float) -> None:
    planned = Planned(session.policy)
    old = copy(planned.scope)
    for number, command in enumerate(session.sent):
        if number <= part * len(session.sent):
            old = copy(planned.scope)
        planned.execute(command)
    new = planned.scope
    for commit in difference(old, new):
        old.apply(commit)
    assert by_id(old) == by_id(new)
    assert picture(old)["directories"] == picture(new)["directories"]
    assert (old.version, old.live_bytes) == (new.version, new.live_bytes)


@given(sessions)
def test_nothing_changed_makes_no_difference(session: Session) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        planned.execute(command)
    assert difference(planned.scope, copy(planned.scope)) == []


def test_other_bytes_under_a_version_that_is_given_again_are_a_difference() -> None:
    old, new = File(1, "/memories/a.md", 4, 10, 7), File(1, "/memories/a.md", 4, 20, 7)
    (commit,) = difference(Scope(Policy(), 7, [old]), Scope(Policy(), 7, [new]))
    assert [(put.id, put.operation, put.mtime_ns) for put in commit.change.puts] == [(1, "modified", 20)]


def test_another_policy_is_a_difference() -> None:
    old, new = Scope(Policy(), 3), Scope(Policy(Limits(max_files=9)), 4)
    for commit in difference(old, new):
        old.apply(commit)
    assert (old.policy, old.version) == (new.policy, new.version)
