"""The archive: a memory's whole path, mirrored under the year in which it left. It has a way back."""

from __future__ import annotations

from memfs.layout.paths import ARCHIVE_BUCKET, normalize_path

_LONGEST_YEAR = 640  # digits, that int() reads on every Python, however it is configured


def archive_path_for(path: str, year: int) -> str:
    """Where the memory at *path* goes when it leaves in *year*; two memories never go to one place."""
    return f"{ARCHIVE_BUCKET}/{str(year).rjust(4, '0')}/{normalize_path(path)}"


def original_path_for(path: str) -> str | None:
    """Where the archived memory at *path* was before, or None if it is not archived.

    Of a memory archived twice, this is the path in the archive that it had before the second time.
    """
    archived = _archived(path)
    return archived and archived[1]


def is_archive_path(path: str) -> bool:
    """Whether *path* is that of an archived memory."""
    return _archived(path) is not None


def archive_year_of(path: str) -> int | None:
    """The year in which the memory at *path* left, or None if it is not archived.

    Years of more than 640 digits are all the same one, the first of that length.
    """
    archived = _archived(path)
    if archived is None:
        return None
    digits = archived[0].lstrip("0") or "0"
    return int(digits) if len(digits) <= _LONGEST_YEAR else 10**_LONGEST_YEAR


def _archived(path: str) -> tuple[str, str] | None:
    """The year's digits and the original path."""
    bucket, _, below = normalize_path(path).partition("/")
    year, _, original = below.partition("/")
    is_year = len(year) >= 4 and year.isascii() and year.isdecimal()
    return (year, original) if bucket == ARCHIVE_BUCKET and is_year and original else None
