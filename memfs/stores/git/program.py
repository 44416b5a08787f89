"""The git program on a repository, for what libgit2 has no words for."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memfs.port.errors import StoreError

PIPE_BYTES = 1 << 19
"""Two processes that fill and empty a small pipe in turns would mostly wake each other up."""
ALLOCATION = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_TOP_PAD_": str(1 << 24)}
"""glibc would give memory back and ask for it anew for each object: a quarter of a fast-import's time."""
_FAST_IMPORT = ("-c", "core.fsync=all", "-c", "pack.compression=1", "fast-import", "--quiet", "--done")


def is_there() -> bool:
    """Whether there is a git to run."""
    return shutil.which("git") is not None


def run(common: Path, *arguments: str, given: bytes = b"", source: IO[bytes] | None = None) -> bytes:
    """What git prints when run on the repository *common*, with *given* or the file *source* as its input.

    No hook runs, and nothing goes on in the background. Raises StoreError.
    """
    command, environment = _command(common)
    done = subprocess.run(  # noqa: S603 - the program that git's own commands would run
        [*command, *arguments],
        input=given if source is None else None,
        stdin=source,
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise _failure(arguments[0], common, done.stderr)
    return done.stdout


@contextmanager
def fast_import(common: Path) -> Iterator[IO[bytes]]:
    """What is written to this stream becomes commits. Raises StoreError; no reference has moved then."""
    command, environment = _command(common)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 - as above
            [*command, *_FAST_IMPORT, "--date-format=raw"],
            env=environment | ALLOCATION,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said.fileno(),
            bufsize=PIPE_BYTES,
            pipesize=PIPE_BYTES,
        )
        assert process.stdin is not None, "it was started with a pipe"
        whole = False
        try:
            with process.stdin as stream:
                yield stream
                stream.write(b"done\n")
            whole = True
        except BrokenPipeError:
            pass  # what it has said is the reason
        finally:
            failed = process.wait()
        if failed or not whole:
            said.seek(0)
            raise _failure("fast-import", common, said.read())


def _command(common: Path) -> tuple[list[str], dict[str, str]]:
    """How git is started on a repository, and the environment: none of a git command that runs memfs."""
    git = shutil.which("git")
    if git is None:
        raise StoreError("The program git is needed for this, and is not there; install it.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, f"--git-dir={common}", "-c", "gc.autoDetach=false", "-c", f"core.hooksPath={os.devnull}"]
    return command, environment


def _failure(what: str, common: Path, stderr: bytes) -> StoreError:
    words = stderr.decode(errors="replace").strip().splitlines() or ["failed without a word"]
    return StoreError(f"git {what} in {common}: {words[0].removeprefix('fatal: ')}")
