"""What the rows of a scope mean, between PostgreSQL and the port."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from uuid import UUID

from memfs.port.change import Change
from memfs.port.errors import OpenError, UnsafeStorage
from memfs.port.policy import Policy

COLUMNS = (
    'record, operation, id, path, old_path, directory, size, time_ns, mtime_ns, joins, "user", program, pid, '
    "reason, digest, redacted"
)
"""Of the history, in the order that ``memfs.stores.recorded`` reads them in."""


@lru_cache(maxsize=1024)
def on_part(query: str, part: int) -> str:
    """*query* on a part of the tables alone: to plan for all of them takes a new session 20 ms."""
    return re.sub(r"memfs\.(scope|history|file|gone)\b", rf"\g<0>_{part}", query)


def is_one_save(change: Change) -> bool:
    """Whether *change* is the bytes of one memory, new or with its id, and nothing else."""
    if len(change.puts) != 1 or change.removes or change.moves or change.directories:
        return False
    put = change.puts[0]
    return change.policy is None and put.joins is None and put.operation != "restored"


def save_of(change: Change) -> tuple[str | bytes | None, ...]:
    """A change that is one save, as the function ``put`` takes it."""
    put = change.puts[0]
    mtime = None if put.mtime_ns is None else str(put.mtime_ns)
    return "t" if put.operation == "created" else "f", str(put.id), put.path, mtime, put.content


def entries_of(change: Change) -> tuple[str | bytes | None, ...]:
    """*change* as the function ``commit`` takes it.

    What each record says, in JSON, all contents in one, and the policy.
    """
    directories = "\n".join(change.directories) or None
    entries: list[list[object]] = [
        ["evicted" if evicted else "deleted", file.id, file.path, file.size, None, None, None, None]
        for file, evicted in change.removes
    ]
    entries += [
        [operation, file.id, new_path, file.size, file.path, None, None, None]
        for file, new_path, operation in change.moves
    ]
    contents = []
    for file_id, path, _, operation, content, mtime_ns, joins in change.puts:
        assert content is not None, "a planned put has its content"
        entries.append([operation, file_id, path, len(content), None, None, mtime_ns, joins])
        contents.append(content)
    if change.policy is not None:
        entries.append(["policy", 0, "", 0, None, None, None, None])
    if entries:
        entries[0][5] = directories
    return json.dumps(entries, ensure_ascii=False), b"".join(contents), policy_to(change.policy)


def policy_from(recorded: str) -> Policy:
    """The rules that a scope was recorded with."""
    try:
        return Policy.from_json(json.loads(recorded))
    except (ValueError, TypeError, OpenError) as error:
        raise UnsafeStorage(f"The scope's policy cannot be read: {error}") from error


def policy_to(policy: Policy | None) -> str | None:
    """*policy* as it is recorded."""
    return None if policy is None else json.dumps(policy.to_json())


def change_from(recorded: UUID | None) -> str | None:
    """The id of a change, as its writer gave it; None for one that came from another store."""
    return None if recorded is None else recorded.hex


def text(value: str) -> str:
    """*value* as PostgreSQL can hold it: its text knows no NUL."""
    return value.replace("\0", "\ufffd")
