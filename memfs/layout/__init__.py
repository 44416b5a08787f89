"""The PARA layout: where a memory belongs, and what its path and its name may look like.

Pure functions over strings. None looks at what exists, none raises, whatever the string, and the cost of
each is proportional to the length of what it is given.

- ``paths``: the buckets, a path's normal form, and why a path is no memory's.
- ``slugs``: names made from titles. ``unicode``: the one thing they need to know about characters.
- ``placement``: the directory and the path of a memory.
- ``archive``: where a memory moves when it is evicted, and the way back.
"""

from memfs.layout.archive import archive_path_for, archive_year_of, is_archive_path, original_path_for
from memfs.layout.paths import (
    ARCHIVE_BUCKET,
    ARCS_DIR,
    INBOX_DIR,
    MEMORY_EXTENSION,
    PARA_BUCKETS,
    PEOPLE_DIR,
    TASKS_SUBDIR,
    is_valid_memory_path,
    memory_path_violation,
    normalize_path,
    para_bucket_of,
)
from memfs.layout.placement import PlacementInput, memory_path_for, placement_for
from memfs.layout.slugs import (
    SLUG_FALLBACK,
    SLUG_MAX_LENGTH,
    filename_for,
    is_slug,
    slugify,
    with_collision_ordinal,
)

__all__ = [
    "ARCHIVE_BUCKET",
    "ARCS_DIR",
    "INBOX_DIR",
    "MEMORY_EXTENSION",
    "PARA_BUCKETS",
    "PEOPLE_DIR",
    "SLUG_FALLBACK",
    "SLUG_MAX_LENGTH",
    "TASKS_SUBDIR",
    "PlacementInput",
    "archive_path_for",
    "archive_year_of",
    "filename_for",
    "is_archive_path",
    "is_slug",
    "is_valid_memory_path",
    "memory_path_for",
    "memory_path_violation",
    "normalize_path",
    "original_path_for",
    "para_bucket_of",
    "placement_for",
    "slugify",
    "with_collision_ordinal",
]
