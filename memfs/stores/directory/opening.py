"""A folder becomes a scope: its database is made beside its files, with rules that have room for them."""

from __future__ import annotations

import os
from collections.abc import Container
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path

from memfs.port.errors import ErrorCode, OpenError, StoreError
from memfs.port.policy import Limits, Policy
from memfs.stores.directory.failures import folder_errors
from memfs.stores.directory.folder import META, Folder
from memfs.stores.directory.meta import VFS, SharedMeta
from memfs.stores.directory.outside import sizes_in
from memfs.stores.directory.pages import Pages
from memfs.stores.directory.store import DirectoryStore
from memfs.stores.gate import Gate
from memfs.stores.sqlite.database import ScopeFiles, check_library, ensure_database, make_directory
from memfs.stores.sqlite.failures import storage_errors
from memfs.stores.sqlite.store import SqliteStore

STEM = "memfs"
ROOM = 4
"""How many times what is there fits into the limits of a scope that is made of it."""
LARGEST_PAGE = 1 << 20
"""Bytes: a larger file is no note. It is left alone, unless the limits were named."""


def open_directory(
    path: Path, scope_name: str, policy: Policy, relaxed: bool = False, named: Container[str] = ()
) -> tuple[DirectoryStore, bool]:
    """The store of the folder *path*, which is its one scope, and whether it was made one here.

    A new one has the rules of *policy*. Where it holds files, there is room for many times as many, and
    none of them leaves by itself: nobody's notes are to go because they were opened here. The rules
    *named* stay as they are. Raises StoreError, and OpenError for another scope's name and for rules that
    have no room for the files.
    """
    check_library()
    make_directory(path)
    folder = Folder(path)
    meta = SharedMeta(folder.meta)
    # By its descriptor, so that nobody can lead us elsewhere by putting a link in the place of .meta.
    files = ScopeFiles(meta.path, scope_name, STEM, path / META, VFS)
    with ExitStack() as undoing:
        undoing.callback(folder.close)
        undoing.callback(meta.close)
        with folder_errors(path):
            if not os.path.lexists(files.database):
                _refuse_half(files, path)
                policy = _with_room(folder, policy, named)
        ledger, made = _open_ledger(files, scope_name, policy)
        undoing.callback(ledger.close)
        _check_name(ledger, path, scope_name)
        _make_tables(ledger)
        store = DirectoryStore(folder, meta, files, ledger, relaxed)
        undoing.pop_all()
        undoing.callback(store.close)
        store.begin()
        undoing.pop_all()
    return store, made


def _refuse_half(files: ScopeFiles, path: Path) -> None:
    """Raise StoreError where a scope is on its way into the folder: what lies there may not be all."""
    if os.path.lexists(files.incoming.database):
        raise StoreError(
            f"A scope is on its way into {path} and not all of it is there; run memfs store migrate again."
        )


def _open_ledger(files: ScopeFiles, scope_name: str, policy: Policy) -> tuple[SqliteStore, bool]:
    """The store of the history and the state. It is relaxed: what must be durable is synced by name."""
    gate = Gate(files.lock, files.shown.with_suffix(".lock"))
    try:
        made = ensure_database(files, gate, scope_name, policy)
        return SqliteStore(files, gate, scope_name, relaxed=True), made
    except BaseException:
        gate.close()
        raise


def _make_tables(ledger: SqliteStore) -> None:
    """Make the tables of the folder that are missing, with every other process kept out."""
    ledger.acquire(wait=True)
    try:
        with storage_errors():
            Pages(ledger.connection).make()
            ledger.connection.execute("COMMIT")
    finally:
        ledger.release()


def _check_name(ledger: SqliteStore, path: Path, scope_name: str) -> None:
    """A folder is one scope; whoever asks for another has mistaken the folder or the name."""
    with storage_errors():
        found = ledger.connection.execute("SELECT name FROM scope").fetchall()
    if len(found) == 1 and found[0][0] != scope_name:
        raise OpenError(
            ErrorCode.INVALID_ARGUMENT,
            f"The folder {path} is the scope '{found[0][0]}' and holds no other; open it by that name.",
        )


def _with_room(folder: Folder, policy: Policy, named: Container[str]) -> Policy:
    """*policy* for a folder that holds files: with limits that let all of them stay, and many more come."""
    largest = policy.limits.max_file_bytes if "max_file_bytes" in named else LARGEST_PAGE
    sizes = [size for size in sizes_in(folder, policy) if size <= largest]
    if not sizes:
        return policy
    there = Limits(max_file_bytes=max(1, *sizes), max_total_bytes=max(1, sum(sizes)), max_files=len(sizes))
    limits = policy.limits
    for item in fields(Limits):
        have, need = getattr(limits, item.name), getattr(there, item.name)
        if item.name not in named:
            limits = replace(limits, **{item.name: max(have, _rounded(need * ROOM))})
        elif have < need:
            raise OpenError(
                ErrorCode.INVALID_ARGUMENT,
                f"The folder {folder.path} holds more than the limit {item.name} of {have} allows "
                f"({need}); name a larger one.",
            )
    refuses = policy.eviction == "delete" and "eviction" not in named
    return replace(policy, limits=limits, eviction="refuse" if refuses else policy.eviction)


def _rounded(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()
