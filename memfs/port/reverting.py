"""Bringing back what was: an old version of a memory, and the state before the last change.

Pure, as ``plan`` is; what the history has to say is read before, by ``history``. What is archived comes
out of the archive by ``restoring``.
"""

from __future__ import annotations

from collections.abc import Sequence

from memfs.port.buckets import is_archived
from memfs.port.change import Change, File, Move, MoveOperation, Put, Remove
from memfs.port.checks import outside
from memfs.port.errors import ErrorCode, PortError
from memfs.port.eviction import archive_overflow, too_large
from memfs.port.history import Step
from memfs.port.names import extension_error
from memfs.port.plan import Joined, plan_write
from memfs.port.receipts import Undone
from memfs.port.scope import Scope
from memfs.port.store import Record

_BACK: dict[str, MoveOperation] = {"renamed": "renamed", "archived": "restored", "restored": "archived"}
"""A move by the operation of the one it takes back."""


def plan_restore(
    scope: Scope, record: Record, content: bytes, now_ns: int, to: str | None = None
) -> Change | PortError:
    """Give the memory of *record* the *content* it had then: where it is, or else where it was.

    With *to*, at that path: the memory itself where it has left, else a copy of it. Nothing that is
    there is overwritten but the memory's own content, which the history keeps.
    """
    file = scope.file_by_id(record.id)
    path = place_of(scope, record, to)
    there = scope.file(path)
    if there is not None and (to is not None or there.id != record.id):
        return PortError(
            ErrorCode.ALREADY_EXISTS,
            f"{path} exists, and nothing is overwritten unasked; restore to another path.",
            path,
        )
    if file is not None and to is not None:
        return plan_write(scope, path, content, now_ns)
    return plan_write(scope, path, content, now_ns, None, Joined(record.id, None, "restored"))


def place_of(scope: Scope, record: Record, to: str | None) -> str:
    """Where the memory of *record* comes back: at *to*, or else where it is, or was."""
    file = scope.file_by_id(record.id)
    return to if to is not None else file.path if file is not None else record.path


def plan_undo(scope: Scope, steps: Sequence[Step]) -> Change | PortError:
    """The change that leads back to the state before *steps*, the last change of the scope's files."""
    if not steps:
        return PortError(ErrorCode.NOT_FOUND, "There is no change to undo in the history that is kept.")
    removes: list[Remove] = []
    moves: list[Move] = []
    puts: list[Put] = []
    for record, before, content in steps:
        now = scope.file_by_id(record.id)
        if not _is_as_left(record, now):
            return PortError(
                ErrorCode.CONFLICT, f"{record.path} has changed since version {record.version}.", record.path
            )
        if now is not None and record.old_path is not None:
            moves.append(Move(now, record.old_path, _BACK[record.operation]))
        elif now is not None and content is None:
            removes.append(Remove(now, evicted=False))
        else:
            assert before is not None
            assert content is not None
            path = now.path if now is not None else before.path
            puts.append(Put(record.id, path, len(content), "restored", content))
    version = steps[0].record.version
    receipt = Undone(
        version,
        tuple(remove.file.path for remove in removes),
        tuple(put.path for put in puts),
        tuple((move.file.path, move.new_path) for move in moves),
    )
    directories = _going_back(scope, moves)
    change = Change(tuple(removes), tuple(moves), tuple(puts), directories=directories, receipt=receipt)
    return _breaks_a_rule(scope, change) or change


def _going_back(scope: Scope, moves: Sequence[Move]) -> tuple[str, ...]:
    """The topmost directories whose rename is taken back: all that each holds goes to where none is now."""
    new_paths = {move.file.path: move.new_path for move in moves if move.operation == "renamed"}

    def goes_back(old: str, new: str) -> bool:
        return (
            not scope.is_standing(old)
            and not scope.is_directory(new)
            and all(
                new_paths.get(file.path) == new + file.path[len(old) :] for file in scope.files_below(old)
            )
        )

    pairs: dict[str, str] = {}
    for old, new in new_paths.items():
        while old.rpartition("/")[2] == new.rpartition("/")[2]:
            old, new = old.rpartition("/")[0], new.rpartition("/")[0]
            pairs[old] = new
    found: list[str] = []
    for old in sorted(pairs):  # what holds a directory comes before it
        if not any(old.startswith(f"{above}/") for above in found) and goes_back(old, pairs[old]):
            found.append(old)
    return tuple(found)


def _is_as_left(record: Record, now: File | None) -> bool:
    """Whether the memory is still as the change of *record* left it."""
    if now is None or record.operation in ("deleted", "evicted"):
        return now is None and record.operation in ("deleted", "evicted")
    return now.path == record.path and (record.old_path is not None or now.content == record.version)


def _breaks_a_rule(scope: Scope, change: Change) -> PortError | None:
    """What the policy, which may be another one by now, says against the state that is to come back."""
    policy, limits = scope.policy, scope.policy.limits
    leaving = [remove.file for remove in change.removes] + [move.file for move in change.moves]
    leaving += [file for put in change.puts if (file := scope.file_by_id(put.id)) is not None]
    coming = [(move.new_path, move.file.size) for move in change.moves]
    coming += [(put.path, put.size) for put in change.puts]
    for path, _ in coming:
        error = outside(scope, path) or extension_error(path, policy.extensions)
        if error:
            return error
    for put in change.puts:
        if put.size > limits.max_file_bytes:
            return too_large(put.path, put.size, limits)
    live = [size for path, size in coming if not is_archived(path, policy)]
    left = [file.size for file in leaving if not is_archived(file.path, policy)]
    files, total = len(live) - len(left), sum(live) - sum(left)
    if (files > 0 and scope.live_files + files > limits.max_files) or (
        total > 0 and scope.live_bytes + total > limits.max_total_bytes
    ):
        return PortError(
            ErrorCode.LIMIT_EXCEEDED,
            "What was before the last change does not fit the limits of the scope any more; "
            "raise them with `memfs policy set`, or restore single memories.",
            details={"files": scope.live_files + files, "totalBytes": scope.live_bytes + total},
        )
    return archive_overflow(scope, [move.file for move in change.moves if move.operation == "archived"])
