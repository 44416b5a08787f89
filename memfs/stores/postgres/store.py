"""One scope of a PostgreSQL store: load, read, commit, changes, history.

A commit is one round trip: a function on the server locks the scope's row, compares the version and writes.
Every statement may be sent again when a connection is lost, a commit too: it has an id, by which the function
knows one that it has made already.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg.types.numeric import Int8

from memfs.port.change import Change, Commit, File, Origin
from memfs.port.errors import NotKept, StoreError, UnsafeStorage
from memfs.port.keeping import HistoryUse, Redaction, Retention
from memfs.port.names import ROOT
from memfs.port.policy import Policy
from memfs.port.scope import Scope
from memfs.port.store import Record, VersionMismatch, Watch
from memfs.stores.checks import check_files
from memfs.stores.postgres import rows, schema
from memfs.stores.postgres.address import address_of
from memfs.stores.postgres.connections import Connection
from memfs.stores.postgres.database import Database, enter, leave
from memfs.stores.postgres.history import History
from memfs.stores.postgres.redaction import redact
from memfs.stores.postgres.retention import history_use, prune, retain
from memfs.stores.recorded import commits_of, key_of, last_key, version_of

log = logging.getLogger(__name__)

MOST_CHANGES = 20_000
"""Records after which it is cheaper to load the scope anew."""
TRUSTED_SECONDS = 0.1
"""How long after a look at the server a scope is taken to be as it was found, if nothing listens yet."""
QUEUEING_SECONDS = 1.0
"""How long a writer that was overtaken queues up for the scope before it plans."""

MAINTAIN_SECONDS = 600.0
"""How long a store that has looked after its history leaves the server in peace."""

_UNSURE = "Whether the last change was made is not known; view what is there when the store is back."

_LOAD = """
SELECT 0::bigint, policy, version, 0::bigint, 0::bigint, -1::bigint, change
FROM memfs.scope WHERE scope = %(scope)s
UNION ALL SELECT id, path, size, mtime_ns, content, written, NULL FROM memfs.file WHERE scope = %(scope)s
ORDER BY 6
"""
_CHANGES = f"""
SELECT {rows.COLUMNS}, s.version, s.pruned, s.change,
  CASE s.version WHEN {{since}} THEN s.change
    ELSE (SELECT change FROM memfs.history WHERE scope = {{scope}} AND record = {{at}}) END,
  CASE operation WHEN 'policy' THEN s.policy END
FROM memfs.scope AS s
  LEFT JOIN memfs.history AS h ON h.scope = s.scope AND h.scope = {{scope}} AND h.record > {{after}}
WHERE s.scope = {{scope}} ORDER BY record LIMIT {MOST_CHANGES + 1}
"""  # noqa: S608
_FIND = f"""
SELECT scope, (
  SELECT part FROM generate_series(0, {schema.PARTS - 1}) AS part
  WHERE satisfies_hash_partition('memfs.scope'::regclass, {schema.PARTS}, part, scope)
) FROM memfs.directory WHERE name = %s
"""  # noqa: S608


class Place(NamedTuple):
    """Where a scope's rows are: its id, and the part of the tables."""

    scope: int
    part: int


def open_postgres(url: str, scope_name: str, policy: Policy) -> tuple[PostgresStore, bool]:
    """The store of one scope, made with *policy* if it is new, and whether it was.

    Raises StoreError and OpenError.
    """
    database = enter(address_of(url))
    try:
        place, made = database.run(lambda connection: find_or_make(connection, scope_name, policy))
        return PostgresStore(database, scope_name, place), made
    except BaseException:
        leave(database)
        raise


def has_scope(url: str, scope_name: str) -> bool:
    """Whether the scope is there. Raises StoreError."""
    database = enter(address_of(url))
    try:
        return database.run(lambda connection: find(connection, scope_name)) is not None
    finally:
        leave(database)


def find(connection: Connection, scope_name: str) -> Place | None:
    """Where a scope is, None where this role sees none of the name. Raises StoreError, psycopg.Error."""
    schema.check(connection)
    found = connection.execute(_FIND.encode(), (scope_name,)).fetchone()
    return None if found is None else Place(*found)


def find_or_make(connection: Connection, scope_name: str, policy: Policy) -> tuple[Place, bool]:
    """Where a scope is, made with *policy* if it is new, and whether it was; raises as :func:`find`."""
    place = find(connection, scope_name)
    if place is not None:
        return place, False
    scope = secrets.randbits(63) or 1
    made = connection.execute(
        "SELECT memfs.make_scope(%s, %s, %s)", (scope_name, Int8(scope), rows.policy_to(policy))
    ).fetchone()
    place = find(connection, scope_name)
    if place is None:
        raise StoreError(f"The scope '{scope_name}' is another role's; its owner runs memfs store grant.")
    return place, made == (True,)


class PostgresStore:
    """One scope. A commit waits for the server, and so does a read of bytes that are not at hand."""

    waits = True

    def __init__(self, database: Database, scope_name: str, place: Place) -> None:
        self.scope_name = scope_name
        self._database = database
        self._scope, self._part = place
        self._put = f"SELECT memfs.put_{place.part}({_places(14)})"
        self._commit = f"SELECT memfs.commit_{place.part}({_places(12)})"
        self._lock = f"BEGIN; SELECT FROM memfs.scope_{place.part} WHERE scope = {place.scope} FOR UPDATE; "
        self._channel = database.open_channel(place.scope)
        self._history = History(self._run, *place)
        self._ids = _change_ids()
        self._held: Connection | None = None
        self._holder = 0  # the thread that may use it
        self._found: list[Any] | None = None
        self._seen = 0  # the version up to which the memory has been given all changes
        self._last: str | None = None  # the change that led to it
        self._breaks = 0
        self._looked = 0.0
        self._overtaken = -QUEUEING_SECONDS
        self._committed = 0
        self._maintained = -MAINTAIN_SECONDS
        self._closed = False

    def load(self) -> Scope:
        """The scope as the server has it now. Refuses a state that no sequence of commands leads to."""

        def ask(connection: Connection) -> list[Any]:
            with connection.cursor(binary=True) as cursor:
                return cursor.execute(load.encode(), {"scope": Int8(self._scope)}).fetchall()

        load = rows.on_part(_LOAD, self._part)
        known = self._before_look()
        found = self._run(ask)
        if not found or found[0][5] != -1:
            raise self._removed()
        _, policy, version, *_, change = found[0]
        files = [File(row[0], row[1], row[2], row[3], version_of(row[4])) for row in found[1:]]
        check_files(files, f"The scope '{self.scope_name}'")
        self._seen, self._last = version, rows.change_from(change)
        self._channel.found(version, self._last, known, self)
        return Scope(rows.policy_from(policy), version, files)

    def read(self, file_id: int, version: int) -> bytes:
        """The bytes that the memory *file_id* had after the change *version*."""
        try:
            return self._history.read(file_id, version)
        except NotKept:
            self._channel.doubt()
            raise

    def acquire(self, wait: bool) -> None:
        """The queue of this process; after it was overtaken, also the lock of the scope's row."""
        patience = self._database.address.patience
        if not self._channel.queue.acquire(wait, patience):
            raise StoreError(
                f"Another writer of this process has held the scope for {patience:g} s; try again."
            )
        if time.monotonic() - self._overtaken < QUEUEING_SECONDS:
            try:
                self._take_lock()
            except BaseException:
                self._let_go()
                raise

    def release(self) -> None:
        """Let the next one in, and have others told what was committed."""
        self._let_go()
        if self._committed:
            version, self._committed = self._committed, 0
            self._database.tell(self._channel, version)

    def changed(self, version: int) -> bool:
        """Whether the scope may have passed *version*, by what was heard; nothing is asked."""
        channel = self._channel
        if channel.known > version or channel.hinted or channel.breaks != self._breaks:
            return True
        if self._held is not None or self._database.hears(channel):
            return False
        if time.monotonic() - self._looked < TRUSTED_SECONDS:
            return False
        self._database.listen()
        return True

    def changes(self, since: int) -> Sequence[Commit] | None:
        """The commits after *since*, from the history; contents stay where they are."""
        if self._held is not None and self._seen == since and self._found is not None:
            known, found, self._found = self._channel.known, self._found, None
        else:
            known = self._before_look()
            query = self._changes_after(since)
            found = self._run(lambda connection: connection.execute(query).fetchall())
        if not found:
            raise self._removed()
        version, pruned, *both, _ = found[0][-5:]
        change, base = map(rows.change_from, both)
        self._channel.found(version, change, known, self)
        if len(found) > MOST_CHANGES or pruned > last_key(since):
            return None
        if version < since or (since == self._seen and base != self._last):
            log.warning("the server has lost changes of the scope %r, which is loaded anew", self.scope_name)
            return None
        policy = next((row[-1] for row in reversed(found) if row[-1] is not None), None)
        records = [row for row in found if row[0] is not None]
        commits = commits_of(records, None if policy is None else rows.policy_from(policy))
        if len(commits) != version - since:
            return None
        self._seen, self._last = version, change
        return commits

    def commit(self, change: Change, expected: int, origin: Origin) -> Commit:
        """One call of the server's function; again, by the same id, where the answer was lost."""
        time_ns, (user, program, pid), reason = origin
        who = (rows.text(user), rows.text(program), str(pid), rows.text(reason))
        change_id = next(self._ids)
        head = (str(self._scope), str(expected), self._last, change_id, str(time_ns), *who)
        is_save = rows.is_one_save(change)
        statement = self._put if is_save else self._commit
        values = head + (rows.save_of(change) if is_save else rows.entries_of(change))

        def send(connection: Connection) -> int | None:
            connection.in_doubt = False
            call = connection.call_and_commit if self._held is connection else connection.call
            answer = call(statement, values)
            if connection.in_doubt:
                # Committed here, and on no standby yet. The answer to a second call waits for one.
                raise psycopg.OperationalError("the wait for a standby was ended")
            return None if answer is None else int(answer)

        version = self._run(send, unsure=_UNSURE, brief=True)
        if version is None:
            raise self._removed()
        if version != expected + 1:
            self._overtaken = time.monotonic()
            self._channel.learn(-version, self)
            raise VersionMismatch
        self._channel.learn(version, self, change_id)
        self._seen, self._last = version, change_id
        self._committed = version
        return Commit(version, change, origin)

    def sync(self) -> None:
        """Every commit is durable already."""

    def maintain(self) -> None:
        """Cut the history to what is to be kept, if nobody has today."""
        if time.monotonic() - self._maintained < MAINTAIN_SECONDS:
            return
        self._maintained = time.monotonic()
        retain(self._database, self._scope, time.time_ns())

    def prune(self, keep: Retention) -> int:
        """Forget the versions that *keep* does not name."""
        return prune(self._database, self._scope, keep, time.time_ns())

    def redact(self, versions: Sequence[tuple[int, int]], origin: Origin) -> Redaction:
        """Take the bytes of *versions* out of the history."""
        redaction, version = redact(self._database, self._scope, self._part, versions, origin)
        self._channel.learn(version, self)
        self._database.tell(self._channel, version)
        return redaction

    def history_use(self) -> HistoryUse:
        """What the history takes."""
        return history_use(self._database, self._scope)

    def watch(self, notify: Callable[[], None]) -> Watch:
        """Have *notify* called of what others commit, in this process too."""
        self._channel.add_watcher(self, notify)
        self._database.listen()
        return _Watching(self, notify)

    def unwatch(self, notify: Callable[[], None]) -> None:
        """The end of ``watch``."""
        self._channel.remove_watcher(self, notify)

    def history(self, newest_first: bool = True, file_id: int | None = None) -> Iterator[Record]:
        """The records of the scope, or of one memory."""
        if file_id is None:
            return self._history.of_scope(newest_first)
        return self._history.of_memory(file_id, newest_first)

    def gone(self, path: str = ROOT) -> Iterator[Record]:
        """The newest record of each memory that was last at *path* or below, and has left."""
        return self._history.gone(path)

    def gone_children(self, path: str) -> dict[str, bool]:
        """The names directly below *path* that lead to memories that have left."""
        return self._history.gone_children(path)

    def away(self) -> str | None:
        """Since when the server is away, and why."""
        return self._database.away()

    def report(self) -> Mapping[str, object]:
        """The server, and how it is."""
        database = self._database
        return {
            "server": f"{database.place}, PostgreSQL {database.server_version}",
            "pool": f"{database.pool.in_use} of {database.address.connections} connections in use",
            "away": database.away(),
            "scope id": self._channel.name.removeprefix("memfs_"),
        }

    def close(self) -> None:
        """Leave the server, whose connections end with the last store that uses them."""
        if not self._closed:
            self._closed = True
            self._let_go_of_lock()
            self._database.close_channel(self._channel)
            leave(self._database)

    def _run(self, work: Callable[[Connection], Any], unsure: str = "", brief: bool = False) -> Any:
        # Whoever holds the scope has a connection, and must not wait for another: all may be in the hands of
        # those who wait for this one. Other threads of the memory, which read, keep off it.
        held = self._held if self._holder == threading.get_ident() else None
        return self._database.run(work, instead=held, unsure=unsure, brief=brief)

    def _before_look(self) -> int:
        """Note that what was heard is being looked into; the version that is known so far."""
        self._channel.hinted = False  # before: a notice that comes meanwhile must count
        self._breaks = self._channel.breaks
        self._looked = time.monotonic()
        return self._channel.known

    def _take_lock(self) -> None:
        """Take the lock of the scope's row, in the order of coming: who has it is not overtaken.

        What others have committed comes with it: nobody goes on until this one has planned and committed.
        """
        query = self._lock.encode() + self._changes_after(self._seen)

        def lock(connection: Connection) -> None:
            cursor = connection.execute(query)
            while cursor.nextset():
                pass
            self._found = cursor.fetchall()
            for version, _, change, *_ in (row[-5:] for row in self._found[:1]):
                self._channel.found(version, rows.change_from(change), known, self)

        known = self._before_look()
        self._held = self._database.take(lock)
        self._holder = threading.get_ident()

    def _changes_after(self, since: int) -> bytes:
        return (
            rows.on_part(_CHANGES, self._part)
            .format(scope=self._scope, since=since, at=key_of(since, 0), after=last_key(since))
            .encode()
        )

    def _let_go(self) -> None:
        self._let_go_of_lock()
        self._channel.queue.release()

    def _let_go_of_lock(self) -> None:
        connection, self._held, self._found = self._held, None, None
        if connection is None:
            return
        try:
            if connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        finally:
            self._database.pool.give_back(connection)

    def _removed(self) -> StoreError:
        return UnsafeStorage(
            f"The scope '{self.scope_name}' was removed, or is no longer granted to this role; "
            "open the memory again."
        )


def _places(number: int) -> str:
    return ", ".join(f"${place}" for place in range(1, number + 1))


def _change_ids() -> Iterator[str]:
    """The ids of one store's changes, which no other store will ever have."""
    first = secrets.randbits(128)
    return (f"{(first + number) % (1 << 128):032x}" for number in count())


class _Watching:
    """A watch: one more to be told."""

    def __init__(self, store: PostgresStore, notify: Callable[[], None]) -> None:
        self._store = store
        self._notify = notify
        self._running = True

    def close(self) -> None:
        """Stop watching."""
        if self._running:
            self._running = False
            self._store.unwatch(self._notify)
