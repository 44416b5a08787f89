"""memfs as people and programs run it: a process of its own, in a home of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import pytest

from memfs.cli import main
from memfs.places import mount_points

ROOT = Path(__file__).parents[2]
QUICK = os.environ.get("MEMFS_TEST_QUICK") == "1"
SECONDS = 60
"""After which a command counts as hanging; none needs a tenth of it."""


LONE = {
    "view", "create", "str-replace", "insert", "delete", "rename", "search", "log", "show", "diff", "restore",
    "undo", "policy", "place", "tasks", "archive", "config", "init", "events", "rejected", "integrate",
    "port",
}  # fmt: skip
"""The commands that start no process: in a quick run, this one carries them out."""


class Done(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def refusal(self, status: int = 1) -> str:
        """The one sentence for a person, of a command that ended with *status*."""
        assert self.status == status, self
        lines = self.err.splitlines()
        assert len(lines) == 1, self
        assert lines[0].startswith("memfs: "), self
        return lines[0].removeprefix("memfs: ")

    def done(self) -> str:
        """What a command printed that was carried out without a word on standard error."""
        assert self.status == 0, self
        assert self.err == "", self
        return self.out


class Shell:
    """Runs ``memfs`` with its data, state and configuration below one directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
        }

    def __call__(self, *arguments: str, text: str | bytes = b"", cwd: Path | None = None) -> Done:
        """Run one command to its end; *text* is its standard input."""
        given = text.encode() if isinstance(text, str) else text
        if QUICK and arguments and (arguments[0] in LONE or "--help" in arguments):
            return self._run_here(arguments, given, cwd or self.home)
        done = subprocess.run(
            self.command(*arguments),
            input=given,
            capture_output=True,
            env=self.environment,
            cwd=cwd or self.home,
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _run_here(self, arguments: tuple[str, ...], text: bytes, cwd: Path) -> Done:
        environment, directory = dict(os.environ), os.getcwd()
        _become(self.environment)
        os.chdir(cwd)
        try:
            with _descriptor(0, "r", text), _descriptor(1, "w") as out, _descriptor(2, "w") as err:
                with redirect_stdout(out), redirect_stderr(err):
                    status = main(arguments)
                said = [_all_of(stream) for stream in (out, err)]
        finally:
            _become(environment)
            os.chdir(directory)
        return Done(status, *said)

    def start(
        self, *arguments: str, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        """Start one command and leave it running, with pipes where nothing else is given."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.home,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "memfs", *arguments]

    def configure(self, name: str, content: str) -> Path:
        """Write the configuration of the memory *name*."""
        file = self.home / ".config" / "memfs" / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file


@contextmanager
def _descriptor(number: int, mode: str, content: bytes = b"") -> Iterator[IO[str]]:
    """A stream on the descriptor *number*, which leads to a file meanwhile that holds *content*."""
    kept = os.dup(number)
    with TemporaryFile(buffering=0) as file:
        file.write(content)
        file.seek(0)
        os.dup2(file.fileno(), number)
        try:
            with open(number, mode, encoding="utf-8", closefd=False) as stream:
                yield stream
        finally:
            os.dup2(kept, number)
            os.close(kept)


def _all_of(stream: IO[str]) -> str:
    stream.flush()
    with open(f"/proc/self/fd/{stream.fileno()}", "rb") as file:
        return file.read().decode()


def _become(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


class Place:
    """A directory to mount on, and everything a test wants to know about the mount there."""

    def __init__(self, shell: Shell, directory: Path) -> None:
        self.shell = shell
        self.directory = directory

    def mount(self, *arguments: str) -> None:
        """Mount in the background; it has to succeed."""
        self.shell("mount", str(self.directory), *arguments).done()

    @property
    def record(self) -> Any:
        """What the list of running mounts has about this one."""
        (file,) = (
            file
            for file in (self.shell.home / ".local/state/memfs/mounts").glob("*/mount.json")
            if json.loads(file.read_bytes())["mountpoint"] == str(self.directory)
        )
        return json.loads(file.read_bytes())

    @property
    def daemon(self) -> int:
        pid = self.record["pid"]
        assert isinstance(pid, int)
        return pid

    @property
    def is_served(self) -> bool:
        """Whether a daemon holds the lock of this directory."""
        (file,) = (self.shell.home / ".local/state/memfs/mounts").glob("*/lock")
        with file.open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    @property
    def log(self) -> str:
        return "".join(
            file.read_text() for file in (self.shell.home / ".local/state/memfs/mounts").glob("*/log")
        )

    @property
    def is_mounted(self) -> bool:
        return self.times_mounted > 0

    @property
    def times_mounted(self) -> int:
        return sum(point.path == str(self.directory) for point in mount_points())

    def kill(self) -> None:
        """End the daemon as a crash would; the mount stays, dead."""
        os.kill(self.daemon, signal.SIGKILL)
        eventually(lambda: not self.answers)

    @property
    def answers(self) -> bool:
        try:
            os.statvfs(self.directory)
        except OSError:
            return False
        return True


def eventually(holds: Callable[[], object]) -> None:
    """Wait for what is to come; a test that waits in vain fails by its own time limit."""
    while not holds():
        time.sleep(0.01)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, shell: Shell, *command: str, **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.shown = b""
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**shell.environment, "TERM": "xterm", **environment},
            cwd=shell.home,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def until(self, part: bytes) -> None:
        """Read until *part* has come since the last time."""
        begun = len(self.shown)

        def has_come() -> bool:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self.master, 1 << 16)
                except OSError:  # its last process has ended
                    assert part in self.shown[begun:], self.shown
            return part in self.shown[begun:]

        eventually(has_come)


def require_fuse() -> None:
    """Skip where this machine cannot mount."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or shutil.which("fusermount3") is None:
        pytest.skip("machine: no FUSE")


def in_namespace(*steps: str) -> list[str]:
    """To run a command in mounts of its own, after *steps* have changed them."""
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*own, "true"], check=False, capture_output=True).returncode:
        pytest.skip("machine: no namespaces")
    return [*own, "sh", "-c", " && ".join([*steps, 'exec "$@"']), "sh"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, for commands that run in this process."""
    directory = tmp_path / "home"
    directory.mkdir(mode=0o700)
    for variable in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def place(shell: Shell, tmp_path: Path) -> Iterator[Place]:
    """A directory of this test's own; whatever is mounted below it is gone afterwards."""
    require_fuse()
    directory = tmp_path / "mount"
    directory.mkdir(mode=0o700)
    try:
        yield Place(shell, directory)
    finally:
        _clean_up(shell, tmp_path)


def _clean_up(shell: Shell, below: Path) -> None:
    points = [point.path for point in mount_points() if point.path.startswith(f"{below}/")]
    for file in (shell.home / ".local/state/memfs/mounts").glob("*/mount.json"):
        mount = json.loads(file.read_bytes())
        with suppress(ProcessLookupError, FileNotFoundError):
            if b"memfs" in Path(f"/proc/{mount['pid']}/cmdline").read_bytes():
                os.kill(mount["pid"], signal.SIGKILL)
    for point in reversed(points):
        subprocess.run(["fusermount3", "-u", "-z", "--", point], check=False, timeout=SECONDS)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Shell(home)
