"""Looking for damage in the database of one scope: what ``memfs doctor`` asks, and nothing else needs.

Each question is a connection of its own that changes nothing, and its answer a list of clauses about what
does not add up. Nothing here trusts what ``store`` has loaded.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from memfs.port.errors import StoreError, UnsafeStorage
from memfs.stores.gate import said_by_holder
from memfs.stores.inspecting import MOST_FAULTS, History
from memfs.stores.sqlite.database import ScopeFiles, check_header, connect
from memfs.stores.sqlite.failures import storage_errors
from memfs.stores.sqlite.rows import read_content, select

GATE_SECONDS = 3.0
BUSY_MS = 3_000

# Records up to `pruned` may be gone, and are not missed.
_NO_WRITE = """
SELECT path FROM file WHERE written > (SELECT pruned FROM scope)
AND NOT EXISTS (SELECT 1 FROM history WHERE history.record = written AND history.id = file.id)
"""
_LATE = """
SELECT path FROM file WHERE EXISTS (
  SELECT 1 FROM history WHERE history.id = file.id AND history.record > written AND content IS NOT NULL
  AND operation IN ('created', 'modified', 'restored'))
"""
_SHARED = "SELECT min(path) FROM file GROUP BY written HAVING count(*) > 1"
_NO_RECORD = """
SELECT path FROM file WHERE record > (SELECT pruned FROM scope)
AND NOT EXISTS (SELECT 1 FROM history WHERE history.record = file.record AND history.id = file.id)
"""
_NO_BASE = """
SELECT path FROM history AS later WHERE base IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM history WHERE record = later.base AND content IS NOT NULL)
"""
_AMOUNT = "SELECT count(*), coalesce(sum(length(content)), 0), coalesce(max(time_ns), 0) FROM history"
_STEPS_BACK = """
SELECT count(*) FROM (SELECT time_ns - lag(time_ns) OVER (ORDER BY record) AS step FROM history)
WHERE step < -60000000000
"""


class SqliteInspection:
    """The questions of :class:`~memfs.stores.inspecting.Inspection`, each on a connection of its own."""

    def __init__(self, directory: Path, scope_name: str) -> None:
        self._files = ScopeFiles(directory, scope_name)

    def damage(self) -> list[str]:
        """What SQLite's own check of the database's pages finds."""
        with self._asked() as ask:
            found = [row[0] for row in ask(f"PRAGMA quick_check({MOST_FAULTS})")]
        return [] if found == ["ok"] else found

    def contents(self, step: Callable[[str], object]) -> list[str]:
        """The bytes of each memory, against the size and the digest that were recorded with them."""
        faults: list[str] = []
        with self._connected() as connection:
            files = select(
                connection,
                "SELECT file.path, file.size, file.content, digest FROM file "
                "LEFT JOIN history ON history.record = file.content",
            )
            for path, size, record, digest in files:
                step(path)
                try:
                    content = read_content(connection, record)
                except StoreError as error:
                    faults.append(f"{path}: {error.message}")
                    continue
                if content is None:
                    faults.append(f"the bytes of {path} are missing")
                elif len(content) != size:
                    faults.append(f"{path} has {len(content)} bytes, and not {size}")
                elif digest is not None and hashlib.sha256(content).digest() != digest:
                    faults.append(f"{path} has other bytes than were written")
        return faults

    def write_order(self) -> list[str]:
        """Each memory's place in write order is that of its latest write, and no two have the same."""
        return [
            *(f"the place of {path} in write order is that of no write" for path in self._paths(_NO_WRITE)),
            *(f"{path} was written later than its place in write order says" for path in self._paths(_LATE)),
            *(f"{path} shares its place in write order" for path in self._paths(_SHARED)),
        ]

    def chain(self) -> list[str]:
        """What the history refers to is there: newest changes, and the versions others are kept against."""
        return [
            *(f"a version of {path} is kept against one that is missing" for path in self._paths(_NO_BASE)),
            *(f"the newest change of {path} is not in the history" for path in self._paths(_NO_RECORD)),
        ]

    def history(self) -> History:
        """How much history there is, and what its times say of the clock."""
        with self._asked() as ask:
            ((records, content_bytes, newest_ns),) = ask(_AMOUNT)
            ((steps_back,),) = ask(_STEPS_BACK)
        sizes = _size(self._files.database), _size(self._files.wal)
        return History(records, content_bytes, *sizes, newest_ns, steps_back)

    def holder(self) -> str | None:
        """Who keeps all writers out, where somebody does for longer than a moment and does not say why."""
        if not stat.S_ISREG(self._files.database.lstat().st_mode):
            raise UnsafeStorage(f"{self._files.database} is no ordinary file.")  # opening a FIFO does not end
        check_header(self._files)  # or it is none of ours
        try:
            lock = os.open(self._files.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            return f"the lock file {self._files.lock} cannot be opened: {error.strerror}"
        try:
            if not _comes_free(lock):
                if said_by_holder(lock) is not None:
                    return None  # writers wait for it
                return f"{_lock_owner(lock)} has held the lock for {GATE_SECONDS:.0f} s"
            with self._connected() as connection:
                connection.set_busy_timeout(BUSY_MS)
                try:
                    connection.execute("BEGIN IMMEDIATE; ROLLBACK")
                except apsw.BusyError:
                    return "a program other than memfs keeps the database locked"
        finally:
            os.close(lock)
        return None

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        with storage_errors(), closing(connect(self._files, relaxed=True)) as connection:
            connection.set_busy_timeout(BUSY_MS)
            yield connection

    def _paths(self, query: str) -> list[str]:
        with self._asked() as ask:
            return [path for (path,) in ask(query)[:MOST_FAULTS]]

    @contextmanager
    def _asked(self) -> Iterator[Callable[[str], list[Any]]]:
        with self._connected() as connection:
            yield lambda query: select(connection, query)


def _comes_free(lock: int) -> bool:
    deadline = time.monotonic() + GATE_SECONDS
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def _lock_owner(lock: int) -> str:
    """The process that holds the lock on an open file, as ``/proc/locks`` has it."""
    inode = str(os.fstat(lock).st_ino)
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if len(fields) == 8 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                return f"process {fields[4]}"
    return "another process"


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
