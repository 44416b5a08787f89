"""How much goes in and comes out, unless the caller says otherwise. A character is a code point."""

from __future__ import annotations

from dataclasses import dataclass, fields

MAX_BRIEF_CHARACTERS = 2_000
MAX_FOLDED_CHARACTERS = 16_000


def require_positive(name: str, value: object) -> None:
    """Raise ValueError unless *value*, a limit called *name*, is a positive integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"The limit {name} must be a positive integer, not {value!r}.")


@dataclass(frozen=True, slots=True)
class GroundLimits:
    """How much is read: files, characters of one file, characters of all texts together.

    Each is a positive integer; anything else raises ValueError.
    """

    max_files: int = 20
    max_file_characters: int = 4_000
    max_characters: int = 16_000

    def __post_init__(self) -> None:
        for item in fields(self):
            require_positive(item.name, getattr(self, item.name))


DEFAULT_LIMITS = GroundLimits()
