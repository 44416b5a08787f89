"""How a mount learns that the reference moved: inotify on the directories that lead to it.

git moves a reference by a rename in its directory, and `git gc` packs it: then the directory may go
away and come back. So each directory on the way is watched, as far as it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from inotify_simple import INotify, flags

from memfs.stores.watching import INotifyWatch

_EVENTS = flags.MOVED_TO | flags.CREATE | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR


class ReferenceWatch(INotifyWatch):
    """A thread that calls *notify* soon after a reference has moved, by whomever."""

    poll_seconds = 0.5

    def __init__(self, common: Path, ref: str, notify: Callable[[], None]) -> None:
        path = common / ref
        self._directories = [
            parent for parent in path.parents if parent == common or common in parent.parents
        ]
        # The names that matter in each directory: the next one on the way, and the packed references.
        self._names = {"packed-refs", *Path(ref).parts}
        super().__init__(notify)

    def _watch(self, inotify: INotify) -> None:
        self._add_watches(inotify)
        self._notify()  # what was committed before the watches stood
        poll = self._poll_with(inotify.fileno())
        while True:
            if self._stop_reader in dict(poll.poll()):
                return
            events = inotify.read(timeout=0)
            if any(event.mask & (flags.ISDIR | flags.IGNORED | flags.MOVE_SELF) for event in events):
                self._add_watches(inotify)
            if any(
                event.name in self._names or event.mask & (flags.IGNORED | flags.Q_OVERFLOW)
                for event in events
            ):
                self._notify()

    def _add_watches(self, inotify: INotify) -> None:
        """Watch what is there on the way; a directory that is watched already is not watched twice."""
        for directory in reversed(self._directories):
            try:
                inotify.add_watch(directory, _EVENTS)
            except FileNotFoundError:
                return
