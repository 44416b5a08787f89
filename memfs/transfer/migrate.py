"""A scope from one store into another, with its whole history: copied, compared, and only then given its name.

The copy goes on beside writers. What they add is copied after it; the last of it, and the giving of the
name, happen while the source keeps them out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from memfs.port.change import Actor, Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.receiving import Kept, Received, Receiver, difference_between, kept_in, received
from memfs.port.scope import Scope
from memfs.port.store import Record, Store
from memfs.progress import Progress

BATCH = 1_000
"""Changes that are received at a time, so that no more of them are copied twice after a kill."""
ROUNDS = 20
"""How often what was added meanwhile is copied beside the writers, before they are kept out for it."""


class Migrated(NamedTuple):
    """What became of one scope: all its changes and files, how many were copied by this call, and a digest.

    ``digest`` is a SHA-256 over all records, in hexadecimal; ``begun`` and ``dropped`` are those of
    :class:`~memfs.port.receiving.Kept`.
    """

    changes: int
    copied: int
    files: int
    version: int
    digest: str
    begun: int
    dropped: int


def migrate(source: Store, receiver: Receiver) -> Migrated:
    """Bring the scope of *source* into the store of *receiver*. Raises StoreError; it can be called again then."""
    copied = 0
    for number in range(ROUNDS + 1):
        is_last = number == ROUNDS
        if is_last:
            source.acquire(wait=True)
        try:
            scope, history = _present(source)
            copied += _copy(source, receiver, scope, history)
            _compare(receiver, history, scope)
            if is_last or _hold_still(source, scope.version):
                try:
                    receiver.publish()
                finally:
                    if not is_last:
                        source.release()
                return Migrated(
                    len(history.changes),
                    copied,
                    len(scope),
                    scope.version,
                    history.digest,
                    history.begun,
                    history.dropped,
                )
        finally:
            if is_last:
                source.release()
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
    changes = len(history.changes)
    return Migrated(
        changes, 0, len(scope), scope.version, history.digest, history.begun, history.dropped
    )


def _present(source: Store) -> tuple[Scope, Kept]:
    """The scope as it is, and the history that has led to it."""
    source.changed(-1)  # has a store whose scope lies where others put things too look at what they did
    scope = source.load()
    return scope, kept_in(source, scope)


def _copy(source: Store, receiver: Receiver, scope: Scope, history: Kept) -> int:
    """Have *receiver* hold *history* and *scope*; how many changes that took."""
    if not _is_begun_with(receiver, history):
        receiver.restart()
    new = history.after(receiver.reached)
    with Progress(f"copying '{source.scope_name}'", len(history.changes), "changes") as progress:
        progress.step(steps=len(history.changes) - len(new))
        changes = progress.through(received(new, scope, source.read))
        while batch := list(islice(changes, BATCH)):
            receiver.receive(batch, scope.policy)
    receiver.settle(scope, _origin_of(source, scope))
    return len(new)
