"""Stores under random commands from several doors, held against the model of the contract."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs import Limits, Memory, Policy
from memfs.port.change import Actor
from memfs.stores.simple import SimpleStore
from memfs.stores.sqlite import open_sqlite
from memfs.stores.sqlite import store as sqlite_store
from tests.harness import texts
from tests.port.model import Model
from tests.port.strategies import commands, comparable, limits

DOORS = 3
Opener = Callable[[Path, Limits], Memory]
simple_stores: dict[Path, SimpleStore] = {}


def simple(directory: Path, limits: Limits) -> Memory:
    """A further door to the one simple store of *directory*."""
    store = simple_stores.setdefault(directory, SimpleStore("work", Policy(limits)))
    return Memory(store, Actor())


def sqlite(directory: Path, limits: Limits) -> Memory:
    store, _ = open_sqlite(directory, "work", Policy(limits), relaxed=True)
    return Memory(store, Actor())


@pytest.mark.parametrize(
    ("opener", "most_changes"),
    [(simple, None), (sqlite, 20_000), (sqlite, 1)],
    ids=["simple", "sqlite", "sqlite, loading anew after two changes"],
)
def test_commands_at_any_door_answer_as_the_model_does(
    opener: Opener, most_changes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if most_changes is not None:
        monkeypatch.setattr(sqlite_store, "MOST_CHANGES", most_changes)

    @given(limits=limits, sent=st.lists(st.tuples(st.integers(0, DOORS), commands), max_size=30))
    def check(limits: Limits, sent: list[tuple[int, Any]]) -> None:
        model = Model(limits.max_file_bytes, limits.max_total_bytes, limits.max_files)
        with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
            directory = Path(name)
            stack.callback(simple_stores.pop, directory, None)
            doors = [stack.enter_context(opener(directory, limits)) for _ in range(DOORS)]
            for number, command in sent:
                if number == DOORS:
                    doors[0].maintain()
                    continue
                answer = doors[number].execute(command).to_wire()
                expected = comparable(model.execute(command))
                assert comparable(json.loads(json.dumps(answer))) == expected, (number, command)
            for door in [*doors, stack.enter_context(opener(directory, limits))]:
                door.catch_up()
                assert [file.path for file in door.snapshot().in_write_order()] == list(model.files)
                assert texts(door) == model.files

    check()
