"""What an operation of the benchmark is, and the files all of them find.

An operation is a generator. What it yields is timed, what it does in between is not: it prepares,
yields a :class:`Step`, gets control back once the step has run and its outcome has been seen by
another process, and tidies up after the last one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from benchmarks.targets import Target
from benchmarks.witness import Outcome

KIB = 1024
SMALL = 4 * KIB
LARGE = 64 * KIB
FILES = 256
CORPUS = "corpus"
WORK = "changes"
ABSENT_WORD = "quicksilver"
"""A word that is in no file: ``grep`` has to read them all."""

_LINE = b"The agent noted what it had learned, so that it need not learn it again.\n"


@dataclass(frozen=True, slots=True)
class Step:
    """One timed thing: ``action`` makes ``calls`` calls and leaves ``leaves`` behind."""

    action: Callable[[], object]
    calls: int = 1
    leaves: Outcome = field(default_factory=dict)


Steps: TypeAlias = Generator[Step, None, None]


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table: its name, how many steps of a turn count, how many turns.

    Turns are short and many: a virtual machine's processor changes its speed by the second, and a
    long turn would give a whole target the slow one. The first steps of a turn do not count: the
    targets that had theirs before have emptied the processor's caches, which is the interleaving's
    doing and not the filesystem's.
    """

    name: str
    steps: Callable[[Stage, int], Steps]
    batch: int = 15
    rounds: int = 20
    warm_up: int = 5


class Stage:
    """One target as an operation sees it: paths, names never used before, texts never written before."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._numbers = itertools.count(1)

    def path(self, name: str) -> str:
        """The path in the mount."""
        return f"{self.target.root}/{name}"

    def fresh(self, prefix: str, suffix: str = ".md") -> str:
        """A name that nothing has asked for yet."""
        return f"{prefix}{next(self._numbers)}{suffix}"

    def text(self, size: int) -> bytes:
        """Lines of text, each time others: what does not change makes no version in memfs."""
        start = b"note %d\n" % next(self._numbers)
        return (start + _LINE * (size // len(_LINE) + 1))[:size]

    def settle(self, outcome: Outcome) -> None:
        """Wait, outside every figure, until another process sees this."""
        self.target.settle(outcome)

    def furnish(self) -> None:
        """Make the files that every operation finds; in memfs this is the first thing in its scope."""
        for directory in (CORPUS, WORK):
            os.mkdir(self.path(directory))
        for name in corpus():
            write_new(self.path(name), self.text(SMALL))
        last = {name: self.text(size) for name, size in (("small.md", SMALL), ("large.md", LARGE))}
        for name, text in last.items():
            write_new(self.path(name), text)
        self.settle(last)
        os.sync()  # cold reads drop pages, and only clean ones can be dropped


def corpus() -> list[str]:
    """The names of the 256 files that listings and searches go over."""
    return [f"{CORPUS}/note-{number:03d}.md" for number in range(FILES)]


def write_new(path: str, text: bytes) -> None:
    """Create a file that must not be there, write it, close it."""
    _write(path, text, os.O_CREAT | os.O_EXCL)


def write_over(path: str, text: bytes) -> None:
    """What ``open(path, "w")`` does: truncate or create, write, close."""
    _write(path, text, os.O_CREAT | os.O_TRUNC)


def write_more(path: str, text: bytes) -> None:
    """Append to a file that is there."""
    _write(path, text, os.O_APPEND)


def _write(path: str, text: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)  # raises what a filesystem says at flush: a refused save is no fast save


def read(path: str, size: int) -> None:
    """Open, read once, close; anything but *size* bytes is an error."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        got = len(os.read(descriptor, size + 1))
    finally:
        os.close(descriptor)
    if got != size:
        raise ValueError(f"read {got} bytes of {size} from {path}")
