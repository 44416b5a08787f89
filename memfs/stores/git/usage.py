"""How much of the disk a scope's line of commits takes; git counts it, and only what is new since."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from memfs.port.errors import StoreError
from memfs.stores.git import program
from memfs.stores.git.repository import Repository

log = logging.getLogger(__name__)

ANEW_SECONDS = 24 * 3600
"""How long a sum is good after packs have come or gone, where counting all anew takes git seconds."""


def size_of_line(repository: Repository, tip: str, saved: Path) -> int:
    """How many bytes the commit *tip* and all that it leads to take.

    The sum is left in the file *saved*, and begun anew when packs have come or gone: at once where a bitmap
    spares git the walk (as after its gc in a bare repository), else once a day, for somebody waits for it.
    Without the program git, or with one before 2.31, it is 0: nothing else knows what a packed object takes.
    """
    if not program.is_there():
        return 0
    known, size, counted_ns = _saved(repository, tip, saved)
    if known != tip:
        try:
            size += _size(repository.common, [tip] if known is None else [tip, f"^{known}"])
        except StoreError as error:
            log.warning("the size of the history is not known: %s", error.message)
            return 0
        try:
            saved.write_text(f"{tip} {size} {counted_ns}\n")
        except OSError as error:
            log.warning("the size of the history could not be kept in %s: %s", saved, error)
    return size


def _saved(repository: Repository, tip: str, saved: Path) -> tuple[str | None, int, int]:
    """The commit that was counted last, the sum, and when it was begun.

    No commit where that is no part of *tip*'s line any more, or the sum is to be begun anew.
    """
    now_ns = time.time_ns()
    try:
        known, size, counted = saved.read_text().split()
        packs = repository.common / "objects" / "pack"
        is_old = packs.stat().st_mtime_ns >= int(counted)
        if is_old and not any(packs.glob("*.bitmap")):
            is_old = now_ns - int(counted) > ANEW_SECONDS * 10**9
        if not is_old and repository.has(known) and repository.descends(tip, known):
            return known, int(size), int(counted)
    except (OSError, ValueError):
        pass
    return None, 0, now_ns


def _size(common: Path, roots: list[str]) -> int:
    return int(program.run(common, "rev-list", "--use-bitmap-index", "--disk-usage", "--objects", *roots))
