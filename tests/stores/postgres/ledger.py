"""What clients were told, kept beside the store, and held against its history at the end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from memfs import Memory
from tests.harness import texts
from tests.stores.postgres.client import Orders

PATIENCE = 60.0
"""Seconds that something may take which normally takes milliseconds."""


class Ledger:
    """The clients of a test, and what each of their commands came to, by the file or line it was about."""

    def __init__(self, url: str, scope: str, prefix: Sequence[str] = ()) -> None:
        """*prefix* is the command that runs a client, as ``nsenter …``."""
        self._url = url
        self._scope = scope
        self._prefix = tuple(prefix)
        self._clients: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        self._lock = threading.Lock()
        self._ready = threading.Semaphore(0)
        self.sent: set[str] = set()
        self.done: Counter[str] = Counter()
        self.done_by: Counter[str] = Counter()
        self.failed: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self.seconds: list[float] = []

    def start(self, *names: str, writers: int = 1, work: str = "create", times: int = 1_000_000) -> None:
        """Start a client for each name, and have all begin when all are ready."""
        started = []
        for name in names:
            orders = Orders(
                url=self._url, scope=self._scope, name=name, writers=writers, work=work, times=times
            )
            process = subprocess.Popen(
                [*self._prefix, sys.executable, "-m", "tests.stores.postgres.client", json.dumps(orders)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            reader = threading.Thread(target=self._read, args=(process, name))
            reader.start()
            self._clients.append((process, reader))
            started.append(process)
        for _ in started:
            assert self._ready.acquire(timeout=PATIENCE), "a client did not start"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def wait_for(self, more: int, within: float = PATIENCE) -> None:
        """Return when so many more commands have succeeded than now."""
        goal, end = self.done.total() + more, time.monotonic() + within
        while self.done.total() < goal:
            assert time.monotonic() < end, f"{goal - self.done.total()} of {more} are missing: {self.failed}"
            assert any(process.poll() is None for process, _ in self._clients), "all clients have ended"
            time.sleep(0.01)

    def kill(self) -> None:
        """End every client at once, whatever it is doing."""
        for process, _ in self._clients:
            process.kill()
        self.stop()

    def stop(self) -> None:
        """Have each client finish its command and end."""
        clients, self._clients = self._clients, []
        for process, _ in clients:
            assert process.stdin is not None
            process.stdin.close()
        for process, reader in clients:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                reader.join()
                assert process.stdout is not None
                process.stdout.close()

    def join(self) -> None:
        """Wait until each client has done all that it was to do."""
        for process, _ in self._clients:
            process.wait(PATIENCE * 3)
        self.stop()

    def _read(self, process: subprocess.Popen[str], name: str) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.endswith("\n"):
                return  # it was killed in the midst of it
            word, *rest = json.loads(line)
            if word == "ready":
                self._ready.release()
            with self._lock:
                self._note(word, rest, name)

    def _note(self, word: str, rest: list[Any], name: str) -> None:
        if word == "sent":
            self.sent.add(rest[0])
        elif word == "done":
            self.done[rest[0]] += 1
            self.done_by[name] += 1
            self.seconds.append(rest[1])
        elif word == "failed":
            self.failed[rest[0]].append((rest[2], rest[3]))

    def check_created(self, memory: Memory) -> None:
        """What was acknowledged is there, and was done once; what was not, once at most."""
        records = Counter(record.path for record in memory.history())
        lost = [path for path in self.done if records[path] == 0]
        twice = [path for path, times in records.items() if times > 1]
        assert not lost, f"acknowledged and lost: {lost}"
        assert not twice, f"done twice: {twice}"
        assert records.keys() <= self.sent
        assert texts(memory) == {path: path for path in records}
