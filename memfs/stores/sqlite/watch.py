"""How a process learns that another one committed: notices, watched by inotify.

An idle process makes no system call. A writer that is killed between its commit and its notice
is found by the log: one event of it starts a pair of rechecks. Only a mount watches, so only
``SqliteStore.watch`` loads this: inotify_simple brings ctypes along.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from inotify_simple import INotify, flags

from memfs.stores.sqlite.database import ScopeFiles
from memfs.stores.sqlite.notice import NoticeFile
from memfs.stores.watching import INotifyWatch

RECHECKS = (0.02, 0.2)
"""Seconds after the log changed: the first for the reader's sake, the second for a slow commit's."""


class SqliteWatch(INotifyWatch):
    """A thread that calls *notify* soon after somebody else committed."""

    poll_seconds = 0.05

    def __init__(self, files: ScopeFiles, own: NoticeFile, notify: Callable[[], None]) -> None:
        self._files = files
        self._own = own.name
        files.notices.mkdir(mode=0o700, exist_ok=True)
        super().__init__(notify)

    def _watch(self, inotify: INotify) -> None:
        directory = inotify.add_watch(self._files.notices, flags.CREATE | flags.ONLYDIR)
        for name in os.listdir(self._files.notices):
            self._watch_notice(inotify, name)
        log_watch = self._watch_log(inotify)
        self._notify()  # what was committed before the watches stood
        poll = self._poll_with(inotify.fileno())
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
