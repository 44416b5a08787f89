"""A memory over stores that lag, fail, or never let it win."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.memory import MAX_TRIES, Memory
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import VersionMismatch
from memfs.stores.simple import SimpleStore
from tests.harness import failure, must, texts

A, B = "/memories/a.md", "/memories/b.md"
Kind = TypeVar("Kind", bound=SimpleStore)


class NeverWins(SimpleStore):
    """Somebody else is always faster."""

    tries = 0

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        self.tries += 1
        raise VersionMismatch


class LagsBehind(SimpleStore):
    """Answers ``changed`` from a notice that has not come yet."""

    def changed(self, version: int) -> bool:
        return False


class Forgetful(SimpleStore):
    """Keeps no single changes."""

    def changes(self, since: int) -> Sequence[Commit] | None:
        return None


class Stumbles(SimpleStore):
    """Says once that there are changes, and fails once to tell them."""

    seen = -1
    fails = False

    def changed(self, version: int) -> bool:
        if self._scope.version == self.seen:
            return False
        self.seen = self._scope.version
        return True

    def changes(self, since: int) -> Sequence[Commit] | None:
        if self.fails:
            self.fails = False
            raise StoreError("The network is down.")
        return super().changes(since)


class CommitsAndFails(SimpleStore):
    """Makes one change durable, and loses the answer."""

    fails = True

    def changed(self, version: int) -> bool:
        return False

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        commit = super().commit(change, expected, origin)
        if self.fails:
            self.fails = False
            raise StoreError("The answer was lost.")
        return commit


def doors(store: SimpleStore) -> tuple[Memory, Memory]:
    """Two memories on one store."""
    return Memory(store, Actor("one")), Memory(store, Actor("two"))


def new(kind: type[Kind]) -> Kind:
    return kind("work", Policy())


def test_who_never_wins_is_told_after_64_tries() -> None:
    store = new(NeverWins)
    memory = Memory(store, Actor())
    assert failure(memory, "create", path=A, text="x").code is ErrorCode.CONFLICT
    assert store.tries == MAX_TRIES == 64
    assert texts(memory) == {}


def test_a_mismatch_is_believed_before_the_notice_of_the_change_has_come() -> None:
    one, two = doors(new(LagsBehind))
    must(one, "create", path=A, text="first")
    must(two, "create", path=B, text="second")
    assert texts(two) == {A: "first", B: "second"}


def test_changes_that_are_no_longer_kept_are_loaded_anew() -> None:
    one, two = doors(new(Forgetful))
    must(one, "create", path=A, text="first")
    assert texts(two) == {A: "first"}


def test_a_catch_up_that_failed_is_made_up_for_by_the_next_command() -> None:
    store = new(Stumbles)
    one, two = doors(store)
    must(one, "create", path=A, text="first")
    store.fails = True
    assert failure(two, "view", path=A).code is ErrorCode.STORAGE_ERROR
    assert must(two, "view", path=A).text == "first"


def test_a_commit_whose_answer_was_lost_is_seen_by_the_next_command() -> None:
    memory = Memory(new(CommitsAndFails), Actor())
    assert failure(memory, "create", path=A, text="first").code is ErrorCode.STORAGE_ERROR
    assert must(memory, "view", path=A).text == "first"
    assert must(memory, "create", path=A, text="second").overwritten


def test_a_closed_memory_refuses_every_command() -> None:
    memory = Memory(new(SimpleStore), Actor())
    memory.close()
    memory.close()
    for fields in ({"command": "view", "path": A}, {"command": "create", "path": A, "text": "x"}):
        result = memory.execute(fields)
        assert result.error is not None
        assert result.error.code is ErrorCode.STORAGE_ERROR
    assert memory.catch_up() == []
    with pytest.raises(StoreError, match="closed"):
        memory.look(len)


def test_a_look_sees_what_others_have_changed() -> None:
    one, two = doors(new(SimpleStore))
    must(one, "create", path=A, text="first")
    assert two.look(lambda scope: [file.path for file in scope.in_write_order()]) == [A]


def test_what_a_command_took_in_on_its_way_is_in_its_outcome() -> None:
    one, two = doors(new(SimpleStore))
    must(one, "create", path=A, text="first")

    def nothing(scope: Scope, now_ns: int) -> Change:
        raise StoreError("The planner's store failed.")

    outcome = two.perform("create", nothing)
    assert [commit.version for commit in outcome.commits] == [1]
    assert not outcome.result.ok
