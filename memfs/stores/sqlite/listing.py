"""The scopes in a directory of databases, read without making, migrating or locking anything.

A database whose log is empty is read as a file that nobody changes, for otherwise SQLite would lay a log
and its index beside it. If one has come meanwhile, somebody writes, and it is read again with its log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

import apsw

from memfs.port.change import Actor, Origin
from memfs.port.errors import StoreError
from memfs.port.listing import Listed, Listing, Unlisted
from memfs.stores.recorded import version_of
from memfs.stores.sqlite import rows
from memfs.stores.sqlite.database import ScopeFiles, check_header
from memfs.stores.sqlite.failures import storage_errors

_NAMES = "[0-9a-f]" * 32 + ".db"
_QUERY = """
SELECT name, (SELECT count(*) FROM file), (SELECT coalesce(sum(size), 0) FROM file),
  (SELECT coalesce(max(record), 0) FROM history), (SELECT time_ns FROM history ORDER BY record LIMIT 1)
FROM scope
"""
_LAST = "SELECT time_ns, user, program, pid, reason FROM history ORDER BY record DESC LIMIT 1"


def scopes_in(directory: Path) -> Iterator[Listing]:
    """Every scope of a store directory, in the order of names; none where there is no such directory."""
    found: list[Listed] = []
    for database in sorted(directory.glob(_NAMES)):
        listing = listed(ScopeFiles(directory, "", database.stem))
        if isinstance(listing, Unlisted):
            yield listing
        else:
            found.append(listing)
    yield from sorted(found, key=attrgetter("name"))


def listed(files: ScopeFiles) -> Listing:
    """The scope of one database."""
    try:
        if files.database.is_symlink() or not files.database.is_file():
            return Unlisted(f"{files.shown} is a link or no ordinary file; it was left as it is.")
        check_header(files)
        with storage_errors():
            if not _has_log(files):
                listing = _read(files, "immutable=1")
                if not _has_log(files):
                    return listing
            return _read(files, "mode=ro")
    except StoreError as error:
        named = str(files.shown) in error.message
        return Unlisted(error.message if named else f"{files.shown}: {error.message}")


def _read(files: ScopeFiles, how: str) -> Listed:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(f"file:{quote(str(files.database))}?{how}", flags=flags)) as connection:
        name, count, size, newest, since_ns = rows.select(connection, _QUERY)[0]
        last = rows.select(connection, _LAST)
    origin = None
    if last:
        time_ns, user, program, pid, reason = last[0]
        origin = Origin(time_ns, Actor(user, program, pid), reason)
    return Listed(name, count, size, version_of(newest), origin, since_ns)


def _has_log(files: ScopeFiles) -> bool:
    try:
        return files.wal.stat().st_size > 0
    except FileNotFoundError:
        return False
