"""Archiving by hand: to where an eviction would move a memory, also where that place is taken."""

from __future__ import annotations

from memfs.port.buckets import archive_place, is_archived, move_operation
from memfs.port.change import Change, Move
from memfs.port.checks import not_found, protected
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import MAX_PATH_BYTES, path_error
from memfs.port.places import FreePlaces
from memfs.port.plan import by_write, plan_moves
from memfs.port.receipts import Renamed
from memfs.port.scope import Scope


def plan_archive(scope: Scope, path: str, now_ns: int) -> Change | PortError:
    """Move the file at *path*, or every file below it, to where an eviction at *now_ns* would.

    Where a place is taken, the file gets an ordinal in its name. The receipt is a rename's.
    """
    error = path_error(path) or protected(scope, path, "archived")
    if error:
        return error
    if not scope.policy.has_archive:
        return PortError(
            ErrorCode.INVALID_ARGUMENT,
            "This scope has no archive; `memfs policy set --eviction archive` gives it one.",
            path,
        )
    if scope.file(path) is None and not scope.is_directory(path):
        return not_found(path)
    there = archive_place(path, now_ns)
    if is_archived(f"{path}/", scope.policy):
        return PortError(ErrorCode.INVALID_PATH, f"{path} is in the archive already.", path)
    return plan_moves_to(scope, path, there, now_ns)


def plan_moves_to(scope: Scope, path: str, new_path: str, now_ns: int) -> Change | PortError:
    """Move what is at *path* to *new_path*, each file to a free place there."""
    file = scope.file(path)
    files = [file] if file is not None else sorted(scope.files_below(path), key=by_write)
    places = FreePlaces(scope)
    moves = []
    for each in files:
        wanted = new_path + each.path[len(path) :]
        place = places.take(wanted)
        if len(place) > MAX_PATH_BYTES:
            return PortError(
                ErrorCode.LIMIT_EXCEEDED,
                f"{each.path} would have a path of {len(place)} bytes where {MAX_PATH_BYTES} are allowed; "
                "rename it to a shorter one first.",
                each.path,
            )
        moves.append(Move(each, place, move_operation(each.path, place, scope.policy)))
    if file is not None:
        return plan_moves(scope, tuple(moves), Renamed(path, moves[0].new_path, "file", 1), now_ns)
    as_one = all(move.new_path == new_path + move.file.path[len(path) :] for move in moves)
    receipt = Renamed(path, new_path, "directory", len(moves))
    return plan_moves(scope, tuple(moves), receipt, now_ns, (path,) if as_one else ())
