"""A history from elsewhere on its way into commits, one for each change, as the store would have made them.

Nothing is read but what a line begins with, and nothing is written but objects: moving a reference to
``tip`` is left to whoever has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

from memfs.port.change import Change, Commit, Origin
from memfs.port.policy import Policy
from memfs.port.receiving import Received, change_of
from memfs.port.scope import Scope
from memfs.stores.git.index import Index
from memfs.stores.git.objects import Tree, edited, edits_at
from memfs.stores.git.pack import Pack
from memfs.stores.git.recorded import MARKER, REDACTED, Blob, Recorded, Redacted
from memfs.stores.git.state import State

ReadTree: TypeAlias = Callable[[str], Tree]
MOST_ENTRIES = 1_000_000
"""Entries of trees that are kept in memory until the objects they are in have been delivered."""


class Line:
    """The commits of one scope, from *state* on; their objects go into *pack*."""

    def __init__(self, scope_name: str, state: State, pack: Pack, read_tree: ReadTree) -> None:
        """*read_tree* gives a tree that lies in the repository already, by its id."""
        self._scope_name = scope_name
        self._state = state
        self._pack = pack
        self._read_stored = read_tree

    @classmethod
    def new(cls, scope_name: str, policy: Policy, pack: Pack, read_tree: ReadTree) -> Line:
        """A line that begins with nothing."""
        return cls(scope_name, State(Index(), policy, 0), pack, read_tree)

    @property
    def tip(self) -> str | None:
        """The newest commit, None where there is none yet."""
        return self._state.tip

    @property
    def version(self) -> int:
        """The version that it has come to."""
        return self._state.version

    @property
    def is_heavy(self) -> bool:
        """Whether it is time to deliver, for the sake of what is held in memory."""
        return self._pack.entries > MOST_ENTRIES

    def add(self, change: Received, policy: Policy) -> None:
        """Make the commit of *change*; *policy* are the rules that it stands under."""
        state = self._state
        state.policy = policy
        planned = change_of(change)
        leaving = [*(remove.file for remove in planned.removes), *(move.file for move in planned.moves)]
        blobs = {file.id: state.index.entries[file.id].blob for file in leaving}
        for put in planned.puts:
            blobs[put.id] = self._blob(put.content)
        redactions = tuple(
            Redacted(record.id, record.joins or 0, record.path, record.size)
            for record in change.records
            if record.operation == "redacted"
        )
        placed = [(move.new_path, blobs[move.file.id].oid) for move in planned.moves]
        placed += [(put.path, blobs[put.id].oid) for put in planned.puts]
        recorded = Recorded(Commit(change.version, planned, change.origin), blobs, redactions)
        self._commit(recorded, [file.path for file in leaving], placed)

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Make a commit of its own for the version of *scope*, where the changes have not come to it."""
        state = self._state
        if state.tip is None or state.version < scope.version:
            recorded = Recorded(Commit(scope.version, Change(policy=scope.policy), origin), {})
            self._commit(recorded, [], [])

    def _blob(self, content: bytes | None) -> Blob:
        if content is None:
            self._pack.add("blob", MARKER)
            return REDACTED
        return Blob(self._pack.add("blob", content), hashlib.sha256(content).hexdigest())

    def _commit(self, recorded: Recorded, left: list[str], placed: list[tuple[str, str]]) -> None:
        state = self._state
        state.apply(recorded)
        state.memories = edited(state.memories, edits_at(left, placed), self._read_tree, self._pack)
        oid, root = state.commit(self._scope_name, recorded, self._pack, self._read_tree)
        state.stand_at(oid, root, state.memories)

    def _read_tree(self, oid: str) -> Tree:
        tree = self._pack.trees.get(oid)
        return self._read_stored(oid) if tree is None else tree
