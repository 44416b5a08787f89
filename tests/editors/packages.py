"""Libraries and programs of other languages that save files: installed once a test run, gone after it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

NODE = ("write-file-atomic@7", "steno@4", "fs-extra@11", "@modelcontextprotocol/server-filesystem@2026.8.31")
PYTHON = ("atomicwrites==1.4.1",)
INSPECTOR = ("@modelcontextprotocol/inspector@1.0.3",)
INSTALL_SECONDS = 100


@cache
def node() -> Path | None:
    """The ``node_modules`` with NODE; None where it cannot be had."""
    return _npm(NODE)


@cache
def inspector() -> Path | None:
    """The command line of the protocol's official inspector; None where it cannot be had."""
    modules = _npm(INSPECTOR)
    return None if modules is None else modules / ".bin" / "mcp-inspector"


@cache
def python() -> Path | None:
    """The directory with PYTHON; None where it cannot be had."""
    return _install(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages=PYTHON)


def _npm(packages: tuple[str, ...]) -> Path | None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    place = _install("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", packages=packages)
    return None if place is None else place / "node_modules"


def _install(*command: str, packages: tuple[str, ...]) -> Path | None:
    place = Path(tempfile.mkdtemp(prefix="memfs-packages-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    try:
        done = subprocess.run(
            [*command, str(place), *packages],
            # Where packages come from is the machine's to say, in the files of whoever runs the tests.
            env=dict(os.environ) | {"HOME": os.path.expanduser(f"~{_user()}")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return place if done.returncode == 0 else None


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name
