"""Upkeep of a scope's database: checkpoints, superseded bytes turned into deltas, what is to be forgotten.

All of it may wait for the disk, so it runs on a connection of its own, from a worker thread,
and holds the gate only for short transactions.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Container, Sequence

import apsw

from memfs.port.change import Origin
from memfs.port.errors import StoreError
from memfs.port.keeping import HistoryUse, Redaction, Retention
from memfs.stores.gate import Gate
from memfs.stores.sqlite import rows
from memfs.stores.sqlite.database import ScopeFiles, connect
from memfs.stores.sqlite.redaction import redact, unfinished_ns, wipe
from memfs.stores.sqlite.retention import history_use, prune, retain

log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 4 << 20
"""The size of the log from which a checkpoint is worth its syncs."""
LARGE_LOG_BYTES = 16 << 20
"""The size of the log from which a checkpoint does not wait for the next run."""
RUN_SECONDS = 1.0
"""How long a run makes deltas: after a burst there are more to make than its caller has time for."""
BATCH = 50
"""Records that get their turn between two looks at the log."""


# What was read without the gate may have been redacted since, on either side.
_PUT_DELTA = """
UPDATE history SET base = ?1, content = ?2 WHERE record = ?3 AND base IS NULL AND content IS NOT NULL
AND EXISTS (SELECT 1 FROM history WHERE record = ?1 AND content IS NOT NULL)
"""


class Upkeep:
    """The housekeeping of one scope; :meth:`run` may be called from any thread."""

    def __init__(self, files: ScopeFiles) -> None:
        self._files = files
        self._running = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._gate: Gate | None = None
        self._folding: threading.Thread | None = None
        self._closed = False

    def run(self) -> None:
        """Do what is due now; nothing once closed. Raises apsw.Error and StoreError."""
        with self._running:
            if self._closed:
                return
            connection, gate = self._opened()
            # To what is the end now, since writers may go on; and batch by batch, so that the log is
            # looked at in between: compacting adds to it, and takes longer than the writing did.
            newest = rows.select(connection, "SELECT coalesce(max(record), 0) FROM history")[0][0]
            end = time.monotonic() + RUN_SECONDS
            self._checkpoint(connection, gate)
            while self._compact(connection, gate) < newest and time.monotonic() < end and not self._closed:
                self._checkpoint(connection, gate)
            retain(connection, gate, time.time_ns())
            wipe(connection, gate)

    def prune(self, keep: Retention) -> int:
        """Forget what *keep* does not name, and give its room back where that is much of the whole."""
        with self._running:
            connection, gate = self._opened()
            forgotten = prune(connection, gate, keep, time.time_ns())
            pages, free = (
                rows.select(connection, f"PRAGMA {name}")[0][0] for name in ("page_count", "freelist_count")
            )
            if free * 4 > pages:
                with gate.held_long("rewrites the database without what was pruned"):
                    connection.execute("VACUUM")
                self._checkpoint(connection, gate)
            return forgotten

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take the bytes of *versions* out."""
        with self._running:
            return redact(*self._opened(), versions, origin)

    def finish_redactions(self) -> None:
        """Do what a reader held back when something was redacted, if there is such."""
        with self._running:
            wipe(*self._opened())

    def unfinished_ns(self) -> int | None:
        """When something was redacted that the files may still hold; None where they do not."""
        with self._running:
            return unfinished_ns(self._opened()[0])

    def history_use(self) -> HistoryUse:
        """What the history takes."""
        with self._running:
            return history_use(self._opened()[0])

    def fold_large_log(self) -> None:
        """Have a thread checkpoint the log if it has become large; returns at once."""
        if self._folding is not None and self._folding.is_alive():
            return
        if self._log_bytes() >= LARGE_LOG_BYTES:
            self._folding = threading.Thread(target=self._fold, name="memfs-upkeep", daemon=True)
            self._folding.start()

    def close(self) -> None:
        """Release the connection, if one was needed; waits for what runs to end, which is soon."""
        self._closed = True
        with self._running:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._gate is not None:
                self._gate.close()
                self._gate = None

    def _opened(self) -> tuple[apsw.Connection, Gate]:
        if self._gate is None:
            self._gate = Gate(self._files.lock)
        if self._connection is None:
            self._connection = connect(self._files, relaxed=True)
            self._connection.set_busy_timeout(1_000)
        return self._connection, self._gate

    def _fold(self) -> None:
        try:
            with self._running:
                if not self._closed:
                    self._checkpoint(*self._opened())
        except (apsw.Error, StoreError) as error:  # the next run tries again, and tells its caller
            log.warning("the log %s could not be folded in: %s", self._files.wal, error)

    def _log_bytes(self) -> int:
        try:
            return self._files.wal.stat().st_size
        except FileNotFoundError:
            return 0

    def _checkpoint(self, connection: apsw.Connection, gate: Gate) -> None:
        """Copy the log into the database, so that the next writer can start it over.

        Under steady writing a single pass never catches up, and the log would grow without bound. The
        first pass, without the gate, does nearly all; the second, under it, the few frames that came
        since. The write that follows restarts the log, and with it comes a sync, here rather than in
        somebody's commit.
        """
        if self._log_bytes() < CHECKPOINT_BYTES:
            return
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        gate.acquire(wait=True)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            with connection:
                connection.execute("UPDATE scope SET compacted = compacted")
        finally:
            gate.release()

    def _compact(self, connection: apsw.Connection, gate: Gate) -> int:
        """Give a batch of new records their turn; the last record that has had it."""
        since: int = rows.select(connection, "SELECT compacted FROM scope")[0][0]
        fresh = rows.select(
            connection,
            "SELECT record, previous FROM history WHERE record > ? ORDER BY record LIMIT ?",
            (since, BATCH),
        )
        if not fresh:
            return since
        deltas: dict[int, tuple[int, bytes]] = {}
        for key, previous in fresh:
            older = _with_content(connection, previous)
            if older is None or _chain_is_long(connection, older, deltas):
                continue
            packed = _delta_against(connection, older, key)
            if packed is not None:
                deltas[older] = (key, packed)
        gate.acquire(wait=True)
        try:
            with connection:
                for older, (base, packed) in deltas.items():
                    connection.execute(_PUT_DELTA, (base, packed, older))
                connection.execute("UPDATE scope SET compacted = max(compacted, ?)", (fresh[-1][0],))
        finally:
            gate.release()
        last: int = fresh[-1][0]
        return last


def _delta_against(connection: apsw.Connection, older: int, key: int) -> bytes | None:
    """The bytes of the record *older* as a delta against those that *key* brought, if it brought any."""
    new = rows.read_content(connection, key)
    old = rows.read_content(connection, older)
    return None if new is None or old is None else rows.delta(old, new)


def _with_content(connection: apsw.Connection, key: int | None) -> int | None:
    """The nearest record with bytes of its own, from *key* backwards (renames have none)."""
    while key is not None:
        found = rows.select(
            connection, "SELECT content IS NOT NULL, previous FROM history WHERE record = ?", (key,)
        )
        if not found:
            return None
        has_content, previous = found[0]
        if has_content:
            return key
        key = previous
    return None


def _chain_is_long(connection: apsw.Connection, key: int, to_be: Container[int]) -> bool:
    """Whether as many versions before *key* as a chain may have are deltas, or are *to_be*."""
    at: int | None = key
    for _ in range(rows.LONGEST_CHAIN):
        before = rows.select(connection, "SELECT previous FROM history WHERE record = ?", (at,))
        at = _with_content(connection, before[0][0]) if before else None
        if at is None:
            return False
        if at not in to_be and not _is_delta(connection, at):
            return False
    return True


def _is_delta(connection: apsw.Connection, key: int) -> bool:
    found = rows.select(connection, "SELECT base IS NOT NULL FROM history WHERE record = ?", (key,))
    return bool(found[0][0])
