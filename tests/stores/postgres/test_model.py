"""Random commands from several doors, held against the model of the contract."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count, cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Memory, Policy
from memfs.port.change import Actor
from memfs.stores.postgres import store as postgres_store
from memfs.stores.postgres.store import open_postgres
from tests.harness import texts
from tests.port.strategies import Session, comparable, model_of, sessions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
DOORS = 3
_numbers = count()


def door(url: str, scope: str, policy: Policy) -> Memory:
    store, _ = open_postgres(url, scope, policy)
    return Memory(store, Actor())


@pytest.mark.parametrize("most_changes", [None, 1], ids=["by changes", "soon loading anew"])
def test_commands_at_any_door_answer_as_the_model_does(
    postgres_url: str, most_changes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if most_changes is not None:
        monkeypatch.setattr(postgres_store, "MOST_CHANGES", most_changes)

    @settings(max_examples=settings().max_examples // 10)  # each command waits for a disk
    @given(sessions, st.lists(st.integers(0, DOORS), min_size=1))
    def check(session: Session, numbers: list[int]) -> None:
        model = model_of(session.policy, datetime.now(UTC).year)
        scope = f"model-{next(_numbers)}"
        with ExitStack() as stack:
            doors = [stack.enter_context(door(postgres_url, scope, session.policy)) for _ in range(DOORS)]
            for number, command in zip(cycle(numbers), session.sent, strict=False):
                if number == DOORS:
                    doors[0].maintain()
                answer = doors[number % DOORS].execute(command).to_wire()
                expected = comparable(model.execute(command))
                assert comparable(json.loads(json.dumps(answer))) == expected, (number, command)
            for each in [*doors, stack.enter_context(door(postgres_url, scope, session.policy))]:
                each.catch_up()
                assert [file.path for file in each.snapshot().in_write_order()] == list(model.files)
                assert texts(each) == model.files

    check()
