"""How a process learns that another one committed: touched files, watched by inotify.

Every store object that commits has a notice file of its own and touches it after each commit;
a watcher watches the files of the others, so nobody wakes from its own commits, and an idle
process makes no system call. A writer that is killed between its commit and its touch is found
by the log: one event of it starts a pair of rechecks.
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from inotify_simple import INotify, flags

from memfs.stores.sqlite.database import ScopeFiles

log = logging.getLogger(__name__)

RECHECKS = (0.02, 0.2)
"""Seconds after the log changed: the first for the reader's sake, the second for a slow commit's."""
POLL_SECONDS = 0.05
"""How often to look where the system grants no inotify watch."""


class NoticeFile:
    """This store object's own file among the notices of a scope; made at the first need."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._descriptor: int | None = None
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"

    def give(self) -> None:
        """Tell the watchers. A notice that cannot be given is logged: the commit stands."""
        try:
            if self._descriptor is None:
                self._descriptor = self._open()
            os.utime(self._descriptor)
        except OSError:
            log.exception("the notice of a commit could not be given")

    def close(self) -> None:
        """Take the file away."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            with suppress(OSError):  # left behind, it is swept by the next process that makes one
                (self._directory / self.name).unlink()

    def _open(self) -> int:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        _sweep(self._directory)
        path = self._directory / self.name
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # held while this process lives: see _sweep
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)  # another process swept it before the lock was taken


class SqliteWatch:
    """A thread that calls *notify* soon after somebody else committed."""

    def __init__(self, files: ScopeFiles, own: NoticeFile, notify: Callable[[], None]) -> None:
        self._files = files
        self._own = own.name
        self._notify = notify
        self._stop_reader, self._stop_writer = os.pipe2(os.O_CLOEXEC)
        files.notices.mkdir(mode=0o700, exist_ok=True)
        self._thread = threading.Thread(target=self._run, name="memfs-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; it has made its last call when this returns."""
        os.close(self._stop_writer)
        self._thread.join()
        os.close(self._stop_reader)

    def _run(self) -> None:
        try:
            with INotify() as inotify:
                self._watch(inotify)
        except OSError:
            log.warning("no inotify watch is to be had; looking for changes every %g s", POLL_SECONDS)
            while not select.select([self._stop_reader], [], [], POLL_SECONDS)[0]:
                self._notify()

    def _watch(self, inotify: INotify) -> None:
        directory = inotify.add_watch(self._files.notices, flags.CREATE | flags.ONLYDIR)
        for name in os.listdir(self._files.notices):
            self._watch_notice(inotify, name)
        log_watch = self._watch_log(inotify)
        self._notify()  # what was committed before the watches stood
        poll = select.poll()
        poll.register(inotify.fileno(), select.POLLIN)
        poll.register(self._stop_reader, select.POLLIN | select.POLLHUP)
        rechecks: list[float] = []
        while True:
            timeout = max(0.0, rechecks[0] - time.monotonic()) * 1000 if rechecks else None
            ready = dict(poll.poll(timeout))
            if self._stop_reader in ready:
                return
            due = False
            for event in inotify.read(timeout=0):
                if event.mask & flags.CREATE and event.wd == directory:
                    self._watch_notice(inotify, event.name)
                    due = True  # it may have been touched before the watch stood
                elif event.wd == log_watch and event.mask & flags.MODIFY:
                    rechecks = [time.monotonic() + delay for delay in RECHECKS]
                elif event.mask & (flags.ATTRIB | flags.Q_OVERFLOW):
                    due = True
            if rechecks and rechecks[0] <= time.monotonic():
                due = True
                rechecks.pop(0)
                if not rechecks:
                    log_watch = self._watch_log(inotify)  # before the check, so that nothing falls between
            if due:
                self._notify()

    def _watch_notice(self, inotify: INotify, name: str) -> None:
        if name == self._own:
            return
        try:
            inotify.add_watch(self._files.notices / name, flags.ATTRIB | flags.DONT_FOLLOW)
        except FileNotFoundError:
            return  # its process has ended meanwhile

    def _watch_log(self, inotify: INotify) -> int:
        """One event and no more: a busy writer must not wake this thread at every commit."""
        try:
            return int(inotify.add_watch(self._files.wal, flags.MODIFY | flags.ONESHOT))
        except FileNotFoundError:
            return -1


def _sweep(directory: Path) -> None:
    """Remove the notice files of processes that were killed: nobody holds their lock any more."""
    for name in os.listdir(directory):
        try:
            descriptor = os.open(directory / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (directory / name).unlink(missing_ok=True)
        except OSError:
            pass
        finally:
            os.close(descriptor)
