"""Which places somebody may have changed behind our back: told by inotify, taken in by ``outside``.

A save is several steps (a file emptied, written, closed; or renamed away and made anew), so a place is
due only when it has been quiet for a moment, or when its last step was one that ends a save.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from inotify_simple import INotify, flags

from memfs.port.names import is_segment
from memfs.stores.directory.folder import Folder, LeftAlone
from memfs.stores.watching import WatchingThread

log = logging.getLogger(__name__)

SETTLE = 0.03
"""Seconds of quiet after which a place that was written or left is due."""
LONGEST = 0.5
"""Seconds after which it is due however busy: a program may write for hours."""
GRACE = 0.1
"""Seconds for which a comparison of everything is enough. To end a watch takes the kernel up to 40 ms, so a
command that ends at once has none."""
POLL_SECONDS = 0.5
"""How often everything is compared where the system grants no watch."""

# O_PATH: the file is not ours, and is not opened.
_NAME_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_EVENTS = (
    flags.CREATE | flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB | flags.DELETE
    | flags.MOVED_FROM | flags.MOVED_TO | flags.ONLYDIR
)  # fmt: skip
_LINKS = flags.ATTRIB
_ENDS = flags.CLOSE_WRITE | flags.MOVED_TO
_WRITES = flags.MODIFY | flags.CLOSE_WRITE


class Due(NamedTuple):
    """What is to be looked at: places, those of them whose bytes must be read, and whole directories."""

    places: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.places or self.directories)


class _Noted:
    """When a place was first noted, when it is due, and whether somebody wrote into it."""

    __slots__ = ("due", "first", "written")

    def __init__(self, now: float) -> None:
        self.first = now
        self.due = now
        self.written = False


class Dirt:
    """The places that are not known to be as they were. Safe from several threads."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._noted: dict[str, _Noted] = {}
        self._directories = {""}  # nothing has been compared yet
        self._watched: dict[int, str] = {}
        self._linked: dict[int, set[str]] = {}
        self._inotify: INotify | None = None
        self._blind = False
        self._compared = time.monotonic()

    def close(self) -> None:
        """End the watches."""
        if self._inotify is not None:
            self._inotify.close()

    def begin(self) -> None:
        """Have the kernel tell, from the next comparison of everything on, which is due now."""
        with self._lock:
            if self._inotify is not None or self._blind:
                return
            self._directories.add("")
            try:
                self._inotify = INotify()
            except OSError as error:
                self._go_blind(error)

    def watch_directory(self, place: str, descriptor: int) -> None:
        """Have the kernel tell of changes in a directory, called before it is read: nothing falls between."""
        if self._inotify is None or self._blind:
            return
        try:
            watch = self._inotify.add_watch(f"/proc/self/fd/{descriptor}", _EVENTS)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                self._go_blind(error)
            return
        with self._lock:
            self._watched[watch] = place

    def watch_links(self, place: str) -> None:
        """Have the kernel tell when the file at *place*, which has further names, loses one.

        The directories do not tell it: the other name may have been anywhere.
        """
        if self._inotify is None or self._blind:
            return
        try:
            with self._folder.holder(place) as (directory, name):
                descriptor = os.open(name, _NAME_ONLY, dir_fd=directory)
        except (OSError, LeftAlone):
            return  # what has changed since is told by the directories
        try:
            watch = self._inotify.add_watch(f"/proc/self/fd/{descriptor}", _LINKS)
            with self._lock:
                self._linked.setdefault(watch, set()).add(place)
            if os.fstat(descriptor).st_nlink == 1:
                self.note_later(place)
        except OSError as error:
            log.debug("%s cannot be watched: %s", self._folder.path / place, error.strerror)
        finally:
            os.close(descriptor)

    def note(self, place: str, directory: bool = False) -> None:
        """Something may have changed there; it is due at once."""
        with self._lock:
            if directory:
                self._directories.add(place)
            else:
                self._noted.setdefault(place, _Noted(0.0)).due = 0.0

    def note_later(self, place: str) -> None:
        """Somebody is writing there just now; it is due when that has settled."""
        with self._lock:
            noted = self._noted.setdefault(place, _Noted(time.monotonic()))
            noted.due, noted.written = time.monotonic() + SETTLE, True

    def take(self) -> Due:
        """What is due, which is forgotten here. Waits for nothing."""
        if self._inotify is None and time.monotonic() - self._compared > GRACE:
            self.begin()
        self.listen()
        now = time.monotonic()
        with self._lock:
            if self._blind and now - self._compared > POLL_SECONDS:
                self._directories.add("")
            if "" in self._directories:
                self._compared = now
            if not self._noted and not self._directories:
                return _NOTHING
            due = {place: noted for place, noted in self._noted.items() if noted.due <= now}
            for place in due:
                del self._noted[place]
            directories, self._directories = frozenset(self._directories), set()
            written = frozenset(place for place, noted in due.items() if noted.written)
            return Due(frozenset(due), written, directories)

    def give_back(self, due: Due) -> None:
        """What was taken could not be looked at; it is due again."""
        with self._lock:
            self._directories |= due.directories
            for place in due.places:
                self._noted.setdefault(place, _Noted(0.0)).written |= place in due.written

    def wait_for_next(self) -> float | None:
        """Seconds until something is due, or None where nothing is noted."""
        with self._lock:
            if self._directories:
                return 0.0
            if not self._noted:
                return POLL_SECONDS if self._blind else None
            return max(0.0, min(noted.due for noted in self._noted.values()) - time.monotonic())

    def fileno(self) -> int | None:
        """What becomes readable when there is something to :meth:`listen` to."""
        return None if self._inotify is None else int(self._inotify.fileno())

    @property
    def is_blind(self) -> bool:
        """Whether the system grants no watch, so that everything is compared now and then."""
        return self._blind

    def listen(self) -> None:
        """Take in what the kernel has told so far."""
        if self._inotify is None:
            return
        with self._lock:
            events = self._inotify.read(timeout=0)
            if self._blind:  # some directories are not watched: everything is compared instead
                return
            left: dict[int, str] = {}
            for event in events:
                if event.mask & flags.Q_OVERFLOW:
                    self._directories.add("")
                elif event.wd in self._linked:
                    self._note_link(event.wd)
                elif event.mask & flags.IGNORED:
                    self._watched.pop(event.wd, None)
                elif event.wd in self._watched and not event.name.startswith("."):
                    self._note_event(event.wd, event.mask, event.cookie, event.name, left)

    def _note_event(self, watch: int, mask: int, cookie: int, name: str, left: dict[int, str]) -> None:
        parent = self._watched[watch]
        place = f"{parent}/{name}" if parent else name
        if not name or mask & flags.ISDIR:
            if name:
                self._directories.add(place)
            return
        now = time.monotonic()
        noted = self._noted.setdefault(place, _Noted(now))
        noted.written |= bool(mask & _WRITES)
        noted.due = now if mask & _ENDS else min(now + SETTLE, noted.first + LONGEST)
        if mask & flags.MOVED_FROM:
            left[cookie] = place
        elif mask & flags.MOVED_TO and is_segment(name) and left.get(cookie) in self._noted:
            self._noted[left[cookie]].due = now  # so that both are seen as the one rename they are

    def _note_link(self, watch: int) -> None:
        """A file with several names may have only one now. If it is still left alone, it is watched again."""
        with suppress(OSError):  # it went with the file's last name
            if self._inotify is not None:
                self._inotify.rm_watch(watch)
        for place in self._linked.pop(watch):
            noted = self._noted.setdefault(place, _Noted(time.monotonic()))
            noted.due, noted.written = noted.first, True

    def _go_blind(self, error: OSError) -> None:
        """No watch is to be had. The one that was begun stays open: somebody may be polling it."""
        self._blind = True
        log.warning(
            "%s cannot be watched (%s), so it is compared every %g s; raise fs.inotify.max_user_watches "
            "and max_user_instances.",
            self._folder.path,
            error.strerror,
            POLL_SECONDS,
        )


_NOTHING = Due()


class DirectoryWatch(WatchingThread):
    """A thread that calls *notify* soon after somebody changed the folder."""

    def __init__(self, dirt: Dirt, notify: Callable[[], None]) -> None:
        self._dirt = dirt
        dirt.begin()
        super().__init__(notify, "memfs-folder")

    def _run(self) -> None:
        poll = self._poll_with(self._dirt.fileno())
        patience = SETTLE
        while True:
            seconds = self._dirt.wait_for_next()
            if seconds == 0.0:  # whoever was told has not come yet, or could not take it in
                seconds, patience = patience, min(2 * patience, LONGEST)
            ready = dict(poll.poll(None if seconds is None else max(1.0, seconds * 1000)))
            if self._stop_reader in ready:
                return
            if ready:
                patience = SETTLE
            self._dirt.listen()
            if self._dirt.wait_for_next() == 0.0 or self._dirt.is_blind:
                self._notify()
