"""A client of a test: a process with some writers, who say what they ask for and what they are told.

Started with its orders as JSON. It says ``ready`` when all its writers have opened the scope, begins with the
first line that it reads, and ends when its writers have done all they were to do, or its input has ended.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypedDict

from memfs import open_memory

SHARED = "/memories/shared.md"
COUNTER = "/memories/counter.md"


class Orders(TypedDict):
    """Who writes where, and how often at most."""

    url: str
    scope: str
    name: str
    writers: int
    work: str
    """``create``: each a file of its own; ``insert``: each a line in one file; ``count``: each one more."""
    times: int


class Writer:
    """One thread, with a memory of its own."""

    def __init__(self, orders: Orders, number: int) -> None:
        self._memory = open_memory(orders["url"], scope=orders["scope"])
        self._name = f"{orders['name']}-{number}"
        work: dict[str, Callable[[int], bool]] = {
            "create": self.create,
            "insert": self.insert,
            "count": self.count,
        }
        self._work = work[orders["work"]]
        self._times = orders["times"]

    def run(self, stopped: threading.Event) -> None:
        done = 0
        while done < self._times and not stopped.is_set():
            done += self._work(done)
        self._memory.close()

    def create(self, number: int) -> bool:
        path = f"/memories/{self._name}-{number}.md"
        self._ask(path, {"command": "create", "path": path, "text": path})
        return True

    def insert(self, number: int) -> bool:
        line = f"{self._name}-{number}"
        self._ask(line, {"command": "insert", "path": SHARED, "insertLine": 0, "text": line})
        return True

    def count(self, _number: int) -> bool:
        """One try to count on from what is there; whether it was the first to do so."""
        file = self._memory.snapshot().file(COUNTER)
        view = self._memory.execute({"command": "view", "path": COUNTER}).to_wire()
        text = _text(view)
        version = None if file is None else file.content
        command = {"path": COUNTER, "oldText": text, "newText": str(int(text) + 1)}
        return self._ask(text, {"command": "str_replace", **command, "expected": {"version": version}})

    def _ask(self, what: str, command: dict[str, Any]) -> bool:
        say("sent", what)
        begun = time.monotonic()
        result = self._memory.execute(command)
        seconds = time.monotonic() - begun
        if result.error is None:
            say("done", what, seconds)
            return True
        say("failed", what, seconds, result.error.code, result.error.message)
        return False


def _text(view: dict[str, Any]) -> str:
    assert view["ok"], view
    text: str = view["value"]["text"]
    return text


def say(*words: object) -> None:
    """One line of output, whole whatever other threads say."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    orders: Orders = json.loads(sys.argv[1])
    writers = [Writer(orders, number) for number in range(orders["writers"])]
    stopped = threading.Event()
    say("ready")
    sys.stdin.readline()
    threads = [threading.Thread(target=writer.run, args=(stopped,)) for writer in writers]
    for thread in threads:
        thread.start()
    threading.Thread(target=stop_with_input, args=(stopped,), daemon=True).start()
    for thread in threads:
        thread.join()
    say("ended")


def stop_with_input(stopped: threading.Event) -> None:
    sys.stdin.read()
    stopped.set()


if __name__ == "__main__":
    main()
