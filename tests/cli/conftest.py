"""memfs as people and programs run it: a process of its own, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 60
"""After which a command counts as hanging; none needs a tenth of it."""


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
        done = subprocess.run(
            self.command(*arguments),
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            env=self.environment,
            cwd=cwd or self.home,
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

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


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Shell(home)
