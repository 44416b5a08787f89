"""The ``simple`` store: one scope in this process, gone with it. For tests and short runs.

It is also the shortest complete store, and the place to start reading for the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from memfs.port.change import Change, Commit, Origin
from memfs.port.errors import NotKept
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Record, VersionMismatch
from memfs.stores.records import records_of

KEPT_COMMITS = 1_000
"""How many commits the history goes back: a process's memory is not a place for all of them."""


class SimpleStore:
    """A scope that lives as long as this object. It has one door: whoever holds the object."""

    waits = False

    def __init__(self, scope_name: str, policy: Policy) -> None:
        self.scope_name = scope_name
        self._scope = Scope(policy, 0)
        self._contents: dict[int, tuple[int, bytes]] = {}
        self._commits: deque[Commit] = deque(maxlen=KEPT_COMMITS)
        self._lock = threading.Lock()

    def load(self) -> Scope:
        """A scope of the caller's own; nothing of this store is shared with it."""
        return Scope(self._scope.policy, self._scope.version, self._scope.in_write_order())

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes of a file after the change *version*, as long as that is kept."""
        now = self._contents.get(file_id)
        if now is not None and now[0] == version:
            return now[1]
        kept = [commit for commit in self._commits if commit.version <= version]
        its_own = (
            kept and kept[-1].version == version and file_id in {each.id for each in records_of(kept[-1])}
        )
        if its_own:
            for commit in reversed(kept):
                for put in commit.change.puts:
                    if put.id == file_id and put.content is not None:
                        return put.content
            if now is not None and now[0] < version:
                return now[1]
        raise NotKept(f"Version {version} is not kept: a simple store forgets what is long ago.")

    def acquire(self, wait: bool) -> None:
        """Nobody else is there to keep out."""

    def release(self) -> None:
        """The end of ``acquire``."""

    def changed(self, version: int) -> bool:
        """Whether the scope has passed *version*."""
        return self._scope.version > version

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after *since*, as long as they are kept."""
        commits = [commit for commit in self._commits if commit.version > since]
        return commits if len(commits) == self._scope.version - since else None

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """Apply *change* to this store's own copy of the scope."""
        with self._lock:
            if self._scope.version != expected:
                raise VersionMismatch
            commit = Commit(expected + 1, change, origin)
            self._scope.apply(commit)
            for remove in change.removes:
                del self._contents[remove.file.id]
            for put in change.puts:
                assert put.content is not None, "a planned put has its content"
                self._contents[put.id] = (commit.version, put.content)
            self._commits.append(commit)
        return commit

    def sync(self) -> None:
        """Nothing outlives this process."""

    def maintain(self) -> None:
        """Nothing to do."""

    def watch(self, notify: Callable[[], None]) -> SimpleWatch:
        """Nobody else can commit, so *notify* is never called."""
        return SimpleWatch()

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records of the commits still kept."""
        commits = list(self._commits)
        for commit in reversed(commits) if newest_first else commits:
            records = records_of(commit)
            for record in reversed(records) if newest_first else records:
                if file_id is None or record.id == file_id:
                    yield record

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that has left, as far as the commits are kept."""
        newest: dict[int, Record] = {}
        for record in self.history():
            newest.setdefault(record.id, record)
        left = [record for record in newest.values() if record.operation in ("deleted", "evicted")]
        for record in sorted(left, key=lambda record: (record.path, record.id)):
            if record.path == path or record.path.startswith(path + "/"):
                yield record

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left."""
        names: dict[str, bool] = {}
        for record in self.gone(path):
            if record.path != path:
                name, _, below = record.path[len(path) + 1 :].partition("/")
                names[name] = names.get(name, False) or below != ""
        return names

    def close(self) -> None:
        """The scope is gone when nobody holds this object."""


class SimpleWatch:
    """A watch over a store that only its holder can change."""

    def close(self) -> None:
        """Nothing runs."""
