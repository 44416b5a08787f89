"""kill -9 of a service again and again: how soon the mount answers, and whether anything is missing.

``python -m tests.service.kills 50`` runs fifty rounds and prints the figures. In each, a program writes
numbers into a file and closes it, as fast as it can; what it has closed must be there afterwards.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import NamedTuple

from tests.service.manager import Manager, new_home, running_manager

PAUSE_SECONDS = 3.0
GOAL_SECONDS = 1.5
ROUNDS = """
import json, os, signal, subprocess, sys, threading, time

unit, directory, rounds, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
file = os.path.join(directory, "counter.md")

def daemon():
    show = ["systemctl", "--user", "show", "--value", "-p", "MainPID", unit]
    return int(subprocess.run(show, capture_output=True).stdout)

def write(acknowledged, ended):
    number = acknowledged[0]
    while True:
        try:
            with open(file, "r+" if number else "w") as stream:
                stream.truncate(0)
                stream.write(str(number + 1))
        except OSError:
            break
        number += 1
        acknowledged[0] = number
    ended.set()

acknowledged, report = [0], []
for turn in range(rounds):
    begun, ended = time.monotonic(), threading.Event()
    threading.Thread(target=write, args=(acknowledged, ended)).start()
    time.sleep(0.3)
    killed = daemon()
    os.kill(killed, signal.SIGKILL)
    moment = time.monotonic()
    ended.wait()
    while True:
        try:
            with open(file) as stream:
                text = stream.read()
            break
        except OSError:  # dead, or for an instant not mounted
            time.sleep(0.005)
    seconds = time.monotonic() - moment
    mounts = sum(line.split(" ")[1] == directory for line in open("/proc/self/mounts"))
    report.append({"seconds": seconds, "missing": acknowledged[0] - int(text or 0), "mounts": mounts})
    acknowledged[0] = int(text or 0)
    time.sleep(max(0.0, pause - (time.monotonic() - begun)))
print(json.dumps(report))
"""


class Round(NamedTuple):
    """Until the mount answered; acknowledged writes that were missing then; mounts on the directory then."""

    seconds: float
    missing: int
    mounts: int


def kill_again_and_again(manager: Manager, name: str, rounds: int) -> list[Round]:
    """Kill the service of the memory *name*, mounted in ``memories-NAME``, so many times."""
    directory = str(manager.inside / f"memories-{name}")
    seconds = 60 + rounds * 30
    arguments = (f"memfs@{name}", directory, str(rounds), str(PAUSE_SECONDS))
    done = manager.python(ROUNDS, *arguments, seconds=seconds)
    assert done.status == 0, done
    return [Round(**each) for each in json.loads(done.out)]


def main(rounds: int) -> None:
    """Run, and print."""
    with new_home() as home, running_manager(home) as manager:
        manager.memfs("service", "install", "kills").done()
        figures = kill_again_and_again(manager, "kills", rounds)
    times = sorted(each.seconds for each in figures)
    late, losses = sum(each > GOAL_SECONDS for each in times), sum(each.missing > 0 for each in figures)
    print(f"{rounds} rounds: median {statistics.median(times):.2f} s, slowest {times[-1]:.2f} s,")
    print(f"{late} above {GOAL_SECONDS} s, {losses} with a loss")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
