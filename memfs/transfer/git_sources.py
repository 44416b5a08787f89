"""Where an import takes its files from: trees in git, our own, and those that two other systems write.

- Any tree: the files of a branch or a commit, by their last commits.
- The git store's own: its memories, in their write order.
- memhtml: a repository whose tree at HEAD has a file for each memory, in the PARA layout.
- Obversa: a reference that stands at a tree, with ``.obversa-memory.json`` beside ``memories/``.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from memfs.layout import memory_path_violation
from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.importing import Incoming
from memfs.port.names import ROOT
from memfs.port.policy import Limits
from memfs.progress import Progress
from memfs.stores.git.index import HEAD_NAME, Head, Index
from memfs.stores.git.objects import TreeEntry
from memfs.transfer.program import Git, Objects
from memfs.transfer.sources import Left, Source, too_large

_FILES = (b"100644", b"100755", b"100664")
_KINDS = {b"120000": "is a symbolic link", b"160000": "is a submodule"}
_OBVERSA = "refs/obversa/memory/v1"
_OBVERSA_NAME = ".obversa-memory.json"
_LOG = ("log", "--no-renames", "--first-parent", "-m", "--name-only", "-z", "--format=%x01%ct")
_TOP = ROOT[1:] + "/"


def from_git(path: Path, name: str, limits: Limits) -> Source:
    """The files of what *name* stands for (a reference or a commit), or its memories if memfs wrote it."""
    git = Git(path)
    return _from_commit(git, _commit_of(git, name), limits)


def _commit_of(git: Git, name: str) -> str:
    try:
        commit = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    except StoreError:
        if not git.run("for-each-ref", "--count=1"):
            raise StoreError(f"{git.path} has no commit yet, so there is nothing to bring in.") from None
        raise StoreError(f"{git.path} has no reference or commit '{name}'; name one that it has.") from None
    return commit.decode().strip()


def _from_commit(git: Git, commit: str, limits: Limits) -> Source:
    entries = _named(git.entries(commit))
    with git.objects() as objects:
        if HEAD_NAME.decode() not in entries:
            return _read(objects, entries, _times(git, commit), limits)
        head = Head.from_bytes(objects.read(entries[HEAD_NAME.decode()].oid, "blob"))
        order = {file.path: (number, file.mtime_ns) for number, file in enumerate(_files(head, objects))}
        memories = {each[len(_TOP) :]: entry for each, entry in entries.items() if each.startswith(_TOP)}
        late = len(order)
        times = {each: order.get(f"{ROOT}/{each}", (late, None)) for each in memories}
        return _read(objects, memories, times, limits)


def from_memhtml(path: Path, limits: Limits) -> Source:
    """The memories of a memhtml repository, as its HEAD has them; what else it holds is left."""
    git = Git(path)
    head = _commit_of(git, "HEAD")
    entries = _named(git.entries(head))
    left = [
        Left(each, f"is no memory of memhtml: it {violation}")
        for each in entries
        if (violation := memory_path_violation(each)) is not None
    ]
    for each in left:
        del entries[each.name]
    with git.objects() as objects:
        source = _read(objects, entries, _times(git, head), limits)
    return Source(source.files, left + source.left)


def from_obversa(path: Path, scope: str, limits: Limits) -> Source:
    """The memories of an Obversa scope, in their write order. UNSAFE_STORAGE where they do not add up."""
    git = Git(path)
    digest = hashlib.sha256(scope.encode()).hexdigest()
    tree = git.target(f"{_OBVERSA}/{digest}")
    if tree is None:
        others = len(git.run("for-each-ref", _OBVERSA).splitlines())
        raise StoreError(
            f"{path} holds no memory of Obversa for the scope '{scope}', and {others} of other scopes"
            f"{'; name one with --from-scope' if others else ''}."
        )
    entries = _named(git.entries(tree))
    with git.objects() as objects:
        about = entries.pop(_OBVERSA_NAME, None)
        if about is None:
            raise UnsafeStorage(
                f"The tree of Obversa in {path} has no {_OBVERSA_NAME}; restore it from a copy."
            )
        order = _obversa_order(objects.read(about.oid, "blob"), digest)
        memories = {each[len(_TOP) :]: entry for each, entry in entries.items() if each.startswith(_TOP)}
        if order is None or len(memories) != len(entries) or order.keys() != memories.keys():
            raise UnsafeStorage(f"{_OBVERSA_NAME} in {path} does not say what lies beside it; restore both.")
        times: dict[str, tuple[int, int | None]] = {each: (order[each], None) for each in memories}
        return _read(objects, memories, times, limits)


def _obversa_order(data: bytes, digest: str) -> dict[str, int] | None:
    """The place of each file in write order, or None where the metadata are of another form."""
    try:
        about = json.loads(data)
        if about["format"] != 1 or about["scopeDigest"] != digest:
            return None
        entries = about["entries"]
        order = {str(entry["path"]).removeprefix(f"{ROOT}/"): entry["written"] for entry in entries}
        is_whole = len(order) == len(entries) and all(type(written) is int for written in order.values())
        return order if is_whole else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _files(head: Head, objects: Objects) -> list[Incoming]:
    index = Index.load(head.files, objects.read)
    return [Incoming(file.path, b"", file.mtime_ns) for file in index.files()]


def _named(entries: list[tuple[bytes, TreeEntry]]) -> dict[str, TreeEntry]:
    return {path.decode(errors="backslashreplace"): entry for path, entry in entries}


def _times(git: Git, commit: str) -> dict[str, tuple[int, int | None]]:
    """When each path was last touched, as a key to sort by and as nanoseconds; from the log."""
    lines = git.run(*_LOG, "--end-of-options", commit)
    times: dict[str, tuple[int, int | None]] = {}
    seconds = 0
    for number, word in enumerate(lines.replace(b"\0\n", b"\0").split(b"\0")):
        if word.startswith(b"\1"):
            stamp, _, word = word[1:].partition(b"\n")
            seconds = int(stamp)
        if word:
            times.setdefault(word.decode(errors="backslashreplace"), (-number, seconds * 10**9))
    return times


def _read(
    objects: Objects,
    entries: dict[str, TreeEntry],
    times: dict[str, tuple[int, int | None]],
    limits: Limits,
) -> Source:
    """The files *entries*, in the order of *times*: a key to sort by, and the time of the last change."""
    source = Source([], [])
    with Progress("reading", len(entries), "files") as progress:
        for path in sorted(entries, key=lambda each: (times.get(each, (0, None))[0], each)):
            progress.step()
            mode, oid = entries[path]
            if mode not in _FILES:
                source.left.append(Left(path, _KINDS.get(mode, "is no file")))
                continue
            content = objects.read(oid, "blob")
            reason = too_large(len(content), limits)
            if reason is not None:
                source.left.append(Left(path, reason))
            else:
                source.files.append(Incoming(f"{ROOT}/{path}", content, times.get(path, (0, None))[1]))
    return source
