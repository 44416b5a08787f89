"""Slugs: names made from titles, safe on every filesystem, and the same on every machine."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from memfs.layout.paths import MEMORY_EXTENSION
from memfs.layout.unicode import ascii_base

SLUG_MAX_LENGTH = 80
"""The longest slug, in characters. A date before it and the extension behind it come on top."""
SLUG_FALLBACK = "untitled"
"""The slug of a title in which no letter or digit is left."""

_WORD = re.compile("[a-z0-9]+")
_is_slug = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*").fullmatch


def slugify(title: str) -> str:
    """*title* as lower-case ASCII words joined by hyphens: ``"Déjà vu, 2nd time"`` → ``deja-vu-2nd-time``.

    A slug's slug is itself.
    """
    words = _WORD.findall(ascii_base(title).lower())
    return "-".join(words)[:SLUG_MAX_LENGTH].rstrip("-") or SLUG_FALLBACK


def is_slug(value: str) -> bool:
    """Whether *value* is a slug: what :func:`slugify` leaves as it is."""
    return len(value) <= SLUG_MAX_LENGTH and _is_slug(value) is not None


def with_collision_ordinal(slug: str, n: int, max_length: int = SLUG_MAX_LENGTH) -> str:
    """The name to try as the *n*-th where *slug* is taken: ``slug``, ``slug-2``, ``slug-3`` and so on.

    A slug that would be longer than *max_length* with its ordinal is cut. No two of these names are the
    same. Other names than slugs may be longer.
    """
    if n <= 1:
        return slug
    suffix = f"-{n}"
    room = max(0, max_length - len(suffix))
    stem = slug if len(slug) <= room else slug[:room].rstrip("-")
    if stem + suffix == slug:
        # The cut took exactly the slug's own tail. A shorter stem cannot give the same length again.
        stem = stem[:-1].rstrip("-")
    return (stem or SLUG_FALLBACK) + suffix


def filename_for(slug: str, episodic: bool, at: datetime) -> str:
    """The file name of a memory; what happened once carries its day (in UTC) in front.

    A time without a zone is taken as UTC.
    """
    if not episodic:
        return slug + MEMORY_EXTENSION
    day = _in_utc(at)
    return f"{day.year:04}{day.month:02}{day.day:02}-{slug}{MEMORY_EXTENSION}"


def _in_utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        return at
    try:
        return at.astimezone(UTC)
    except OverflowError:  # the first or the last day that a datetime can hold
        return at
