"""The checks that several commands share: each gives the refusal, or None where there is nothing to refuse.

They expect what the ones before them in the contract's order have made sure of: a well-formed path first.
"""

from __future__ import annotations

from memfs.port.buckets import is_archived, layout_violation
from memfs.port.change import File
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import ROOT, extension_error, path_error
from memfs.port.scope import Scope


def cannot_write_at(scope: Scope, path: str) -> PortError | None:
    """Why no file can be written at *path*, whatever is there; any value may be given as the path."""
    return (
        path_error(path) or _root_protected(path, "a file") or outside(scope, path) or _archived(scope, path)
    )


def cannot_edit_at(scope: Scope, path: str) -> PortError | None:
    """As :func:`cannot_write_at`, for a file that must be there: the root is just another directory."""
    return path_error(path) or outside(scope, path) or _archived(scope, path)


def cannot_hold_file(scope: Scope, path: str) -> PortError | None:
    """Why there can be no file at *path*: its extension, or what is there."""
    error = extension_error(path, scope.policy.extensions)
    if error:
        return error
    if scope.is_directory(path):
        return PortError(
            ErrorCode.PATH_CONFLICT, f"{path} is a directory; choose another name for the file.", path
        )
    return file_among_parents(scope, path)


def file_among_parents(scope: Scope, path: str) -> PortError | None:
    """Why nothing can lie below what is above *path*."""
    above = scope.file_above(path)
    if above is None:
        return None
    return PortError(
        ErrorCode.PATH_CONFLICT, f"{above} is a file, so nothing can lie below it at {path}.", path
    )


def existing_file(scope: Scope, path: str) -> File | PortError:
    """The file at *path*."""
    file = scope.file(path)
    if file is not None:
        return file
    if scope.is_directory(path):
        return PortError(ErrorCode.PATH_CONFLICT, f"{path} is a directory; name a file in it.", path)
    return not_found(path)


def protected(scope: Scope, path: str, what: str) -> PortError | None:
    """Why *path* is always there and cannot be *what*."""
    if path == ROOT or not scope.is_standing(path):
        return _root_protected(path, what)
    return PortError(
        ErrorCode.ROOT_PROTECTED,
        f"{path} belongs to the layout and cannot be {what}; name something in it.",
        path,
    )


def outside(scope: Scope, path: str) -> PortError | None:
    """Why nothing can lie at *path* in the scope's layout."""
    violation = layout_violation(path, scope.policy.layout)
    if violation is None:
        return None
    return PortError(
        ErrorCode.INVALID_PATH, f"The path {path} {violation}; begin it with {ROOT}/ and one of them.", path
    )


def outside_and_missing(scope: Scope, path: str) -> PortError | None:
    """As :func:`outside`, but what is there from before the layout can be read, moved and deleted."""
    if scope.file(path) is not None or scope.is_directory(path):
        return None
    return outside(scope, path)


def not_found(path: str) -> PortError:
    """The refusal of a path where nothing is."""
    return PortError(
        ErrorCode.NOT_FOUND, f"{path} does not exist; view its directory to see what does.", path
    )


def _archived(scope: Scope, path: str) -> PortError | None:
    if not is_archived(path, scope.policy):
        return None
    return PortError(
        ErrorCode.ROOT_PROTECTED,
        f"{path} lies in the archive, which is a record and never written; rename it out of there first.",
        path,
        {"archived": True},
    )


def _root_protected(path: str, what: str) -> PortError | None:
    if path != ROOT:
        return None
    return PortError(
        ErrorCode.ROOT_PROTECTED, f"{ROOT} is the root and cannot be {what}; name a path below it.", path
    )
