"""A database of an earlier format, brought to the present one: all of it in one transaction, or nothing.

Format 1 has been written with five sets of columns, so what is missing is what its tables say.
"""

from __future__ import annotations

import apsw

_ADDED = (
    ("scope", "retained_ns", "INTEGER NOT NULL DEFAULT 0"),
    ("scope", "unwiped", "INTEGER NOT NULL DEFAULT 0"),
    ("history", "directory", "TEXT"),
    ("history", "joins", "INTEGER"),
    ("history", "reason", "TEXT NOT NULL DEFAULT ''"),
    ("history", "digest", "BLOB"),
    ("history", "redacted", "INTEGER"),
)
"""The columns that format 2 has, and not every database of format 1."""
_FILE_WITHOUT_INDEX = """
CREATE TABLE file_of_format_2 (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  written INTEGER NOT NULL,
  content INTEGER NOT NULL,
  record INTEGER NOT NULL
) STRICT;
INSERT INTO file_of_format_2 SELECT id, path, size, mtime_ns, written, content, record FROM file;
DROP TABLE file;
ALTER TABLE file_of_format_2 RENAME TO file;
"""
_GONE = """
CREATE TABLE gone (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  record INTEGER NOT NULL
) STRICT;
CREATE INDEX gone_by_path ON gone (path);
INSERT INTO gone (id, path, record)
  SELECT id, path, max(record) FROM history WHERE id NOT IN (SELECT id FROM file) GROUP BY id;
"""


def bring_up_to_date(connection: apsw.Connection) -> None:
    """From format 1 to format 2; the caller has begun a transaction, and enters the format in it."""
    for table, column, kind in _ADDED:
        if column not in _columns(connection, table):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
    if connection.execute("SELECT 1 FROM pragma_index_list('file')").fetchall():
        connection.execute(_FILE_WITHOUT_INDEX)
    if not _columns(connection, "gone"):
        connection.execute(_GONE)


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    return {str(name) for (name,) in found}
