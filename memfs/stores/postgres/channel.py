"""What a process knows of one scope between two looks at it, shared by its stores of that scope."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from memfs.port.store import Busy


class Channel:
    """One scope: how far it is known to be, who wants to hear of it, and the queue of its writers.

    A notice is a hint, and anybody may send one; the version is the truth, and comes from the tables.
    """

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.name = f"memfs_{scope & (1 << 64) - 1:016x}"
        self.stores = 0
        self.queue = Queue()
        self.known = 0
        self.breaks = 0
        """How often the tables were found to have lost what was known."""
        self.hinted = False
        self._change: str | None = None  # the one that led to ``known``, where that is known
        self._lock = threading.Lock()
        self._watchers: list[tuple[object, Callable[[], None]]] = []

    def learn(self, version: int, by: object = None, change: str | None = None) -> None:
        """The scope is at *version*, at least; by a *change* of the store *by*, or found in the tables."""
        with self._lock:
            if version <= self.known:
                return
            self.known, self._change = version, change
            due = [notify for who, notify in self._watchers if who is not by]
        for notify in due:
            notify()

    def hint(self, version: int) -> None:
        """A notice says that the scope is at *version*."""
        with self._lock:
            if version <= self.known or self.hinted:
                return
            self.hinted = True
            due = [notify for _, notify in self._watchers]
        for notify in due:
            notify()

    def doubt(self) -> None:
        """A version that somebody knew of is not kept: the tables may have lost it."""
        with self._lock:
            self.hinted = True
        self.rouse()

    def found(self, version: int, change: str | None, known: int, by: object = None) -> None:
        """The tables said that *change* led to *version*, when asked by one to whom *known* was known.

        A standby that was promoted, or a backup, may not have had all: then what is known was lost, and its
        versions may have been given to other changes.
        """
        with self._lock:
            is_newer = version > self.known
            if not is_newer:
                if self.known != known:
                    return  # a commit was made since they were asked
                if version == known and self._change in (None, change):
                    self._change = change
                    return
                self.known, self._change = version, change
                self.breaks += 1
        if is_newer:
            self.learn(version, by, change)
        else:
            self.rouse()

    def rouse(self) -> None:
        """There may have been something to hear, for a while in which nothing was heard."""
        with self._lock:
            due = [notify for _, notify in self._watchers]
        for notify in due:
            notify()

    def add_watcher(self, who: object, notify: Callable[[], None]) -> None:
        """Call *notify* of whatever is learnt, but for what the store *who* commits itself."""
        with self._lock:
            self._watchers.append((who, notify))

    def remove_watcher(self, who: object, notify: Callable[[], None]) -> None:
        """The end of ``add_watcher``."""
        with self._lock:
            self._watchers.remove((who, notify))


class Queue:
    """A lock that is first come, first served: of a scope's writers in a process, one at a time goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, wait: bool, patience: float) -> bool:
        """Take it; whether that came about in *patience* seconds. Raises Busy at once with ``wait=False``."""
        with self._lock:
            if not self._held:
                self._held = True
                return True
            if not wait:
                raise Busy
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(patience):
            return True
        with self._lock:
            if turn.is_set():
                return True
            self._waiting.remove(turn)
            return False

    def release(self) -> None:
        """Hand it to who has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._held = False
