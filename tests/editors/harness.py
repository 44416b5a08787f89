"""What tests with real programs share: a mount, its history as a person sees it, and a terminal.

The mount lies below ``/var/tmp``: vim and emacs make no backups of files in ``/tmp``, and most of what
can go wrong here goes wrong with backups.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from memfs.mount.rejected import Rejected
from memfs.opening import open_with
from tests.harness import must, texts
from tests.mount.harness import PATIENCE, SCOPE, Mounted

WIDTH, HEIGHT = 110, 32


class Change(NamedTuple):
    """One line of the history as a person is shown it: a save is one change, however it was made."""

    operation: str
    path: str
    id: int
    program: str


class Editing(Mounted):
    """A mount that editors work in, with what a test asks afterwards."""

    def __init__(self, directory: Path, **orders: Any) -> None:
        """*orders* as for :class:`Mounted`; ``files``: name to text, in the store before it is mounted."""
        files: Mapping[str, str] = orders.pop("files", {})
        super().__init__(directory, **orders)
        self.directory = directory
        self.state = directory / "state"
        self.home = directory / "home"
        self.make_home()
        self._seen = 0
        with open_with(self.url, SCOPE, self._orders["wanted"], "before") as memory:
            for name, text in files.items():
                must(memory, "create", path=f"/memories/{name}", text=text)
        self.mark()

    # History and store

    def mark(self) -> None:
        """What is in the history by now is of no interest to :meth:`changes`."""
        self._seen = max((record.version for record in self.history()), default=0)

    def changes(self) -> list[Change]:
        """The changes since the last :meth:`mark`, oldest first, those that were one save as one."""
        records = [record for record in self.history() if record.version > self._seen]
        hidden = {(record.joins, record.id) for record in records if record.joins is not None}
        return [
            Change(record.operation, record.path.removeprefix("/memories/"), record.id, record.actor.program)
            for record in records
            if (record.version, record.id) not in hidden
        ]

    def id_of(self, name: str) -> int | None:
        """The id of the memory called *name*, or None."""
        last: dict[int, str] = {}
        for record in self.history():
            last[record.id] = "" if record.operation in ("deleted", "evicted") else record.path
        return next((key for key, path in last.items() if path == f"/memories/{name}"), None)

    def stored(self) -> dict[str, str]:
        """Everything in the store, by name."""
        return {path.removeprefix("/memories/"): text for path, text in texts(self.memory).items()}

    def versions_of(self, name: str) -> list[str]:
        """Every content that the memory called *name* has had in the store, oldest first."""
        contents = []
        for record in self.history():
            if record.path == f"/memories/{name}" and record.operation in ("created", "modified", "restored"):
                assert self._store is not None
                contents.append(self._store.read(record.id, record.version).decode())
        return contents

    # What the mount shows

    def listing(self) -> set[str]:
        """Every name in the mount, at any depth, hidden ones too; links that lead nowhere as well."""
        found: set[str] = set()
        for place, directories, files in os.walk(self.path):
            relative = Path(place).relative_to(self.path)
            found |= {str(relative / name) for name in (*files, *directories)}
        return found

    def events(self) -> list[dict[str, Any]]:
        """What the mount has to say about refusals, oldest first."""
        lines = (self.state / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def rejected(self) -> list[bytes]:
        """The bytes of refused saves, oldest first, also while nothing is mounted."""
        kept = Rejected(self.state)
        return [kept.read(each.name) for each in kept]

    def scratch(self) -> list[bytes]:
        """The bytes of all scratch files."""
        return [path.read_bytes() for path in sorted((self.state / "scratch").iterdir())]

    # Faults

    @property
    def database(self) -> Path:
        """The SQLite database of the scope."""
        return next(Path(self.url.removeprefix("sqlite:")).glob("*.db"))

    @contextmanager
    def failing_store(self) -> Iterator[None]:
        """No change can be committed, by no door: SQLite itself refuses it, as on a full disk."""
        self._sql("CREATE TRIGGER broken BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, 'planted'); END")
        try:
            yield
        finally:
            self._sql("DROP TRIGGER broken")

    def _sql(self, statement: str) -> None:
        connection = sqlite3.connect(self.database, timeout=PATIENCE)
        try:
            connection.execute(statement)
            connection.commit()
        finally:
            connection.close()

    # Programs

    def make_home(self) -> None:
        """A new home for the programs that follow."""
        shutil.rmtree(self.home, ignore_errors=True)
        for path in (self.home, self.home / "run", self.home / "tmp"):
            path.mkdir(mode=0o700)

    @property
    def environment(self) -> dict[str, str]:
        """For a program: a home of its own, where what it leaves elsewhere goes too; English, UTF-8."""
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "USER")}
        return {
            **keep,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "TMPDIR": str(self.home / "tmp"),
            "LC_ALL": "C.UTF-8",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
        }


@contextmanager
def a_place() -> Iterator[Path]:
    """A directory for one test's mounts, where programs make their backups as they do for people."""
    directory = Path(tempfile.mkdtemp(prefix="memfs-editors-", dir="/var/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def editing_in(directory: Path) -> Iterator[Callable[..., Editing]]:
    """Makes mounts below *directory*, started, and takes them away at the end."""
    made: list[Editing] = []

    def make(**orders: Any) -> Editing:
        mount = Editing(directory / f"m{len(made)}", **orders)
        made.append(mount)
        mount.start()
        return mount

    try:
        yield make
    finally:
        for mount in made:
            mount.close()


class Screen(AssertionError):
    """The screen did not come to show what it should; the message is the screen."""


class Terminal:
    """A program in a terminal of its own: keys go in, and a screen comes out.

    It is tmux's, which draws the screen as a person sees it and answers what programs ask a terminal.
    """

    def __init__(self, directory: Path, name: str = "tmux") -> None:
        """*directory* is for the socket *name*; short, for a socket's path may not be long."""
        self._socket = directory / name
        self._pid: int | None = None

    def run(self, command: list[str], environment: Mapping[str, str], directory: Path) -> None:
        """Start *command* in *directory*; the last one has ended."""
        self.close()
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT)),
            *("-c", str(directory), "--", *command),
            environment=environment,
            check=True,
        )
        pid = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        self._pid = int(pid) if pid else None

    @property
    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return self._tmux("list-panes").strip() != ""

    @property
    def pid(self) -> int:
        """The program's process."""
        assert self._pid is not None, "it ended at once"
        return self._pid

    def text(self) -> str:
        """What is on the screen; of a program that has ended nothing."""
        return self._tmux("capture-pane", "-p").rstrip()

    def type(self, text: str) -> None:
        """Type *text* as it is."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, key: str) -> None:
        """Press a key by tmux's name: ``Escape``, ``C-x``, ``F2``, ``M-x``."""
        self._tmux("send-keys", key)

    def see(self, pattern: str, seconds: float = PATIENCE) -> str:
        """Wait until the screen shows *pattern*; the screen."""
        return self._wait(lambda text: re.search(pattern, text) is not None, f"no {pattern!r}", seconds)

    def see_no(self, pattern: str, seconds: float = PATIENCE) -> str:
        """Wait until the screen does not show *pattern* any more; the screen."""
        return self._wait(lambda text: re.search(pattern, text) is None, f"still {pattern!r}", seconds)

    def ended(self, seconds: float = PATIENCE) -> None:
        """Wait for the end of the program."""
        end = time.monotonic() + seconds
        while self.is_running:
            if time.monotonic() > end:
                raise Screen(f"the program is still there:\n{self.text()}")
            time.sleep(0.02)

    def kill(self) -> None:
        """End the program as the machine's OOM killer would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def close(self) -> None:
        """Whatever still runs here ends."""
        self._tmux("kill-server")
        if self._pid is not None:
            # A program may outlive its terminal; its id cannot be another's yet, for we have just seen it.
            with suppress(ProcessLookupError, PermissionError):
                if Path(f"/proc/{self._pid}/cwd").exists():
                    os.kill(self._pid, signal.SIGKILL)
        self._pid = None

    def _wait(self, is_right: Callable[[str], bool], what: str, seconds: float) -> str:
        end = time.monotonic() + seconds
        while not is_right(text := self.text()):
            if time.monotonic() > end or not self.is_running:
                raise Screen(f"{what} on the screen:\n{text or '(the program has ended)'}")
            time.sleep(0.02)
        return text

    def _tmux(
        self, *arguments: str, environment: Mapping[str, str] | None = None, check: bool = False
    ) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments],
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout if done.returncode == 0 else ""
