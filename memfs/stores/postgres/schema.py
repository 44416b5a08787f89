"""The tables of a store: made, brought to the present format step by step, and recognised.

``steps/N.sql`` leads from the format before N to it, and ``steps/N-part.sql``, for each part of the tables.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import psycopg
from psycopg import errors

from memfs.port.errors import StoreError, UnsafeStorage

FORMAT = 1
PARTS = 64
"""Into how many parts the tables are cut, by a hash of the scope."""
_LOCK = 0x6D656D66  # "memf"


def initialise(connection: psycopg.Connection[Any]) -> tuple[int, int]:
    """Make the store's tables, or bring them to the present format; the one it had, 0 for none, and has.

    On a connection in autocommit, of the role that is to own them. Safe to repeat, and from several machines
    at once. Raises psycopg.Error, and StoreError for a database that cannot hold a store.
    """
    with connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog")  # where nobody else can put a function
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        encoding, version = _row(
            connection,
            "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int",
        )
        if encoding != "UTF8":
            raise StoreError(f"The database's encoding is {encoding}; make one with ENCODING 'UTF8'.")
        if version < 140_000:
            raise StoreError(f"The server is PostgreSQL {version // 10_000}; a store needs 14 or newer.")
        before = _format(connection)
        _refuse_newer(before)
        for step in range(before + 1, FORMAT + 1):
            connection.execute(_text(f"{step}.sql"))
            for part in range(PARTS):
                text = _text(f"{step}-part.sql")
                connection.execute(text.replace(b"{parts}", b"%d" % PARTS).replace(b"{part}", b"%d" % part))
        if before == 0:
            connection.execute("INSERT INTO memfs.format (version) VALUES (%s)", (FORMAT,))
        elif before < FORMAT:
            connection.execute("UPDATE memfs.format SET version = %s", (FORMAT,))
    return before, FORMAT


def check(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database without a store, or with one of another format. Raises StoreError, psycopg.Error."""
    try:
        (found,) = _row(connection, "SELECT version FROM memfs.format")
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.InsufficientPrivilege):
        found = 0
    if found == 0:
        raise StoreError("The database holds no store of memfs; run memfs store init URL.")
    _refuse_newer(found)
    if found < FORMAT:
        raise StoreError(
            f"The store was made by an older memfs (format {found}); "
            f"run memfs store init URL to bring it to {FORMAT}."
        )


def _format(connection: psycopg.Connection[Any]) -> int:
    """The format of what is there; 0 where nothing is."""
    (there,) = _row(connection, "SELECT to_regclass('memfs.format') IS NOT NULL")
    if there:
        return int(_row(connection, "SELECT version FROM memfs.format")[0])
    (taken,) = _row(connection, "SELECT to_regnamespace('memfs') IS NOT NULL")
    if taken:
        raise UnsafeStorage("The database has a schema memfs that memfs did not make; use another database.")
    return 0


def _refuse_newer(found: int) -> None:
    if found > FORMAT:
        raise UnsafeStorage(
            f"The store was made by a newer memfs (format {found}, this one knows {FORMAT}); "
            "upgrade memfs to open it."
        )


def _row(connection: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    found = connection.execute(query.encode()).fetchone()
    if found is None:
        raise UnsafeStorage("The database is not as memfs wrote it; restore it from a backup.")
    return tuple(found)


def _text(name: str) -> bytes:
    return files(__package__).joinpath("steps", name).read_bytes()
