"""Paths of the layout: the buckets, the normal form, and why a path is no memory's.

A path here begins at the memory's root, without a leading slash: ``projects/atlas/plan.html``.
"""

from __future__ import annotations

import re

PARA_BUCKETS = ("projects", "areas", "resources", "archive")
"""The only names at the top: work with an end, lasting duties, things to know, and the past."""
ARCHIVE_BUCKET = "archive"
"""Where evicted memories go, by year."""
ARCS_DIR = "areas/arcs"
"""Arcs: what many memories together have shown."""
INBOX_DIR = "areas/inbox"
"""Memories that no rule places. A deep inbox is a sign that something is off."""
PEOPLE_DIR = "resources/people"
"""What is known about persons."""
TASKS_SUBDIR = "tasks"
"""A project's tasks, or the inbox's: listing this directory lists them."""
MEMORY_EXTENSION = ".html"
"""The extension of a memory, where no other is asked for."""

_SLASHES = re.compile("/{2,}")


def normalize_path(path: str) -> str:
    """*path* without slashes at its ends, and with single ones between its segments."""
    return _SLASHES.sub("/", path).strip("/")


def para_bucket_of(path: str) -> str | None:
    """The bucket that *path* lies in, or None; a bucket itself lies in none."""
    head, slash, _ = normalize_path(path).partition("/")
    return head if slash and head in PARA_BUCKETS else None


def memory_path_violation(path: str, extensions: tuple[str, ...] = (MEMORY_EXTENSION,)) -> str | None:
    """Why no memory can have *path*, as a clause to follow the path in a sentence; None if one can.

    This is the rule itself and not a description of it: :func:`is_valid_memory_path` asks here.
    """
    normalized = normalize_path(path)
    if para_bucket_of(normalized) is None:
        return f"lies in none of the buckets {', '.join(PARA_BUCKETS)}"
    if not normalized.endswith(extensions):
        return f"does not have the extension {' or '.join(extensions)}"
    for segment in normalized.split("/"):
        # A blank segment is one slash after another, and the normal form has none.
        if segment in (".", ".."):
            return f"has a '{segment}' segment"
    return None


def is_valid_memory_path(path: str, extensions: tuple[str, ...] = (MEMORY_EXTENSION,)) -> bool:
    """Whether a memory can have *path*."""
    return memory_path_violation(path, extensions) is None
