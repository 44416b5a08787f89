"""Git objects as bytes, and writing them so that they survive a power cut.

An object is a temporary file, synced, renamed to its name, with its directory synced after that.
All objects of a commit take each of these steps together, on threads: a disk that syncs ten files
at once takes little longer than for one.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeAlias

from memfs.port.names import ROOT

FILE = b"100644"
DIRECTORY = b"40000"
_THREADS = 8
_TRIES = 5
"""How often objects are written anew where a `git gc` takes away what they need."""


class TreeEntry(NamedTuple):
    """What a tree says of one name: the mode as git spells it, and the object's hexadecimal id."""

    mode: bytes
    oid: str

    @property
    def is_directory(self) -> bool:
        """Whether the entry is a tree."""
        return self.mode == DIRECTORY


Tree: TypeAlias = dict[bytes, TreeEntry]
Edits: TypeAlias = "Mapping[bytes, TreeEntry | Edits | None]"
"""What to change below a tree: an entry to put, None to take one out, or the edits of a directory."""


class Batch:
    """The new objects of one commit, on their way to the disk."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        """By id, as git hashes them: with their header."""
        self.trees: dict[str, Tree] = {}
        """The trees among them, which the next commit will want to read."""

    def add(self, kind: str, data: bytes) -> str:
        """Take an object in; its id."""
        oid, whole = _hashed(kind, data)
        self.objects[oid] = whole
        return oid

    def add_tree(self, tree: Tree) -> str:
        """Take a tree in; its id."""
        oid = self.add("tree", tree_bytes(tree))
        self.trees[oid] = tree
        return oid


class ObjectWriter:
    """Writes loose objects into one object directory; from one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mode = directory.stat().st_mode & 0o7777  # what a shared repository gives its directories
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="memfs-git")

    def write(self, objects: Mapping[str, bytes]) -> None:
        """Write *objects*, durably; those that are there are made durable, and young for `git gc`."""
        for tries in range(_TRIES, 0, -1):
            try:
                self._write_all(objects)
                return
            except FileNotFoundError:  # a `git gc` packed what was there, or took an empty directory away
                if tries == 1:
                    raise

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _write_all(self, objects: Mapping[str, bytes]) -> None:
        parents = {self._directory / oid[:2] for oid in objects}
        made = [parent for parent in parents if self._make(parent)]
        list(self._pool.map(self._write, objects, objects.values()))
        list(self._pool.map(sync, [*parents, self._directory] if made else parents))

    def _make(self, parent: Path) -> bool:
        """Make the directory of objects that begin alike; whether it was missing."""
        try:
            parent.mkdir()
        except FileExistsError:
            return False
        parent.chmod(self._mode)
        return True

    def _write(self, oid: str, whole: bytes) -> None:
        """Write one object under its name, synced."""
        path = self._directory / oid[:2] / oid[2:]
        try:
            os.utime(path)
            sync(path)  # it may have come from a program that syncs nothing
            return
        except FileNotFoundError:
            pass
        # The prefix is git's own: what a killed process leaves, `git gc` takes away.
        temporary = path.with_name(f"tmp_obj_{os.urandom(6).hex()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(zlib.compress(whole, 1))
                file.flush()
                os.fsync(descriptor)
            os.rename(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def blob_id(data: bytes) -> str:
    """The id of the blob of these bytes."""
    return _hashed("blob", data)[0]


def _hashed(kind: str, data: bytes) -> tuple[str, bytes]:
    """The id of an object, and its bytes as git hashes them."""
    whole = b"%s %d\0" % (kind.encode(), len(data)) + data
    return hashlib.sha1(whole, usedforsecurity=False).hexdigest(), whole


def sync(path: Path) -> None:
    """Make a file's bytes, or the names in a directory, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parse_tree(data: bytes) -> Tree:
    """The entries of a tree by name, in its order."""
    tree: Tree = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        tree[data[space + 1 : end]] = TreeEntry(data[at:space], data[end + 1 : end + 21].hex())
        at = end + 21
    return tree


def tree_bytes(tree: Tree) -> bytes:
    """The inverse of :func:`parse_tree`, in the order that git wants: a directory's name as with a slash."""
    names = sorted(tree, key=lambda name: name + b"/" if tree[name].is_directory else name)
    return b"".join(b"%s %s\0%s" % (tree[name].mode, name, bytes.fromhex(tree[name].oid)) for name in names)


def edited(oid: str | None, edits: Edits, read: Callable[[str], Tree], batch: Batch) -> str | None:
    """The tree *oid* (None: an empty one) with *edits*; None where nothing is left. New trees join *batch*.

    *read* gives a tree by its id. Only the directories on the way to an edit are read and written.
    """
    tree = {} if oid is None else dict(read(oid))
    for name, edit in edits.items():
        if edit is None:
            tree.pop(name, None)
        elif isinstance(edit, TreeEntry):
            tree[name] = edit
        else:
            before = tree.get(name)
            inner = edited(before.oid if before and before.is_directory else None, edit, read, batch)
            if inner is not None:
                tree[name] = TreeEntry(DIRECTORY, inner)
            elif before is None or before.is_directory:
                tree.pop(name, None)
    return batch.add_tree(tree) if tree else None


def edits_at(removed: Iterable[str], put: Sequence[tuple[str, str]]) -> Edits:
    """Edits of the memories' tree by the paths of files; *put* are paths and the ids of blobs."""
    edits: dict[bytes, object] = {}
    for path, oid in [*((path, None) for path in removed), *put]:
        *parents, name = path[len(ROOT) + 1 :].encode().split(b"/")
        at = edits
        for parent in parents:
            inner = at.get(parent)
            if not isinstance(inner, dict):
                inner = at[parent] = {}
            at = inner
        if oid is not None:
            at[name] = TreeEntry(FILE, oid)
        elif not isinstance(at.get(name), dict):
            at[name] = None
    return edits  # type: ignore[return-value]
