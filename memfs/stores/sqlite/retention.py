"""Forgetting: which old versions go, and when the upkeep has them go by itself.

The chains are read without the gate, and records deleted in short transactions under it, the oldest of a
memory first: whatever comes in between, what is left of a chain is its newer part.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memfs.port.keeping import DEFAULT_RETENTION, HistoryUse, Retention
from memfs.stores.forgetting import (
    DAY_NS,
    EVERY_NS,
    MAX_HISTORY_BYTES,
    OVER_BOUND_EVERY_NS,
    STEPS,
    Chain,
    kept,
)
from memfs.stores.gate import Gate
from memfs.stores.sqlite import rows

BATCH = 200
"""Records that go in one transaction."""

_CHAIN = """
WITH RECURSIVE chain (record, previous, time_ns, brings) AS (
  SELECT record, previous, time_ns, content IS NOT NULL OR redacted IS NOT NULL FROM history WHERE record = ?
  UNION ALL
  SELECT history.record, history.previous, history.time_ns, content IS NOT NULL OR redacted IS NOT NULL
  FROM chain JOIN history ON history.record = chain.previous
)
SELECT record, time_ns, brings FROM chain ORDER BY record DESC
"""


def retain(connection: apsw.Connection, gate: Gate, now_ns: int) -> int:
    """What the upkeep does: cut the history as the default says, once a day, and to its bound."""
    last: int = rows.select(connection, "SELECT retained_ns FROM scope")[0][0]
    over = history_use(connection).size > MAX_HISTORY_BYTES
    if now_ns - last < (OVER_BOUND_EVERY_NS if over else EVERY_NS):
        return 0
    forgotten = prune(connection, gate, DEFAULT_RETENTION, now_ns)
    for keep in STEPS:
        if history_use(connection).size <= MAX_HISTORY_BYTES:
            break
        forgotten += prune(connection, gate, keep, now_ns)
    _under(connection, gate, "UPDATE scope SET retained_ns = ?", [(now_ns,)])
    return forgotten


def prune(connection: apsw.Connection, gate: Gate, keep: Retention, now_ns: int) -> int:
    """Forget what *keep* does not name; how many records that were."""
    youngest_ns = now_ns if keep.days is None else now_ns - keep.days * DAY_NS
    oldest = rows.select(connection, "SELECT time_ns FROM history ORDER BY record LIMIT 1")
    if not oldest or (keep.days is not None and oldest[0][0] > youngest_ns):
        return 0
    chains = [
        Chain(*row)
        for row in rows.select(
            connection, "SELECT id, record, content FROM file UNION ALL SELECT id, record, NULL FROM gone"
        )
    ]
    newest: int = rows.select(connection, "SELECT max(record) FROM history")[0][0]
    forgotten = 0
    for chain in chains:
        records = rows.select(connection, _CHAIN, (chain.head,))
        cut = kept(records, chain, keep, youngest_ns, newest)
        going = [(record,) for record, _, _ in reversed(records[cut:])]
        for start in range(0, len(going), BATCH):
            batch = going[start : start + BATCH]
            _under(connection, gate, "DELETE FROM history WHERE record = ?", batch, batch[-1][0])
        if cut == 0:
            _under(connection, gate, "DELETE FROM gone WHERE id = ? AND record = ?", [(chain.id, chain.head)])
        forgotten += len(going)
    return forgotten


def history_use(connection: apsw.Connection) -> HistoryUse:
    """The pages that are in use, less the present contents."""
    pages, free, page_size = (
        rows.select(connection, f"PRAGMA {name}")[0][0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    present = rows.select(connection, "SELECT coalesce(sum(size), 0) FROM file")[0][0]
    oldest = rows.select(connection, "SELECT time_ns FROM history ORDER BY record LIMIT 1")
    return HistoryUse(max(0, (pages - free) * page_size - present), oldest[0][0] if oldest else None)


def _under(
    connection: apsw.Connection,
    gate: Gate,
    statement: str,
    values: Sequence[tuple[int, ...]],
    pruned: int = 0,
) -> None:
    gate.acquire(wait=True)
    try:
        with connection:
            for each in values:
                connection.execute(statement, each)
            if pruned:
                connection.execute("UPDATE scope SET pruned = max(pruned, ?)", (pruned,))
    finally:
        gate.release()
