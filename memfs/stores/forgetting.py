"""Which old versions go, in the stores that keep their history in rows, and what is said of one that went.

The sentence is every store's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memfs.port.keeping import Retention

DAY_NS = 24 * 3600 * 10**9
MAX_HISTORY_BYTES = 1 << 30
"""A history that takes more is cut further, step by step, until it fits."""
STEPS = (
    *(Retention(days, versions) for days, versions in ((30, 20), (7, 5), (1, 1))),
    *(Retention(None, versions) for versions in (20, 5, 1, 0)),
)
EVERY_NS = DAY_NS
OVER_BOUND_EVERY_NS = 10 * 60 * 10**9


class Chain(NamedTuple):
    """A memory's records, by the newest of them; ``content`` is the one with its present bytes."""

    id: int
    head: int
    content: int | None


def kept(
    records: Sequence[tuple[int, int, bool]], chain: Chain, keep: Retention, youngest_ns: int, newest: int
) -> int:
    """How many of a memory's *records* stay, newest first: never without the bytes that they show.

    Each is its key, its time, and whether it brings bytes of its own, or had some that are redacted.
    """
    cut = 0
    for record, time_ns, _ in records:
        is_kept = (keep.days is not None and time_ns > youngest_ns) or cut < (keep.versions or 0)
        is_kept |= record == newest  # it is also the version of the scope
        if not is_kept and (chain.content is None or record < chain.content):
            break
        cut += 1
    while 0 < cut < len(records) and not records[cut - 1][2]:
        cut += 1
    return cut


def redacted_sentence(version: int, told: tuple[int, str, str] | None) -> str:
    """Why *version* is not kept; *told* is when (nanoseconds since the epoch), by whom, with what program."""
    if told is None:
        return f"Version {version} was redacted."
    time_ns, user, program = told
    who = " with ".join(filter(None, (user, program))) or "somebody"
    return (
        f"Version {version} was redacted by {who} on {datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%d}."
    )
