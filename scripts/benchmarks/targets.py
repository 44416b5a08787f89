"""The filesystems of one run: how each is started, stopped, and asked what it really stored.

Here: the plain directory, bindfs and memfs, which the goals are about. The others are in ``peers``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from benchmarks.processes import (
    STOPPED_WITHIN,
    NotStartedError,
    ended,
    family,
    mounted,
    unmount,
    wait_until_mounted,
)
from benchmarks.witness import Outcome, Witness

REPOSITORY = Path(__file__).resolve().parents[2]
SCOPE = "bench"
ROOMY = {"max_files": 2_000, "max_total_bytes": 64 << 20, "max_file_bytes": 1 << 20}


class Target:
    """A directory that can be measured: this one is a plain one, the limit of all others."""

    name: ClassVar[str] = "plain"
    what: ClassVar[str] = "a plain directory on the same disk filesystem"

    def __init__(self, work: Path) -> None:
        self.home = work / self.name
        self.root = self.home / "mount"
        self.beneath = self.root
        self.started_in = 0.0
        self._witness: Witness | None = None

    def start(self) -> None:
        """Make it ready, or raise :class:`NotStartedError` with the reason."""
        self.root.mkdir(parents=True)
        self._witness = self.watch()

    def stop(self) -> None:
        """End what was started; harmless when nothing was."""
        self.dismiss_witness()

    def dismiss_witness(self) -> None:
        """End the second process; from then on nothing is waited for."""
        if self._witness is not None:
            self._witness.close()
            self._witness = None

    def watch(self) -> Witness | None:
        """A second process that sees what is stored, where there is a way to see it."""
        return Witness("directory", str(self.beneath))

    def settle(self, outcome: Outcome) -> None:
        """Return when another process has seen *outcome*; never part of a figure."""
        if self._witness is not None:
            self._witness.await_outcome(outcome)

    def pids(self) -> list[int]:
        """The processes that serve it."""
        return []

    def company(self) -> list[int]:
        """The processes that serve it and the one that watches: all that runs while it is measured."""
        return [*self.pids(), *([self._witness.pid] if self._witness is not None else [])]


class Mounted(Target, ABC):
    """A FUSE filesystem in a daemon of its own, kept in the foreground so that it is our child."""

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self._daemon: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The command that mounts ``root`` and stays."""

    def prepare(self) -> None:
        """What has to be there before the command: directories, a formatted store."""
        self.beneath.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            raise NotStartedError("/dev/fuse cannot be opened")
        self.root.mkdir(parents=True)
        self.prepare()
        self.mount()
        self._witness = self.watch()

    def mount(self) -> None:
        """Run the command and wait for the mount; ``started_in`` is how long that took."""
        log = self.home / "daemon.log"
        command = self.command()
        with log.open("ab") as output:
            begun = time.monotonic()
            self._daemon = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        wait_until_mounted(self.root, self._daemon, log)
        self.started_in = time.monotonic() - begun

    def stop(self) -> None:
        self.dismiss_witness()
        self.unmount()

    def unmount(self) -> None:
        """Ask kindly, then insist; only ever our own mount and our own processes."""
        if self._daemon is None:
            return
        members = family(self._daemon.pid)
        if self._daemon.poll() is None:
            self.ask_to_stop(self._daemon)
            if not ended(self._daemon, STOPPED_WITHIN):
                unmount(self.root, "-z")
                for pid in members:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self._daemon.wait()
        if mounted(self.root):
            unmount(self.root, "-z")
        self._daemon = None

    def ask_to_stop(self, daemon: subprocess.Popen[bytes]) -> None:
        """Unmounting ends most FUSE daemons, in good order."""
        if not unmount(self.root):
            daemon.terminate()

    def pids(self) -> list[int]:
        return family(self._daemon.pid) if self._daemon is not None else []


class Bindfs(Mounted):
    """C and libfuse without a store: what a FUSE filesystem costs at least, so the yardstick."""

    name = "bindfs"
    what = "bindfs as Debian has it (C, libfuse), over a directory on the same disk filesystem"

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.beneath = self.home / "beneath"

    def command(self) -> list[str]:
        if shutil.which("bindfs") is None:
            raise NotStartedError("not installed; it is the Debian package bindfs")
        return ["bindfs", "-f", str(self.beneath), str(self.root)]


class Memfs(Mounted):
    """memfs as its users start it: one SQLite store on the disk, default options."""

    name = "memfs"
    what = "this repository, a SQLite store on the same disk filesystem"
    limits: ClassVar[dict[str, int]] = ROOMY

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.store = f"sqlite:{self.home / 'store'}"

    def prepare(self) -> None:
        """The witness comes first: it makes the scope, with room for all the benchmark's files."""
        self._witness = self.watch()

    def watch(self) -> Witness:
        if self._witness is not None:
            return self._witness
        try:
            return Witness("scope", self.store, SCOPE, json.dumps(self.limits))
        except Exception as problem:
            raise NotStartedError(f"its scope could not be opened: {problem}") from problem

    def command(self) -> list[str]:
        options = ["--store", self.store, "--scope", SCOPE, "--foreground"]
        return [*memfs_command(), "mount", str(self.root), *options]

    def ask_to_stop(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()


def memfs_command() -> list[str]:
    """The installed command beside this Python, or the package of this repository."""
    beside = Path(sys.executable).parent / "memfs"
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "memfs"]
