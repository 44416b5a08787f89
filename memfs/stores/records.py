"""The history records of a commit: one line for each file it touched, in the order it is applied."""

from __future__ import annotations

import hashlib

from memfs.port.change import Commit
from memfs.port.store import Record


def records_of(commit: Commit) -> list[Record]:
    """What *commit* adds to the history; the digest stands where the commit has the bytes."""
    version, change, (time_ns, actor, reason) = commit

    def record(
        operation: str,
        file_id: int,
        path: str,
        size: int,
        old_path: str | None = None,
        joins: int | None = None,
        content: bytes | None = None,
    ) -> Record:
        digest = None if content is None else hashlib.sha256(content).hexdigest()
        return Record(
            version, time_ns, operation, file_id, path, old_path, size, actor, joins, digest, reason
        )

    return [
        *(
            record("evicted" if evicted else "deleted", file.id, file.path, file.size)
            for file, evicted in change.removes
        ),
        *(
            record(operation, file.id, new_path, file.size, old_path=file.path)
            for file, new_path, operation in change.moves
        ),
        *(
            record(put.operation, put.id, put.path, put.size, joins=put.joins, content=put.content)
            for put in change.puts
        ),
    ]
