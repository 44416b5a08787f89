"""The history of a scope, read from the heads that its commits carry."""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from collections.abc import Container, Iterator
from pathlib import Path

from memfs.port.store import Record
from memfs.stores.forgetting import redacted_sentence
from memfs.stores.git.commits import read_commit, read_contents
from memfs.stores.git.index import Head
from memfs.stores.git.log import Log
from memfs.stores.git.recorded import LEFT, Blob, Recorded
from memfs.stores.git.repository import Repository
from memfs.stores.git.state import State
from memfs.stores.git.superseded import Superseded

log = logging.getLogger(__name__)

SAVE_EVERY = 256
"""Changes that were read from their commits, after which the log is left for other processes."""


class History:
    """The changes that lead to a state. What is read once for them all, is kept in a :class:`Log`."""

    def __init__(self, repository: Repository, superseded: Superseded, saved: Path) -> None:
        """*saved* is the file for the log; without it, every commit is read once."""
        self._repository = repository
        self._superseded = superseded
        self._saved = saved
        self._lock = threading.Lock()
        self._log: Log | None = None
        self._unsaved = 0

    def records(self, state: State, newest_first: bool, file_id: int | None) -> Iterator[Record]:
        """The records of *state*'s history, of all files or of one; read as they are consumed."""
        if file_id is not None:
            chain = self.changes(state, file_id)
            changes: Iterator[Recorded] = reversed(chain) if newest_first else iter(chain)
        elif newest_first:
            changes = self._newest_first(state)
        else:
            changes = self._oldest_first(state)
        for recorded in changes:
            records = recorded.records()
            for record in reversed(records) if newest_first else records:
                if file_id is None or (record.id == file_id and record.operation != "redacted"):
                    yield record

    def changes(self, state: State, file_id: int) -> list[Recorded]:
        """The changes that a memory was in, oldest first."""
        known, length = self._up_to(state)
        return [*known.of(file_id, length), *(each for each in state.taken if file_id in each.blobs)]

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

    def gone(self, state: State, path: str) -> list[Record]:
        """The newest record of each memory that has left, by last paths; those at *path*, or below it."""
        left = {record.id: record for record in self._up_to(state)[0].left()}
        for recorded in state.taken:
            for record in recorded.records():
                left.pop(record.id, None)
                if record.operation in LEFT:
                    left[record.id] = record
        below = path + "/"
        found = [each for each in left.values() if each.path == path or each.path.startswith(below)]
        return sorted(found, key=lambda record: (record.path, record.id))

    def blob(self, state: State, file_id: int, version: int) -> Blob | None:
        """The bytes that *file_id* had after the change *version*, which is one of its own."""
        if state.taken and version >= state.taken[0].version:
            recorded = next((each for each in state.taken if each.version == version), None)
        else:
            recorded = self._up_to(state)[0].at(version)
        return None if recorded is None else recorded.blobs.get(file_id)

    def who_redacted(self, state: State, file_id: int, version: int) -> str:
        """A sentence for who asks for bytes that were taken out."""
        puts = [
            each.version
            for each in self.changes(state, file_id)
            if any(put.id == file_id for put in each.commit.change.puts)
        ]
        brought = bisect_right(puts, version)
        for recorded in self._newest_first(state):
            for each in recorded.redactions:
                # One redaction takes out what several records show: a change, and the renames after it.
                if each.id == file_id and bisect_right(puts, each.version) == brought:
                    time_ns, actor, _ = recorded.commit.origin
                    return redacted_sentence(version, (time_ns, actor.user, actor.program))
        return redacted_sentence(version, None)

    def _newest_first(self, state: State) -> Iterator[Recorded]:
        yield from reversed(state.taken)
        known = self._log
        before = state.base
        for _, head in heads_from(self._repository, before, known.lengths if known else ()):
            yield head.change
            yield from reversed(head.taken)
            before = head.base
        if known is not None and before is not None:
            yield from known.newest_first(known.lengths.get(before, 0))

    def _oldest_first(self, state: State) -> Iterator[Recorded]:
        taken = list(state.taken)
        known, length = self._up_to(state)
        yield from known.oldest_first(length)
        yield from taken

    def _up_to(self, state: State) -> tuple[Log, int]:
        """The log, with all that leads to *state*'s base, and how many changes that are."""
        with self._lock:
            known = self._log or Log.load(self._saved)
            newer = list(heads_from(self._repository, state.base, known.lengths))
            before = newer[-1][1].base if newer else state.base
            if newer and known.tip not in (None, before):  # the line was moved back, and goes on elsewhere
                known = Log()
                newer = list(heads_from(self._repository, state.base))
            for oid, head in reversed(newer):
                known.add(oid, (*head.taken, head.change))
            self._log = known
            self._unsaved += len(newer)
            if self._unsaved >= SAVE_EVERY:
                self._save(known)
            return known, 0 if state.base is None else known.lengths.get(state.base, 0)

    def _save(self, known: Log) -> None:
        """Leave the log for others, but not one that a redaction has made untrue."""
        self._unsaved = 0
        if known.tip is None or self._superseded.newest(known.tip) != known.tip:
            return
        try:
            known.save(self._saved)
        except OSError as error:
            log.warning("the log %s could not be written: %s", self._saved, error)


def heads_from(
    repository: Repository, base: str | None, known: Container[str] = ()
) -> Iterator[tuple[str, Head]]:
    """The commits of memfs from *base* backwards, until one that is *known*.

    The line ends where a clone does not have the next.
    """
    while base is not None and base not in known and repository.has(base):
        head = read_contents(repository, read_commit(repository, base)).head
        yield base, head
        base = head.base
