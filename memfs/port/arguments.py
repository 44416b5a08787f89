"""What callers hand to a memory's methods beside commands: a sentence for each value that is none of theirs.

A method whose answer is a value puts the sentence into it; one that raises, raises it by :func:`require`.
"""

from __future__ import annotations

from collections.abc import Sequence

from memfs.port.change import Actor
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.keeping import Retention
from memfs.port.names import ROOT, actor_fault, is_well_formed


def require(fault: str | None) -> None:
    """Raise StoreError with INVALID_ARGUMENT where there is a *fault*."""
    if fault is not None:
        raise StoreError(fault, ErrorCode.INVALID_ARGUMENT)


def text_fault(path: object) -> str | None:
    """Why the history cannot even be asked about *path*, or None; one that no memory can have is none."""
    return None if isinstance(path, str) else f"A path must be a string such as {ROOT}/notes.md."


def version_fault(version: object) -> str | None:
    """Why *version* is no version of a scope, or None."""
    return None if _is_count(version) and version else "A version must be a number that the history shows."


def versions_fault(versions: object) -> str | None:
    """Why *versions* are no pairs of a path and a version, or None."""
    if isinstance(versions, Sequence) and not isinstance(versions, str | bytes):
        pairs = [
            each if isinstance(each, tuple | list) and len(each) == 2 else (None, 0) for each in versions
        ]
        if all(text_fault(path) is None and version_fault(version) is None for path, version in pairs):
            return None
    return "Name the versions as pairs of a path and a version, such as [('/memories/notes.md', 3)]."


def retention_fault(keep: object) -> str | None:
    """Why *keep* does not say what is to be kept, or None."""
    if isinstance(keep, Retention) and all(each is None or _is_count(each) for each in keep):
        return None
    return "Say what to keep as a Retention of days and versions: numbers from 0, or None."


def author_fault(actor: object) -> str | None:
    """Why the history cannot name *actor* as who made a change, or None."""
    if not isinstance(actor, Actor) or not _is_count(actor.pid) or actor.pid >= 1 << 31:
        return "An actor must be an Actor: a user's name, a program's, and its process id."
    return actor_fault(actor.user) or actor_fault(actor.program)


def is_text(path: object) -> bool:
    """Whether something may be recorded of *path*: no store could even look for a lone surrogate."""
    return isinstance(path, str) and is_well_formed(path)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
