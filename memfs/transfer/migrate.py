"""A scope from one store into another, with its whole history: copied, compared, then given its name.

The copy goes on beside writers. What they add is copied after it; the last of it, and the giving of the
name, happen while the source keeps them out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import NamedTuple

from memfs.port.change import Actor, Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.receiving import Kept, Receiver, difference_between, kept_in, received
from memfs.port.scope import Scope
from memfs.port.store import Store
from memfs.progress import Progress

BATCH = 1_000
"""Changes that are received at a time, so that no more of them are copied twice after a kill."""
ROUNDS = 20
"""How often what was added meanwhile is copied beside the writers, before they are kept out for it."""


class Migrated(NamedTuple):
    """What became of one scope: all its changes and files, how many were copied by this call, and a digest.

    ``digest`` is a SHA-256 over all records, in hexadecimal; ``begun`` and ``dropped`` are those of
    :class:`~memfs.port.receiving.Kept`. ``was_there`` says that it had its name before.
    """

    changes: int
    copied: int
    files: int
    version: int
    digest: str
    begun: int
    dropped: int
    was_there: bool = False


def migrate(source: Store, receiver: Receiver) -> Migrated:
    """Bring the scope of *source* into the store of *receiver*. Raises StoreError; call it again then."""
    copied = 0
    for number in range(1, ROUNDS + 1):
        scope, history, new = _copy(source, receiver)
        copied += new
        with _kept_still(source):
            if number == ROUNDS:
                scope, history, new = _copy(source, receiver)
                copied += new
            if number == ROUNDS or _version(source) == scope.version:
                receiver.publish()
                return _told(scope, history, copied)
    raise AssertionError("the last round ends it")


def already_there(source: Store, target: Store) -> Migrated:
    """What a scope of that name in the target is: this very one. Raises StoreError where it is another."""
    scope, history = _present(source)
    difference = difference_between(history, scope, target)
    if difference is not None:
        raise StoreError(
            f"The scope '{target.scope_name}' is there already and is another one: {difference}. "
            "Name another with --to-scope.",
            ErrorCode.CONFLICT,
        )
    return _told(scope, history, 0)._replace(was_there=True)


@contextmanager
def _kept_still(source: Store) -> Iterator[None]:
    """Keep other writers out of *source*."""
    source.acquire(wait=True)
    try:
        yield
    finally:
        source.release()


def _present(source: Store) -> tuple[Scope, Kept]:
    """The scope as it is, and the history that has led to it."""
    version = _version(source)
    scope = source.load()
    assert scope.version >= version, "a version is not taken back"
    return scope, kept_in(source, scope)


def _version(source: Store) -> int:
    # Asked for the sake of a store that looks here at what others put beside it.
    source.changed(0)
    return source.load().version


def _copy(source: Store, receiver: Receiver) -> tuple[Scope, Kept, int]:
    """Have *receiver* hold what *source* does, compared; that, and how many changes it took."""
    scope, history = _present(source)
    if receiver.reached and not _is_beginning(receiver, history):
        receiver.restart()
    new = history.after(receiver.reached)
    what, whole = f"copying '{source.scope_name}'", len(history.changes)
    with Progress(what, whole, "changes") as progress:
        progress.step(steps=whole - len(new))
        changes = progress.through(received(new, scope, source.read))
        while batch := list(islice(changes, BATCH)):
            receiver.receive(batch, scope.policy)
    receiver.settle(scope, _origin_of(source, scope, history))
    with closing(receiver.opened()) as target, Progress("comparing", whole, "changes") as progress:
        difference = difference_between(history, scope, target, progress.step)
    if difference is not None:
        receiver.restart()
        raise StoreError(
            f"The copy of '{source.scope_name}' is not what was copied ({difference}), so it was "
            "thrown away; run the command again."
        )
    return scope, history, len(new)


def _is_beginning(receiver: Receiver, history: Kept) -> bool:
    """Whether what was received earlier is the beginning of *history*: of this scope, and as it is now."""
    with closing(receiver.opened()) as target:
        there = list(target.history(newest_first=False))
    reached = receiver.reached
    wanted = [record for change in history.changes if change[0].version <= reached for record in change]
    return there == wanted


def _origin_of(source: Store, scope: Scope, history: Kept) -> Origin:
    """Where the version of *scope* comes from: a change of the rules alone leaves no record of a file."""
    if history.changes and history.changes[-1][0].version == scope.version:
        first = history.changes[-1][0]
        return Origin(first.time_ns, first.actor, first.reason)
    last = (source.changes(scope.version - 1) or [])[-1:]
    return last[0].origin if last else Origin(time.time_ns(), Actor("memfs", "memfs store migrate"))


def _told(scope: Scope, history: Kept, copied: int) -> Migrated:
    changes = len(history.changes)
    return Migrated(
        changes, copied, len(scope), scope.version, history.digest, history.begun, history.dropped
    )
