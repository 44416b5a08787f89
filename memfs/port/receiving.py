"""A scope that comes from another store, with all of its history as far as that is kept.

A commit is planned on the present and makes the next version; here versions, times, ids and actors are
given, some are missing, and of others only the record is left. So a store that can take such a scope in
does it by a :class:`Receiver` of its own, aside: nobody sees the scope before all of it is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from memfs.port.change import Actor, Change, File, Move, Origin, Put, Remove
from memfs.port.errors import UnsafeStorage
from memfs.port.history import LEFT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Record, Store


class Received(NamedTuple):
    """One change of the history: its records, all of one version, and what each of them brought.

    ``contents`` has the bytes that a record put, None for one that put none or whose bytes are redacted.
    ``mtimes`` has the time of change that a file which still has these bytes was given by its writer.
    """

    records: tuple[Record, ...]
    contents: tuple[bytes | None, ...]
    mtimes: tuple[int | None, ...]

    @property
    def version(self) -> int:
        """The version that the change led to."""
        return self.records[0].version

    @property
    def origin(self) -> Origin:
        """Who made the change, when and why."""
        first = self.records[0]
        return Origin(first.time_ns, first.actor, first.reason)


class Receiver(Protocol):
    """A scope that is being built aside in a store. Raises StoreError; one process at a time has it.

    What was received survives the end of the process: the next one goes on after ``reached``.
    """

    @property
    def reached(self) -> int:
        """The version up to which the history is there, durably; 0 where nothing is."""

    def receive(self, changes: Sequence[Received], policy: Policy) -> None:
        """Add *changes*, all or none of them, durably. They come in order, each after ``reached``."""

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Have the present be *scope*, to which the history that was received has led.

        Where its version is a later one (the rules changed last), *origin* is that of the version. May be
        called again, after more was received.
        """

    def opened(self) -> Store:
        """What there is by now, as a store to read, for the caller to close. It has been settled."""

    def publish(self) -> None:
        """Give the scope its name, in one step: from here on it is one as any other.

        Raises StoreError, and has done nothing, where there is one of that name by now.
        """

    def restart(self) -> None:
        """Throw away what was received."""

    def close(self) -> None:
        """Release everything; what was received stays, for the next time."""


class Kept(NamedTuple):
    """A history as it can be passed on: each change with its records, oldest first.

    What is gone from its beginning leaves traces that need it. ``begun`` is how many memories had to be
    given a record that brings their present bytes, ``dropped`` how many records were left out since
    nothing is kept of the memory before them.
    """

    changes: list[tuple[Record, ...]]
    begun: int
    dropped: int

    def after(self, version: int) -> list[tuple[Record, ...]]:
        """The changes after *version*."""
        return [change for change in self.changes if change[0].version > version]

    @property
    def digest(self) -> str:
        """A SHA-256 over all records, in hexadecimal."""
        found = hashlib.sha256()
        for change in self.changes:
            for record in change:
                found.update(repr(tuple(record)).encode())
        return found.hexdigest()


def kept(records: Sequence[Record], scope: Scope, read: Callable[[int, int], bytes]) -> Kept:
    """What *records*, all of a history and oldest first, say of the way to *scope*.

    *read* is as ``Store.read``. Raises StoreError.
    """
    brought = {(record.id, record.version) for record in records if _brings(record)}
    begun = [
        _beginning(file, records, read(file.id, file.content))
        for file in scope.in_write_order()
        if (file.id, file.content) not in brought
    ]
    digests: dict[int, str | None] = {}
    whole: list[Record] = []
    for record in sorted([*begun, *records], key=lambda each: (each.version, _rank(each))):
        if _brings(record):
            digests[record.id] = record.digest
        elif record.operation != "redacted":
            if record.id not in digests:
                continue
            if record.digest is None and not record.redacted:
                record = record._replace(digest=digests[record.id])
        whole.append(record)
    changes = [tuple(group) for _, group in groupby(whole, key=lambda record: record.version)]
    return Kept(changes, len(begun), len(records) + len(begun) - len(whole))


def kept_in(store: Store, scope: Scope) -> Kept:
    """As :func:`kept`, of the history of *store*, which *scope* is the present of."""
    records = store.history(newest_first=False)
    return kept([record for record in records if record.version <= scope.version], scope, store.read)


def received(
    changes: Sequence[tuple[Record, ...]], scope: Scope, read: Callable[[int, int], bytes]
) -> Iterator[Received]:
    """*changes* of a :class:`Kept` with their bytes; *read* is as ``Store.read``. Raises StoreError."""
    for change in changes:
        contents, mtimes = list[bytes | None](), list[int | None]()
        for record in change:
            brings = _brings(record) and not record.redacted
            contents.append(_content(record, read) if brings else None)
            file = scope.file_by_id(record.id) if brings else None
            own = file is not None and file.content == record.version and file.mtime_ns != record.time_ns
            mtimes.append(file.mtime_ns if file is not None and own else None)
        yield Received(change, tuple(contents), tuple(mtimes))


def change_of(change: Received) -> Change:
    """What a change of the history did to the files; of those that left or moved it knows no more."""
    removes, moves, puts = list[Remove](), list[Move](), list[Put]()
    for record, content, mtime_ns in zip(*change, strict=True):
        _, _, operation, file_id, path, old_path, size, *_ = record
        if operation in LEFT:
            removes.append(Remove(File(file_id, path, size, 0, 0), operation == "evicted"))
        elif old_path is not None:
            moves.append(Move(File(file_id, old_path, size, 0, 0), path, operation))  # type: ignore[arg-type]
        elif operation != "redacted":
            puts.append(Put(file_id, path, size, operation, content, mtime_ns, record.joins))  # type: ignore[arg-type]
    return Change(tuple(removes), tuple(moves), tuple(puts))


def difference_between(
    source: Kept, scope: Scope, target: Store, step: Callable[[], object] = lambda: None
) -> str | None:
    """What in *target* is not as it is in a scope with this history: a clause, or None where all is.

    Compares the rules, the files in write order, every record, and the bytes of every version; *step* is
    called with each change.
    """
    there = target.load()
    if there.policy != scope.policy:
        return "the rules are others"
    if there.version != scope.version:
        return f"the version is {there.version}, and not {scope.version}"
    for mine, theirs in zip(scope.in_write_order(), there.in_write_order(), strict=False):
        if mine != theirs:
            return f"{mine.path} is another, or has another place in write order"
    if len(scope) != len(there):
        return f"there are {len(there)} files, and not {len(scope)}"
    copied = kept_in(target, there).changes
    for ours, copy in zip(source.changes, copied, strict=False):
        if ours != copy:
            return f"version {ours[0].version} is recorded otherwise"
    if len(copied) != len(source.changes):
        return f"there are {len(copied)} changes, and not {len(source.changes)}"
    for change in source.changes:
        step()
        for record in change:
            if _brings(record) and not record.redacted:
                content = target.read(record.id, record.version)
                if hashlib.sha256(content).hexdigest() != record.digest:
                    return f"version {record.version} of {record.path} has other bytes"
    return None


def _brings(record: Record) -> bool:
    """Whether the record is of bytes that were put."""
    return record.old_path is None and record.operation not in (*LEFT, "redacted")


def _rank(record: Record) -> int:
    """The place of a record among those of its change: what leaves, what moves, what is put, what is said."""
    if record.operation in LEFT:
        return 0
    if record.operation == "redacted":
        return 3
    return 1 if record.old_path is not None else 2


def _beginning(file: File, records: Sequence[Record], content: bytes) -> Record:
    """A record that brings the present bytes of a memory whose own is not kept."""
    first = next((record for record in records if record.id == file.id and _rank(record) < 3), None)
    path = file.path if first is None else first.old_path or first.path
    digest = hashlib.sha256(content).hexdigest()
    return Record(
        file.content, file.mtime_ns, "created", file.id, path, None, file.size, Actor(), digest=digest
    )


def _content(record: Record, read: Callable[[int, int], bytes]) -> bytes:
    content = read(record.id, record.version)
    if record.digest is not None and hashlib.sha256(content).hexdigest() != record.digest:
        raise UnsafeStorage(f"The bytes of version {record.version} of {record.path} are not those recorded.")
    return content
