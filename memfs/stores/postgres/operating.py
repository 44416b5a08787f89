"""What the operator of a store asks of its database, each time on a connection of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from memfs.port.change import Actor, Origin
from memfs.port.errors import StoreError
from memfs.port.listing import Listed
from memfs.stores.postgres import grants, schema
from memfs.stores.postgres.address import address_of
from memfs.stores.postgres.connections import Connection, connect
from memfs.stores.postgres.failures import reason_of, refusal, translated

INCOMING = "\x01"
"""What the name of a scope begins with that is on its way: no scope that can be opened is called so."""
PAGE = 1_000
"""Scopes that are asked for at a time."""
MOST_LOOKED_INTO = 10_000
"""Scopes up to which each is asked for the beginning of its history."""

# Keyset pages: each begins behind the last name of the one before it.
_PAGE = """
SELECT d.name, s.version, f.files, f.size, l.time_ns, l."user", l.program, l.pid, l.reason
FROM (
  SELECT name, scope FROM memfs.directory
  WHERE name > %(after)s AND left(name, 1) <> %(incoming)s AND strpos(name, %(like)s) > 0
  ORDER BY name LIMIT %(page)s
) AS d
JOIN memfs.scope AS s USING (scope)
CROSS JOIN LATERAL (
  SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS size FROM memfs.file WHERE scope = d.scope
) AS f
LEFT JOIN LATERAL (
  SELECT time_ns, "user", program, pid, reason FROM memfs.history
  WHERE scope = d.scope ORDER BY record DESC LIMIT 1
) AS l ON true
ORDER BY d.name
"""
_TOTALS = """
SELECT (SELECT count(*) FROM memfs.directory WHERE left(name, 1) <> chr(1)), count(*),
  coalesce(sum(size), 0)::bigint
FROM memfs.file
WHERE scope NOT IN (SELECT scope FROM memfs.directory WHERE left(name, 1) = chr(1))
"""
_OLDEST = """
SELECT min(o.time_ns) FROM memfs.scope AS s, LATERAL (
  SELECT time_ns FROM memfs.history WHERE scope = s.scope ORDER BY record LIMIT 1
) AS o
"""
_SERVER = """
SELECT current_setting('server_version'), pg_is_in_recovery(),
  pg_database_size(current_database()),
  (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
  current_setting('max_connections'),
  current_setting('synchronous_standby_names')
"""
_STANDBYS = """
SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a standby'), state, sync_state
FROM pg_stat_replication ORDER BY 1
"""
_ORPHANS = {
    "scopes have a name and no rows": (
        "SELECT count(*) FROM memfs.directory AS d WHERE NOT EXISTS "
        "(SELECT FROM memfs.scope AS s WHERE s.scope = d.scope)"
    ),
    "scopes have rows and no name": (
        "SELECT count(*) FROM memfs.scope AS s WHERE NOT EXISTS "
        "(SELECT FROM memfs.directory AS d WHERE d.scope = s.scope)"
    ),
}


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection to the database of a store, whose errors are the port's. Raises StoreError, OpenError."""
    address = address_of(url)
    try:
        with connect(address, time.monotonic() + address.patience, "memfs store") as connection:
            connection.deadline = float("inf")
            yield connection
    except psycopg.Error as error:
        if error.sqlstate is None and refusal(error) is None:
            raise StoreError(f"The store {address.place} is away: {reason_of(error)}.") from None
        raise translated(error) from None


def scopes_in(url: str, like: str, after: str) -> Iterator[Listed]:
    """The scopes that this role sees, a page at a time. Raises StoreError."""
    with connected(url) as connection:
        schema.check(connection)
        while True:
            values = {"after": after, "incoming": INCOMING, "like": like, "page": PAGE}
            page = connection.execute(_PAGE, values).fetchall()
            for name, version, files, size, *last in page:
                yield Listed(name, files, size, version, _origin(last))
            if len(page) < PAGE:
                return
            after = page[-1][0]


def initialise(url: str) -> tuple[int, int]:
    """Make the tables or bring them up to date; the format before, 0 for none, and now. Raises StoreError."""
    with connected(url) as connection:
        return schema.initialise(connection)


def change_grants(url: str, role: str, scopes: Sequence[str] | None, may_create: bool, revokes: bool) -> None:
    """Give *role* what is named, or take it back. Raises StoreError."""
    with connected(url) as connection:
        change = grants.revoke if revokes else grants.grant
        change(connection, role, scopes, may_create=may_create)


def granted(url: str) -> list[grants.Grant]:
    """Who may use what. Raises StoreError."""
    with connected(url) as connection:
        return grants.granted(connection)


def status_of(url: str) -> dict[str, Any]:
    """How the server and the store on it are, as this role sees it. Raises StoreError."""
    with connected(url) as connection:
        version, is_standby, size, used, most, synchronous = _row(connection, _SERVER)
        found: dict[str, Any] = {
            "server": f"PostgreSQL {version.split()[0]}",
            "connections": f"{used} of {most}",
            "replication": _replication(connection, is_standby, synchronous),
            "database_bytes": size,
        }
        schema.check(connection)
        (found["format"],) = _row(connection, "SELECT version FROM memfs.format")
        found["scopes"], found["files"], found["bytes"] = _row(connection, _TOTALS)
        if found["scopes"] <= MOST_LOOKED_INTO:
            (found["since_ns"],) = _row(connection, _OLDEST)
        return found


def faults_in(url: str) -> list[str]:
    """What in the store belongs to no scope, as clauses. Raises StoreError."""
    with connected(url) as connection:
        schema.check(connection)
        counts = {what: _row(connection, query)[0] for what, query in _ORPHANS.items()}
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _replication(connection: Connection, is_standby: bool, synchronous: str) -> str:
    if is_standby:
        return "this is a standby, which can only be read"
    standbys = connection.execute(_STANDBYS.encode()).fetchall()
    told = [f"{name} ({state}, {sync})" if state else name for name, state, sync in standbys]
    if not told:
        return f"none is connected, and commits wait for {synchronous}" if synchronous else "none"
    return ", ".join(told)


def _row(connection: Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None, "it is a query for one row"
    return row


def _origin(last: list[Any]) -> Origin | None:
    time_ns, user, program, pid, reason = last
    return None if time_ns is None else Origin(time_ns, Actor(user, program, pid), reason)
