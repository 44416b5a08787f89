"""What can be asked of a store about damage, where it has more to look at than a memory shows.

Each answer is a list of clauses about what does not add up. Nothing is changed, and nothing trusts what the
store itself has loaded. All raise StoreError where the store cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

MOST_FAULTS = 10
"""Of one kind that are named; there may be more."""


class History(NamedTuple):
    """How much is kept: records, the bytes of them and of the database with its log, and the newest time."""

    records: int
    content_bytes: int
    file_bytes: int
    log_bytes: int
    newest_ns: int
    steps_back: int


class Inspection(Protocol):
    """The questions, of one scope."""

    def damage(self) -> list[str]:
        """What is wrong with what the scope is kept in."""

    def contents(self, step: Callable[[str], object]) -> list[str]:
        """The bytes of each memory, against the size and the digest that were recorded with them.

        *step* is called with each path.
        """

    def write_order(self) -> list[str]:
        """Each memory's place in write order is that of its latest write, and no two have the same."""

    def chain(self) -> list[str]:
        """What the history refers to is there."""

    def history(self) -> History:
        """How much history there is, and what its times say of the clock."""

    def holder(self) -> str | None:
        """Who keeps all writers out, where somebody does for longer than a moment."""
