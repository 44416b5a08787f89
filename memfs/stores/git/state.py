"""The state of a scope at one commit: its files, and what a next commit needs to know."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from memfs.port.errors import UnsafeStorage
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.stores.git.commits import (
    CommitData,
    Contents,
    commit_bytes,
    head_of,
    read_commit,
    read_contents,
)
from memfs.stores.git.foreign import foreign_change
from memfs.stores.git.index import HEAD_NAME, INDEX_NAME, MEMORIES_NAME, Entry, Head, Index
from memfs.stores.git.objects import DIRECTORY, FILE, Batch, Tree, TreeEntry, edited
from memfs.stores.git.recorded import Recorded

if TYPE_CHECKING:  # an export needs no libgit2
    from memfs.stores.git.repository import Repository

MOST_SPOILT = 500
"""How many commits to look through for the last one that memfs can read."""


class State:
    """The files of a scope as the commit ``tip`` has them.

    ``base`` is the commit of memfs that ``tip`` is, or was made from by others with plain git; their
    changes since are in ``taken``, to be recorded by the next commit of memfs.
    """

    def __init__(self, index: Index, policy: Policy, version: int) -> None:
        self.index = index
        self.policy = policy
        self.version = version
        self.tip: str | None = None
        self.base: str | None = None
        self.root: str | None = None
        """The tree of ``tip``."""
        self.memories: str | None = None
        """The tree of the memories in it."""
        self.taken: list[Recorded] = []

    @classmethod
    def load(cls, repository: Repository, base: CommitData, contents: Contents) -> State:
        """The state that memfs wrote with the commit *base*. Raises StoreError."""
        head = contents.head
        changes: list[Recorded] = []
        while contents.files is None and contents.head.memories is not None:
            # One that came by a history from elsewhere: its index is what the changes before it lead to.
            changes += [contents.head.change, *reversed(contents.head.taken)]
            before = contents.head.base
            if before is None or not repository.has(before):
                break
            contents = read_contents(repository, read_commit(repository, before))
        start = 0 if changes else head.version
        state = cls(Index.load(contents.files, repository.read), head.policy, start)
        for recorded in reversed(changes):
            state.apply(recorded)
        state.policy = head.policy
        state.stand_at(base.oid, base.tree, head.memories)
        return state

    def stand_at(self, oid: str, root: str, memories: str | None) -> None:
        """Say which commit of memfs has this state."""
        self.tip = self.base = oid
        self.root, self.memories = root, memories
        self.taken = []

    def commit(
        self, scope_name: str, recorded: Recorded, batch: Batch, read_tree: Callable[[str], Tree]
    ) -> tuple[str, str]:
        """Put the commit of this state, to which *recorded* has led, into *batch*; its id, and its tree's.

        *read_tree* gives a tree by its id.
        """
        files = self.index.write(batch)
        head = Head(scope_name, self.policy, self.memories, files, recorded, tuple(self.taken), self.base)
        root = edited(
            self.root,
            {
                HEAD_NAME: TreeEntry(FILE, batch.add("blob", head.to_bytes())),
                INDEX_NAME: None if files is None else TreeEntry(DIRECTORY, files),
                MEMORIES_NAME: None if self.memories is None else TreeEntry(DIRECTORY, self.memories),
            },
            read_tree,
            batch,
        )
        assert root is not None, "the head is in it"
        return batch.add("commit", commit_bytes(root, self.tip, recorded)), root

    def scope(self, name: str) -> Scope:
        """The port's view of it, of the caller's own."""
        return Scope(self.policy, self.version, self.index.files())

    def apply(self, recorded: Recorded) -> None:
        """Take a change in, in the port's order: what leaves, what moves, what is put."""
        version, change, origin = recorded.commit
        index, number = self.index, 0
        if change.policy is not None:
            self.policy = change.policy
        for remove in change.removes:
            index.drop(remove.file.id)
        for move in change.moves:
            entry = index.entries[move.file.id]._replace(path=move.new_path)
            if move.operation == "restored":
                entry, number = entry._replace(written=(version, number)), number + 1
            index.put(move.file.id, entry)
        for put in change.puts:
            mtime_ns = origin.time_ns if put.mtime_ns is None else put.mtime_ns
            written = (version, number)
            index.put(put.id, Entry(put.path, put.size, mtime_ns, version, written, recorded.blobs[put.id]))
            number += 1
        self.version = version


class Lineage(NamedTuple):
    """Where a commit comes from: the nearest commit of memfs, and those of others since, oldest first."""

    base: CommitData
    contents: Contents
    foreign: list[tuple[CommitData, Contents]]


def lineage_of(repository: Repository, tip: str) -> Lineage:
    """The lineage of *tip*.

    A commit of somebody else carries the head of the commit of memfs that it was made from. One in
    between whose own part for memfs is spoilt is passed over: a later one has put it right.
    """
    commit = read_commit(repository, tip)
    newest = read_contents(repository, commit)
    contents: Contents | None = newest
    foreign: list[tuple[CommitData, Contents]] = []
    while (before := _carrier_before(repository, commit, newest)) is not None:
        if contents is not None:
            foreign.append((commit, contents))
        commit = before
        try:
            contents = read_contents(repository, commit)
        except UnsafeStorage:
            contents = None
    if contents is None:
        raise UnsafeStorage(f"The commit {commit.oid[:12]} in {repository.path} is not as memfs wrote it.")
    if not contents.is_exact:  # a commit of memfs that somebody has rewritten: it is what it was, and more
        foreign.append((commit, contents))
    return Lineage(commit, contents, foreign[::-1])


def _carrier_before(repository: Repository, commit: CommitData, carried: Contents) -> CommitData | None:
    """The nearest commit before *commit* with the head that it carries; None where that began with it."""
    parents = [read_commit(repository, oid) for oid in commit.parents]
    heads = [head_of(repository, parent) for parent in parents]
    if carried.head_oid in heads:
        return parents[heads.index(carried.head_oid)]
    base = carried.head.base
    if base is None or base in commit.parents:
        return None
    if repository.has(base) and head_of(repository, read_commit(repository, base)) in heads:
        return None
    pending, seen = deque(parents), set(commit.parents)
    while pending and len(seen) < MOST_SPOILT:
        candidate = pending.popleft()
        if head_of(repository, candidate) == carried.head_oid:
            return candidate
        further = [oid for oid in candidate.parents if oid not in seen]
        seen.update(further)
        pending.extend(read_commit(repository, oid) for oid in further)
    return None


def state_at(repository: Repository, tip: str, scope_name: str) -> State:
    """The state at the commit *tip*. Raises UnsafeStorage where what it holds is no state of the scope."""
    lineage = lineage_of(repository, tip)
    head = lineage.contents.head
    if head.scope != scope_name:
        raise UnsafeStorage(
            f"The commit {tip[:12]} in {repository.path} holds the scope '{head.scope}', not '{scope_name}'."
        )
    state = State.load(repository, lineage.base, lineage.contents)
    take_in(repository, state, lineage.foreign)
    return state


def take_in(
    repository: Repository, state: State, commits: list[tuple[CommitData, Contents]]
) -> list[Recorded]:
    """Bring *state* to the last of *commits*, which others made from it; the changes that this takes.

    A commit that the port cannot hold counts together with the one that puts it right; if none does,
    UNSAFE_STORAGE is raised.
    """
    taken = []
    for commit, contents in commits:
        if contents.memories != state.memories:
            trees = (state.memories, contents.memories)
            try:
                change = foreign_change(
                    repository, commit, state.index.entries, trees, state.version + 1, state.policy
                )
            except UnsafeStorage as error:
                if commit is commits[-1][0]:
                    raise UnsafeStorage(
                        f"The commit {commit.oid[:12]} in {repository.path} holds what no memory can be: "
                        f"{error.message.removesuffix(chr(46))}. Take it back, for example with git revert."
                    ) from error
                continue
            state.apply(change)
            taken.append(change)
        state.tip, state.root, state.memories = commit.oid, commit.tree, contents.memories
    state.taken += taken
    return taken
