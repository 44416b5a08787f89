"""A real systemd in namespaces of its own: a user manager with commands as its user, or a whole boot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done

ROOT = Path(__file__).parents[2]
PLACE = Path("/run/memfs-tester")
"""Where the scripts put everything, seen from inside."""
USER = 5417
SESSION = f"/sys/fs/cgroup/user.slice/user-{USER}.slice/session.scope"
SECONDS = 120
"""After which anything counts as hanging."""
MEMFS = f"""\
#!/bin/sh
PYTHONPATH={PLACE}/repository PYTHONDONTWRITEBYTECODE=1 exec {PLACE}/venv/bin/python -m memfs "$@"
"""


class Manager:
    """A user manager that runs. ``home`` is the user's home seen from outside; inside it is ``inside``."""

    inside = PLACE / "home"

    def __init__(self, process: int, home: Path) -> None:
        namespaces = ["nsenter", f"--target={process}", "--mount", "--pid", "--cgroup"]
        # In a control group that the namespace shows: the manager looks up that of whoever talks to it.
        self._enter = [*namespaces, "sh", "-c", f'echo $$ >{SESSION}/cgroup.procs && exec "$@"', "sh"]
        self.home = home

    def __call__(self, *command: str, text: str = "", seconds: float = SECONDS) -> Done:
        """Run one command as the user, as after a login."""
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", "-i"]
        become.append(f"--chdir={self.inside}")
        environment = {
            "HOME": str(self.inside),
            "USER": "memfs-tester",
            "LANG": "C.UTF-8",
            "PATH": f"{self.inside}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": f"/run/user/{USER}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [*self._enter, *become, *(f"{name}={value}" for name, value in environment.items()), *command],
            input=text.encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        return Done(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )

    def memfs(self, *arguments: str, text: str = "") -> Done:
        """Run one command of memfs."""
        return self("memfs", *arguments, text=text)

    def systemctl(self, *arguments: str) -> Done:
        """Run one command of systemctl."""
        return self("systemctl", "--user", *arguments)

    def python(self, program: str, *arguments: str, seconds: float = SECONDS) -> Done:
        """Run a program of this interpreter; memfs can be imported in it."""
        return self(
            "env",
            f"PYTHONPATH={PLACE}/repository",
            f"{PLACE}/venv/bin/python",
            "-c",
            program,
            *arguments,
            seconds=seconds,
        )

    def property(self, name: str, unit: str) -> str:
        """One property of a unit."""
        return self.systemctl("show", "--value", f"--property={name}", unit).done().strip()

    def is_mounted(self, directory: str) -> int:
        """How many mounts are on a directory below the home."""
        mounts = self("cat", "/proc/self/mounts").done().splitlines()
        return sum(line.split(" ")[1] == f"{self.inside}/{directory}" for line in mounts)

    def journal(self, unit: str, *arguments: str) -> str:
        """What the journal has of a unit."""
        return self("journalctl", "--user", "--no-pager", "--unit", unit, *arguments).out


@contextmanager
def new_home() -> Iterator[Path]:
    """A home for the user, with the command ``memfs`` of this interpreter in it."""
    _require_machine()
    home = Path(tempfile.mkdtemp(prefix="memfs-service-"))
    command = home / ".local/bin/memfs"
    command.parent.mkdir(parents=True)
    command.write_text(MEMFS)
    command.chmod(0o755)
    for path in (home, *home.rglob("*")):
        os.chown(path, USER, USER)
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextmanager
def running_manager(home: Path) -> Iterator[Manager]:
    """A user manager that runs, of the user with this *home*."""
    process = subprocess.Popen(
        _outside("manager.sh", home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            said: Any = process.communicate(timeout=SECONDS)[1]
            pytest.fail(f"the user manager did not start: {said.decode()}")
        yield Manager(_innermost(process.pid), home)
    finally:
        process.communicate(timeout=SECONDS)


def boot(home: Path, program: str) -> Done:
    """Boot all of systemd with the user of this *home* lingering, and run a Python program there as root."""
    if not [
        *Path("/lib").glob("*/security/pam_systemd.so"),
        *Path("/usr").glob("lib*/security/pam_systemd.so"),
    ]:
        pytest.skip("machine: no pam_systemd (the package libpam-systemd)")
    done = subprocess.run(
        [*_outside("boot.sh", home), f"{PLACE}/venv/bin/python", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=5 * SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def _outside(script: str, home: Path) -> list[str]:
    script = str(Path(__file__).with_name(script))
    return ["unshare", "--mount", "--propagation", "private", script, str(home), sys.prefix, str(ROOT)]


def _require_machine() -> None:
    if os.geteuid() != 0:
        pytest.skip("machine: only root can start a user manager for another user")
    for path in ("/lib/systemd/systemd", "/lib/systemd/systemd-journald", "/dev/fuse"):
        if not os.path.exists(path):
            pytest.skip(f"machine: no {path}")


def _innermost(pid: int) -> int:
    """The first process of the new namespaces, as the machine numbers it."""
    while _numbers(pid)[-1] != 1:
        (pid,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return pid


def _numbers(pid: int) -> list[int]:
    """What a process is called in each of the namespaces it lives in, the innermost last."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("NSpid:"))
    return [int(number) for number in line.split()[1:]]
