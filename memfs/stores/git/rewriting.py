"""A scope's line of commits without certain bytes: each commit that held them, and all that follow, anew.

Authors, times, messages and the numbers of versions stay. In the place of the bytes stands a sentence;
where memfs names them, by the id of their blob and their digest, it says that they were redacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memfs.port.errors import UnsafeStorage
from memfs.port.names import ROOT
from memfs.stores.git.commits import CommitData, Contents, read_commit, read_contents
from memfs.stores.git.index import HEAD_NAME, INDEX_NAME, MEMORIES_NAME, page_names, without_bytes
from memfs.stores.git.objects import DIRECTORY, FILE, Edits, TreeEntry, edited, edits_at
from memfs.stores.git.pack import Pack
from memfs.stores.git.recorded import MARKER, REDACTED, Recorded
from memfs.stores.git.repository import Repository

_SIGNATURES = (b"gpgsig ", b"gpgsig-sha256 ")


class Target(NamedTuple):
    """Bytes to take out: what the memory *id* had from the change *brought* to the change *last*.

    ``oid`` is their blob, ``digest`` their SHA-256, ``paths`` are where the memory was in that time.
    """

    id: int
    brought: int
    last: int
    oid: str
    digest: str
    paths: frozenset[str]

    def holds(self, file_id: int, version: int) -> bool:
        """Whether these are the bytes that the memory *file_id* had after the change *version*."""
        return file_id == self.id and self.brought <= version <= self.last


class _NewHead(NamedTuple):
    oid: str
    memories: str | None
    files: str | None


class Rewriting:
    """The commits that have been looked at, and what takes their place."""

    def __init__(self, repository: Repository, targets: Sequence[Target], pack: Pack) -> None:
        self.commits: dict[str, str] = {}
        """By the id of every commit that was looked at: that of the one in its place."""
        self.replaced: set[str] = {target.oid for target in targets}
        """The objects that are no part of the line any more."""
        self._repository = repository
        self._targets = targets
        self._first = min(target.brought for target in targets)
        self._pack = pack
        self._heads: dict[str, _NewHead] = {}
        self._pages: dict[str, tuple[str, list[str]]] = {}
        pack.add("blob", MARKER)

    def follow(self, root: str, is_tip: bool) -> str:
        """The commit in the place of *root*; all before it have been rewritten as far as they need it.

        The memories of the *tip* are those of now, and stay.
        """
        pending, opened = [root], dict[str, tuple[CommitData, Contents | None]]()
        while pending:
            oid = pending[-1]
            if oid in self.commits:
                pending.pop()
                continue
            if oid not in opened:
                opened[oid] = self._open(oid)
            commit, contents = opened[oid]
            before = [each for each in self._before(commit, contents) if each not in self.commits]
            pending += before
            if not before:
                del opened[oid]
                self.commits[oid] = self._rewritten(commit, contents, is_tip and oid == root)
        return self.commits[root]

    def recorded(self, recorded: Recorded) -> Recorded:
        """*recorded* without the bytes."""
        blobs = dict(recorded.blobs)
        for target in self._targets:
            if target.id in blobs and target.holds(target.id, recorded.version):
                blobs[target.id] = REDACTED
        return recorded if blobs == recorded.blobs else recorded._replace(blobs=blobs)

    def _open(self, oid: str) -> tuple[CommitData, Contents | None]:
        commit = read_commit(self._repository, oid)
        try:
            return commit, read_contents(self._repository, commit)
        except UnsafeStorage:  # somebody spoilt memfs's part of it, and a later commit has put it right
            return commit, None

    def _before(self, commit: CommitData, contents: Contents | None) -> list[str]:
        """The commits before *commit* that may hold the bytes: its parents, and where memfs goes on from."""
        if contents is None:
            return list(commit.parents)
        if contents.is_exact and contents.head.version < self._first:
            return []
        base = contents.head.base
        if base is None or base in commit.parents or not self._repository.has(base):
            return list(commit.parents)
        return [*commit.parents, base]

    def _rewritten(self, commit: CommitData, contents: Contents | None, is_tip: bool) -> str:
        root = self._repository.read_tree(commit.tree)
        edits: dict[bytes, TreeEntry | Edits | None] = {}
        memories = root.get(MEMORIES_NAME)
        new_memories = memories.oid if memories is not None and memories.is_directory else None
        if contents is not None:
            head = self._head(contents)
            edits[HEAD_NAME] = TreeEntry(FILE, head.oid)
            edits[INDEX_NAME] = None if head.files is None else TreeEntry(DIRECTORY, head.files)
            if contents.is_exact:
                new_memories = head.memories
        if (contents is None or not contents.is_exact) and new_memories is not None and not is_tip:
            version = 0 if contents is None else contents.head.version
            paths = [path for each in self._targets if version <= each.last for path in each.paths]
            new_memories = self._without(new_memories, paths)
        if new_memories is not None:
            edits[MEMORIES_NAME] = TreeEntry(DIRECTORY, new_memories)
        changed = {name: edit for name, edit in edits.items() if edit != root.get(name)}
        tree: str | None = commit.tree
        if changed:
            self.replaced.add(commit.tree)
            tree = edited(commit.tree, changed, self._repository.read_tree, self._pack)
        parents = [self.commits.get(parent, parent) for parent in commit.parents]
        if tree == commit.tree and parents == list(commit.parents):
            return commit.oid
        assert tree is not None, "what is replaced is not taken away"
        self.replaced.add(commit.oid)
        data = self._repository.read(commit.oid, "commit")
        return self._pack.add("commit", _with(data, tree, parents))

    def _head(self, contents: Contents) -> _NewHead:
        """What memfs keeps beside the memories, anew; commits of others carry it on as it is."""
        known = self._heads.get(contents.head_oid)
        if known is not None:
            return known
        head = contents.head
        files, paths = self._index(head.files)
        memories = head.memories
        if files is None:  # it carries no index that would say where
            paths = [path for target in self._targets for path in target.paths]
        if paths and memories is not None and self._repository.has(memories):
            memories = self._without(memories, paths)
        new = head._replace(
            memories=memories,
            files=files,
            change=self.recorded(head.change),
            taken=tuple(map(self.recorded, head.taken)),
            base=None if head.base is None else self.commits.get(head.base, head.base),
        )
        oid = contents.head_oid
        if new != head:
            self.replaced.add(oid)
            oid = self._pack.add("blob", new.to_bytes())
        found = self._heads[contents.head_oid] = _NewHead(oid, memories, files)
        return found

    def _index(self, files: str | None) -> tuple[str | None, list[str]]:
        """The index *files* without the bytes, and where the memories are that have them in it."""
        edits: dict[bytes, dict[bytes, TreeEntry]] = {}
        paths: list[str] = []
        groups = {} if files is None else self._repository.read_tree(files)
        for group, page in {page_names(target.id) for target in self._targets}:
            inner = self._repository.read_tree(groups[group].oid) if group in groups else {}
            if page in inner:
                oid, found = self._page(inner[page].oid)
                if found:
                    edits.setdefault(group, {})[page] = TreeEntry(FILE, oid)
                    paths += found
                    self.replaced |= {inner[page].oid, groups[group].oid}
        if not edits or files is None:
            return files, []
        self.replaced.add(files)
        return edited(files, edits, self._repository.read_tree, self._pack), paths

    def _page(self, oid: str) -> tuple[str, list[str]]:
        if oid not in self._pages:
            targets = {(target.id, target.brought) for target in self._targets}
            page = without_bytes(self._repository.read(oid, "blob"), targets)
            self._pages[oid] = (oid, []) if page is None else (self._pack.add("blob", page.data), page.paths)
        return self._pages[oid]

    def _without(self, memories: str, paths: Iterable[str]) -> str:
        """The tree *memories* with the sentence where the bytes are at one of *paths*."""
        blobs = {target.oid for target in self._targets}
        placed = []
        for path in dict.fromkeys(paths):
            *parents, name = path[len(ROOT) + 1 :].encode().split(b"/")
            trees = [memories]
            for parent in parents:
                entry = self._repository.read_tree(trees[-1]).get(parent)
                if entry is None or not entry.is_directory:
                    break
                trees.append(entry.oid)
            else:
                entry = self._repository.read_tree(trees[-1]).get(name)
                if entry is not None and entry.oid in blobs:
                    placed.append((path, REDACTED.oid))
                    self.replaced.update(trees)
        if not placed:
            return memories
        new = edited(memories, edits_at([], placed), self._repository.read_tree, self._pack)
        assert new is not None, "what is replaced is not taken away"
        return new


def _with(data: bytes, tree: str, parents: Sequence[str]) -> bytes:
    """The commit *data* with another tree and other parents; without a signature, which holds no longer."""
    header, _, message = data.partition(b"\n\n")
    lines = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents)]
    signed = False
    for line in header.split(b"\n"):
        signed = line.startswith(_SIGNATURES) or (signed and line.startswith(b" "))
        if not signed and not line.startswith((b"tree ", b"parent ")):
            lines.append(line)
    return b"\n".join(lines) + b"\n\n" + message
