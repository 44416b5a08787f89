"""``.meta/index.json``, the page index: for programs that want titles without reading every page.

It is derived from the database, so a power cut may take it; a stale or missing one is written anew.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress

import apsw

from memfs.nofollow import write_all
from memfs.stores.directory.failures import folder_errors
from memfs.stores.directory.folder import UNFINISHED, Folder, LeftAlone, Signature, look
from memfs.stores.directory.pages import Pages
from memfs.stores.gate import Gate
from memfs.stores.sqlite.database import ScopeFiles, connect

NAME = "index.json"
SECONDS = 5.0
"""The least time between two writes of the index while the memory is open."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PageIndex:
    """The index of one folder, on a connection of its own: any thread may write it.

    ``stale`` is for others to set: whether what is there may not show the present state.
    """

    def __init__(self, folder: Folder, files: ScopeFiles) -> None:
        self._folder = folder
        self._files = files
        self._writing = threading.Lock()
        self._written = time.monotonic()
        self._connection: apsw.Connection | None = None
        self._gate: Gate | None = None
        self._closed = False
        self.stale = True

    @property
    def is_due(self) -> bool:
        """Whether it is stale, and has been let alone long enough."""
        return self.stale and time.monotonic() - self._written >= SECONDS

    def write(self) -> None:
        """Write it, if it does not show the present state. Waits for the scope. Raises StoreError."""
        with self._writing, folder_errors(self._folder.path):
            if self._closed or not self.stale:
                return
            self.stale = False
            self._written = time.monotonic()
            connection, gate = self._opened()
            gate.acquire(wait=True)
            try:
                with connection:
                    self._write(Pages(connection))
            except BaseException:
                self.stale = True
                raise
            finally:
                gate.release()

    def close(self) -> None:
        """Release what was opened."""
        with self._writing:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
            if self._gate is not None:
                self._gate.close()

    def _opened(self) -> tuple[apsw.Connection, Gate]:
        if self._gate is None:
            self._gate = Gate(self._files.lock)
        if self._connection is None:
            self._connection = connect(self._files, relaxed=True)
            self._connection.set_busy_timeout(1_000)
        return self._connection, self._gate

    def _write(self, pages: Pages) -> None:
        newest = pages.newest_record()
        try:
            there = look(self._folder.meta, NAME)
        except LeftAlone:
            return  # not ours to replace
        if there is not None and pages.indexed() == (newest, there.size, there.mtime_ns):
            return
        entries = {
            place: {"title": title, "bytes": size, "order": order, "id": file_id}
            for order, (place, title, size, file_id) in enumerate(pages.for_index(), start=1)
        }
        text = json.dumps({"version": 1, "pages": entries}, ensure_ascii=False, separators=(",", ":"))
        made = self._replace(text.encode() + b"\n")
        pages.set_indexed(newest, made.size, made.mtime_ns)

    def _replace(self, content: bytes) -> Signature:
        unfinished = f"{UNFINISHED}{os.urandom(6).hex()}"
        descriptor = os.open(unfinished, _NEW, 0o600, dir_fd=self._folder.staged)
        try:
            write_all(descriptor, content)
            signature = Signature.of(os.fstat(descriptor))
            os.rename(unfinished, NAME, src_dir_fd=self._folder.staged, dst_dir_fd=self._folder.meta)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=self._folder.staged)
            raise
        finally:
            os.close(descriptor)
        return signature
