"""The scopes in a repository: each private reference leads to a head that says its scope's name."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from memfs.port.errors import StoreError
from memfs.port.listing import Listed, Listing, Unlisted
from memfs.stores.git.commits import read_commit, read_contents
from memfs.stores.git.index import PRIVATE
from memfs.stores.git.repository import Repository
from memfs.stores.git.state import state_at


def scopes_in(path: Path, ref: str | None) -> Iterator[Listing]:
    """Every scope on a private reference, in the order of names; or only the one on *ref*.

    Raises StoreError where *path* is no repository; none where nothing is there.
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    repository = Repository(path)
    found: list[Listed] = []
    for name in [ref] if ref else sorted(repository.names(PRIVATE)):
        try:
            listing = _listed(repository, name)
        except StoreError as error:
            yield Unlisted(f"{name} in {path}: {error.message}")
            continue
        if listing is not None:
            found.append(listing)
    yield from sorted(found, key=attrgetter("name"))


def _listed(repository: Repository, name: str) -> Listed | None:
    tip = repository.target(name)
    if tip is None:
        return None
    head = read_contents(repository, read_commit(repository, tip)).head
    state = state_at(repository, tip, head.scope)
    last = state.taken[-1].commit if state.taken else head.change.commit
    entries = state.index.entries.values()
    return Listed(head.scope, len(entries), sum(entry.size for entry in entries), state.version, last.origin)
