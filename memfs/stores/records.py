"""The history records of a commit: one line for each file it touched, in the order it is applied."""

from __future__ import annotations

from memfs.port.change import Commit
from memfs.port.store import Record


def records_of(commit: Commit) -> list[Record]:
    """What *commit* adds to the history."""
    version, change, (time_ns, actor) = commit
    records = [
        Record(
            version,
            time_ns,
            "evicted" if remove.evicted else "deleted",
            remove.file.id,
            remove.file.path,
            None,
            remove.file.size,
            actor,
        )
        for remove in change.removes
    ]
    records += [
        Record(
            version,
            time_ns,
            "renamed",
            move.file.id,
            move.new_path,
            move.file.path,
            move.file.size,
            actor,
        )
        for move in change.moves
    ]
    records += [
        Record(
            version,
            time_ns,
            put.operation,
            put.id,
            put.path,
            None,
            put.size,
            actor,
            put.joins,
        )
        for put in change.puts
    ]
    return records
