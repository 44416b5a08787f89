"""Commits as bytes, and what one commit says of a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memfs.port.change import Actor, Origin
from memfs.port.errors import UnsafeStorage
from memfs.stores.git.index import HEAD_NAME, INDEX_NAME, MEMORIES_NAME, Head
from memfs.stores.git.objects import TreeEntry, parse_tree
from memfs.stores.git.recorded import Recorded, message_of, person_of

if TYPE_CHECKING:  # an export needs no libgit2
    from memfs.stores.git.repository import Repository

GIT = "git"
"""The program that a commit is said to come from where memfs did not make it."""


class CommitData(NamedTuple):
    """The parts of a commit; ``author`` is a name, ``time`` seconds since the epoch."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    time: int
    message: str

    def origin(self) -> Origin:
        """Who made a commit of somebody else, and why, as far as its first line says."""
        return Origin(self.time * 1_000_000_000, Actor(self.author, GIT), self.message.split("\n", 1)[0])


class Contents(NamedTuple):
    """The root of a commit's tree: the scope's head and the id of its blob, and its two trees."""

    head: Head
    head_oid: str
    memories: str | None
    files: str | None

    @property
    def is_exact(self) -> bool:
        """Whether the memories are as memfs wrote them, and not changed by somebody since."""
        return self.memories == self.head.memories


def read_commit(repository: Repository, oid: str) -> CommitData:
    """The commit *oid*. Raises StoreError."""
    header, _, message = repository.read(oid, "commit").decode(errors="replace").partition("\n\n")
    tree, parents, author, time = "", [], "", 0
    for line in header.split("\n"):
        key, _, value = line.partition(" ")
        if key == "tree":
            tree = value
        elif key == "parent":
            parents.append(value)
        elif key == "author":
            author = value.rpartition(" <")[0] or value
        elif key == "committer":
            time = int(value.rsplit(" ", 2)[-2])
    return CommitData(oid, tree, tuple(parents), author, time, message)


def commit_bytes(tree: str, parent: str | None, change: Recorded) -> bytes:
    """The commit of a change: its author is the actor, its committer memfs."""
    version, _, origin = change.commit
    message = message_of(change.records(), version, origin.reason)
    when = f"{origin.time_ns // 1_000_000_000} +0000"
    return (
        f"tree {tree}\n"
        + (f"parent {parent}\n" if parent else "")
        + f"author {person_of(origin.actor)} {when}\n"
        f"committer memfs <memfs@memfs.invalid> {when}\n\n{message}"
    ).encode()


def read_contents(repository: Repository, commit: CommitData) -> Contents:
    """What the tree of *commit* holds of the scope. UNSAFE_STORAGE where memfs's own part does not add up."""
    root = parse_tree(repository.read(commit.tree, "tree"))
    head_entry = root.get(HEAD_NAME)
    if head_entry is None or head_entry.is_directory:
        raise UnsafeStorage(
            f"The commit {commit.oid[:12]} in {repository.path} holds no {HEAD_NAME.decode()}, so no memory "
            "of memfs; name another ref, or import what it holds."
        )
    head = Head.from_bytes(repository.read(head_entry.oid, "blob"))
    files = _directory(root.get(INDEX_NAME), commit)
    if files != head.files:
        raise UnsafeStorage(
            f"The commit {commit.oid[:12]} in {repository.path} has changed {INDEX_NAME.decode()}/, which "
            "belongs to memfs; take that commit back."
        )
    return Contents(head, head_entry.oid, _directory(root.get(MEMORIES_NAME), commit), files)


def head_of(repository: Repository, commit: CommitData) -> str | None:
    """The id of the blob of the head in *commit*, unread; None where there is none."""
    entry = parse_tree(repository.read(commit.tree, "tree")).get(HEAD_NAME)
    return None if entry is None else entry.oid


def _directory(entry: TreeEntry | None, commit: CommitData) -> str | None:
    if entry is None:
        return None
    if not entry.is_directory:
        raise UnsafeStorage(f"The commit {commit.oid[:12]} has a file or link in the place of a directory.")
    return entry.oid
