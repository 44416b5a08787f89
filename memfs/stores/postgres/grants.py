"""Who may use which scope: rows that the policies of the tables look at.

Every table has a policy (``steps``), so that a role sees the scopes granted to it, or to one that it is a
member of, and no trace of others. The owner of the tables sees all. The functions here are its.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.types.numeric import Int8

from memfs.port.errors import ErrorCode, StoreError
from memfs.stores.postgres import schema

EVERY, NEW = 0, -1
"""What stands in the place of a scope's id: all there are and will be; those that the role makes."""


class Grant(NamedTuple):
    """What one role may use: one scope, all of them (``None``), or, as ``may_create``, what it makes."""

    role: str
    scope: str | None
    may_create: bool = False


def grant(
    connection: psycopg.Connection[Any],
    role: str,
    scopes: Sequence[str] | None = (),
    *,
    may_create: bool = False,
) -> None:
    """Let *role* use *scopes*, or all with None; with *may_create* also make scopes, which it may use then.

    On a connection of the store's owner, in autocommit. Raises StoreError for a role or a scope that is not
    there, and does nothing then; psycopg.Error.
    """
    with connection.transaction():
        schema.check(connection)
        for scope in _ids(connection, role, scopes, may_create):
            connection.execute(
                "INSERT INTO memfs.access (scope, role) VALUES (%s, quote_ident(%s)::regrole) "
                "ON CONFLICT DO NOTHING",
                (Int8(scope), role),
            )


def revoke(
    connection: psycopg.Connection[Any],
    role: str,
    scopes: Sequence[str] | None = (),
    *,
    may_create: bool = False,
) -> None:
    """Take back what :func:`grant` gave; None takes back everything, single scopes too."""
    with connection.transaction():
        schema.check(connection)
        taken = _ids(connection, role, scopes, may_create)
        connection.execute(
            "DELETE FROM memfs.access WHERE role = quote_ident(%s)::regrole AND (scope = ANY (%s) OR %s)",
            (role, taken, scopes is None),
        )


def granted(connection: psycopg.Connection[Any]) -> list[Grant]:
    """Every grant, by role and scope."""
    schema.check(connection)
    found = connection.execute(
        "SELECT r.rolname, d.name, a.scope FROM memfs.access AS a JOIN pg_roles AS r ON r.oid = a.role "
        "LEFT JOIN memfs.directory AS d USING (scope) WHERE a.scope <= 0 OR d.name IS NOT NULL "
        "ORDER BY r.rolname, a.scope > 0, d.name"
    )
    return [Grant(role, name, scope == NEW) for role, name, scope in found]


def _ids(
    connection: psycopg.Connection[Any], role: str, scopes: Sequence[str] | None, may_create: bool
) -> list[int]:
    if not _has(connection, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)", role):
        raise StoreError(
            f"The server knows no role '{role}'; CREATE ROLE makes it.", ErrorCode.INVALID_ARGUMENT
        )
    owned = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'memfs.access'::regclass"
    if not _has(connection, owned):
        raise StoreError("Only who owns the store can grant; connect as the role that ran memfs store init.")
    ids = [NEW] if may_create else []
    if scopes is None:
        return [*ids, EVERY]
    found = dict(
        connection.execute("SELECT name, scope FROM memfs.directory WHERE name = ANY (%s)", (list(scopes),))
    )
    missing = next((name for name in scopes if name not in found), None)
    if missing is not None:
        raise StoreError(
            f"There is no scope '{missing}'; memfs scopes lists those that are.", ErrorCode.INVALID_ARGUMENT
        )
    return [*ids, *found.values()]


def _has(connection: psycopg.Connection[Any], query: str, *values: object) -> bool:
    found = connection.execute(query.encode(), values or None).fetchone()
    return found is not None and bool(found[0])
