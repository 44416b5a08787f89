"""What it takes to bring many files into a scope at once: all that can come in, as one change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memfs.port.buckets import is_archived
from memfs.port.change import LATEST_NS, Change, Put, created_id
from memfs.port.checks import outside
from memfs.port.errors import ErrorCode, PortError
from memfs.port.eviction import too_large
from memfs.port.names import ROOT, extension_error, path_error
from memfs.port.receipts import Imported
from memfs.port.scope import Scope


class Incoming(NamedTuple):
    """A file to bring in. ``mtime_ns`` is nanoseconds since the epoch, None for the time of the change."""

    path: str
    content: bytes
    mtime_ns: int | None = None


def plan_import(scope: Scope, incoming: Sequence[Incoming]) -> Change | Imported | PortError:
    """The change that brings *incoming* in, in its order; a receipt alone where nothing of it can come.

    What cannot is in the receipt, with its reason. Nothing is overwritten by an import, and nothing leaves
    for it: if it does not fit as a whole, it is refused as a whole.
    """
    puts: list[Put] = []
    refused: list[tuple[str, str]] = []
    taken: dict[str, None] = {}
    directories: set[str] = set()
    for file in incoming:
        error = _refusal(scope, file, taken, directories)
        if error is not None:
            refused.append((file.path, error.message))
            continue
        taken[file.path] = None
        parent = file.path
        while (parent := parent[: parent.rfind("/")]) != ROOT:
            directories.add(parent)
        file_id = created_id(scope.version + 1, len(puts))
        puts.append(Put(file_id, file.path, len(file.content), "created", file.content, _time(file)))
    receipt = Imported(tuple(put.path for put in puts), tuple(refused))
    if not puts:
        return receipt
    return _too_much(scope, puts) or Change(puts=tuple(puts), receipt=receipt)


def _time(file: Incoming) -> int | None:
    """When the file was written last, unless no store can hold such a time."""
    return None if file.mtime_ns is None or abs(file.mtime_ns) > LATEST_NS else file.mtime_ns


def _refusal(scope: Scope, file: Incoming, taken: dict[str, None], directories: set[str]) -> PortError | None:
    path, limits = file.path, scope.policy.limits
    error = path_error(path) or outside(scope, path) or extension_error(path, scope.policy.extensions)
    if error is not None:
        return error
    if len(file.content) > min(limits.max_file_bytes, limits.max_total_bytes):
        return too_large(path, len(file.content), limits)
    try:
        file.content.decode()
    except UnicodeDecodeError as fault:
        where = f"byte {file.content[fault.start]:#04x} at {fault.start}"
        return PortError(ErrorCode.INVALID_ARGUMENT, f"{path} is no UTF-8 ({where}); convert it first.", path)
    if path in taken or scope.file(path) is not None:
        return PortError(
            ErrorCode.ALREADY_EXISTS, f"{path} already exists; an import never overwrites.", path
        )
    parents = [path[:at] for at in range(len(ROOT) + 1, len(path)) if path[at] == "/"]
    if path in directories or scope.is_directory(path) or any(parent in taken for parent in parents):
        return PortError(
            ErrorCode.PATH_CONFLICT, f"{path} is a file on one side and a directory on the other.", path
        )
    above = scope.file_above(path)
    if above is not None:
        return PortError(ErrorCode.PATH_CONFLICT, f"{above} is a file, so nothing can lie below it.", path)
    return None


def _too_much(scope: Scope, puts: Sequence[Put]) -> PortError | None:
    policy = scope.policy
    limits, live = policy.limits, [put for put in puts if not is_archived(put.path, policy)]
    files = scope.live_files + len(live)
    total = scope.live_bytes + sum(put.size for put in live)
    archived = scope.archived_bytes + sum(put.size for put in puts) - sum(put.size for put in live)
    if files > limits.max_files or total > limits.max_total_bytes:
        return PortError(
            ErrorCode.LIMIT_EXCEEDED,
            f"With the import the scope would have {files} of {limits.max_files} files and {total} of "
            f"{limits.max_total_bytes} bytes; raise its limits with `memfs policy set`, or import less.",
            details={"files": files, "maxFiles": limits.max_files, "totalBytes": total}
            | {"maxTotalBytes": limits.max_total_bytes},
        )
    if policy.max_archive_bytes is not None and archived > policy.max_archive_bytes:
        return PortError(
            ErrorCode.LIMIT_EXCEEDED,
            f"With the import the archive would have {archived} of {policy.max_archive_bytes} bytes; raise "
            "max_archive_bytes, or import less.",
            details={"archivedBytes": archived, "maxArchiveBytes": policy.max_archive_bytes},
        )
    return None
