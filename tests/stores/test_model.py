"""Stores under random commands from several doors, held against the model of the contract."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Memory, Policy
from memfs.port.change import Actor
from memfs.stores.directory import open_directory
from memfs.stores.git import store as git_store
from memfs.stores.git.store import open_git
from memfs.stores.simple import SimpleStore
from memfs.stores.sqlite import open_sqlite
from memfs.stores.sqlite import store as sqlite_store
from tests.harness import texts
from tests.port.strategies import Session, comparable, model_of, sessions

DOORS = 3
Opener = Callable[[Path, Policy], Memory]
simple_stores: dict[Path, SimpleStore] = {}


def simple(directory: Path, policy: Policy) -> Memory:
    """A further door to the one simple store of *directory*."""
    store = simple_stores.setdefault(directory, SimpleStore("work", policy))
    return Memory(store, Actor())


def sqlite(directory: Path, policy: Policy) -> Memory:
    store, _ = open_sqlite(directory, "work", policy, relaxed=True)
    return Memory(store, Actor())


def git(path: Path, policy: Policy) -> Memory:
    store, _ = open_git(path / "repository", None, "work", policy)
    return Memory(store, Actor())


def directory(path: Path, policy: Policy) -> Memory:
    store, _ = open_directory(path, "work", policy, relaxed=True)
    return Memory(store, Actor())


@pytest.mark.parametrize(
    ("opener", "most_changes"),
    [
        pytest.param(simple, None, id="simple"),
        pytest.param(sqlite, None, id="sqlite"),
        pytest.param(sqlite, 1, id="sqlite, soon loading anew", marks=pytest.mark.slow),
        pytest.param(directory, None, id="directory", marks=pytest.mark.slow),
        pytest.param(git, None, id="git", marks=pytest.mark.slow),
        pytest.param(git, 1, id="git, soon loading anew", marks=pytest.mark.slow),
    ],
)
def test_commands_at_any_door_answer_as_the_model_does(
    opener: Opener, most_changes: int | None, monkeypatch: pytest.MonkeyPatch, fast_path: Path
) -> None:
    if most_changes is not None:
        for module in (sqlite_store, git_store):
            monkeypatch.setattr(module, "MOST_CHANGES", most_changes)
    part = 4 if opener is git else 2  # each example makes a database, or a repository

    @settings(max_examples=settings().max_examples // part)
    @given(sessions, st.lists(st.integers(0, DOORS), min_size=1))
    def check(session: Session, numbers: list[int]) -> None:
        model = model_of(session.policy, datetime.now(UTC).year)
        with tempfile.TemporaryDirectory(dir=fast_path) as name, ExitStack() as stack:
            path = Path(name)
            stack.callback(simple_stores.pop, path, None)
            doors = [stack.enter_context(opener(path, session.policy)) for _ in range(DOORS)]
            for number, command in zip(cycle(numbers), session.sent, strict=False):
                if number == DOORS:
                    doors[0].maintain()
                answer = doors[number % DOORS].execute(command).to_wire()
                expected = comparable(model.execute(command))
                assert comparable(json.loads(json.dumps(answer))) == expected, (number, command)
            for door in [*doors, stack.enter_context(opener(path, session.policy))]:
                door.catch_up()
                assert [file.path for file in door.snapshot().in_write_order()] == list(model.files)
                assert texts(door) == model.files

    check()
