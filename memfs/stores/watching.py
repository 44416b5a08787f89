"""The thread behind a watch: how it begins, waits and ends, whatever it is that a store watches.

Only a mount watches, so only a store's ``watch`` loads this: inotify_simple brings ctypes along.
"""

from __future__ import annotations

import logging
import os
import select
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from inotify_simple import INotify

log = logging.getLogger(__name__)


class WatchingThread(ABC):
    """A watch that is a thread of its own; whoever derives from it sets its own fields first."""

    def __init__(self, notify: Callable[[], None], name: str = "memfs-watch") -> None:
        self._notify = notify
        self._stop_reader, self._stop_writer = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; it has made its last call when this returns."""
        os.close(self._stop_writer)
        self._thread.join()
        os.close(self._stop_reader)

    @abstractmethod
    def _run(self) -> None:
        """The thread: call ``_notify`` when it is due, and return when ``_stop_reader`` can be read."""

    def _poll_with(self, descriptor: int | None) -> select.poll:
        """What to wait at: the end of the watch, and what is read from *descriptor*, if there is one."""
        poll = select.poll()
        poll.register(self._stop_reader, select.POLLIN | select.POLLHUP)
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
        return poll


class INotifyWatch(WatchingThread):
    """A watch by inotify, which looks now and then where the system grants none."""

    poll_seconds: float
    """How often to look then."""

    def _run(self) -> None:
        try:
            with INotify() as inotify:
                self._watch(inotify)
        except OSError:
            log.warning("no inotify watch is to be had; looking for changes every %g s", self.poll_seconds)
            while not select.select([self._stop_reader], [], [], self.poll_seconds)[0]:
                self._notify()

    @abstractmethod
    def _watch(self, inotify: INotify) -> None:
        """As ``_run``, by *inotify*; raises OSError where the system grants no watch."""
