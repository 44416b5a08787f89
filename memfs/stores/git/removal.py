"""Taking objects off the disk that the scope needs no longer, loose and packed; and nothing else.

`git gc` keeps what nothing reaches for weeks, and pruning at once what others write at this moment
would break their repository. So only the named objects go, and only those that no reference, reflog or
index of the repository reaches.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from memfs.stores.git import program
from memfs.stores.git.repository import Repository, storage_errors

_GC_FORGOTTEN_AFTER = 12 * 3600
"""Seconds after which git itself takes the lock of a ``git gc`` for one that was killed."""
_EVERYTHING = ("--all", "--reflog", "--indexed-objects")
_KEPT = (".keep", ".promisor")
"""What lies beside a pack that its owner wants to have as it is."""


def remove(repository: Repository, oids: Iterable[str], own: Iterable[str]) -> set[str]:
    """Remove the objects *oids*, but for those that the references *own* reach; which of them are left.

    Left are those that something else in the repository reaches or holds fast. Raises StoreError.
    """
    common = repository.common
    before = {oid: _touched(_loose(common, oid)) for oid in oids}
    doomed = set(before) - _reached(common, own)
    left = _reached(common, _EVERYTHING) & doomed
    doomed -= left
    with storage_errors(repository.path):
        if doomed:
            _unpack(common, doomed)
        for oid in doomed:
            path = _loose(common, oid)
            if _touched(path) == before[oid]:  # else somebody has written it anew, and is about to name it
                path.unlink(missing_ok=True)
    if _is_collecting(common):  # it may have read them already, and write them into its pack
        return left | doomed
    return left | _there(common, doomed)


def _reached(common: Path, roots: Iterable[str]) -> set[str]:
    lines = program.run(common, "rev-list", "--objects", *roots)
    return {line[:40].decode() for line in lines.splitlines()}


def _there(common: Path, oids: set[str]) -> set[str]:
    given = "".join(f"{oid}\n" for oid in oids).encode()
    lines = program.run(common, "cat-file", "--batch-check", given=given).decode().splitlines()
    return {line[:40] for line in lines if not line.endswith(" missing")}


def _unpack(common: Path, doomed: set[str]) -> None:
    """Write the packs that hold some of *doomed* anew, without them."""
    packs = common / "objects" / "pack"
    for index in packs.glob("*.idx"):
        if any(index.with_suffix(suffix).exists() for suffix in _KEPT):
            continue
        with index.open("rb") as file:
            listed = program.run(common, "show-index", source=file)
        held = {line.split()[1].decode() for line in listed.splitlines()}
        if held.isdisjoint(doomed):
            continue
        rest = "".join(f"{oid}\n" for oid in held - doomed)
        if rest:
            program.run(common, "pack-objects", "-q", str(packs / "pack"), given=rest.encode())
        # What is made from the packs, and git can do without or make anew, would name what is gone.
        for derived in (*packs.glob("multi-pack-index*"), common / "objects" / "info" / "commit-graph"):
            derived.unlink(missing_ok=True)
        shutil.rmtree(common / "objects" / "info" / "commit-graphs", ignore_errors=True)
        # The index first: a reader that finds an index expects its pack.
        for part in (index, *packs.glob(f"{index.stem}.*")):
            part.unlink(missing_ok=True)


def _is_collecting(common: Path) -> bool:
    try:
        return time.time() - (common / "gc.pid").stat().st_mtime < _GC_FORGOTTEN_AFTER
    except FileNotFoundError:
        return False


def _loose(common: Path, oid: str) -> Path:
    return common / "objects" / oid[:2] / oid[2:]


def _touched(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
