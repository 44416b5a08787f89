"""How much of the disk a scope's line of commits takes; git counts it, and only what is new since."""

from __future__ import annotations

import logging
from pathlib import Path

from memfs.stores.git import program
from memfs.stores.git.repository import Repository

log = logging.getLogger(__name__)


def size_of_line(repository: Repository, tip: str, saved: Path) -> int:
    """How many bytes the commit *tip* and all that it leads to take.

    The sum is left in the file *saved*, and begun anew when packs have come or gone. Without the program
    git it is 0: nothing else knows what a packed object takes. Raises StoreError.
    """
    if not program.is_there():
        return 0
    known, size = _saved(repository, tip, saved)
    if known != tip:
        size += _size(repository.common, [tip] if known is None else [tip, f"^{known}"])
        try:
            saved.write_text(f"{tip} {size}\n")
        except OSError as error:
            log.warning("the size of the history could not be kept in %s: %s", saved, error)
    return size


def _saved(repository: Repository, tip: str, saved: Path) -> tuple[str | None, int]:
    """The commit that was counted last, and the sum; none where that is no part of *tip*'s line any more."""
    try:
        known, size = saved.read_text().split()
        packed = (repository.common / "objects" / "pack").stat().st_mtime_ns
        counted = saved.stat().st_mtime_ns > packed
        if counted and repository.has(known) and repository.descends(tip, known):
            return known, int(size)
    except (OSError, ValueError):
        pass
    return None, 0


def _size(common: Path, roots: list[str]) -> int:
    oids = {line[:40] for line in program.run(common, "rev-list", "--objects", *roots).splitlines()}
    given = b"".join(oid + b"\n" for oid in oids)
    sizes = program.run(common, "cat-file", "--batch-check=%(objectsize:disk)", given=given)
    return sum(map(int, sizes.split()))
