"""Export to git: every change a commit, as the git store makes them; a later export adds what is new.

So what was exported is a git store of the same scope, with its history as far as that is kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memfs.port.change import Actor, Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.port.receiving import Kept, kept, received
from memfs.port.store import Record
from memfs.progress import Progress
from memfs.stores.git.index import HEAD_NAME, Head, Index
from memfs.stores.git.line import Line
from memfs.stores.git.objects import Tree, parse_tree
from memfs.stores.git.program import fast_import
from memfs.stores.git.state import State
from memfs.transfer.program import Git, Objects, make_bare


class Exported(NamedTuple):
    """What an export did: how many changes it added, to the reference *ref*."""

    changes: int
    ref: str


def export_to_git(memory: Memory, path: Path, ref: str) -> Exported:
    """Add the history of *memory* to *ref* in the repository *path*, which is made when missing.

    Raises StoreError; *ref* stands where it stood then.
    """
    memory.catch_up()
    scope = memory.snapshot()
    git = make_bare(path)
    if ref in git.run("worktree", "list", "--porcelain").decode(errors="replace").split():
        raise StoreError(f"The branch {ref} is checked out in {path}; export to another ref.")
    records = [record for record in memory.records_after(0) if record.version <= scope.version]
    history = kept(records, scope, memory.read_at)
    with git.objects() as objects:
        line = _begun(git, objects, ref, memory, history)
        new = history.after(line.version)
        if line.tip is not None and scope.version == line.version:
            return Exported(0, ref)
        with fast_import(git.common) as stream, Progress("exporting", len(new), "changes") as progress:
            changes = received(new, scope, memory.read_at)
            line.write(stream, progress.through(changes), scope.policy)
            line.settle(stream, scope, _last_origin(records))
    if git.target(ref) != line.tip:
        raise StoreError(
            f"git fast-import in {path} made other commits than it was told; look at `git fsck`."
        )
    return Exported(len(new), ref)


def _begun(git: Git, objects: Objects, ref: str, memory: Memory, history: Kept) -> Line:
    """The line that an earlier export has left at *ref*, which must be one of this very memory."""

    def read_tree(oid: str) -> Tree:
        return parse_tree(objects.read(oid, "tree"))

    tip = git.target(ref)
    if tip is None:
        return Line.new(memory.scope, memory.policy, ref, read_tree)
    other = StoreError(
        f"{ref} in {git.path} is no earlier export of this memory, or was changed since; name another ref.",
        ErrorCode.UNSAFE_STORAGE,
    )
    try:
        head = Head.from_bytes(objects.read(f"{tip}:{HEAD_NAME.decode()}", "blob"))
        tree = git.run("rev-parse", f"{tip}^{{tree}}").decode().strip()
        memories = read_tree(tree).get(ROOT[1:].encode())
        state = State(Index.load(head.files, objects.read), head.policy, head.version)
    except StoreError:
        raise other from None
    before = [change for change in history.changes if change[0].version <= head.version]
    last = before[-1][0].time_ns if before else head.change.commit.origin.time_ns
    is_ours = head.scope == memory.scope and (memories and memories.oid) == head.memories
    if not is_ours or head.taken or head.change.commit.origin.time_ns != last:
        raise other
    state.stand_at(tip, tree, head.memories)
    return Line(memory.scope, state, ref, read_tree)


def _last_origin(records: Sequence[Record]) -> Origin:
    """What a commit of the rules alone says of itself: nobody knows who set them."""
    last = records[-1].time_ns if records else time.time_ns()
    return Origin(last, Actor("memfs", "memfs export"))
