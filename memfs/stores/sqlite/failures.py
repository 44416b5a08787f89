"""SQLite's errors as the port's: the one place that maps them. No message names contents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from memfs.port.errors import StoreError, UnsafeStorage


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise what SQLite raises inside as a StoreError."""
    try:
        yield
    except apsw.Error as error:
        raise translated(error) from error
    except UnicodeDecodeError as error:  # text in a column that nobody wrote as text
        raise UnsafeStorage("The database is not as memfs wrote it: a text in it is no UTF-8.") from error


def translated(error: apsw.Error) -> StoreError:
    """The StoreError that says what *error* means for the caller of a command."""
    match error:
        case apsw.CorruptError() | apsw.NotADBError():
            return UnsafeStorage("The database is damaged; it was left as it is. Restore it from a copy.")
        case apsw.SQLError() | apsw.MismatchError() | apsw.ConstraintError():
            return UnsafeStorage(f"The database is not as memfs wrote it: {error}.")
        case apsw.FullError():
            return StoreError("The disk that holds the store is full; nothing was changed.")
        case apsw.ReadOnlyError():
            return StoreError("The store can only be read; check the permissions of its directory.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreError("Another program keeps the database locked; close it and try again.")
        case _:
            return StoreError(f"SQLite failed: {error}.")
