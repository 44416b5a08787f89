"""The change between two states of one scope, for when its single changes are no longer known."""

from __future__ import annotations

import time

from memfs.port.buckets import move_operation
from memfs.port.change import Actor, Change, Commit, Move, Origin, Put, PutOperation, Remove
from memfs.port.scope import Scope


def difference(old: Scope, new: Scope) -> Commit:
    """One commit that leads from *old* to *new*, without contents: what a door has to be told."""
    removes, moves, puts = [], [], []
    for file in old.in_write_order():
        now = new.file_by_id(file.id)
        if now is None:
            removes.append(Remove(file, evicted=False))
        elif now.path != file.path:
            moves.append(Move(file, now.path, move_operation(file.path, now.path, new.policy)))
    for file in new.in_write_order():
        before = old.file_by_id(file.id)
        if before is None or before.content != file.content:
            operation: PutOperation = "modified" if before else "created"
            puts.append(Put(file.id, file.path, file.size, operation, None, file.mtime_ns))
    policy = new.policy if new.policy != old.policy else None
    change = Change(tuple(removes), tuple(moves), tuple(puts), policy)
    return Commit(new.version, change, Origin(time.time_ns(), Actor()))
