"""A real mount for a test: a daemon of its own, the port beside it, and nothing left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from memfs.opening import open_with
from memfs.port.memory import Memory
from memfs.port.policy import Policy
from memfs.port.store import Record
from memfs.stores.sqlite import SqliteStore, open_sqlite
from tests.harness import must
from tests.mount.watchdog import WATCHDOG, minor_of, unmount_lazily

SCOPE = "work"
PATIENCE = 20.0
"""Seconds that something may take which normally takes milliseconds: a busy machine must not fail a test."""
START_SECONDS = 40.0


def skip_where_nothing_mounts(items: list[pytest.Item], below: Path) -> None:
    """Mark the tests in the directory *below* as skipped, if this machine gives us no FUSE."""
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        return
    for item in items:
        if below in item.path.parents:
            item.add_marker(pytest.mark.skip("machine: /dev/fuse cannot be opened"))


def eventually(look: Callable[[], object], expected: object = True, within: float = PATIENCE) -> None:
    """Look again and again, until it is as *expected*."""
    end = time.monotonic() + within
    while (seen := look()) != expected:
        if time.monotonic() > end:
            raise AssertionError(f"still {seen!r} after {within:.0f} s, expected {expected!r}")
        time.sleep(0.005)


class Mounted:
    """A mount on ``path`` of the scope ``work`` in a SQLite store, served by a process of its own."""

    def __init__(self, directory: Path, prefix: Sequence[str] = (), **orders: Any) -> None:
        """*orders* are the runner's; rules of the scope are given by name, as ``max_files=8``.

        *prefix* is the command that runs the daemon, as ``nsenter …``.
        """
        self._prefix = tuple(prefix)
        self.path = directory / "mnt"
        self.path.mkdir(parents=True)
        self.log_path = directory / "log"
        wanted = {name: orders.pop(name) for name in Policy().to_json() if name in orders}
        self._orders: dict[str, Any] = {
            "url": f"sqlite:{directory / 'store'}",
            "scope": SCOPE,
            "mountpoint": str(self.path),
            "state": str(directory / "state"),
            "wanted": wanted,
            "options": {},
            "constants": {},
            "faults": {},
            "slow_notices": 0,
        } | orders
        (directory / "state").mkdir(exist_ok=True)
        self._daemon: subprocess.Popen[bytes] | None = None
        self._store: SqliteStore | None = None
        self._memory: Memory | None = None

    @property
    def url(self) -> str:
        """The URL of the store."""
        url: str = self._orders["url"]
        return url

    # The daemon

    @property
    def pid(self) -> int:
        assert self._daemon is not None, "not mounted"
        return self._daemon.pid

    def start(self, **changed: Any) -> None:
        """Mount; *changed* are orders that differ from here on."""
        assert self._daemon is None, "mounted already"
        self._orders |= changed
        with self.log_path.open("ab") as log:
            self._daemon = subprocess.Popen(
                [*self._prefix, sys.executable, "-m", "tests.mount.runner", json.dumps(self._orders)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        WATCHDOG.watch(str(self.path), self._daemon.pid)
        assert self._daemon.stdout is not None
        readable, _, _ = select.select([self._daemon.stdout], [], [], START_SECONDS)
        line = self._daemon.stdout.readline() if readable else b""
        if line != b"READY\n":
            self.discard()
            raise AssertionError(f"the mount did not start:\n{self.log()}")

    def stop(self, by: signal.Signals | None = None) -> str:
        """Unmount as a person does, or by a signal, and wait for the end; the daemon's last line."""
        if by is None:
            subprocess.run(["fusermount3", "-u", str(self.path)], check=True)
        else:
            os.kill(self.pid, by)
        return self.wait_for_end()

    def wait_for_end(self) -> str:
        """Wait until the daemon has ended of itself, as it should; its last line."""
        daemon = self._daemon
        assert daemon is not None, "not mounted"
        assert daemon.stdout is not None
        try:
            # Not communicate(): it would close the daemon's input, which means that this test has died.
            daemon.wait(START_SECONDS)
            output = daemon.stdout.read()
        finally:
            self.discard()
        assert daemon.returncode == 0, self.log()
        return output.decode().rstrip("\n")

    def kill(self) -> None:
        """End the daemon as a crash would, and clear the dead mount away."""
        os.kill(self.pid, signal.SIGKILL)
        self.discard()

    def let_go(self) -> None:
        """Close the daemon's input, as the system does when this process dies."""
        assert self._daemon is not None, "not mounted"
        assert self._daemon.stdin is not None
        self._daemon.stdin.close()

    def discard(self) -> None:
        """Whatever is left of the mount is gone after this."""
        daemon, self._daemon = self._daemon, None
        if minor_of(str(self.path)) is not None:
            unmount_lazily(str(self.path))
        if daemon is not None:
            with suppress(ProcessLookupError), daemon:  # which closes the pipes and waits
                daemon.kill()
        WATCHDOG.dismiss(str(self.path))

    def remount(self) -> None:
        """Unmount and mount again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """The end of the test."""
        self.discard()
        if self._store is not None:
            self._store.close()
        if self._memory is not None:
            self._memory.close()

    def log(self) -> str:
        """What the daemon has logged."""
        return self.log_path.read_text()

    # The other door: the port, in this process, which is not the daemon's

    @property
    def memory(self) -> Memory:
        """The port on the same scope."""
        if self._memory is None:
            self._memory = open_with(self.url, self._orders["scope"], {}, "other")
        return self._memory

    def execute(self, command: str, **fields: Any) -> Any:
        """Carry out a command at the port that has to succeed; its receipt."""
        return must(self.memory, command, **fields)

    def text(self, path: Path) -> str | None:
        """What the store has for a path in the mount; None for nothing."""
        result = self.memory.execute({"command": "view", "path": self.port_path(path)})
        value = result.to_wire().get("value") if result.ok else None
        return value["text"] if isinstance(value, dict) and "text" in value else None

    def port_path(self, path: Path) -> str:
        """What the port calls a path in the mount."""
        relative = path.relative_to(self.path)
        return f"/memories/{relative}" if relative.parts else "/memories"

    def records(self, below: Path | None = None) -> list[tuple[str, str]]:
        """The history, oldest first, as (operation, name) of what lies below a directory."""
        prefix = self.port_path(below or self.path) + "/"
        return [
            (record.operation, record.path.removeprefix(prefix))
            for record in self.history()
            if record.path.startswith(prefix)
        ]

    def history(self) -> Iterator[Record]:
        """All records, oldest first."""
        if not self.url.startswith("sqlite:"):
            return reversed(list(self.memory.history()))
        if self._store is None:
            directory = Path(self.url.removeprefix("sqlite:"))
            self._store, _ = open_sqlite(directory, SCOPE, Policy())
        return self._store.history(newest_first=False)


@contextmanager
def open_fd(path: Path | str, flags: int, mode: int = 0o644) -> Iterator[int]:
    """A file descriptor, closed at the end."""
    descriptor = os.open(path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def errno_of(action: Callable[[], object]) -> int:
    """The errno that *action* fails with; 0 where it does not."""
    try:
        action()
    except OSError as error:
        return error.errno or 0
    return 0


def write(path: Path, data: bytes | str) -> None:
    """One save in place, as most programs do it."""
    with open_fd(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
        os.write(fd, data.encode() if isinstance(data, str) else data)


def content(path: Path) -> str | None:
    """What is in a file, or None where there is none."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def run(*command: str | Path, **options: Any) -> str:
    """The output of a program that must end well."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def in_another_process(code: str, *arguments: str) -> str:
    """What *code* prints in a Python of its own: other file descriptors, other page tables."""
    return run(sys.executable, "-S", "-c", code, *arguments).rstrip("\n")
