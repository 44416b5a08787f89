"""Restoring what is archived: to the place it had, also where that is taken by now."""

from __future__ import annotations

from memfs.port.archiving import plan_moves_to
from memfs.port.buckets import ARCHIVE, is_archived, original_place
from memfs.port.change import Change
from memfs.port.checks import not_found, outside
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import ROOT, extension_error, path_error
from memfs.port.scope import Scope


def plan_restore_archived(scope: Scope, path: str, now_ns: int) -> Change | PortError:
    """Move the archived file at *path*, or all those below it, back to where they were.

    Where a place is taken, the file gets an ordinal in its name. As a rename does, this gives a file the
    newest place in write order, and may evict; the receipt is a rename's.
    """
    error = path_error(path)
    if error:
        return error
    file = scope.file(path)
    if file is None and not scope.is_directory(path):
        return not_found(path)
    back = original_place(path) if is_archived(path, scope.policy) else None
    if back is None:
        return PortError(
            ErrorCode.INVALID_PATH,
            f"{path} does not say where it was archived from: only what lies below a year in the archive "
            "does. Rename it to where it belongs.",
            path,
        )
    error = outside(scope, back) or (extension_error(back, scope.policy.extensions) if file else None)
    return error or plan_moves_to(scope, path, back, now_ns)


def archived_place_of(scope: Scope, path: str) -> str | None:
    """Where what was at *path* lies in the archive, of several years in the last; None where it does not."""
    if not scope.policy.has_archive or not scope.is_directory(ARCHIVE):
        return None
    for year in sorted(scope.children(ARCHIVE), reverse=True):
        place = f"{ARCHIVE}/{year}{path.removeprefix(ROOT)}"
        if original_place(place) == path and (scope.file(place) is not None or scope.is_directory(place)):
            return place
    return None
