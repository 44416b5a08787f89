"""The cost of a command is that of the files it touches, whatever else the scope holds.

Counted, not timed: calls of Python and C functions, and every element that is taken from a container
of the scope.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest

from memfs import Command, Create, Delete, Insert, Limits, Rename, StrReplace, View
from memfs.port.change import Actor, Change, Commit, File, Origin
from memfs.port.plan import plan
from memfs.port.policy import Eviction, Policy
from memfs.port.scope import Scope

SMALL, MIDDLE, LARGE = 2_000, 20_000, 100_000
FIRST = "/memories/d0/f0.md"
ARCHIVED = "/memories/archive/1970/d0/f0"
NOW_NS = 7


class Counted(dict[Any, Any]):
    """A dict whose every iteration step is a call that a profiler sees."""

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()

    def keys(self) -> Any:
        return iter(self)

    def values(self) -> Any:
        return (self[key] for key in self)

    def items(self) -> Any:
        return ((key, self[key]) for key in self)


class CountedOrder(OrderedDict[Any, Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()

    def values(self) -> Any:
        return (self[key] for key in self)


def full_scope(count: int, archived: int = 0) -> Scope:
    """A scope that *count* files fill exactly, a thousand in one directory and the others by tens.

    With *archived* files it has an archive, where that many are, under one name but for the ordinal.
    """
    files = [
        File(count + number, f"{ARCHIVED}{f'-{number}' if number > 1 else ''}.md", 10, 0, number)
        for number in range(1, archived + 1)
    ]
    for number in range(count):
        directory = number // 10 if number < count - 1_000 else count
        files.append(File(number + 1, f"/memories/d{directory}/f{number}.md", 10, 0, number + 1))
    limits = Limits(max_file_bytes=100, max_total_bytes=count * 10, max_files=count)
    eviction: Eviction = "archive" if archived else "delete"
    scope = Scope(Policy(limits, eviction=eviction), count + archived, files)
    scope._files = Counted(scope._files)
    scope._children = Counted({path: Counted(names) for path, names in scope._children.items()})
    scope._write_order = CountedOrder(scope._write_order)
    scope._live = CountedOrder(scope._live)
    return scope


@cache
def large_scope() -> Scope:
    """One for all tests that only plan."""
    return full_scope(LARGE)


def calls_of(work: Callable[[], object]) -> int:
    """How many calls *work* makes, of Python and of C."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def content(file: File) -> bytes:
    return b"123456789\n"


COMMANDS: dict[str, Command] = {
    "create": Create("/memories/new.md", "1234567890"),
    "create that evicts one": Create("/memories/d0/new.md", "1234567890"),
    "create that evicts three": Create("/memories/new.md", "x" * 30),
    "replace": Create(FIRST, "0987654321"),
    "replace that evicts the next": Create(FIRST, "x" * 20),
    "str_replace": StrReplace(FIRST, "9", "0"),
    "insert": Insert(FIRST, 1, ""),
    "delete": Delete(FIRST),
    "delete a directory of ten": Delete("/memories/d0"),
    "rename": Rename(FIRST, "/memories/d1/renamed.md"),
    "rename a directory of ten": Rename("/memories/d0", "/memories/renamed"),
    "view": View(FIRST),
    "view a directory of ten": View("/memories/d0"),
    "refused": Create(f"{FIRST}/below.md", "x"),
    "not found": Delete("/memories/d0/none.md"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_the_cost_of_a_command_does_not_grow_with_the_scope(command: Command) -> None:
    scopes = (full_scope(SMALL), large_scope())
    planned = [plan(scope, command, content, NOW_NS) for scope in scopes]
    assert type(planned[0]) is type(planned[1])
    few, many = (calls_of(partial(plan, scope, command, content, NOW_NS)) for scope in scopes)
    assert many == few


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.split()[0] in ("create", "replace")])
def test_the_cost_of_taking_a_change_in_does_not_grow_with_the_scope(name: str) -> None:
    counts = []
    for scope in (full_scope(SMALL), full_scope(MIDDLE)):
        change = plan(scope, COMMANDS[name], content, NOW_NS)
        assert isinstance(change, Change)
        commit = Commit(scope.version + 1, change, Origin(0, Actor()))
        counts.append(calls_of(partial(scope.apply, commit)))
    assert counts[0] == counts[1]


ARCHIVING: dict[str, Command] = {
    "create that evicts one": COMMANDS["create"],
    "replace that evicts the next": COMMANDS["replace that evicts the next"],
    "archive": Rename(FIRST, f"{ARCHIVED}.txt"),
    "restore": Rename(f"{ARCHIVED}.md", "/memories/restored.md"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ARCHIVING.values(), ids=ARCHIVING.keys())
def test_the_cost_of_a_command_does_not_grow_with_the_archive(command: Command) -> None:
    """But for the logarithm of the number of files that were archived under the same name."""
    plans, applies = [], []
    for archived in (1 << 10, 1 << 16):
        scope = full_scope(SMALL, archived)
        change = plan(scope, command, content, NOW_NS)
        assert isinstance(change, Change)
        plans.append(calls_of(partial(plan, scope, command, content, NOW_NS)))
        applies.append(calls_of(partial(scope.apply, Commit(scope.version + 1, change, Origin(0, Actor())))))
    assert applies[0] == applies[1]
    assert plans[1] - plans[0] < 300


def test_an_eviction_costs_what_it_evicts() -> None:
    writes = [Create("/memories/new.md", "x" * size) for size in (10, 20, 30, 40)]
    costs = [calls_of(partial(plan, large_scope(), write, content, NOW_NS)) for write in writes]
    steps = [after - before for before, after in pairwise(costs)]
    assert len(set(steps)) == 1
    assert steps[0] < 20
