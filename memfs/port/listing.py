"""The scopes of a store, as a list shows them: without opening one, and without changing anything."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from memfs.port.change import Origin


class Listed(NamedTuple):
    """One scope: how many files it holds and how many bytes they have, its version, and its last change.

    ``last`` is None where nothing has happened in it that is still recorded; ``since_ns``, the time of the
    oldest change that is, also where that would take a walk through all of them.
    """

    name: str
    files: int
    size: int
    version: int
    last: Origin | None
    since_ns: int | None = None


class Unlisted(NamedTuple):
    """What lies among the scopes and cannot be read as one: a sentence that says what and why."""

    fault: str


Listing: TypeAlias = Listed | Unlisted
