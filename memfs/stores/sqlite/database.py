"""Making, checking and opening the database of one scope.

Nothing that memfs did not write is ever changed: an existing file is recognised by its header
before a connection is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from pathlib import Path

import apsw

from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.policy import Policy
from memfs.stores.gate import Gate
from memfs.stores.sqlite.failures import storage_errors
from memfs.stores.sqlite.formats import bring_up_to_date

APPLICATION_ID = 0x6D656D66  # "memf"
FORMAT = 2
"""One more with each change of SCHEMA; ``formats`` brings what is older up to it."""
HEADER_BYTES = 100
MAGIC = b"SQLite format 3\0"
KEPT_LOG_BYTES = 1 << 20
BUSY_MS = 5_000
"""How long SQLite itself waits for a lock: another program's, or that of who opens or closes just now."""

# Contents are written once, in the history row of the change that brought them: one blob, one page run,
# no copy between tables. `file` is the state now and points there; `previous` chains a memory's records, so
# that no index has to be kept: `file` and `gone` know where each chain begins.
SCHEMA = f"""
CREATE TABLE scope (
  name TEXT NOT NULL,
  policy TEXT NOT NULL,
  pruned INTEGER NOT NULL DEFAULT 0,     -- records up to this one may be gone
  compacted INTEGER NOT NULL DEFAULT 0,  -- records up to this one have had their turn as deltas
  retained_ns INTEGER NOT NULL DEFAULT 0,  -- when the history was last cut to what is to be kept
  unwiped INTEGER NOT NULL DEFAULT 0     -- whether the files may still hold bytes that were redacted
) STRICT;
CREATE TABLE history (
  record INTEGER PRIMARY KEY,
  operation TEXT NOT NULL,
  id INTEGER NOT NULL,
  previous INTEGER,
  path TEXT NOT NULL,
  old_path TEXT,
  directory TEXT,                        -- in a change's first record: what was deleted or renamed as a whole
  size INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  mtime_ns INTEGER,
  joins INTEGER,                         -- the version of a change that was one save with this one
  user TEXT NOT NULL,
  program TEXT NOT NULL,
  pid INTEGER NOT NULL,
  reason TEXT NOT NULL,
  digest BLOB,                           -- SHA-256 of the memory's bytes after the change
  redacted INTEGER,                      -- the record that says who took the bytes out
  base INTEGER,                          -- content is a delta against the content of this record
  content BLOB
) STRICT;
CREATE TABLE file (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,                    -- unique by the plan, checked at load: an index costs a page
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  written INTEGER NOT NULL,              -- place in write order
  content INTEGER NOT NULL,              -- the record that holds the bytes
  record INTEGER NOT NULL                -- the newest record of this memory
) STRICT;
CREATE TABLE gone (                      -- memories that have left: only a deletion or an eviction pays
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,                    -- its last
  record INTEGER NOT NULL                -- the newest record of this memory
) STRICT;
CREATE INDEX gone_by_path ON gone (path);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""


class ScopeFiles:
    """Where one scope of a store directory lies: the database and what accompanies it.

    The files are called *stem*, by default after the scope. Sentences about the database say ``shown``:
    its path, also where *directory* is one that tells a person nothing, as that of a descriptor is. *vfs*
    names the SQLite file layer that opens them, None for SQLite's own.
    """

    def __init__(
        self,
        directory: Path,
        scope_name: str,
        stem: str | None = None,
        shown: Path | None = None,
        vfs: str | None = None,
    ) -> None:
        stem = hashlib.sha256(scope_name.encode()).hexdigest()[:32] if stem is None else stem
        self.directory = directory
        self.database = directory / f"{stem}.db"
        self.wal = directory / f"{stem}.db-wal"
        self.lock = directory / f"{stem}.lock"
        self.notices = directory / f"{stem}.notices"
        self.shown = self.database if shown is None else shown / self.database.name
        self.vfs = vfs
        self._scope_name = scope_name

    @property
    def incoming(self) -> ScopeFiles:
        """Where the scope is built that comes from another store, before it lies here."""
        stem = f"{self.database.stem}-incoming"
        return ScopeFiles(self.directory, self._scope_name, stem, self.shown.parent, self.vfs)


def check_library() -> None:
    """Refuse an SQLite that can lose committed writes with several connections in WAL mode."""
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45):
        return
    raise StoreError(
        f"SQLite {apsw.sqlite_lib_version()} has a bug that can lose writes (WAL reset, fixed in 3.51.3); "
        "install a newer apsw."
    )


def make_directory(directory: Path) -> None:
    """The store's own directory, private to the user, with its missing parents."""
    try:
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700 if path == directory else 0o777, exist_ok=True)
            with suppress(PermissionError):  # a directory that may not be read cannot be opened to sync it
                sync_directory(path.parent)
    except OSError as error:
        raise StoreError(f"The store directory {directory} cannot be made: {error.strerror}.") from error


def ensure_database(files: ScopeFiles, gate: Gate, scope_name: str, policy: Policy) -> bool:
    """Make the scope's database if there is none, with *policy*. One that is there is checked, and upgraded.

    Returns whether it was made. Raises UnsafeStorage for a file that is damaged, foreign, or
    from a newer memfs, and leaves it as it is.
    """
    try:
        gate.acquire(wait=True)
        try:
            if not _is_there(files):
                with storage_errors():
                    _make_database(files, scope_name, policy)
                return True
            if check_header(files) < FORMAT:
                with storage_errors():
                    _bring_up_to_date(files)
        finally:
            gate.release()
    except OSError as error:
        raise StoreError(f"The store in {files.shown.parent} cannot be used: {error.strerror}.") from error
    return False


def connect(files: ScopeFiles, relaxed: bool) -> apsw.Connection:
    """A connection to a database that :func:`ensure_database` has seen.

    *relaxed* commits survive a killed process, and a power cut only after a sync.
    """
    connection = apsw.Connection(str(files.database), flags=apsw.SQLITE_OPEN_READWRITE, vfs=files.vfs)
    try:
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        # Plans do not look at the values that are bound: else statements with a subquery are compiled anew
        # for each, a third of a commit.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        # synchronous belongs to the connection, not to the file. A relaxed connection never checkpoints by
        # itself: that waits for the disk, and its commits run on an event loop.
        connection.execute(
            "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0"
            if relaxed
            else "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000"
        )
        # A log that starts over is cut to this size: its length then says how much there is to checkpoint.
        connection.execute(f"PRAGMA journal_size_limit = {KEPT_LOG_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def sync_directory(directory: Path) -> None:
    """Make the names in *directory* survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_there(files: ScopeFiles) -> bool:
    """Whether there is a database to open. Nothing else may stand in its place, nor be left of an old one."""
    try:
        status = files.database.lstat()
    except FileNotFoundError:
        status = None
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise UnsafeStorage(f"{files.shown} is a link or no ordinary file; it was left as it is.")
    if status is not None and status.st_size > 0:
        return True
    if files.wal.exists() and files.wal.stat().st_size > 0:
        # SQLite would play this log into whatever database lies beside it.
        raise UnsafeStorage(f"{files.shown}-wal has lost its database; it was left as it is. Restore both.")
    return False


def _make_database(files: ScopeFiles, scope_name: str, policy: Policy) -> None:
    """Build the database aside and move it into place: a crash leaves none or a whole one."""
    unfinished = files.database.with_suffix(".new")
    for leftover in (unfinished, unfinished.with_name(unfinished.name + "-journal")):
        leftover.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    connection = apsw.Connection(str(unfinished), flags=apsw.SQLITE_OPEN_READWRITE, vfs=files.vfs)
    try:
        with connection:
            connection.execute(SCHEMA)
            connection.execute(
                "INSERT INTO scope (name, policy) VALUES (?, ?)", (scope_name, json.dumps(policy.to_json()))
            )
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    unfinished.rename(files.database)
    sync_directory(files.directory)


def _bring_up_to_date(files: ScopeFiles) -> None:
    """Give a database of an earlier format the present one: whole or, where that fails, not at all."""
    connection = connect(files, relaxed=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            written_format = connection.pragma("user_version")  # the header may be older than the log
            _check_format(files, written_format)
            if written_format < FORMAT:
                bring_up_to_date(connection)
                connection.pragma("user_version", FORMAT)
        connection.execute("COMMIT")
    finally:
        connection.close()


def check_header(files: ScopeFiles) -> int:
    """Recognise a database of memfs by its header; the format that this has.

    It looks no further, for the rest may need the log.

    After a kill in the middle of a checkpoint, pages and size of the file fit each other only once the
    log has been played in. The bytes are read through SQLite's own file layer, since a plain close(2)
    would end every POSIX lock that this process holds on the file.
    """
    try:
        file = apsw.VFSFile(
            "", str(files.database), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
        )
        try:
            header = file.xRead(HEADER_BYTES, 0)
        finally:
            file.xClose()
    except apsw.Error as error:
        raise StoreError(f"{files.shown} cannot be read: {error}.") from error
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise UnsafeStorage(f"{files.shown} is damaged or no database of memfs; it was left as it is.")
    written_format, application_id = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    if application_id != APPLICATION_ID:
        raise UnsafeStorage(f"{files.shown} was not written by memfs; it was left as it is.")
    _check_format(files, written_format)
    return written_format


def _check_format(files: ScopeFiles, written_format: int) -> None:
    if written_format > FORMAT:
        raise UnsafeStorage(
            f"{files.shown} was written by a newer memfs (format {written_format}, this one knows {FORMAT}); "
            "upgrade memfs to open it."
        )
