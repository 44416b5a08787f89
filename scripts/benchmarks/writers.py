"""A mount's worth of writers: a process with some scopes, whose threads change one or another of them.

Started by ``load`` with its orders as JSON. It says ``ready``, begins when it reads a line, and ends with one
line of JSON: how long each change took, in milliseconds, and what failed.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from contextlib import ExitStack
from typing import TypedDict

from memfs import Memory, open_memory
from memfs.port.commands import Create

FILES = 20
TEXT = "A line of a note that an agent keeps.\n" * 20


class Orders(TypedDict):
    """What to write, how long, and how often: ``rate`` changes a second in all, 0 for as many as can be.

    What is due within the first ``warm`` seconds does not count: connections are made then.
    """

    url: str
    scopes: list[str]
    threads: int
    warm: float
    seconds: float
    rate: float
    seed: int


class Writers:
    """The threads of one process."""

    def __init__(self, orders: Orders, memories: list[Memory]) -> None:
        self._orders = orders
        self._memories = memories
        self._lock = threading.Lock()
        self.milliseconds: list[float] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """All of it."""
        begun = time.monotonic()
        threads = [
            threading.Thread(target=self._write, args=(number, begun))
            for number in range(self._orders["threads"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, number: int, begun: float) -> None:
        """One thread. At a given rate a change counts from when it was due: a queue is part of the answer."""
        chance = random.Random(self._orders["seed"] * 1_000 + number)
        first = begun + self._orders["warm"]
        end, rate = first + self._orders["seconds"], self._orders["rate"] / self._orders["threads"]
        due = begun
        while (now := time.monotonic()) < end:
            if rate:
                due += chance.expovariate(rate)
                if due > end:
                    return
                if due > now:
                    time.sleep(due - now)
            else:
                due = now
            self._change(chance, due, due >= first)

    def _change(self, chance: random.Random, due: float, counts: bool) -> None:
        memory = chance.choice(self._memories)
        path = f"/memories/note-{chance.randrange(FILES)}.md"
        result = memory.execute(Create(path, f"{chance.random()}\n{TEXT}"))
        taken = (time.monotonic() - due) * 1_000
        with self._lock:
            if counts:
                self.milliseconds.append(taken)
            if result.error is not None:
                self.failures.append(result.error.message)


def main() -> None:
    """Be one."""
    orders: Orders = json.loads(sys.argv[1])
    with ExitStack() as stack:
        memories = [stack.enter_context(open_memory(orders["url"], scope=name)) for name in orders["scopes"]]
        for memory in memories:
            stack.callback(memory.watch(lambda: None).close)
        writers = Writers(orders, memories)
        print("ready", flush=True)
        sys.stdin.readline()
        writers.run()
        print(json.dumps({"milliseconds": writers.milliseconds, "failures": writers.failures}), flush=True)


if __name__ == "__main__":
    main()
