"""Making room: what leaves a scope for a write, in which order, and where to.

Only live files count against the limits, and only they leave: what is archived stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from memfs.port.buckets import archive_place
from memfs.port.change import File, Move, Remove
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import MAX_PATH_BYTES
from memfs.port.places import FreePlaces
from memfs.port.policy import Limits
from memfs.port.scope import Scope


class Evicted(NamedTuple):
    """The files that leave, in the order they do: one of the two is empty."""

    removes: tuple[Remove, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Where they were."""
        return tuple(left.file.path for left in self.removes or self.moves)


def make_room(
    scope: Scope, written: Mapping[str, int], now_ns: int, leaving_archive: int = 0
) -> Evicted | PortError:
    """What leaves so that files of these sizes, by their paths, can be written; or why they cannot be.

    *leaving_archive*: the bytes that the same change takes out of the archive.
    """
    policy = scope.policy
    limits = policy.limits
    files, total = scope.live_files, scope.live_bytes
    for path, size in written.items():
        if size > limits.max_file_bytes or size > limits.max_total_bytes:
            return too_large(path, size, limits)
        earlier = scope.file(path)
        files += earlier is None
        total += size - (earlier.size if earlier else 0)
    if files <= limits.max_files and total <= limits.max_total_bytes:
        return Evicted()
    if policy.eviction == "refuse":
        # Where the limits were lowered, a write that takes no more room than before does no harm.
        grows = (files > limits.max_files and files > scope.live_files) or (
            total > limits.max_total_bytes and total > scope.live_bytes
        )
        return _full(scope, next(iter(written))) if grows else Evicted()
    leaving: list[File] = []
    for candidate in scope.live_in_write_order():
        if files <= limits.max_files and total <= limits.max_total_bytes:
            break
        if candidate.path not in written:
            leaving.append(candidate)
            files -= 1
            total -= candidate.size
    if files > limits.max_files or total > limits.max_total_bytes:
        return _too_many(written, limits)
    if policy.eviction == "delete":
        return Evicted(removes=tuple(Remove(file, evicted=True) for file in leaving))
    moves = _archived(scope, leaving, now_ns)
    error = moves if isinstance(moves, PortError) else archive_overflow(scope, leaving, leaving_archive)
    if error is not None:
        path = next(iter(written))  # the refusal is of this write, whichever file cannot leave for it
        return replace(error, message=f"{path} needs room: {error.message}", path=path)
    assert not isinstance(moves, PortError)
    return Evicted(moves=moves)


class Room(NamedTuple):
    """What there is for new files."""

    total_bytes: int
    files: int


def room_left(scope: Scope) -> Room:
    """What new files may take: the limits' rest, and never less than one largest file that eviction lets in.

    It does not where nothing may leave, or as far as the archive cannot take in what would.
    """
    policy, limits = scope.policy, scope.policy.limits
    total, files = limits.max_total_bytes - scope.live_bytes, limits.max_files - scope.live_files
    left = Room(max(0, total), max(0, files))
    if policy.eviction == "refuse":
        return left
    cap = policy.max_archive_bytes if policy.eviction == "archive" else None
    archivable = None if cap is None else cap - scope.archived_bytes
    largest = min(limits.max_file_bytes, limits.max_total_bytes)
    for candidate in scope.live_in_write_order():
        if total >= largest and files >= 1:
            break
        if archivable is not None:
            archivable -= candidate.size
            if archivable < 0:
                break
        total, files = total + candidate.size, files + 1
    return Room(max(left.total_bytes, min(total, largest)), max(left.files, min(files, 1)))


def too_large(path: str, size: int, limits: Limits) -> PortError:
    """The refusal of a file of *size* bytes, which no eviction can make room for."""
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{path} would have {count_of(size, 'byte')}; a file may have "
        f"{min(limits.max_file_bytes, limits.max_total_bytes)}. Split it or shorten it.",
        path,
        {
            "byteLength": size,
            "maxFileBytes": limits.max_file_bytes,
            "maxTotalBytes": limits.max_total_bytes,
        },
    )


def archive_overflow(scope: Scope, entering: Sequence[File], leaving: int = 0) -> PortError | None:
    """Why the archive cannot take these files in, when *leaving* bytes go out of it; None if it can."""
    cap = scope.policy.max_archive_bytes
    total = scope.archived_bytes - leaving + sum(file.size for file in entering)
    if cap is None or total <= cap or not entering:
        return None
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{entering[0].path} does not fit into the archive, which would have {count_of(total, 'byte')} where "
        f"{cap} are allowed. Delete what is of no use there, or raise max_archive_bytes.",
        entering[0].path,
        {"archivedBytes": total, "maxArchiveBytes": cap},
    )


def count_of(number: int, noun: str) -> str:
    """*number* and what it counts, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _archived(scope: Scope, leaving: Sequence[File], now_ns: int) -> tuple[Move, ...] | PortError:
    places = FreePlaces(scope)
    moves = []
    for file in leaving:
        place = places.take(archive_place(file.path, now_ns))
        if len(place) > MAX_PATH_BYTES:
            return PortError(
                ErrorCode.LIMIT_EXCEEDED,
                f"{file.path} has to leave, and its path in the archive would have {len(place)} "
                f"bytes where {MAX_PATH_BYTES} are allowed. Rename it to a shorter one, or delete it.",
                file.path,
            )
        moves.append(Move(file, place, "archived"))
    return tuple(moves)


def _full(scope: Scope, path: str) -> PortError:
    limits = scope.policy.limits
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{path} does not fit: the scope has {scope.live_files} of {limits.max_files} files and "
        f"{scope.live_bytes} of {limits.max_total_bytes} bytes, and nothing leaves it by itself. "
        "Delete or archive something, or raise its limits.",
        path,
        {
            "files": scope.live_files,
            "maxFiles": limits.max_files,
            "totalBytes": scope.live_bytes,
            "maxTotalBytes": limits.max_total_bytes,
        },
    )


def _too_many(written: Mapping[str, int], limits: Limits) -> PortError:
    path, total = next(iter(written)), sum(written.values())
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{count_of(len(written), 'file')} with {count_of(total, 'byte')} do not fit into a scope that takes "
        f"{limits.max_files} with {limits.max_total_bytes}, whatever leaves. Move fewer at a time.",
        path,
        {"maxFiles": limits.max_files, "maxTotalBytes": limits.max_total_bytes},
    )
