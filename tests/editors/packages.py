"""Libraries and programs of other languages: installed before the first test that needs them.

They stay in the user's cache, where the next run finds them; a machine that has none makes them anew. What
is asked for is part of the directory's name, so another list of packages is another directory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

NODE = (
    "write-file-atomic@7",
    "steno@4",
    "fs-extra@11",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/inspector@1.0.3",
)
PYTHON = ("atomicwrites==1.4.1",)
INSTALL_SECONDS = 900
"""What a slow network and a busy machine need; no test's time runs meanwhile."""


def install() -> None:
    """Have all of them, or know that they cannot be had; called before the time of any test runs."""
    node()
    python()


@cache
def node() -> Path | None:
    """The ``node_modules`` with NODE; None where it cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    place = _install("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", packages=NODE)
    return None if place is None else place / "node_modules"


def node_program(name: str) -> Path | None:
    """A program among NODE; None where it cannot be had."""
    modules = node()
    return None if modules is None else modules / ".bin" / name


@cache
def python() -> Path | None:
    """The directory with PYTHON; None where it cannot be had."""
    return _install(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages=PYTHON)


def _install(*command: str, packages: tuple[str, ...]) -> Path | None:
    digest = hashlib.sha256("\n".join((*command, *packages)).encode()).hexdigest()[:16]
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME is the tests' own
    place = home / ".cache" / "memfs-tests" / digest
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker of the same run may be at it
            return place if place.exists() or _make(place, command, packages, home) else None
    except OSError:
        return None


def _make(place: Path, command: tuple[str, ...], packages: tuple[str, ...], home: Path) -> bool:
    """Whether *packages* are in *place* now; all or none."""
    with tempfile.TemporaryDirectory(dir=place.parent, ignore_cleanup_errors=True) as directory:
        new = Path(directory) / "new"
        new.mkdir()
        try:
            done = subprocess.run(
                [*command, str(new), *packages],
                # Where packages come from is the machine's to say, in the files of whoever runs the tests.
                env=dict(os.environ) | {"HOME": str(home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=INSTALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode == 0:
            new.rename(place)
        return done.returncode == 0
