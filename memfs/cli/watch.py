"""``memfs watch``: the changes of a scope as they happen, one record a line.

What is printed comes from the history, by version: the notice of a store only says when to look. So a
notice too many repeats nothing, one for several changes misses none, and after a time in which the store
was away it goes on where it stood.
"""

from __future__ import annotations

import os
import select
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count

from memfs.cli.choose import Chosen, choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status
from memfs.cli.recordlines import line_of
from memfs.cli.streams import write
from memfs.opening import files_of, is_there, open_with
from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.memory import Memory
from memfs.port.names import ROOT, path_error
from memfs.port.store import Record

RETRY_SECONDS = (0.2, 1.0, 2.0, 5.0)
"""Between two looks at a store that fails; the last one stays."""
LOOK_SECONDS = 10.0
"""After which it looks without having been told: who removes a store gives no notice of that."""
_OUTPUT = 1


def run(options: Namespace) -> int:
    """Print what happens, until Ctrl-C or until nobody reads it any more."""
    chosen, rules = choose_with_rules(options, options.path)
    if chosen.ends_with_its_process:
        raise Complaint("A simple: store has one door only, so nobody else changes it; name another store.")
    path = ROOT if options.path is None else port_path(options.path, chosen)
    error = path_error(path)
    if error is not None:
        raise Complaint(error.message)
    bell, place = _Bell(), _Place(chosen)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        changes = _Changes(memory, options.since)
        watch = memory.watch(bell.ring)
        try:
            while True:
                for record in _patiently(changes, bell, place):
                    if _is_at(record, path):
                        write(line_of(record, options.json))
                bell.wait(LOOK_SECONDS)
                place.check()
        finally:
            watch.close()


class _Changes:
    """The records that have not been taken yet."""

    def __init__(self, memory: Memory, since: int | datetime | None) -> None:
        """*since* is a version, a time, or None for now."""
        self._memory = memory
        self._not_before_ns = 0
        self._known = memory.snapshot().version  # up to which the memory has taken changes in
        self._taken = self._known
        self._unseen = range(0)  # versions that came without a word on what they changed
        if isinstance(since, datetime):
            self._taken, self._not_before_ns = -1, int(since.timestamp() * 1e9)
        elif since is not None:
            if since > self._known:
                raise Complaint(
                    f"The scope is at version {self._known}, so nothing came after {since}; name an earlier "
                    "version, or leave --since out."
                )
            self._taken, self._unseen = since, range(since + 1, self._known + 1)

    def take(self) -> Sequence[Record]:
        """What is new, in order. Raises StoreError, and has taken nothing then."""
        for commit in self._memory.catch_up():
            if commit.version > self._known + 1:
                self._unseen = range(self._unseen.start or self._known + 1, commit.version + 1)
            self._known = commit.version
        records = self._memory.records_after(self._taken)
        missing = set(self._unseen) - {record.version for record in records}
        if missing:
            _say(
                f"{len(missing)} of the versions {self._unseen[0]} to {self._unseen[-1]} are not in the "
                "history: they were pruned, or changed no file."
            )
        self._unseen = range(0)
        self._taken = max(self._known, *(record.version for record in records[-1:]), self._taken)
        return [record for record in records if record.time_ns >= self._not_before_ns]


class _Bell:
    """Rung by the store's thread; whoever waits for it looks at nothing in between."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)
        self._poll.register(_OUTPUT, 0)  # which tells of a reader that has gone, and of nothing else

    def ring(self) -> None:
        """Have ``wait`` return, now or at its next call."""
        with suppress(BlockingIOError):  # it is full, so it is heard anyway
            os.write(self._writer, b"!")

    def wait(self, seconds: float) -> None:
        """Wait to be rung, at most so long. Raises BrokenPipeError where nobody reads the output any more."""
        ready = dict(self._poll.poll(seconds * 1000))
        if _OUTPUT in ready:
            raise BrokenPipeError
        with suppress(BlockingIOError):
            os.read(self._reader, 1 << 16)


class _Place:
    """Where the scope's files are; a server is asked by whoever waits for it."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen = chosen
        self._has_files = bool(files_of(chosen.store, chosen.scope))
        self._looked = time.monotonic()

    def check(self) -> None:
        """Raise Complaint where they are gone; looks only now and then, however often it is asked."""
        now = time.monotonic()
        if not self._has_files or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        store, scope = self._chosen
        if not is_there(store, scope):
            raise Complaint(
                f"The scope '{scope}' is no longer in {store}; put the store back and watch again.",
                Status.STORE_FAILED,
            )


def _patiently(changes: _Changes, bell: _Bell, place: _Place) -> Sequence[Record]:
    """What is new, also from a store that fails for a while: it is said once, and asked again."""
    for number in count():
        try:
            records = changes.take()
        except UnsafeStorage:
            raise
        except StoreError as error:
            if number == 0:
                _say(f"{error.message} Waiting for the store to come back.")
            bell.wait(RETRY_SECONDS[min(number, len(RETRY_SECONDS) - 1)])
            place.check()
        else:
            if number:
                _say("The store is back.")
            return records
    raise AssertionError("an endless count does not end")


def _is_at(record: Record, path: str) -> bool:
    below = "" if path == ROOT else path + "/"
    return any(each == path or each.startswith(below) for each in (record.path, record.old_path) if each)


def _say(sentence: str) -> None:
    print(f"memfs: {sentence}", file=sys.stderr, flush=True)
