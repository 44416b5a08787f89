"""What the kernel asked: how often each kind of request came, how long answers took, and who asked.

It must cost nothing that can be measured. A request is counted by one addition; where they come fast,
one in 64 of a kind is timed; and who asked is looked at fifty times a second at most. pyfuse3 serves
one mount per process, so there is one set of counters per process. The event loop alone writes and
reads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from memfs.mount.actors import look_up

TIMED_NS = 20_000_000
"""The time between two answers of a kind that are timed, where they come faster than that."""
LONGEST_STRIDE = 64
"""At least one request in so many is timed."""
GLANCE_NS = 20_000_000
"""The least time between two looks at who asks: a look reads /proc."""
MOST_PROGRAMS = 256
STEPS = 4
"""Buckets for each doubling of the time: a percentile is known to a fifth."""


class Requests:
    """The requests of one kind. ``refused`` of ``count`` were answered with an error.

    The one with the number ``next_timed`` is the next that is timed.
    """

    __slots__ = ("_last_ns", "_nanoseconds", "_stride", "_times", "count", "kind", "next_timed", "refused")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = 0
        self.refused = 0
        self.next_timed = 0
        self._times: Counter[int] = Counter()
        self._nanoseconds = 0
        self._stride = 1
        self._last_ns = 0

    def timed(self, begun_ns: int, ended_ns: int) -> None:
        """Enter when one answer began and ended, and choose the next that is timed."""
        self._times[bucket_of(ended_ns - begun_ns)] += 1
        self._nanoseconds += ended_ns - begun_ns
        if ended_ns - self._last_ns < TIMED_NS:
            self._stride = min(self._stride * 2, LONGEST_STRIDE)
        else:
            self._stride = max(self._stride // 2, 1)
        self._last_ns = ended_ns
        self.next_timed = self.count + self._stride

    def to_json(self) -> dict[str, Any]:
        """The numbers; of those that were timed, how many fell below each time, and the sum of their times.

        Times are in nanoseconds.
        """
        timed = {str(upper_bound(bucket)): times for bucket, times in sorted(self._times.items())}
        numbers = {"count": self.count, "refused": self.refused, "nanoseconds": self._nanoseconds}
        return numbers | {"timed": timed}


class Programs:
    """Who asks, seen by glances: a program's share of them is its share of the requests.

    Before ``next_ns`` no glance is due.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self.next_ns = 0

    def glance(self, pid: int, now_ns: int) -> None:
        """A request came from the thread *pid*, 0 where that is not known.

        What is seen is not kept for ``Actors``: a process may ask first and then become another program.
        """
        if now_ns < self.next_ns or not pid:
            return
        self.next_ns = now_ns + GLANCE_NS
        program = look_up(pid).actor.program or "?"
        if program not in self._seen and len(self._seen) >= MOST_PROGRAMS:
            del self._seen[min(self._seen, key=self._seen.__getitem__)]
        self._seen[program] += 1

    def to_json(self) -> dict[str, int]:
        """The glances at each program, the busiest first."""
        return dict(self._seen.most_common())


REQUESTS: dict[str, Requests] = {}
PROGRAMS = Programs()


def requests_of(kind: str) -> Requests:
    """The counter of *kind*, the name of its handler."""
    return REQUESTS.setdefault(kind, Requests(kind))


def bucket_of(nanoseconds: int) -> int:
    """The bucket of a time: STEPS of equal width for each doubling."""
    doubling = max(nanoseconds, STEPS).bit_length() - STEPS.bit_length()
    return doubling * STEPS + (max(nanoseconds, STEPS) >> doubling) - STEPS


def upper_bound(bucket: int) -> int:
    """The least number of nanoseconds that is too long for *bucket*."""
    doubling, step = divmod(bucket, STEPS)
    return (STEPS + step + 1) << doubling


def percentile(timed: Mapping[str, int], share: float) -> int | None:
    """The time within which *share* of the answers came, in nanoseconds; None where none was timed."""
    wanted = share * sum(timed.values())
    for bound, times in sorted((int(bound), times) for bound, times in timed.items()):
        wanted -= times
        if wanted <= 0 and times:
            return bound
    return None
