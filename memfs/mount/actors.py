"""Who made a request: the user and the program, and which run of that program it was."""

from __future__ import annotations

import pwd
import time
from typing import NamedTuple

from memfs.port.change import Actor
from memfs.port.names import MAX_ACTOR

KEPT_SECONDS = 1.0
"""A process id is not given to another program within so short a time."""
KEPT = 64


class Who(NamedTuple):
    """An actor, and what tells one run of a program from another: its process and when it began.

    A thread makes the request, the thread group is the program: node, java and trio programs open
    with one thread and rename with another.
    """

    actor: Actor
    started: int

    def is_same_program(self, other: Who) -> bool:
        """Whether both are one run of one program; unknown ones never are."""
        return self.started > 0 and (self.actor.pid, self.started) == (other.actor.pid, other.started)


class Actors:
    """Those behind the last requests, so that a burst of saves reads /proc once."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[float, Who]] = {}

    def who(self, pid: int) -> Who:
        """Who made a request that came from *pid*, a thread's id, as far as /proc still knows it."""
        now = time.monotonic()
        kept = self._kept.get(pid)
        if kept is not None and now - kept[0] < KEPT_SECONDS:
            return kept[1]
        who = look_up(pid)
        if len(self._kept) >= KEPT:
            self._kept.clear()
        self._kept[pid] = (now, who)
        return who


NOBODY = Who(Actor(), 0)


def look_up(pid: int) -> Who:
    """Who *pid*, a thread's id, is now, by /proc."""
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            fields = dict(line.split(b":\t", 1) for line in status.read(4096).splitlines() if b":\t" in line)
        group, uid = int(fields[b"Tgid"]), int(fields[b"Uid"].split()[0])
        with open(f"/proc/{group}/stat", "rb") as stat:
            # pid (name) state … : the name may hold anything, so the last parenthesis counts.
            head, _, rest = stat.read(1024).rpartition(b")")
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        started = int(rest.split()[19])
    except (OSError, KeyError, ValueError, IndexError):
        return Who(Actor("", "", pid), 0)
    return Who(Actor(_user_name(uid)[:MAX_ACTOR], name[:MAX_ACTOR], group), started)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
