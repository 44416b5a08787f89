"""Free places in a scope, for files that move to where something may be already."""

from __future__ import annotations

from collections.abc import Callable

from memfs.layout import with_collision_ordinal
from memfs.port.names import MAX_SEGMENT, ROOT, extension_of
from memfs.port.scope import Scope


class FreePlaces:
    """Gives places out, each only once: for the moves of one change, which is planned and not yet made."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def take(self, path: str) -> str:
        """*path*, or, where that is taken, the same with an ordinal in the name that is in the way."""
        at = ROOT
        *parents, name = path[len(ROOT) + 1 :].split("/")
        for parent in parents:
            at = _free(at, parent, self._is_file)
            self._directories.add(at)
        place = _free(at, name, self._is_anything)
        self._files.add(place)
        return place

    def _is_file(self, path: str) -> bool:
        return path in self._files or self._scope.file(path) is not None

    def _is_anything(self, path: str) -> bool:
        return self._is_file(path) or path in self._directories or self._scope.is_directory(path)


def _free(directory: str, name: str, is_taken: Callable[[str], bool]) -> str:
    """The path of *name* in *directory*, or of a name beside it that is not taken.

    Names are mostly taken without a gap, so a free one is found in steps that are logarithmic in their
    number: a memory may have been archived a thousand times.
    """
    path = f"{directory}/{name}"
    if not is_taken(path):
        return path
    extension = extension_of(name)
    stem = name.removesuffix(extension)

    def nth(ordinal: int) -> str:
        return f"{directory}/{with_collision_ordinal(stem, ordinal, MAX_SEGMENT - len(extension))}{extension}"

    taken, free = 1, 2
    while is_taken(nth(free)):
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        if is_taken(nth(middle)):
            taken = middle
        else:
            free = middle
    return nth(free)
