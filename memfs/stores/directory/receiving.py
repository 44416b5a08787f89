"""A scope from another store on its way into a folder: its database aside in ``.meta``, then its files.

The files come last, and the name of the database after them. As long as that is missing, nobody can open
the folder, for what lies in it may not be all. It was empty before, so what holds bytes of the history was
placed by whoever was killed here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from memfs.port.change import Origin
from memfs.port.errors import ErrorCode, StoreError
from memfs.port.policy import Policy
from memfs.port.receiving import Received
from memfs.port.scope import Scope
from memfs.stores.directory import steps
from memfs.stores.directory.failures import folder_errors
from memfs.stores.directory.folder import META, Folder, parent_of, read
from memfs.stores.directory.meta import VFS, SharedMeta
from memfs.stores.directory.opening import STEM
from memfs.stores.directory.pages import Page, Pages, page_of
from memfs.stores.directory.placement import place_of
from memfs.stores.directory.steps import Step
from memfs.stores.sqlite.database import ScopeFiles, make_directory
from memfs.stores.sqlite.failures import storage_errors
from memfs.stores.sqlite.receiving import SqliteReceiver
from memfs.stores.sqlite.store import SqliteStore


def receive_directory(path: Path, scope_name: str, policy: Policy) -> DirectoryReceiver:
    """The receiver of the scope that the folder *path* is to be. Raises StoreError where it is not free."""
    make_directory(path)
    folder = Folder(path)
    meta = SharedMeta(folder.meta)
    try:
        files = ScopeFiles(meta.path, scope_name, STEM, path / META, VFS)  # as every opening does
        if os.path.lexists(files.database):
            raise StoreError(f"The folder {path} is a scope already; name an empty one.", ErrorCode.CONFLICT)
        if not os.path.lexists(files.incoming.database) and any(folder.walk("")):
            raise StoreError(f"The folder {path} holds files already; name an empty one.", ErrorCode.CONFLICT)
        return DirectoryReceiver(folder, meta, SqliteReceiver(files, scope_name, policy))
    except BaseException:
        meta.close()
        folder.close()
        raise


class DirectoryReceiver:
    """The scope while it is on its way; see :class:`~memfs.port.receiving.Receiver`."""

    def __init__(self, folder: Folder, meta: SharedMeta, ledger: SqliteReceiver) -> None:
        self._folder = folder
        self._meta = meta
        self._ledger = ledger

    @property
    def reached(self) -> int:
        """The version of the last change that was received."""
        return self._ledger.reached

    def receive(self, changes: Sequence[Received], policy: Policy) -> None:
        """Add *changes* to the database."""
        self._ledger.receive(changes, policy)

    def settle(self, scope: Scope, origin: Origin) -> None:
        """Have the database hold *scope*."""
        self._ledger.settle(scope, origin)

    def opened(self) -> SqliteStore:
        """The database aside: the files are what it says, once they are placed."""
        return self._ledger.opened()

    def publish(self) -> None:
        """Place the files, and give the database its name."""
        store = self.opened()
        try:
            scope = store.load()
            pages = Pages(self._ledger.connection)
            with storage_errors(), folder_errors(self._folder.path):
                pages.make()
                self._clear(pages, {place_of(file.path) for file in scope.in_write_order()})
                found: list[Page] = []
                directories = {""}
                for file in scope.in_write_order():
                    place = place_of(file.path)
                    found.append(
                        self._place(pages, place, file.id, store.read(file.id, file.content), file.mtime_ns)
                    )
                    while place := parent_of(place):
                        directories.add(place)
                for directory in directories:
                    self._folder.sync(directory)
                with self._ledger.connection:
                    pages.put(found)
        finally:
            store.close()
        self._ledger.publish()

    def restart(self) -> None:
        """Take away the files that were placed, and begin with an empty database."""
        with storage_errors(), folder_errors(self._folder.path):
            self._clear(Pages(self._ledger.connection), set())
        self._ledger.restart()

    def close(self) -> None:
        """Close everything."""
        self._ledger.close()
        self._meta.close()
        self._folder.close()

    def _clear(self, pages: Pages, wanted: set[str]) -> None:
        """Remove what an earlier attempt has placed and nobody wants any more; refuse what is another's."""
        for place in [found[0] for found in self._folder.walk("") if found[0] not in wanted]:
            self._remove(pages, place)
            self._folder.remove_empty(parent_of(place))

    def _place(self, pages: Pages, place: str, file_id: int, content: bytes, mtime_ns: int) -> Page:
        folder = self._folder
        if folder.look(place) is not None:
            self._remove(pages, place)
        name, staged, descriptor = folder.stage(content, mtime_ns, None)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        steps.do(folder, Step("place", name, place, "", staged.inode), [])
        signature = folder.look(place)
        assert signature is not None, "it was placed just now"
        return page_of(place, file_id, signature, content, hashlib.sha256(content).digest())

    def _remove(self, pages: Pages, place: str) -> None:
        with self._folder.holder(place) as (directory, name):
            there = read(directory, name)
            if there is None:
                return
            if not pages.knows(hashlib.sha256(there.content).digest()):
                raise StoreError(
                    f"{self._folder.path / place} is a file of somebody else's; move it away and try again.",
                    ErrorCode.CONFLICT,
                )
            os.unlink(name, dir_fd=directory)
