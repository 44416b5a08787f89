"""What a check is and what it finds. A check is a function with a name, a row in one of the tables here.

It yields what it has really tested, and nothing else: what could not be tested is not said to be well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from memfs.cli.known import Known
from memfs.cli.running import state_of

S = TypeVar("S")


class Level(StrEnum):
    """How bad it is: nothing, something to look at, something that does not work."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


class Finding(NamedTuple):
    """One sentence; the command that mends it, or what to do; and ``fix``, where that is safe to do at once.

    ``fix`` returns what it has done, as a clause; it may raise OSError or a Complaint.
    """

    level: Level
    sentence: str
    mend: str = ""
    fix: Callable[[], str] | None = None

    def to_json(self, check: str) -> dict[str, Any]:
        """As ``memfs doctor --json`` shows it."""
        shown = {"check": check, "level": str(self.level), "sentence": self.sentence}
        return shown | ({"mend": self.mend} if self.mend else {}) | {"fixable": self.fix is not None}


Findings: TypeAlias = Iterator[Finding]


class Check(NamedTuple, Generic[S]):
    """A row: the name, what to look at, and after how many seconds the answer counts as none.

    ``decides``: where something is broken, the rest of the table would only fail too, and is left out.
    """

    name: str
    look: Callable[[S], Findings]
    seconds: float = 20.0
    decides: bool = False


class Subject(NamedTuple):
    """One memory, with the state directory of its mount where it has one."""

    known: Known

    @property
    def state(self) -> Path:
        """The state directory of this memory on its mountpoint, whether there is one or not."""
        return state_of(self.known.mountpoint, self.known.store, self.known.scope)


def ok(sentence: str) -> Finding:
    """It was tested, and is well."""
    return Finding(Level.OK, sentence)


def warning(sentence: str, mend: str = "", fix: Callable[[], str] | None = None) -> Finding:
    """It works, but somebody should look at it."""
    return Finding(Level.WARNING, sentence, mend, fix)


def broken(sentence: str, mend: str = "", fix: Callable[[], str] | None = None) -> Finding:
    """It does not work, or bytes are in danger."""
    return Finding(Level.BROKEN, sentence, mend, fix)
