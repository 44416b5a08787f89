"""Placement: the directory and the path that a new memory gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memfs.layout.paths import (
    ARCS_DIR,
    INBOX_DIR,
    PEOPLE_DIR,
    TASKS_SUBDIR,
    is_valid_memory_path,
    normalize_path,
)
from memfs.layout.slugs import filename_for, slugify

_TOPICAL = ("semantic", "procedural", "precedent")
_PERSON = "person:"
# White space as JavaScript's trim has it, for the layout is shared with programs in that language: Python's
# strip would also take U+001C to U+001F and U+0085, and leave U+FEFF.
_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@dataclass(frozen=True, slots=True)
class PlacementInput:
    """What decides the place of a memory.

    ``memory_type`` may be any string. ``path`` is the one its author asks for. An ``entities`` item is a
    kind and a name, such as ``person:Ada``.
    """

    memory_type: str
    workspace: str | None = None
    tags: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    path: str | None = None


def placement_for(memory: PlacementInput) -> str:
    """The directory for *memory*, always one in a bucket: the first of the rules below that applies.

    A path that no memory can have is passed over; who wants it refused asks ``memory_path_violation``.
    """
    if memory.path is not None and is_valid_memory_path(memory.path):
        return normalize_path(memory.path).rpartition("/")[0]
    if memory.memory_type == "arc":
        return ARCS_DIR
    if memory.memory_type == "task":
        # Also one about a person: a task is work to do and belongs to its project.
        return f"{_project_of(memory) or INBOX_DIR}/{TASKS_SUBDIR}"
    if memory.memory_type == "semantic" and any(map(_is_person, memory.entities or ())):
        return PEOPLE_DIR
    topic = _topic_of(memory)
    return _project_of(memory) or (f"resources/{slugify(topic)}" if topic is not None else INBOX_DIR)


def memory_path_for(memory: PlacementInput, title: str, at: datetime) -> str:
    """The path for *memory*: the one it asks for, if a memory can have it, else a name in its directory."""
    if memory.path is not None and is_valid_memory_path(memory.path):
        return normalize_path(memory.path)
    name = filename_for(slugify(title), memory.memory_type == "episodic", at)
    return f"{placement_for(memory)}/{name}"


def _project_of(memory: PlacementInput) -> str | None:
    return f"projects/{slugify(memory.workspace)}" if memory.workspace else None


def _is_person(entity: str) -> bool:
    return entity.startswith(_PERSON) and not _is_blank(entity.removeprefix(_PERSON))


def _topic_of(memory: PlacementInput) -> str | None:
    if memory.memory_type not in _TOPICAL:
        return None
    return next((tag for tag in memory.tags or () if not _is_blank(tag)), None)


def _is_blank(text: str) -> bool:
    return not text.strip(_BLANKS)
