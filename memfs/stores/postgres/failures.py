"""PostgreSQL's errors as the port's: the one place that maps them.

What psycopg says may quote a connection's parameters or a row, so no sentence is taken from it.
"""

from __future__ import annotations

import psycopg
from psycopg import errors

from memfs.port.errors import StoreError, UnsafeStorage

PASSING = frozenset({"25006", "25P03", "26000", "42P05", "53300", "57P01", "57P02", "57P03", "57P05"})
"""States that pass: a standby before it is promoted, too many clients, a server that starts or ends.

And a connection that was ended because its client held a lock for too long, or whose prepared statements
are not what we made, as what lies between has given its session to somebody else.
"""
NOTHING_DONE = frozenset({"25006", "26000", "42P05", "53300", "57P03"})
"""Those in which a statement was surely not carried out."""


def passes(error: psycopg.Error) -> bool:
    """Whether the server is away or the connection lost: the same may work on another, a little later."""
    state = error.sqlstate
    if state is None:  # libpq's own: no server said it
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state in PASSING or state.startswith("08")


def reason_of(error: BaseException) -> str:
    """Why a server is away, in a few words without a secret."""
    match error:
        case psycopg.Error(sqlstate="57P03"):
            return "it is starting or stopping"
        case psycopg.Error(sqlstate="53300"):
            return "it has no connection left"
        case psycopg.Error(sqlstate="25006"):
            return "it takes no changes: a standby, or made read-only"
        case psycopg.Error(sqlstate=str(state)) if state.startswith("57P"):
            return "it was stopped"
        case psycopg.errors.ConnectionTimeout() | TimeoutError():
            return "it does not answer"
        case psycopg.Error(sqlstate=None):
            text = str(error).lower()
            for sign, reason in _SIGNS.items():
                if sign in text:
                    return reason
    return "the connection was lost"


_SIGNS = {
    "connection refused": "it refuses connections",
    "no such file": "nothing listens on its socket",
    "could not translate host name": "its host name is not known",
    "failed to resolve host": "its host name is not known",
    "too many c": "it has no connection left",
    "connection slots are reserved": "it has no connection left",
    "starting up": "it is starting or stopping",
    "shutting down": "it is starting or stopping",
    "timeout": "it does not answer",
    "timed out": "it does not answer",
    "no route": "there is no route to it",
    "unreachable": "there is no route to it",
}
"""What libpq writes, which has no code of its own, and what that means."""

_CREDENTIALS = ("no password supplied", "password authentication", "passfile")


def refusal(error: psycopg.Error) -> StoreError | None:
    """What is wrong with how we come to the server, which no waiting mends; None for anything else."""
    text = str(error).lower() if error.sqlstate is None else ""
    match error.sqlstate:
        case "28P01":
            return StoreError("The server does not accept the password; check ~/.pgpass or PGPASSWORD.")
        case "28000":
            return StoreError("The server does not let this user in; check the user, and its pg_hba.conf.")
        case "3D000":
            return StoreError(
                "There is no such database on the server; create it, then run memfs store init."
            )
        case "42501":
            return StoreError("This role may not use the store; have its owner run memfs store grant.")
    if any(sign in text for sign in _CREDENTIALS):
        return StoreError(
            "The server wants a password, and none was accepted; "
            "put it into ~/.pgpass, a service file or PGPASSWORD."
        )
    if "role" in text and "does not exist" in text:
        return StoreError("The server knows no such role; name another user in the URL.")
    if "database" in text and "does not exist" in text:
        return StoreError("There is no such database on the server; create it, then run memfs store init.")
    if "pg_hba" in text:
        return StoreError("The server does not let this user in; check its pg_hba.conf.")
    if "permission denied for database" in text:
        return StoreError("This role may not connect to the database; GRANT CONNECT lets it.")
    if "ssl" in text or "certificate" in text:
        return StoreError(
            "The connection cannot be made safe with TLS; check sslmode and sslrootcert in the URL."
        )
    if "service" in text and "not found" in text:
        return StoreError("The service in the URL is in no service file; see PGSERVICEFILE.")
    return None


def translated(error: psycopg.Error) -> StoreError:
    """The StoreError that says what *error* means for the caller of a command."""
    known = refusal(error)
    if known is not None:
        return known
    match error:
        case errors.InvalidSchemaName() | errors.UndefinedTable() | errors.UndefinedFunction():
            return StoreError("The database holds no store of memfs; run memfs store init URL.")
        case errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
            return UnsafeStorage("The database is not as memfs wrote it; restore it from a backup.")
        case errors.LockNotAvailable():
            return StoreError("Another writer has held the scope for too long; look for a stopped memfs.")
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreError("The server has no room left; nothing was changed.")
        case errors.IntegrityError():
            return UnsafeStorage(
                f"The database refused a change as contradictory (SQLSTATE {error.sqlstate})."
            )
        case psycopg.Error(sqlstate=str(state)):
            return StoreError(f"PostgreSQL failed with SQLSTATE {state}; its log says more.")
    return StoreError("PostgreSQL failed; its log says more.")
