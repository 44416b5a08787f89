"""The user's systemd: what ``memfs service`` asks of it, and its unit files. Knows units, and no memories."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from memfs.cli.complaint import Complaint
from memfs.places import expanded, home

TEMPLATE = "memfs@.service"
COMMAND = "%h/.local/bin/memfs"
"""How the template calls memfs: where pipx and uv put it."""
SECONDS = 120.0
"""How long systemctl may take; longer than the unit's own limits."""
PROPERTIES = ("ActiveState", "SubState", "UnitFileState", "StatusText", "Result", "MainPID", "NRestarts")


def unit_of(name: str) -> str:
    """The unit of the memory *name*."""
    return f"memfs@{name}.service"


class UserManager(NamedTuple):
    """The user manager that answers, with the environment it gives to what it starts."""

    environment: dict[str, str]

    @property
    def unit_directory(self) -> Path:
        """Where the user's own units are."""
        named = self.environment.get("XDG_CONFIG_HOME", "")
        return (Path(named) if named.startswith("/") else home() / ".config") / "systemd/user"

    def drop_in_of(self, name: str) -> Path:
        """What is added to the unit of one memory."""
        return self.unit_directory / f"{unit_of(name)}.d" / "memfs.conf"

    def enabled_names(self) -> set[str]:
        """The memories whose service starts with the user manager."""
        links = (self.unit_directory / "default.target.wants").glob("memfs@*.service")
        return {link.name.removeprefix("memfs@").removesuffix(".service") for link in links}

    def run(self, *arguments: str) -> None:
        """Carry out one command of systemctl; raises a Complaint with what it said."""
        done = _systemctl(*arguments)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()[:1] or [f"status {done.returncode}"]
            raise Complaint(f"`systemctl --user {shlex.join(arguments)}` failed: {said[0].rstrip('.')}.")

    def properties(self, unit: str) -> dict[str, str]:
        """The PROPERTIES of a unit; of one that is not there, too."""
        shown = _systemctl("show", f"--property={','.join(PROPERTIES)}", unit).stdout
        return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)


def user_manager() -> UserManager | None:
    """The user manager of this session, or None where none answers."""
    if shutil.which("systemctl") is None:
        return None
    shown = _systemctl("show-environment")
    if shown.returncode != 0:
        return None
    return UserManager(dict(line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line))


def template() -> str:
    """The unit's text, with the command of this installation."""
    packaged = files("memfs") / "systemd" / TEMPLATE
    # In a source tree it lies beside the package.
    text = packaged.read_text() if packaged.is_file() else (_SOURCE_TREE / TEMPLATE).read_text()
    return text.replace(COMMAND, _own_command())


def quoted(text: str) -> str:
    """*text* as one word of a unit file, which means nothing but itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != text or any(map(str.isspace, text)) else text


def lingers() -> bool:
    """Whether the user manager also runs while the user is not logged in."""
    return Path("/var/lib/systemd/linger", _user()).exists()


def set_linger(wanted: bool) -> str | None:
    """Have it so, or not; None, or what to say where that is refused."""
    verb = "enable-linger" if wanted else "disable-linger"
    try:
        done = _run("loginctl", verb, _user())
    except OSError as error:
        return f"loginctl cannot be run: {error.strerror}"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()[:1] or [f"status {done.returncode}"]
    return f"{said[0].rstrip('.')}; run `sudo loginctl {verb} {_user()}`"


_SOURCE_TREE = Path(__file__).parents[2] / "systemd"


def _own_command() -> str:
    """The command that calls this installation, also after its next upgrade."""
    called = os.path.abspath(sys.argv[0])
    if os.path.basename(called) != "memfs":
        found = shutil.which("memfs")
        if found is None:
            return f"{quoted(sys.executable)} -m memfs"
        called = os.path.abspath(found)
    return COMMAND if called == expanded("~/.local/bin/memfs") else quoted(called)


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _systemctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run("systemctl", "--user", "--no-pager", *arguments)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - fixed programs, and no shell
        command,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
