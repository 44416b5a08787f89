"""``memfs uninstall``: services, mounts and the program go; the memories stay."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from memfs.cli.complaint import Complaint, Status
from memfs.cli.running import states
from memfs.cli.service import remove_all
from memfs.cli.unmount import unmount_all
from memfs.opening import canonical_url
from memfs.places import config_directory, state_directory

PACKAGE = "memfs-mount"


def run(_options: Namespace) -> int:
    """Take away what memfs has set up for this user, then itself; say what stays."""
    remove_all()
    if unmount_all() != Status.DONE:
        raise Complaint("A mount is still there; end what uses it, then run this again.")
    stores = {state.store for state in states() if state.store} - {"simple:"} | {canonical_url(None)}
    print(f"The memories stay in {', '.join(sorted(stores))}.")
    for what, directory in (
        ("the logs, events and refused bytes of mounts", state_directory()),
        ("what is configured", config_directory()),
    ):
        if directory.exists():
            print(f"Left as well: {what} in {directory}.")
    command = removal_command()
    if command is None:
        print("This program runs from a source tree; delete that, and it is gone.")
        return Status.DONE
    print(f"Removing the program: {shlex.join(command)}", flush=True)
    return subprocess.run(command, check=False).returncode  # noqa: S603 - a fixed program, and no shell


def removal_command() -> list[str] | None:
    """What removes the program, by what installed it; None for a source tree."""
    try:
        origin = distribution(PACKAGE).read_text("direct_url.json") or ""
    except PackageNotFoundError:
        return None
    if '"editable": true' in origin:
        return None
    prefix = Path(sys.prefix)
    for mark, command in (
        ("pipx_metadata.json", ["pipx", "uninstall", PACKAGE]),
        ("uv-receipt.toml", ["uv", "tool", "uninstall", PACKAGE]),
    ):
        if (prefix / mark).exists() and shutil.which(command[0]):
            return command
    return [sys.executable, "-m", "pip", "uninstall", "--yes", PACKAGE]
