"""The store of a memory: whether it opens, adds up, can be written to, and what its history says."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from memfs.cli.checks.finding import Check, Findings, Subject, broken, ok, warning
from memfs.layout import INBOX_DIR
from memfs.opening import files_of, inspect, is_there, open_with
from memfs.port.errors import OpenError, StoreError
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.progress import Progress

if TYPE_CHECKING:
    from memfs.stores.inspecting import Inspection

FUTURE_SECONDS = 60.0
LARGE_HISTORY_BYTES = 1 << 30
LARGE_LOG_BYTES = 64 << 20
FAULTS_NAMED = 3
DEEP_INBOX = 20
RESTORE = "restore the store's directory from a backup; what can be read still is, with `memfs view`"


def _opens(subject: Subject) -> Findings:
    """Whether the scope is there and opens. Where it does not, the other checks of the store say nothing."""
    known = subject.known
    if known.store == "simple:":
        yield ok("It is kept in its mount's process only.")
        return
    try:
        if not is_there(known.store, known.scope):
            yield ok("Nothing is stored yet.")
            return
        with open_with(known.store, known.scope, {}) as memory:
            scope = memory.snapshot()
            yield ok(f"The store opens: {len(scope)} files, version {scope.version}.")
    except OpenError as error:
        yield broken(error.error.message)
    except OSError as error:
        yield broken(f"The store {known.store} cannot be used: {error.strerror}.")


def _limits(subject: Subject) -> Findings:
    """Whether the scope holds no more than its rules allow."""
    with _opened(subject) as memory:
        if memory is None:
            return
        scope, limits = memory.snapshot(), memory.policy.limits
        files = list(scope.live_in_write_order())  # what is archived counts against no limit
        total = sum(file.size for file in files)
        large = [file.path for file in files if file.size > limits.max_file_bytes]
        if large:
            yield warning(
                f"{large[0]} is larger than one file may be; it cannot be saved again as it is.",
                f"memfs policy set --max-file-bytes {max(file.size for file in files)}",
            )
        if len(files) > limits.max_files or total > limits.max_total_bytes:
            yield warning(
                f"The scope holds {len(files)} files and {total:,} bytes, more than its rules allow; "
                "the next write makes the earliest ones leave.",
                f"memfs policy set --max-files {max(len(files), limits.max_files)} "
                f"--max-total-bytes {max(total, limits.max_total_bytes)}",
            )
        elif not large:
            yield ok(f"It holds {len(files)} of {limits.max_files} files.")


def _inbox(subject: Subject) -> Findings:
    """In the layout PARA: how much nobody has put in its place yet."""
    with _opened(subject) as memory:
        if memory is None or memory.policy.layout != "para":
            return
        scope, inbox = memory.snapshot(), f"{ROOT}/{INBOX_DIR}"
        waiting = sum(1 for _ in scope.files_below(inbox)) if scope.is_directory(inbox) else 0
    if waiting > DEEP_INBOX:
        yield warning(
            f"{waiting} memories lie in the inbox, and belong to no project, area or resource yet.",
            f"ls {subject.known.mountpoint}/{INBOX_DIR}   (and mv each to its place)",
        )
    else:
        yield ok(f"{waiting} memories lie in the inbox.")


def _pages(subject: Subject) -> Findings:
    """What the scope is kept in, by itself: SQLite's own check, or that of the rows."""
    inspection = _inspection(subject)
    if inspection is None:
        return
    yield from _told(inspection.damage(), "The store is damaged", "The store is whole.")


def _contents(subject: Subject) -> Findings:
    """Every memory's bytes are those that were written."""
    inspection = _inspection(subject)
    with _opened(subject) as memory:
        if memory is None:
            return
        files = list(memory.snapshot().in_write_order())
        with Progress(f"{subject.known.title}: reading all files", len(files)) as progress:
            if inspection is not None:
                faults = inspection.contents(progress.step)
            else:
                faults = list(_unreadable(memory, progress))
    yield from _told(faults, "Stored bytes are wrong", f"All {len(files)} files are as they were written.")


def _unreadable(memory: Memory, progress: Progress) -> Iterator[str]:
    """As ``Inspection.contents``, by what a memory of any store shows."""
    digests = {record.id: record.digest for record in reversed(list(memory.history()))}
    for file in memory.snapshot().in_write_order():
        progress.step(file.path)
        try:
            content = memory.read(file)
        except StoreError as error:
            yield f"{file.path}: {error.message}"
            continue
        digest = digests.get(file.id)
        if len(content) != file.size or (digest and hashlib.sha256(content).hexdigest() != digest):
            yield f"{file.path} has other bytes than were written"


def _write_order(subject: Subject) -> Findings:
    """The order in which memories leave is the order in which they were written."""
    inspection = _inspection(subject)
    if inspection is None:
        return
    faults = inspection.write_order()
    yield from _told(
        faults,
        "The wrong memory may leave first",
        "The write order is that of the writes.",
        "write each of them again",
    )


def _history(subject: Subject) -> Findings:
    """What is kept of earlier versions: whether it hangs together, and how much it is."""
    inspection = _inspection(subject)
    if inspection is None:
        return
    yield from _told(inspection.chain(), "Earlier versions are lost", "The history hangs together.")
    kept = inspection.history()
    size = f"{kept.records:,} changes, {kept.file_bytes:,} bytes in the database"
    if kept.file_bytes > LARGE_HISTORY_BYTES:
        yield warning(f"The history is large: {size}.")
    else:
        yield ok(f"The history has {size}.")
    if kept.log_bytes > LARGE_LOG_BYTES:
        yield warning(
            f"The database's log has {kept.log_bytes:,} bytes: it has not been folded in for long.",
            "memfs doctor --fix",
            lambda: _folded(subject),
        )


def _redactions(subject: Subject) -> Findings:
    """Whether the files of the store have lost what was redacted."""
    known = subject.known
    with _opened(subject) as memory:
        if memory is None:
            return
        if memory.unfinished_redaction_ns() is None:
            yield ok("Nothing that was redacted is left in the files.")
            return
        memory.maintain()
        since_ns = memory.unfinished_redaction_ns()
    if since_ns is None:
        yield ok("What was redacted is out of the files since this moment.")
        return
    since = (
        f"What was redacted on {datetime.fromtimestamp(since_ns / 1e9):%Y-%m-%d %H:%M} is in the files still"
    )
    if known.store.startswith("git:"):
        yield warning(
            f"{since}: a branch, tag, stash, reflog or index of the repository reaches it.",
            f"git -C {files_of(known.store, known.scope)[0]} log --all --reflog --oneline",
        )
    else:
        yield warning(
            f"{since}: a program has been reading the database since then; memfs tries again by itself.",
            f"fuser -v {files_of(known.store, known.scope)[1]}   (and end the one that is no memfs)",
        )


def _folded(subject: Subject) -> str:
    with open_with(subject.known.store, subject.known.scope, {}) as memory:
        memory.maintain()
    return "folded the log into the database"


def _writable(subject: Subject) -> Findings:
    """Whether a writer would get its turn. It comes first: a store that is held opens for nobody."""
    known = subject.known
    try:
        inspection = inspect(known.store, known.scope) if is_there(known.store, known.scope) else None
        if inspection is None:
            return
        holder = inspection.holder()
    except (OpenError, StoreError, OSError):
        return  # whatever is there does not open, as the next check says
    if holder is None:
        yield ok("Writers get their turn.")
    else:
        yield broken(
            f"Nobody can write: {holder}.", "end, or go on with, a memfs that is stopped: `ps -C memfs`"
        )


def _clock(subject: Subject) -> Findings:
    """Times in the history that are yet to come, or that go backwards."""
    with _opened(subject) as memory:
        if memory is None:
            return
        newest = max((record.time_ns for record in islice(memory.history(), 1000)), default=0) / 1e9
        soon = time.time() + FUTURE_SECONDS
        late = [file.path for file in memory.snapshot().in_write_order() if file.mtime_ns / 1e9 > soon]
    inspection = _inspection(subject)
    back = inspection.history().steps_back if inspection is not None else 0
    if newest > soon:
        yield warning(
            f"The newest change is of {datetime.fromtimestamp(newest):%Y-%m-%d %H:%M}, which is yet to come: "
            "the clock was, or is, wrong.",
            "timedatectl",
        )
    if late:
        yield warning(
            f"{late[0]} has a time of change that is yet to come.", f"touch {late[0]}   (in the mount)"
        )
    if back:
        yield warning(f"The clock went back {back} times between changes; their order is right all the same.")
    if newest <= soon and not late and not back:
        yield ok("All times are past, and in order.")


def _told(faults: list[str], what: str, well: str, mend: str = RESTORE) -> Findings:
    if not faults:
        yield ok(well)
        return
    named = "; ".join(faults[:FAULTS_NAMED])
    more = f"; and {len(faults) - FAULTS_NAMED} more" if len(faults) > FAULTS_NAMED else ""
    yield broken(f"{what}: {named}{more}.", mend)


@contextmanager
def _opened(subject: Subject) -> Iterator[Memory | None]:
    """The memory, where it is there and opens; that it does not is said by the first check."""
    known = subject.known
    try:
        memory = open_with(known.store, known.scope, {}) if is_there(known.store, known.scope) else None
    except (OpenError, OSError):
        memory = None
    if memory is None:
        yield None
        return
    with memory:
        yield memory


def _inspection(subject: Subject) -> Inspection | None:
    known = subject.known
    with _opened(subject) as memory:
        return None if memory is None else inspect(known.store, known.scope)


_BEGIN = (Check("writable", _writable, 30.0, decides=True), Check("store", _opens, 30.0, decides=True))
_INSIDE = (
    Check("pages", _pages, 300.0),
    Check("contents", _contents, 300.0),
    Check("write-order", _write_order, 60.0),
    Check("history", _history, 60.0),
    Check("redactions", _redactions, 300.0),
)
INTEGRITY: tuple[Check[Subject], ...] = (*_BEGIN, *_INSIDE)
"""Whether what is stored adds up."""
STORE: tuple[Check[Subject], ...] = (
    *_BEGIN,
    Check("limits", _limits),
    Check("inbox", _inbox),
    *_INSIDE,
    Check("clock", _clock),
)
