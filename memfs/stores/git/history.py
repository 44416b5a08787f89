"""The history of a scope, read from the heads that its commits carry."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator

from memfs.port.store import Record
from memfs.stores.git.commits import read_commit, read_contents
from memfs.stores.git.index import Head
from memfs.stores.git.recorded import Recorded
from memfs.stores.git.repository import Repository
from memfs.stores.git.state import State


class History:
    """The commits of memfs behind a state, oldest first, once somebody has asked for an older one."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._commits: list[str] = []
        self._versions: list[int] = []

    def records(self, state: State, newest_first: bool, file_id: int | None) -> Iterator[Record]:
        """The records of *state*'s history, of all files or of one; read as they are consumed."""
        changes = self._newest_first(state) if newest_first else self._oldest_first(state)
        for recorded in changes:
            if file_id is not None and file_id not in recorded.blobs:
                continue
            records = recorded.records()
            for record in reversed(records) if newest_first else records:
                if file_id is None or record.id == file_id:
                    yield record

    def since(self, state: State, version: int, most: int) -> list[Recorded] | None:
        """The changes after *version*, oldest first; None where there are more than *most*."""
        found: list[Recorded] = []
        for recorded in self._newest_first(state):
            if recorded.version <= version:
                break
            if len(found) == most:
                return None
            found.append(recorded)
        return found[::-1]

    def gone(self, state: State, path: str) -> Iterator[Record]:
        """The newest record of each memory that has left, by last paths; those at *path*, or below it."""
        newest: dict[int, Record] = {}
        for record in self.records(state, newest_first=True, file_id=None):
            newest.setdefault(record.id, record)
        left = [record for record in newest.values() if record.operation in ("deleted", "evicted")]
        for record in sorted(left, key=lambda record: (record.path, record.id)):
            if record.path == path or record.path.startswith(path + "/"):
                yield record

    def blob(self, state: State, file_id: int, version: int) -> str | None:
        """The id of the blob that *file_id* had after the change *version*, which is one of its own."""
        for recorded in self._at(state, version):
            if recorded.version == version and file_id in recorded.blobs:
                return recorded.blobs[file_id].oid
        return None

    def _newest_first(self, state: State) -> Iterator[Recorded]:
        yield from reversed(state.taken)
        for _, head in heads_from(self._repository, state.base):
            yield head.change
            yield from reversed(head.taken)

    def _oldest_first(self, state: State) -> Iterator[Recorded]:
        taken = list(state.taken)
        for oid in self._line(state)[0]:
            yield from self._changes_in(oid)
        yield from taken

    def _at(self, state: State, version: int) -> list[Recorded]:
        """The changes among which *version* is, if there is such a one."""
        if state.taken and version >= state.taken[0].version:
            return list(state.taken)
        commits, versions = self._line(state)
        at = bisect_left(versions, version)
        return self._changes_in(commits[at]) if at < len(commits) else []

    def _line(self, state: State) -> tuple[list[str], list[int]]:
        """The commits of memfs up to *state*'s, oldest first, and their versions."""
        with self._lock:
            known = {oid: at for at, oid in enumerate(self._commits[-64:], max(0, len(self._commits) - 64))}
            newer: list[tuple[str, int]] = []
            keep = 0
            for oid, head in heads_from(self._repository, state.base):
                if oid in known:
                    keep = known[oid] + 1
                    break
                newer.append((oid, head.version))
            newer.reverse()
            self._commits[keep:] = [oid for oid, _ in newer]
            self._versions[keep:] = [version for _, version in newer]
            return list(self._commits), list(self._versions)

    def _changes_in(self, oid: str) -> list[Recorded]:
        head = read_contents(self._repository, read_commit(self._repository, oid)).head
        return [*head.taken, head.change]


def heads_from(repository: Repository, base: str | None) -> Iterator[tuple[str, Head]]:
    """The commits of memfs from *base* backwards; the line ends where a clone does not have the next."""
    while base is not None and repository.has(base):
        head = read_contents(repository, read_commit(repository, base)).head
        yield base, head
        base = head.base
