"""The change between two states of a scope that lie on different lines of commits."""

from __future__ import annotations

from memfs.port.buckets import move_operation
from memfs.port.change import Change, Commit, Move, Origin, Put, PutOperation, Remove
from memfs.stores.git.recorded import Recorded
from memfs.stores.git.state import State


def difference_of(old: State, new: State, origin: Origin) -> Recorded:
    """What leads from the files and rules of *old* to those of *new*, as a version after both."""
    before, after = old.index.entries, new.index.entries
    removes = [file_id for file_id in before if file_id not in after]
    moves = [
        file_id for file_id, entry in before.items() if file_id in after and after[file_id].path != entry.path
    ]
    puts = []
    for file_id, entry in sorted(after.items(), key=lambda item: item[1].written):
        earlier = before.get(file_id)
        if earlier is None or earlier.blob.oid != entry.blob.oid:
            operation: PutOperation = "modified" if earlier else "created"
            puts.append(Put(file_id, entry.path, entry.size, operation, None, entry.mtime_ns))
    change = Change(
        tuple(Remove(before[file_id].file(file_id), evicted=False) for file_id in removes),
        tuple(
            Move(
                before[file_id].file(file_id),
                after[file_id].path,
                move_operation(before[file_id].path, after[file_id].path, new.policy),
            )
            for file_id in moves
        ),
        tuple(puts),
        new.policy if new.policy != old.policy else None,
    )
    blobs = {file_id: before[file_id].blob for file_id in (*removes, *moves)}
    blobs |= {put.id: after[put.id].blob for put in puts}
    return Recorded(Commit(max(old.version, new.version) + 1, change, origin), blobs)
