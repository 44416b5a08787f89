"""The history as people read it: one line a save, and a memory followed wherever it went.

What stores record is in ``memfs.port.store``; nothing here changes anything.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memfs.port.arguments import is_text
from memfs.port.errors import NotKept
from memfs.port.names import ROOT
from memfs.port.scope import Scope
from memfs.port.store import Record, Store

LEFT = ("deleted", "evicted")
"""The operations with which a memory leaves."""


def brings_bytes(record: Record) -> bool:
    """Whether the memory got bytes with the change of *record*: later ones show these, until the next."""
    return record.operation not in (*LEFT, "redacted") and record.old_path is None


def joined(records: Iterable[Record]) -> Iterator[Record]:
    """*records*, newest first, without those that were one save with a later one."""
    first_halves: set[tuple[int, int]] = set()
    for record in records:
        if record.joins is not None and record.operation != "redacted":
            first_halves.add((record.id, record.joins))
        half = (record.id, record.version)
        if half in first_halves:
            first_halves.remove(half)
        else:
            yield record


def history_at(store: Store, scope: Scope, path: str) -> Iterator[Record]:
    """What is recorded of *path*, newest first.

    A file: of that memory, under all its names. A free path: of the memories that were last there, else
    of all that ever were. A directory: whatever happened below it.
    """
    ids = _memories_at(store, scope, path)
    if ids:
        return _of_memories(store, ids)
    if path == ROOT:
        return joined(store.history())
    below = path + "/"
    return joined(
        record
        for record in store.history()
        if record.path.startswith(below) or (record.old_path or "").startswith(below)
    )


def _memories_at(store: Store, scope: Scope, path: str) -> set[int]:
    """The ids of the memories that *path* names: none where it names a directory only."""
    if not is_text(path):
        return set()
    file = scope.file(path)
    if file is not None:
        return {file.id}
    ids = {record.id for record in store.gone(path) if record.path == path}
    if not ids and not scope.is_directory(path):
        ids = {each.id for each in store.history() if path in (each.path, each.old_path)}
    return ids


def _of_memories(store: Store, ids: set[int]) -> Iterator[Record]:
    chains = [joined(store.history(file_id=each)) for each in ids]
    return heapq.merge(*chains, key=lambda record: record.version, reverse=True)


def find_version(store: Store, scope: Scope, path: str, version: int) -> Record:
    """The record of the change *version* of a memory that is or was at *path*. Raises NotKept.

    A directory has no versions: those of what lies below it belong to one memory each.
    """
    known: list[int] = []
    for record in _of_memories(store, _memories_at(store, scope, path)):
        if record.operation != "redacted":
            if record.version == version:
                return record
            known.append(record.version)
    if not known and next(history_at(store, scope, path), None) is not None:
        raise NotKept(f"{path} is a directory; name a memory in it. `memfs log {path}` shows them.")
    if not known:
        raise NotKept(f"Nothing is recorded of {path}; `memfs log` shows what is.")
    near = sorted(sorted(known, key=lambda each: abs(each - version))[:3])
    raise NotKept(f"{path} has no version {version}; the nearest it has: {', '.join(map(str, near))}.")


def content_after(store: Store, record: Record) -> bytes:
    """The bytes that a memory had after the change of *record*.

    Raises NotKept, which names the version that brought them, and the last one before it that is there.
    """
    chain = joined(store.history(file_id=record.id))
    bringing = (each for each in chain if each.version <= record.version and brings_bytes(each))
    brought = next(bringing, record)
    try:
        return store.read(record.id, brought.version)
    except NotKept as error:
        kept = next((each for each in bringing if not each.redacted), None)
        hint = (
            ""
            if kept is None
            else f" `memfs restore {record.path}@{kept.version}` brings back the last kept."
        )
        raise NotKept(error.message + hint) from None


class Step(NamedTuple):
    """One record of a change, and what its memory was before: None where it was not there.

    ``content`` are the bytes it had then, for a step that has to be undone by putting them back.
    """

    record: Record
    before: Record | None
    content: bytes | None


def last_change(store: Store, upto: int) -> list[Step]:
    """The last change of files that is no later than the version *upto*; nothing where there is none.

    Raises NotKept where the bytes it took the place of are pruned or redacted: of the version that they are.
    """
    change: list[Record] = []
    for record in store.history():
        if record.version > upto or record.operation == "redacted":
            continue
        if change and record.version != change[0].version:
            break
        change.append(record)
    return [_step(store, record) for record in reversed(change)]


def _step(store: Store, record: Record) -> Step:
    chain = joined(store.history(file_id=record.id))
    before = next((earlier for earlier in chain if earlier.version < record.version), None)
    if record.operation in LEFT:
        return Step(record, record, content_after(store, record))
    if record.old_path is not None:
        return Step(record, before, None)
    if before is None:
        if record.operation != "created":
            raise NotKept(f"What {record.path} was before version {record.version} is pruned.")
        return Step(record, None, None)
    if before.operation in LEFT:
        return Step(record, None, None)
    return Step(record, before, content_after(store, before))
