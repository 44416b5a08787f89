"""Daemons from outside: which processes they are, which core they run on, what they cost.

Everything is read from /proc, so that every filesystem is measured by the same rule, whatever
language it is written in.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

MOUNTED_WITHIN = 20.0
STOPPED_WITHIN = 15.0
SHORT_WAIT = 0.001


class NotStartedError(Exception):
    """A filesystem that cannot be had here, and why, in one line."""


class Cost(NamedTuple):
    """What a daemon has used up since it started: time, and how often each thread was woken again."""

    cpu_seconds: float
    wakeups: Mapping[int, int]

    def wakeups_since(self, before: Cost) -> int:
        """Times a thread went to sleep and was woken; a thread that ended meanwhile was woken once."""
        ended = before.wakeups.keys() - self.wakeups.keys()
        later = sum(count - before.wakeups.get(thread, 0) for thread, count in self.wakeups.items())
        return later + len(ended)


def family(pid: int) -> list[int]:
    """A process and all its descendants: some filesystems mount from a child or a grandchild."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for member in found:
        found.extend(children.get(member, ()))
    return found


def threads(pids: Iterable[int]) -> Iterator[int]:
    """Every thread of every process given."""
    for pid in pids:
        with suppress(OSError):
            yield from [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]


def place(pids: Iterable[int], cores: set[int]) -> None:
    """Let every thread of these processes run on *cores* only; threads they make later inherit it."""
    for thread in threads(pids):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(thread, cores)


@contextmanager
def pinned(pids: Iterable[int], core: int) -> Iterator[None]:
    """This process and the daemons on one core, and back afterwards.

    On two idle cores a request costs two wake-ups of a sleeping processor, in a virtual machine
    ten times what the filesystem does, and every filesystem looks the same.
    """
    before, members = os.sched_getaffinity(0), list(pids)
    place([os.getpid(), *members], {core})
    try:
        yield
    finally:
        place([os.getpid(), *members], before)


def pinning_core() -> int:
    """The core for the pinned part: the last one allowed, as interrupts tend to go to the first."""
    return max(os.sched_getaffinity(0))


def cost(pids: Iterable[int]) -> Cost:
    """User and system time of the processes, and the voluntary context switches of their threads."""
    ticks, wakeups, members = 0, dict[int, int](), list(pids)
    for pid in members:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    for thread in threads(members):
        with suppress(OSError):
            wakeups[thread] = _status_number(Path(f"/proc/{thread}/status"), "voluntary_ctxt_switches")
    return Cost(ticks / os.sysconf("SC_CLK_TCK"), wakeups)


def resident_bytes(pids: Iterable[int]) -> int:
    """Resident memory, the sum over the processes; pages they share count for each."""
    return sum(_status_number(Path(f"/proc/{pid}/status"), "VmRSS") * 1024 for pid in pids)


def _status_number(status: Path, name: str) -> int:
    for line in status.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise LookupError(f"{status} has no {name}")


def wait_until_mounted(directory: Path, daemon: subprocess.Popen[bytes], log: Path) -> None:
    """Return once *directory* is another filesystem than its parent, and answers.

    Raise :class:`NotStartedError` when the daemon ended instead, or takes too long.
    """
    outside = directory.parent.stat().st_dev
    deadline = time.monotonic() + MOUNTED_WITHIN
    while directory.stat().st_dev == outside:
        if daemon.poll() is not None:
            raise NotStartedError(f"it ended with status {daemon.returncode}: {last_line(log)}")
        if time.monotonic() > deadline:
            raise NotStartedError(f"not mounted after {MOUNTED_WITHIN:.0f} s: {last_line(log)}")
        time.sleep(SHORT_WAIT)


def mounted(directory: Path) -> bool:
    """Whether something is mounted there, dead or alive; asked of the mount table, never of the mount."""
    table = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    escaped = str(directory).replace("\\", "\\134").replace(" ", "\\040")
    return any(line.split()[4] == escaped for line in table.splitlines())


def unmount(directory: Path, *options: str) -> bool:
    """Ask fusermount3 to take the mount away; whether it did."""
    command = ["fusermount3", "-u", *options, str(directory)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def ended(daemon: subprocess.Popen[bytes], within: float) -> bool:
    """Whether the daemon ended by itself in this time."""
    try:
        daemon.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True


def last_line(log: Path) -> str:
    """The last thing a daemon said that is not blank, shortened."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
