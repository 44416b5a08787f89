"""Forgetting: which old versions go, and when the upkeep has them go by itself.

A scope's records are read once, and deleted in short transactions, the oldest first: whatever comes in
between, what is left of a memory's chain is its newer part.
"""

from __future__ import annotations

import time
from itertools import groupby
from typing import Any

from psycopg.types.numeric import Int8

from memfs.port.keeping import DEFAULT_RETENTION, HistoryUse, Retention
from memfs.stores.forgetting import DAY_NS, EVERY_NS, MAX_HISTORY_BYTES, STEPS, Chain, kept
from memfs.stores.postgres.database import Database

BATCH = 500
"""Records that go in one transaction."""
ROW_BYTES = 150
"""What a record takes beside its content, about."""

_CHAINS = """
SELECT h.id, h.record, h.time_ns, h.content IS NOT NULL OR h.redacted IS NOT NULL, f.content
FROM memfs.history AS h LEFT JOIN memfs.file AS f ON f.scope = h.scope AND f.id = h.id
WHERE h.scope = %(scope)s AND h.operation NOT IN ('policy', 'redacted') ORDER BY h.id, h.record DESC
"""
_NEWEST = "SELECT max(record) FROM memfs.history WHERE scope = %(scope)s"
_FORGET = """
WITH going AS (
  DELETE FROM memfs.history WHERE scope = %(scope)s AND record = ANY (%(records)s)
  RETURNING record, change, time_ns
), asked AS (
  INSERT INTO memfs.pruned_change (scope, version, change)
  SELECT %(scope)s, record >> 24, change FROM going WHERE change IS NOT NULL AND time_ns > %(recent)s
  ON CONFLICT DO NOTHING
), left_for_good AS (
  DELETE FROM memfs.gone WHERE scope = %(scope)s AND record IN (SELECT record FROM going)
)
UPDATE memfs.scope SET pruned = greatest(pruned, %(last)s) WHERE scope = %(scope)s
"""
_SETTLED = "DELETE FROM memfs.pruned_change WHERE scope = %(scope)s AND pruned < now() - interval '1 day'"
_CLAIM = """
UPDATE memfs.scope SET retained_ns = %(now)s WHERE scope = %(scope)s AND retained_ns < %(before)s
RETURNING scope
"""
_USE = """
SELECT coalesce(sum(pg_column_size(h.content)) FILTER (WHERE f.id IS NULL), 0) + count(*) * %(row)s,
       (SELECT time_ns FROM memfs.history WHERE scope = %(scope)s ORDER BY record LIMIT 1)
FROM memfs.history AS h
  LEFT JOIN memfs.file AS f ON f.scope = h.scope AND f.id = h.id AND f.content = h.record
WHERE h.scope = %(scope)s
"""


def retain(database: Database, scope: int, now_ns: int) -> int:
    """What the upkeep does: cut the history as the default says, once a day, and to its bound.

    Whoever notes the time first does it, for all that have the scope open.
    """
    claimed = _select(database, _CLAIM, scope, now=Int8(now_ns), before=Int8(now_ns - EVERY_NS))
    if not claimed:
        return 0
    forgotten = prune(database, scope, DEFAULT_RETENTION, now_ns)
    for keep in STEPS:
        if history_use(database, scope).size <= MAX_HISTORY_BYTES:
            break
        forgotten += prune(database, scope, keep, now_ns)
    return forgotten


def prune(database: Database, scope: int, keep: Retention, now_ns: int) -> int:
    """Forget what *keep* does not name; how many records that were."""
    youngest_ns = now_ns if keep.days is None else now_ns - keep.days * DAY_NS
    oldest = history_use(database, scope).since_ns
    if oldest is None or (keep.days is not None and oldest > youngest_ns):
        return 0
    newest = _select(database, _NEWEST, scope)[0][0]
    going: list[int] = []
    for file_id, rows in groupby(_select(database, _CHAINS, scope), key=lambda row: row[0]):
        chain = list(rows)
        records = [(record, time_ns, brings) for _, record, time_ns, brings, _ in chain]
        cut = kept(records, Chain(file_id, records[0][0], chain[0][4]), keep, youngest_ns, newest)
        going += [record for record, _, _ in records[cut:]]
    going.sort()
    for start in range(0, len(going), BATCH):
        batch = going[start : start + BATCH]
        recent = time.time_ns() - DAY_NS
        _change(database, _FORGET, scope, records=batch, recent=Int8(recent), last=Int8(batch[-1]))
    _change(database, _SETTLED, scope)
    return len(going)


def history_use(database: Database, scope: int) -> HistoryUse:
    """What the records take, as the server has packed them, less the present contents."""
    size, since_ns = _select(database, _USE, scope, row=ROW_BYTES)[0]
    return HistoryUse(int(size), since_ns)


def _select(database: Database, query: str, scope: int, **values: object) -> list[Any]:
    values["scope"] = Int8(scope)
    return database.run(lambda connection: connection.execute(query, values).fetchall())


def _change(database: Database, statement: str, scope: int, **values: object) -> None:
    values["scope"] = Int8(scope)
    database.run(lambda connection: connection.execute(statement, values))
