"""A history from elsewhere on its way into commits, one for each change, as the store would have made them.

The commits are written as a stream for ``git fast-import``, and named here before it has made them: each
carries the name of the one before it. Only every last one of a stream has the index beside its head. It
takes most of the room and of the time, and whoever needs it of one in between makes it from the changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple, TypeAlias

from memfs.port.change import Change, Commit, Origin
from memfs.port.policy import Policy
from memfs.port.receiving import Received, change_of
from memfs.port.scope import Scope
from memfs.stores.git.commits import commit_bytes
from memfs.stores.git.index import HEAD_NAME, INDEX_NAME, MEMORIES_NAME, Head, Index
from memfs.stores.git.objects import DIRECTORY, FILE, Batch, Tree, TreeEntry, blob_id, edited, edits_at
from memfs.stores.git.recorded import MARKER, REDACTED, Blob, Recorded, Redacted
from memfs.stores.git.state import State

ReadTree: TypeAlias = Callable[[str], Tree]
MOST_ENTRIES = 1_000_000
"""Entries of trees that are kept in memory before those that no longer count are looked for."""


class Line:
    """The commits of one scope on the reference *ref*, from *state* on, written to a stream."""

    def __init__(self, scope_name: str, state: State, ref: str, read_tree: ReadTree) -> None:
        """*read_tree* gives a tree that lies in the repository already, by its id."""
        self._scope_name = scope_name
        self._state = state
        self._ref = ref
        self._trees = _Trees(read_tree)
        self._begins = True

    @classmethod
    def new(cls, scope_name: str, policy: Policy, ref: str, read_tree: ReadTree) -> Line:
        """A line that begins with nothing."""
        return cls(scope_name, State(Index(), policy, 0), ref, read_tree)

    @property
    def tip(self) -> str | None:
        """The newest commit, None where there is none yet."""
        return self._state.tip

    @property
    def version(self) -> int:
        """The version that it has come to."""
        return self._state.version

    def write(self, stream: IO[bytes], changes: Iterator[Received], policy: Policy) -> None:
        """The commits of *changes*; *policy* are the rules that they stand under."""
        self._state.policy = policy
        change = next(changes, None)
        while change is not None:
            following = next(changes, None)
            self._add(stream, change, is_last=following is None)
            change = following

    def settle(self, stream: IO[bytes], scope: Scope, origin: Origin) -> None:
        """A commit of its own for the version of *scope*, where the changes have not come to it."""
        if self.tip is None or self.version < scope.version:
            self._state.policy = scope.policy
            recorded = Recorded(Commit(scope.version, Change(policy=scope.policy), origin), {})
            self._commit(stream, recorded, [], [], is_last=True)

    def _add(self, stream: IO[bytes], change: Received, is_last: bool) -> None:
        entries = self._state.index.entries
        planned = change_of(change)
        leaving = [*(remove.file for remove in planned.removes), *(move.file for move in planned.moves)]
        blobs = {file.id: entries[file.id].blob for file in leaving}
        placed = [_Placed(move.new_path, blobs[move.file.id].oid, None) for move in planned.moves]
        for put in planned.puts:
            content = MARKER if put.content is None else put.content
            blob = REDACTED if put.content is None else Blob(blob_id(content), _digest(content))
            blobs[put.id] = blob
            placed.append(_Placed(put.path, blob.oid, content))
        redactions = tuple(
            Redacted(record.id, record.joins or 0, record.path, record.size)
            for record in change.records
            if record.operation == "redacted"
        )
        recorded = Recorded(Commit(change.version, planned, change.origin), blobs, redactions)
        self._commit(stream, recorded, [file.path for file in leaving], placed, is_last)

    def _commit(
        self,
        stream: IO[bytes],
        recorded: Recorded,
        left: list[str],
        placed: list[_Placed],
        is_last: bool,
    ) -> None:
        state, trees = self._state, self._trees
        previous, had_index = state.tip, state.root is not None and INDEX_NAME in trees.read(state.root)
        state.apply(recorded)
        new = [(path, oid) for path, oid, _ in placed]
        state.memories = edited(state.memories, edits_at(left, new), trees.read, trees)
        files = state.index.write(Batch()) if is_last else None
        head = Head(self._scope_name, state.policy, state.memories, files, recorded, (), previous).to_bytes()
        root: Tree = {HEAD_NAME: TreeEntry(FILE, blob_id(head))}
        for name, tree in ((INDEX_NAME, files), (MEMORIES_NAME, state.memories)):
            if tree is not None:
                root[name] = TreeEntry(DIRECTORY, tree)
        data = commit_bytes(trees.add_tree(root), previous, recorded)
        state.stand_at(Batch().add("commit", data), trees.newest, state.memories)
        trees.tidy(trees.newest)
        stream.write(_commit_command(self._ref, data, previous if self._begins else None))
        self._begins = False  # from here on, fast-import goes on from its own last
        for path in left:
            stream.write(b"D %s\n" % path[1:].encode())
        for path, oid, content in placed:
            if content is None:
                stream.write(b"M 100644 %s %s\n" % (oid.encode(), path[1:].encode()))
            else:
                stream.write(_file(path[1:].encode(), content))
        if had_index:
            stream.write(b"D %s\n" % INDEX_NAME)
        for place, page in state.index.pages() if is_last else ():
            stream.write(_file(b"%s/%s" % (INDEX_NAME, place.encode()), page))
        stream.write(_file(HEAD_NAME, head))


class _Placed(NamedTuple):
    """A file as a commit places it: the id of its blob, and the bytes where they are new."""

    path: str
    oid: str
    content: bytes | None


class _Trees(Batch):
    """The trees that the next commit may begin with: named, and not written."""

    def __init__(self, read_stored: ReadTree) -> None:
        super().__init__()
        self._read_stored = read_stored
        self._entries = 0
        self._bound = MOST_ENTRIES
        self.newest = ""

    def add_tree(self, tree: Tree) -> str:
        """Take a tree in; its id."""
        self.newest = super().add_tree(tree)
        self.objects.clear()
        self._entries += len(tree)
        return self.newest

    def read(self, oid: str) -> Tree:
        """A tree that was taken in, or that is stored."""
        tree = self.trees.get(oid)
        return self._read_stored(oid) if tree is None else tree

    def tidy(self, root: str) -> None:
        """Let go of what is not below *root*, once that may be much."""
        if self._entries < self._bound:
            return
        kept: dict[str, Tree] = {}
        pending = [root]
        while pending:
            oid = pending.pop()
            if oid in self.trees and oid not in kept:
                kept[oid] = self.trees[oid]
                pending += [entry.oid for entry in kept[oid].values() if entry.is_directory]
        self.trees = kept
        self._entries = sum(map(len, kept.values()))
        self._bound = max(MOST_ENTRIES, 4 * self._entries)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _commit_command(ref: str, data: bytes, previous: str | None) -> bytes:
    """What has fast-import make the commit *data*, all but its tree."""
    header, _, message = data.partition(b"\n\n")
    people = [line for line in header.split(b"\n") if line.startswith((b"author ", b"committer "))]
    command = b"commit %s\n%s\ndata %d\n%s\n" % (ref.encode(), b"\n".join(people), len(message), message)
    return command if previous is None else command + b"from %s\n" % previous.encode()


def _file(path: bytes, content: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(content), content)
