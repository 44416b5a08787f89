"""A memory: the open port on one scope.

It keeps a snapshot of the scope, plans each command on it with the pure core, and has the
store commit the change against the snapshot's version. It is safe to use from several
threads: one lock covers the snapshot and the commits; reading bytes waits for no writer, and where a
server keeps the scope, looking at the snapshot waits for none that waits for a server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from memfs.port.archiving import plan_archive
from memfs.port.arguments import (
    author_fault,
    is_text,
    require,
    retention_fault,
    text_fault,
    version_fault,
    versions_fault,
)
from memfs.port.buckets import is_archived
from memfs.port.cache import ContentCache
from memfs.port.change import Actor, Change, Commit, File, Origin
from memfs.port.commands import Command, Rename, View, parse_command, reason_in
from memfs.port.difference import difference
from memfs.port.errors import ErrorCode, NotKept, PortError, StoreError, UnsafeStorage
from memfs.port.expected import Expected, parse_expected, unexpected, unexpected_last
from memfs.port.history import content_after, find_version, history_at, joined, last_change
from memfs.port.keeping import HistoryUse, Keeper, Redacting, Redaction, Retention
from memfs.port.names import ROOT, path_error, reason_fault
from memfs.port.plan import Plan, plan
from memfs.port.policy import Policy
from memfs.port.receipts import Failure, Result, Success
from memfs.port.restoring import archived_place_of, plan_restore_archived
from memfs.port.reverting import place_of, plan_restore, plan_undo
from memfs.port.scope import Scope
from memfs.port.store import Busy, Record, Remote, Reporting, Shared, Store, VersionMismatch, Watch

Seen = TypeVar("Seen")

MAX_TRIES = 64
"""How often a change is planned anew when other writers win, before the answer is CONFLICT."""
LOOK_SECONDS = 1.0
"""How long who looks waits for a writer that waits for a server: what is known then is shown as it is."""

Planner: TypeAlias = Callable[[Scope, int], Plan]
"""What a scope is to become, at the time of the commit (nanoseconds since the epoch)."""


Precondition: TypeAlias = Expected | Mapping[str, Any] | Literal["absent"] | None
"""What must be there for a change to happen, typed or as it is on the wire."""


class Outcome(NamedTuple):
    """A result, and every commit that the snapshot took in on the way to it, in version order.

    Where the command itself changed the scope, its commit is the last.
    """

    result: Result
    commits: Sequence[Commit]


class Memory:
    """The open port on one scope of a store; see :func:`memfs.open_memory`."""

    def __init__(self, store: Store, actor: Actor) -> None:
        """Load the scope of *store*, which this memory owns from here on. Raises StoreError."""
        self.actor = actor
        self._store = store
        self._shared = store if isinstance(store, Shared) else None
        self._remote = store if isinstance(store, Remote) else None
        self._lock = threading.Lock()
        self._changing = (
            threading.Lock()
        )  # within the other: the snapshot changes, or is read without that one
        self._cache = ContentCache()
        self._snapshot = store.load()
        self._behind = False  # whatever ``changed`` says: the last catch-up or commit has not succeeded
        self._closed = False

    @property
    def scope(self) -> str:
        """The name of the scope."""
        return self._store.scope_name

    @property
    def policy(self) -> Policy:
        """The rules of the scope, as last seen."""
        return self._snapshot.policy

    def execute(
        self, command: Command | Mapping[str, Any], *, actor: Actor | None = None, reason: str | None = None
    ) -> Result:
        """Carry out one command: a typed one, or a mapping in wire names.

        The answer is a value, whatever the caller supplied and whatever the store did. When it is
        a success, the change is durable as far as the store was opened to promise. *actor* (where it is
        another than this memory's) and *reason* are for the history; a mapping may carry its own reason, as
        ``"reason"``.
        """
        parsed = parse_command(command)
        if isinstance(parsed, tuple):
            return Failure(*parsed)
        if isinstance(parsed, View):
            return self._view(parsed)
        chosen = parsed
        given = reason_in(command) if reason is None else reason
        return self.perform(
            parsed.name,
            lambda scope, now_ns: plan(scope, chosen, self.read, now_ns),
            actor,
            reason="" if given is None else given,
        ).result

    def perform(
        self,
        name: str,
        planner: Planner,
        actor: Actor | None = None,
        wait: bool = True,
        reason: object = "",
    ) -> Outcome:
        """Plan a change with *planner* on the current state of the scope, and commit it.

        *name* is the command's, for the answer. *planner* may be called several times and must only
        read, and may raise StoreError; it is given the time that the commit will have. With ``wait=False``,
        raises :class:`Busy` where another thread or process is in the way; nothing has happened then. A
        *reason* or an *actor* that cannot be recorded is refused.
        """
        fault = reason_fault(reason) if reason != "" else None
        if actor is not None:
            fault = fault or author_fault(actor)
        if fault is not None:
            return Outcome(Failure(name, PortError(ErrorCode.INVALID_ARGUMENT, fault)), [])
        if not self._lock.acquire(blocking=wait):
            raise Busy
        commits: list[Commit] = []
        try:
            try:
                answer = self._commit(planner, actor or self.actor, wait, commits, str(reason))
            except StoreError as error:
                answer = PortError(error.code, error.message)
        finally:
            self._lock.release()
        if isinstance(answer, PortError):
            return Outcome(Failure(name, answer), commits)
        if isinstance(answer, Change):
            assert answer.receipt is not None, "a planned change has its receipt"
            return Outcome(Success(name, answer.receipt), commits)
        return Outcome(Success(name, answer), commits)

    def look(self, reader: Callable[[Scope], Seen]) -> Seen:
        """What *reader* sees in the scope as it is now, everybody's changes included. Raises StoreError.

        Where a server keeps the scope and is away: as it was last known. *reader* has the scope to itself for
        as long as it runs, and must only read.
        """
        if self._remote is not None:
            return self._look_from_afar(self._remote, reader)
        with self._lock:
            if self._closed:
                raise StoreError(_CLOSED.message)
            self._take_in([])
            return reader(self._snapshot)

    def away(self) -> str | None:
        """Since when the store's server is away, why, and what that means; None where it is there."""
        return None if self._remote is None else self._remote.away()

    def catch_up(self) -> Sequence[Commit]:
        """Take in what others committed; what was new, in version order. Raises StoreError."""
        commits: list[Commit] = []
        with self._lock:
            if not self._closed:
                self._take_in(commits)
        return commits

    def snapshot(self) -> Scope:
        """The scope's state, to read on the thread that calls :meth:`perform`, or under no writer."""
        return self._snapshot

    def cached(self, file: File) -> bytes | None:
        """The bytes of *file* where that needs no store, else None."""
        return self._cache.get(file)

    def read(self, file: File) -> bytes:
        """The bytes of *file*; from the store where they are not at hand. Raises StoreError.

        Waits for no writer: it takes neither this memory's lock nor the store's.
        """
        cache = self._cache
        content = cache.get(file)
        if content is None:
            try:
                content = self._store.read(file.id, file.content)
            except NotKept as error:
                raise UnsafeStorage(f"The store lacks the bytes of {file.path}.") from error
            cache.put(file.id, file.content, content)
        return content

    def in_the_way(self, path: str) -> PortError | None:
        """Why nothing can be stored at *path*: what others put there, and the store leaves alone.

        Safe from several threads; waits for no writer. Raises StoreError.
        """
        sentence = None if self._shared is None else self._shared.unsafe(path, self.policy)
        return None if sentence is None else PortError(ErrorCode.UNSAFE_STORAGE, sentence, path)

    def history(self, path: str = ROOT) -> Iterator[Record]:
        """What happened, newest first: one record a file and save, read as it is consumed.

        *path* is a file's, and then it is that memory's history under all its names; a free one, for the
        memories that were there; or a directory's, for whatever happened below it. Raises StoreError.
        """
        require(text_fault(path))
        return history_at(self._store, self._fresh(), path)

    def records_after(self, version: int) -> list[Record]:
        """What happened after *version*, oldest first and joined ones among it, as far as it is kept.

        All of it up to what the last :meth:`catch_up` has come to, at least. Costs what is new. Raises
        StoreError.
        """
        newer = takewhile(lambda record: record.version > version, self._store.history())
        return list(newer)[::-1]

    def versions(self, path: str) -> list[Record]:
        """As :meth:`history`, as a list."""
        return list(self.history(path))

    def read_version(self, path: str, version: int) -> bytes:
        """The bytes that the memory at *path* had after the change *version*, one of its own.

        Also of one that has left: those it left with. Raises StoreError, which is
        :class:`~memfs.port.errors.NotKept` where there is no such version (any more).
        """
        return self.read_record(self.find(path, version))

    def find(self, path: str, version: int) -> Record:
        """The record of the change *version* of the memory that is or was at *path*. Raises StoreError."""
        require(text_fault(path) or version_fault(version))
        return find_version(self._store, self._fresh(), path, version)

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that has left, by path; only of those last at or below *path*.

        Raises StoreError.
        """
        require(text_fault(path))
        return self._store.gone(path) if is_text(path) else iter(())

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left. Raises StoreError.

        The value says whether some lie below the name.
        """
        require(text_fault(path))
        return self._store.gone_children(path) if is_text(path) else {}

    def history_of(self, file_id: int) -> Iterator[Record]:
        """The history of one memory, newest first. Raises StoreError."""
        return joined(self._store.history(file_id=file_id))

    def read_record(self, record: Record) -> bytes:
        """The bytes that a memory had after the change of *record*. Raises StoreError."""
        return self._store.read(record.id, record.version)

    def read_at(self, file_id: int, version: int) -> bytes:
        """As :meth:`read_record`, by the id of a memory and the version of one of its records."""
        return self._store.read(file_id, version)

    def restore(
        self,
        path: str,
        version: int | None = None,
        to: str | None = None,
        *,
        expected: Precondition = None,
        actor: Actor | None = None,
        reason: str = "",
    ) -> Result:
        """Bring back what was at *path*: a *version* of the memory, or, if it has left, its last content.

        What is archived moves out of the archive, to where it was. The memory keeps its id. With *to* it
        comes back at that path, as a copy if it is still there. Nothing but its own present content is
        ever overwritten. *expected* is about the place where it comes back, and for what is archived about
        that itself.
        """
        wanted: Any = parse_expected(expected)

        def planner(scope: Scope, now_ns: int) -> Plan:
            error = path_error(path) or (None if to is None else path_error(to))
            if error:
                return error
            if version is not None and (fault := version_fault(version)) is not None:
                return PortError(ErrorCode.INVALID_ARGUMENT, fault, path)
            if version is None and is_archived(path, scope.policy) and _is_there(scope, path):
                if to is not None:
                    return plan(scope, Rename(path, to, wanted), self.read, now_ns)
                error = unexpected(scope, path, wanted, self.read)
                return error or plan_restore_archived(scope, path, now_ns)
            record = self._to_restore(scope, path, version)
            if isinstance(record, PortError):
                return record
            error = unexpected(scope, place_of(scope, record, to), wanted, self.read)
            return error or plan_restore(scope, record, content_after(self._store, record), now_ns, to)

        return self.perform("restore", planner, actor, reason=reason).result

    def archive(
        self, path: str, *, expected: Precondition = None, actor: Actor | None = None, reason: str = ""
    ) -> Result:
        """Move the file at *path*, or all below it, into the archive, to where an eviction would move it.

        The receipt is a rename's.
        """
        wanted = parse_expected(expected)

        def planner(scope: Scope, now_ns: int) -> Plan:
            error = path_error(path) or unexpected(scope, path, wanted, self.read)
            return error or plan_archive(scope, path, now_ns)

        return self.perform("archive", planner, actor, reason=reason).result

    def undo(self, *, expected: Precondition = None, actor: Actor | None = None, reason: str = "") -> Result:
        """Take the scope's last change back, evictions included, by a new change: undone again, it is redone.

        The rules of the scope are no part of it. What may be *expected* is a version: that of the change to
        take back, or a later one that changed no file.
        """
        wanted = parse_expected(expected)

        def planner(scope: Scope, _now_ns: int) -> Plan:
            steps = last_change(self._store, scope.version)
            last = steps[0].record.version if steps else 0
            return unexpected_last(last, scope.version, wanted) or plan_undo(scope, steps)

        return self.perform("undo", planner, actor, reason=reason).result

    def prune(self, keep: Retention) -> int:
        """Forget the versions that *keep* does not name; how many those were. Raises StoreError. May wait."""
        require(retention_fault(keep))
        return self._keeper().prune(keep)

    def redact(self, versions: Sequence[tuple[str, int]], *, reason: str = "") -> Redaction:
        """Take the bytes of these versions (a path and a version each) out of the history, for good.

        Their records stay. Raises StoreError, and does nothing then: NotKept where there is no such
        version, and also where it is what a memory holds now. May wait.
        """
        require(versions_fault(versions))
        return self.redact_records([self.find(*each) for each in versions], reason=reason)

    def redact_records(self, records: Sequence[Record], *, reason: str = "") -> Redaction:
        """As :meth:`redact`, also for memories whose path is another's by now."""
        require(reason_fault(reason))
        named = list(dict.fromkeys((record.id, record.version) for record in records))
        return self._keeper().redact(named, Origin(time.time_ns(), self.actor, reason))

    def unfinished_redaction_ns(self) -> int | None:
        """When a redaction was made that is pending; :meth:`maintain` tries again. Raises StoreError."""
        return self._store.unfinished_ns() if isinstance(self._store, Redacting) else None

    def history_use(self) -> HistoryUse | None:
        """What the history takes in the store; None where the store does not keep it. Raises StoreError."""
        return self._store.history_use() if isinstance(self._store, Keeper) else None

    def set_policy(self, wanted: Mapping[str, Any]) -> Policy:
        """Record other rules for the scope (entries as in :meth:`Policy.to_json`), and return all of them.

        Files that are there stay, whatever the new rules say. Raises StoreError, and OpenError for
        a rule that is none.
        """

        def planner(scope: Scope, _now_ns: int) -> Change:
            return Change(policy=scope.policy.changed(wanted))

        with self._lock:
            answer = self._commit(planner, self.actor, True, [])
        if isinstance(answer, PortError):
            raise StoreError(answer.message)
        return self.policy

    def report(self) -> Mapping[str, object]:
        """What the store has to say of itself, for people; see :class:`Reporting`."""
        return self._store.report() if isinstance(self._store, Reporting) else {}

    def sync(self) -> None:
        """Make every acknowledged change survive a power cut. Raises StoreError."""
        self._store.sync()

    def maintain(self) -> None:
        """The store's housekeeping; call it from a worker thread. Raises StoreError."""
        self._store.maintain()

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Call *notify* from another thread soon after somebody else changed the scope."""
        return self._store.watch(notify)

    @property
    def waits(self) -> bool:
        """Whether a commit may wait for a disk or a network."""
        return self._store.waits

    def close(self) -> None:
        """Release the store; a command after this is refused. Closing twice is harmless."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look_from_afar(self, remote: Remote, reader: Callable[[Scope], Seen]) -> Seen:
        """As :meth:`look`; by what is known where the server is away, or a writer waits for it."""
        has_turn = self._lock.acquire(timeout=0 if remote.away() else LOOK_SECONDS)
        try:
            if self._closed:
                raise StoreError(_CLOSED.message)
            if has_turn and not remote.away():
                try:
                    self._take_in([])
                except StoreError:
                    if not remote.away():
                        raise
            with self._changing:
                return reader(self._snapshot)
        finally:
            if has_turn:
                self._lock.release()

    def _keeper(self) -> Keeper:
        if not isinstance(self._store, Keeper):
            raise StoreError(
                "This store does not keep the history in its own hands, so nothing can be forgotten."
            )
        return self._store

    def _fresh(self) -> Scope:
        """The snapshot, with what others have committed. Raises StoreError."""
        return self.look(lambda scope: scope)

    def _to_restore(self, scope: Scope, path: str, version: int | None) -> Record | PortError:
        if version is not None:
            return find_version(self._store, scope, path, version)
        if scope.file(path) is not None:
            return PortError(
                ErrorCode.ALREADY_EXISTS,
                f"{path} is there; name the version to restore. `memfs log {path}` lists them.",
                path,
            )
        below = list(self._store.gone(path))
        left = [record for record in below if record.path == path]
        if left:
            return max(left, key=lambda record: record.version)
        archived = archived_place_of(scope, path)
        if archived is not None:
            return PortError(
                ErrorCode.NOT_FOUND, f"{path} is in the archive; restore {archived}, which moves back.", path
            )
        if below:
            return PortError(
                ErrorCode.NOT_FOUND,
                f"{path} was a directory; restore the memories in it, which `memfs log --deleted {path}` "
                "lists, or copy it out of .memfs/deleted in a mount.",
                path,
            )
        return PortError(
            ErrorCode.NOT_FOUND,
            f"No memory that was last at {path} has left; `memfs log --deleted` lists those that have.",
            path,
        )

    def _view(self, command: View) -> Result:
        try:
            answer = self.look(lambda scope: self._or_unsafe(plan(scope, command, self.read, time.time_ns())))
        except StoreError as error:
            answer = PortError(error.code, error.message)
        if isinstance(answer, PortError):
            return Failure(command.name, answer)
        assert not isinstance(answer, Change), "a view changes nothing"
        return Success(command.name, answer)

    def _commit(
        self, planner: Planner, actor: Actor, wait: bool, commits: list[Commit], reason: str = ""
    ) -> Plan:
        """Plan and commit until no other writer was faster; what was taken in goes to *commits*."""
        if self._closed:
            return _CLOSED
        store = self._store
        for _ in range(MAX_TRIES):
            store.acquire(wait)
            try:
                self._take_in(commits)
                now_ns = time.time_ns()
                planned = planner(self._snapshot, now_ns)
                if not isinstance(planned, Change):
                    return self._or_unsafe(planned)
                self._behind = True
                origin = Origin(now_ns, actor, reason)
                commit = store.commit(planned, self._snapshot.version, origin)
                self._apply(commit)
                self._behind = False
                commits.append(commit)
            except VersionMismatch:
                continue
            finally:
                store.release()
            return planned
        return PortError(
            ErrorCode.CONFLICT,
            f"Other writers changed this scope {MAX_TRIES} times in a row; try the command again.",
        )

    def _or_unsafe(self, planned: Plan) -> Plan:
        """*planned*, unless nothing was found where something lies that the store leaves alone."""
        if (
            isinstance(planned, PortError)
            and planned.code is ErrorCode.NOT_FOUND
            and planned.path is not None
        ):
            return self.in_the_way(planned.path) or planned
        return planned

    def _take_in(self, commits: list[Commit]) -> None:
        store, scope = self._store, self._snapshot
        if not self._behind and not store.changed(scope.version):
            return
        self._behind = True
        foreign = store.changes(scope.version)
        if foreign is None:
            # Where a server has lost commits, their versions are given to others: no bytes are kept, and a
            # reader that is on its way with old ones puts them where nobody looks any more.
            self._cache = ContentCache()
            fresh = store.load()
            commits += difference(scope, fresh)
            with self._changing:
                self._snapshot = fresh
        else:
            for commit in foreign:
                self._apply(commit)
                commits.append(commit)
        self._behind = False

    def _apply(self, commit: Commit) -> None:
        with self._changing:
            self._snapshot.apply(commit)
        for remove in commit.change.removes:
            self._cache.drop(remove.file.id)
        for put in commit.change.puts:
            if put.content is None:
                self._cache.drop(put.id)
            else:
                self._cache.put(put.id, commit.version, put.content)


_CLOSED = PortError(ErrorCode.STORAGE_ERROR, "This memory is closed; open it again.")


def _is_there(scope: Scope, path: str) -> bool:
    return scope.file(path) is not None or scope.is_directory(path)
