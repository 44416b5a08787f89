"""Export to git: every change a commit, by ``git fast-import``; a later export adds what is new.

The last commit of an export carries what the git store keeps beside the memories, so that what was
exported is a git store of the same scope.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

from memfs.port.change import Actor, Change, Commit, Origin
from memfs.port.errors import ErrorCode, NotKept, StoreError
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.port.store import Record
from memfs.stores.git.index import HEAD_NAME, INDEX_NAME, Entry, Head, Index
from memfs.stores.git.objects import Batch, Tree, edited, edits_at, parse_tree
from memfs.stores.git.recorded import LEFT, Blob, Recorded, message_of, person_of
from memfs.transfer.program import Git, make_bare
from memfs.transfer.progress import Progress

_FAST_IMPORT = ("-c", "pack.compression=1", "fast-import", "--quiet", "--done", "--date-format=raw")


class Exported(NamedTuple):
    """What an export did: how many changes it added, to the reference *ref*."""

    changes: int
    ref: str


class _Line:
    """What has been exported: the version it has come to, and the files by id."""

    def __init__(self) -> None:
        self.tip: str | None = None
        self.version = 0
        self.paths: dict[int, str] = {}
        self.blobs: dict[int, Blob] = {}


def export_to_git(memory: Memory, path: Path, ref: str) -> Exported:
    """Add the history of *memory* to *ref* in the repository *path*, which is made when missing.

    Raises StoreError; nothing has been added then.
    """
    memory.catch_up()
    scope = memory.snapshot()
    git = make_bare(path)
    if ref in git.run("worktree", "list", "--porcelain").decode(errors="replace").split():
        raise StoreError(f"The branch {ref} is checked out in {path}; export to another ref.")
    records = list(memory.history())[::-1]
    line = _begun(git, ref, memory.scope, records)
    new = [record for record in records if record.version > line.version]
    if line.tip is not None and scope.version == line.version:
        return Exported(0, ref)
    groups = [list(group) for _, group in groupby(new, key=lambda record: record.version)]
    progress = Progress(len(groups), "changes")
    with tempfile.TemporaryFile() as said:
        process = git.start(*_FAST_IMPORT, stdout=subprocess.DEVNULL, stderr=said.fileno())
        assert process.stdin is not None, "it was started with a pipe"
        try:
            with process.stdin as stream:
                _write(stream, memory, line, groups, ref, progress)
        except BrokenPipeError:
            pass  # its exit status says it
        finally:
            progress.end()
            failed = process.wait()
        if failed:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines() or ["failed without a word"]
            raise StoreError(f"git fast-import in {path}: {words[0].removeprefix('fatal: ')}")
    return Exported(len(groups), ref)


def _begun(git: Git, ref: str, scope: str, records: Iterable[Record]) -> _Line:
    """What an earlier export has left at *ref*, which must be one of this very memory."""
    line = _Line()
    line.tip = git.target(ref)
    if line.tip is None:
        return line
    other = StoreError(
        f"{ref} in {git.path} is no earlier export of this memory, or was changed since; name another ref.",
        ErrorCode.UNSAFE_STORAGE,
    )
    with git.objects() as objects:
        try:
            head = Head.from_bytes(objects.read(f"{line.tip}:{HEAD_NAME.decode()}", "blob"))
            root = parse_tree(objects.read(f"{line.tip}^{{tree}}", "tree"))
            index = Index.load(head.files, objects.read)
        except StoreError:
            raise other from None
    memories = root.get(ROOT[1:].encode())
    last = head.change.commit.origin.time_ns
    known = [record.time_ns for record in records if record.version <= head.version]
    is_ours = head.base is None and head.scope == scope and (memories and memories.oid) == head.memories
    if not is_ours or (known[-1] if known else last) != last:
        raise other
    line.version = head.version
    line.paths = {file_id: entry.path for file_id, entry in index.entries.items()}
    line.blobs = {file_id: entry.blob for file_id, entry in index.entries.items()}
    return line


def _write(
    stream: IO[bytes], memory: Memory, line: _Line, groups: list[list[Record]], ref: str, progress: Progress
) -> None:
    """Write the commits of *groups*, one a change; the last leads to what the memory holds now."""
    scope, previous = memory.snapshot(), line.tip
    for number, group in enumerate(groups[:-1], 1):
        _commit(
            stream, ref, previous, group, group[0].version, _origin_of(group), _steps(memory, line, group)
        )
        previous = None  # fast-import goes on from its own last commit
        progress.at(number)
    group = groups[-1] if groups else []
    origin = _origin_of(group) if group else Origin(0, Actor("memfs", "memfs export"))
    last = [*_steps(memory, line, group), *_corrections(memory, line)]
    last += _own_part(memory, line, Recorded(Commit(scope.version, Change(), origin), {}))
    _commit(stream, ref, previous, group, scope.version, origin, last)
    stream.write(b"done\n")


def _origin_of(group: list[Record]) -> Origin:
    return Origin(group[0].time_ns, group[0].actor, group[0].reason)


def _commit(
    stream: IO[bytes],
    ref: str,
    previous: str | None,
    group: list[Record],
    version: int,
    origin: Origin,
    steps: Iterable[bytes],
) -> None:
    seconds = origin.time_ns // 1_000_000_000
    message = message_of(group, version, origin.reason).encode()
    stream.write(
        f"commit {ref}\nauthor {person_of(origin.actor)} {seconds} +0000\n"
        f"committer memfs <memfs@memfs.invalid> {seconds} +0000\ndata {len(message)}\n".encode()
    )
    stream.write(message + b"\n")
    if previous is not None:
        stream.write(f"from {previous}\n".encode())
    for step in steps:
        stream.write(step)


def _steps(memory: Memory, line: _Line, group: Iterable[Record]) -> Iterator[bytes]:
    """What a change does to the tree; bytes that the history keeps no longer are left out."""
    for record in group:
        path = line.paths.get(record.id)
        if record.operation in LEFT:
            if path is not None:
                del line.paths[record.id], line.blobs[record.id]
                yield _delete(path)
        elif record.old_path is not None and path is not None:
            line.paths[record.id] = record.path
            yield f"R {path[1:]} {record.path[1:]}\n".encode()
        elif record.operation != "redacted":
            content = _kept(memory, record)
            if content is not None:
                yield _put(line, record.id, record.path, content)


def _corrections(memory: Memory, line: _Line) -> list[bytes]:
    """What is missing for the tree to be what the memory holds, where its history has gaps."""
    scope = memory.snapshot()
    steps = []
    for file_id, path in list(line.paths.items()):
        file = scope.file_by_id(file_id)
        if file is None or file.path != path:
            del line.paths[file_id], line.blobs[file_id]
            steps.append(_delete(path))
    for file in scope.in_write_order():
        content = memory.read(file)
        blob = line.blobs.get(file.id)
        if blob is None or blob.digest != hashlib.sha256(content).hexdigest():
            steps.append(_put(line, file.id, file.path, content))
    return steps


def _own_part(memory: Memory, line: _Line, change: Recorded) -> list[bytes]:
    """The files with which the last commit is a state of a git store."""
    scope, index, batch = memory.snapshot(), Index(), Batch()
    for number, file in enumerate(scope.in_write_order()):
        written = (0, number)
        index.put(
            file.id, Entry(file.path, file.size, file.mtime_ns, file.content, written, line.blobs[file.id])
        )
    placed = [(file.path, line.blobs[file.id].oid) for file in scope.in_write_order()]
    memories = edited(None, edits_at([], placed), _nothing, batch)
    head = Head(memory.scope, scope.policy, memories, index.write(batch), change, (), None)
    steps = [f"D {INDEX_NAME.decode()}\n".encode()]
    steps += [_file(f"{INDEX_NAME.decode()}/{name}", data) for name, data in index.pages()]
    return [*steps, _file(HEAD_NAME.decode(), head.to_bytes())]


def _nothing(oid: str) -> Tree:
    raise AssertionError(f"{oid} is asked for, though the tree begins empty")


def _kept(memory: Memory, record: Record) -> bytes | None:
    try:
        return memory.read_record(record)
    except NotKept:  # pruned, or redacted
        return None


def _put(line: _Line, file_id: int, path: str, content: bytes) -> bytes:
    oid = Batch().add("blob", content)
    line.paths[file_id] = path
    line.blobs[file_id] = Blob(oid, hashlib.sha256(content).hexdigest())
    return _file(path[1:], content)


def _file(path: str, content: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)


def _delete(path: str) -> bytes:
    return f"D {path[1:]}\n".encode()
