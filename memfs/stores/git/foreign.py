"""Commits that others make with plain git on the scope's reference, as changes of the scope."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from memfs.port.buckets import layout_violation, move_operation
from memfs.port.change import Change, Commit, Move, Put, PutOperation, Remove, created_id
from memfs.port.errors import UnsafeStorage
from memfs.port.names import ROOT, extension_error, path_error
from memfs.port.policy import Policy
from memfs.stores.git.commits import CommitData
from memfs.stores.git.index import Entry
from memfs.stores.git.objects import Tree, TreeEntry, parse_tree
from memfs.stores.git.recorded import Blob, Recorded

if TYPE_CHECKING:  # an export needs no libgit2
    from memfs.stores.git.repository import Repository

_FILES = (b"100644", b"100755", b"100664")
_KINDS = {b"120000": "a symbolic link", b"160000": "a submodule"}
Differences = dict[str, tuple[str | None, str | None]]
"""By the path of a file: the ids of its blob before and after, None where it is not there."""


def foreign_change(
    repository: Repository,
    commit: CommitData,
    entries: Mapping[int, Entry],
    trees: tuple[str | None, str | None],
    version: int,
    policy: Policy,
) -> Recorded:
    """What *commit* did to the files *entries*, as the change *version*.

    *trees* are the ids of the memories before and after. A file that moved with its bytes unchanged
    stays the same memory. Raises UnsafeStorage for what the port cannot hold.
    """
    old, new = trees
    if old is None or repository.has(old):
        differences = _differences(repository, old, new)
    else:  # somebody rewrote a commit of memfs, and this is a clone that never had the original
        differences = _differences(repository, None, new)
        for entry in entries.values():
            _, after = differences.pop(entry.path, (None, None))
            if after != entry.blob.oid:
                differences[entry.path] = (entry.blob.oid, after)
    for path, (_, after) in differences.items():
        if after is not None:
            _check_name(path, policy)
    return _recorded(repository, commit, entries, differences, version, policy)


def _recorded(
    repository: Repository,
    commit: CommitData,
    entries: Mapping[int, Entry],
    differences: Differences,
    version: int,
    policy: Policy,
) -> Recorded:
    ids = {entry.path: file_id for file_id, entry in entries.items() if entry.path in differences}
    left = sorted(path for path, (_, after) in differences.items() if after is None)
    came = sorted(path for path, (before, _) in differences.items() if before is None)
    moved = _moved(left, came, differences)
    blobs: dict[int, Blob] = {}
    puts = []
    number = 0
    for path in sorted(path for path, (_, after) in differences.items() if after and path not in moved):
        oid = differences[path][1]
        assert oid is not None, "a put has its blob"
        content = repository.read(oid, "blob")
        operation: PutOperation = "modified"
        file_id = ids.get(path)
        if file_id is None:
            operation, file_id, number = "created", created_id(version, number), number + 1
        blobs[file_id] = Blob(oid, hashlib.sha256(content).hexdigest())
        puts.append(Put(file_id, path, len(content), operation, content))
    moves = tuple(
        Move(entries[ids[old]].file(ids[old]), new, move_operation(old, new, policy))
        for new, old in moved.items()
    )
    stayed = set(moved.values())
    removes = tuple(
        Remove(entries[ids[path]].file(ids[path]), evicted=False) for path in left if path not in stayed
    )
    for file in [*(remove.file for remove in removes), *(move.file for move in moves)]:
        blobs[file.id] = entries[file.id].blob
    change = Change(removes, moves, tuple(puts))
    return Recorded(Commit(version, change, commit.origin()), blobs)


def _moved(left: Iterable[str], came: Iterable[str], differences: Differences) -> dict[str, str]:
    """Old paths by the new ones, where the same blob went from one to the other."""
    by_blob: dict[str | None, list[str]] = {}
    for path in left:
        by_blob.setdefault(differences[path][0], []).append(path)
    moved = {}
    for path in came:
        candidates = by_blob.get(differences[path][1])
        if candidates:
            name = path.rpartition("/")[2]
            same = next((old for old in candidates if old.rpartition("/")[2] == name), candidates[0])
            candidates.remove(same)
            moved[path] = same
    return moved


def _differences(repository: Repository, old: str | None, new: str | None) -> Differences:
    """The files that differ between two trees of memories; what is equal is not looked into."""
    found: Differences = {}
    pending = [(ROOT, old, new)]
    while pending:
        directory, before, after = pending.pop()
        if before == after:
            continue
        old_tree, new_tree = _tree(repository, before), _tree(repository, after)
        for name in {**old_tree, **new_tree}:
            was, now = old_tree.get(name), new_tree.get(name)
            if was == now:
                continue
            path = f"{directory}/{name.decode(errors='backslashreplace')}"
            was_file, was_tree = _split(was, path)
            now_file, now_tree = _split(now, path)
            if was_tree != now_tree:
                pending.append((path, was_tree, now_tree))
            if was_file != now_file:
                found[path] = (was_file, now_file)
    return found


def _tree(repository: Repository, oid: str | None) -> Tree:
    return {} if oid is None else parse_tree(repository.read(oid, "tree"))


def _split(entry: TreeEntry | None, path: str) -> tuple[str | None, str | None]:
    """The id of a file, and that of a directory: one of the two, or none."""
    if entry is None:
        return None, None
    if entry.is_directory:
        return None, entry.oid
    if entry.mode not in _FILES:
        raise UnsafeStorage(f"{path[1:]} is {_KINDS.get(entry.mode, 'neither a file nor a directory')}")
    return entry.oid, None


def _check_name(path: str, policy: Policy) -> None:
    error = path_error(path) or extension_error(path, policy.extensions)
    if error is not None:
        raise UnsafeStorage(error.message.removesuffix("."))
    violation = layout_violation(path, policy.layout)
    if violation is not None:
        raise UnsafeStorage(f"{path} {violation}")
