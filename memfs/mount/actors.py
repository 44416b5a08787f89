"""Who made a request: the user, the program's name and its process id."""

from __future__ import annotations

import os
import pwd
import time

from memfs.port.change import Actor

KEPT_SECONDS = 1.0
"""A process id is not given to another program within so short a time."""
KEPT = 64


class Actors:
    """The actors of the last requests, so that a burst of saves reads /proc once."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, Actor]] = {}

    def actor(self, pid: int) -> Actor:
        """The actor behind *pid*: of the thread group, as far as /proc still knows it."""
        now = time.monotonic()
        kept = self._kept.get(pid)
        if kept is not None and now - kept[0] < KEPT_SECONDS:
            return kept[1]
        actor = _look_up(pid)
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[pid] = (now, actor)
        return actor


def _look_up(pid: int) -> Actor:
    """From one read of /proc; the user is the owner of the process's directory there."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as comm:
            program = comm.read(64).rstrip(b"\n").decode("utf-8", "replace")
            uid = os.fstat(comm.fileno()).st_uid
    except OSError:
        return Actor("", "", pid)
    return Actor(_user_name(uid), program, pid)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
