"""What the layout says of the port's paths: the buckets, and the archive among them.

:mod:`memfs.layout` has the rules, over paths that begin at the root; here they are asked for the port's
paths, which begin with ``/memories``. Nothing here looks at what exists.
"""

from __future__ import annotations

from datetime import UTC, datetime

from memfs.layout import (
    ARCHIVE_BUCKET,
    INBOX_DIR,
    PARA_BUCKETS,
    archive_path_for,
    memory_path_violation,
    original_path_for,
    para_bucket_of,
)
from memfs.port.change import MoveOperation
from memfs.port.names import ROOT
from memfs.port.policy import Layout, Policy

ARCHIVE = f"{ROOT}/{ARCHIVE_BUCKET}"
"""The directory of the archive, in a scope that has one."""
_BELOW_ARCHIVE = ARCHIVE + "/"
_STANDING: dict[Layout, tuple[str, ...]] = {
    "flat": (ROOT,),
    "para": (ROOT, *(f"{ROOT}/{directory}" for directory in (*PARA_BUCKETS, INBOX_DIR))),
}


def standing_directories(layout: Layout) -> tuple[str, ...]:
    """The directories that exist also without a file, each after the one that holds it."""
    return _STANDING[layout]


def layout_violation(path: str, layout: Layout) -> str | None:
    """Why nothing may lie at *path*, as a clause to follow it in a sentence; None if something may."""
    below = path[len(ROOT) + 1 :]
    if layout == "flat" or not below or below in PARA_BUCKETS or para_bucket_of(below) is not None:
        return None
    return memory_path_violation(below)


def is_archived(path: str, policy: Policy) -> bool:
    """Whether a file at *path* is archived: it counts against no limit but the archive's own."""
    return path.startswith(_BELOW_ARCHIVE) and policy.has_archive


def move_operation(old_path: str, new_path: str, policy: Policy) -> MoveOperation:
    """What it is for a file to move from *old_path* to *new_path*."""
    was_archived = is_archived(old_path, policy)
    if was_archived == is_archived(new_path, policy):
        return "renamed"
    return "restored" if was_archived else "archived"


def archive_place(path: str, now_ns: int) -> str:
    """Where the memory at *path* is archived at *now_ns* (since the epoch): by its year in UTC."""
    year = datetime.fromtimestamp(now_ns // 10**9, UTC).year
    return f"{ROOT}/{archive_path_for(path[len(ROOT) + 1 :], year)}"


def original_place(path: str) -> str | None:
    """Where the file or the directory at *path* was before it was archived; None if no path says so."""
    original = original_path_for(path[len(ROOT) + 1 :])
    return None if original is None else f"{ROOT}/{original}"
