"""The git program on a repository, for what libgit2 has no words for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from memfs.port.errors import StoreError


def is_there() -> bool:
    """Whether there is a git to run."""
    return shutil.which("git") is not None


def run(common: Path, *arguments: str, given: bytes = b"", source: IO[bytes] | None = None) -> bytes:
    """What git prints when run on the repository *common*, with *given* or the file *source* as its input.

    No hook runs, and nothing goes on in the background. Raises StoreError.
    """
    git = shutil.which("git")
    if git is None:
        raise StoreError("The program git is needed for this, and is not there; install it.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, f"--git-dir={common}", "-c", "gc.autoDetach=false", "-c", f"core.hooksPath={os.devnull}"]
    done = subprocess.run(  # noqa: S603 - the program that git's own commands would run
        [*command, *arguments],
        input=given if source is None else None,
        stdin=source,
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["failed without a word"]
        raise StoreError(f"git {arguments[0]} in {common}: {words[0].removeprefix('fatal: ')}")
    return done.stdout
