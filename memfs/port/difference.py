"""The changes between two states of one scope, for when its single changes are no longer known."""

from __future__ import annotations

import time
from collections import defaultdict

from memfs.port.buckets import move_operation
from memfs.port.change import Actor, Change, Commit, Move, Origin, Put, PutOperation, Remove
from memfs.port.scope import Scope


def difference(old: Scope, new: Scope) -> list[Commit]:
    """Commits that lead from *old* to *new*, without contents: what a door has to be told.

    Whatever left or moved does so with the first; bytes come with the version that brought them, by which
    they are read.
    """
    removes, moves = [], []
    puts: defaultdict[int, list[Put]] = defaultdict(list)
    for file in old.in_write_order():
        now = new.file_by_id(file.id)
        if now is None:
            removes.append(Remove(file, evicted=False))
        elif now.path != file.path:
            moves.append(Move(file, now.path, move_operation(file.path, now.path, new.policy)))
    for file in new.in_write_order():
        before = old.file_by_id(file.id)
        # A server that lost commits may have given one's version to another: their times tell them apart.
        if before is None or before[2:] != file[2:]:
            operation: PutOperation = "modified" if before else "created"
            puts[file.content].append(Put(file.id, file.path, file.size, operation, None, file.mtime_ns))
    origin = Origin(time.time_ns(), Actor())
    policy = new.policy if new.policy != old.policy else None
    first = Change(tuple(removes), tuple(moves), (), policy)
    commits = [Commit(min(puts, default=new.version), first, origin)] if first != Change() else []
    commits += [Commit(version, Change(puts=tuple(puts[version])), origin) for version in sorted(puts)]
    if (commits[-1].version if commits else old.version) != new.version:
        commits.append(Commit(new.version, Change(), origin))
    return commits
