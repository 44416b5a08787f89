"""The git program, run so that only what is asked for happens in a repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memfs.port.errors import StoreError
from memfs.stores.git.objects import TreeEntry
from memfs.stores.git.program import ALLOCATION, PIPE_BYTES

_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsync=all", "-c", "core.quotePath=false")


class Git:
    """The git program on one repository, bare or with a work tree."""

    def __init__(self, path: Path) -> None:
        """Raises StoreError where there is no git program, or no repository at *path*."""
        program = shutil.which("git")
        if program is None:
            raise StoreError("This needs the git program, which is not installed; install git.")
        if not path.is_dir():
            raise StoreError(f"{path} is no git repository.")
        self.path = path
        # No variable of a git command that runs memfs may lead elsewhere, and no parent is searched.
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment |= ALLOCATION
        self._environment |= {
            "GIT_CEILING_DIRECTORIES": str(path.absolute().parent),
            "GIT_TERMINAL_PROMPT": "0",
        }
        self._command = [program, "-C", str(path), *_QUIET]
        self.run("rev-parse", "--git-dir")

    def run(self, *arguments: str) -> bytes:
        """What git prints. Raises StoreError with git's own words where it fails."""
        done = subprocess.run(  # noqa: S603 - git, with arguments and no shell
            [*self._command, *arguments], env=self._environment, capture_output=True, check=False
        )
        if done.returncode:
            raise StoreError(f"git in {self.path}: {_words(done.stderr)}")
        return done.stdout

    @property
    def common(self) -> Path:
        """What all work trees of the repository share."""
        return (self.path / self.run("rev-parse", "--git-common-dir").decode().rstrip("\n")).resolve()

    def target(self, name: str) -> str | None:
        """The id of what a reference stands at (a commit, or a tree), None where there is none."""
        found = self.run("for-each-ref", "--format=%(objectname)", name).decode().split()
        return found[0] if found else None

    def entries(self, tree: str) -> list[tuple[bytes, TreeEntry]]:
        """The files below a tree (or that of a commit), by path, with their modes; links among them."""
        listed = self.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
        entries = []
        for line in listed.split(b"\0"):
            if line:
                about, _, path = line.partition(b"\t")
                mode, _, oid = about.split(b" ")
                entries.append((path, TreeEntry(mode, oid.decode())))
        return entries

    @contextmanager
    def objects(self) -> Iterator[Objects]:
        """A reader of many objects."""
        process = self.start("cat-file", "--batch", stdout=subprocess.PIPE)
        try:
            yield Objects(process, self.path)
        finally:
            assert process.stdin is not None, "it was started with a pipe"
            process.stdin.close()
            process.wait()
            assert process.stdout is not None, "it was started with a pipe"
            process.stdout.close()

    def start(self, *arguments: str, stdout: int, stderr: int | None = None) -> subprocess.Popen[bytes]:
        """Start git with a pipe to its standard input."""
        return subprocess.Popen(  # noqa: S603 - git, with arguments and no shell
            [*self._command, *arguments],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            bufsize=PIPE_BYTES,
            pipesize=PIPE_BYTES,
        )


class Objects:
    """Objects of a repository, read one by one through one git process."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path) -> None:
        self._process = process
        self._path = path

    def read(self, name: str, kind: str) -> bytes:
        """The bytes of the object *name*, which must be of this *kind*. Raises StoreError."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None, "it was started with pipes"
        assert stdout is not None, "it was started with pipes"
        stdin.write(name.encode() + b"\n")
        stdin.flush()
        about = stdout.readline().split()
        if len(about) != 3 or not about[2].isdigit():
            raise StoreError(f"The repository {self._path} lacks {name}.")
        data = stdout.read(int(about[2]))
        stdout.read(1)
        if about[1].decode() != kind:
            raise StoreError(f"{name} in the repository {self._path} is no {kind}.")
        return data


def make_bare(path: Path) -> Git:
    """The repository at *path*; a bare one is made where there is nothing, or an empty directory."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        program = shutil.which("git")
        if program is not None:
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
            subprocess.run([program, "init", "-q", "--bare", str(path)], check=True)  # noqa: S603
    return Git(path)


def _words(stderr: bytes) -> str:
    text = " ".join(stderr.decode(errors="replace").split())
    return text.removeprefix("fatal: ") or "failed without a word"
