"""What the tests of the git store share: a memory in a repository, and plain git on the same one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from memfs.port.change import Actor
from memfs.port.memory import Memory
from memfs.port.policy import Limits, Policy
from memfs.stores.git.index import ref_of
from memfs.stores.git.store import GitStore, open_git

SCOPE = "work"
REF = ref_of(SCOPE)
ACTOR = Actor("ada", "vim", 77)
PERSON = {
    "GIT_AUTHOR_NAME": "Bo",
    "GIT_AUTHOR_EMAIL": "bo@example.org",
    "GIT_COMMITTER_NAME": "Bo",
    "GIT_COMMITTER_EMAIL": "bo@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def open_pair(
    path: Path, limits: Limits | None = None, ref: str | None = None, scope: str = SCOPE
) -> tuple[Memory, GitStore]:
    """A memory over the scope in the repository *path*, and its store; closing the memory closes both."""
    store, _ = open_git(path, ref, scope, Policy(limits or Limits()))
    return Memory(store, ACTOR), store


def git(path: Path, *arguments: str, fails: bool = False) -> str:
    """What git prints when run in *path*; it must succeed, or with *fails* be refused."""
    return git_bytes(path, *arguments, fails=fails).decode().strip()


def git_bytes(path: Path, *arguments: str, fails: bool = False) -> bytes:
    """The same as git prints it."""
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | PERSON,
        capture_output=True,
        check=False,
    )
    assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
    return done.stdout


def damage_of(path: Path) -> str:
    """What git finds wrong with a repository; unreachable objects are nothing wrong."""
    done = subprocess.run(
        ["git", "-C", str(path), "fsck", "--strict", "--no-dangling", "--no-progress"],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("notice:")]
    return "\n".join([done.stdout.strip(), *lines]).strip() + (
        f" ({done.returncode})" if done.returncode else ""
    )


class Clone:
    """Somebody's clone of the scope, with its reference as the branch ``memory``."""

    def __init__(self, repository: Path, path: Path, ref: str = REF) -> None:
        self.path = path
        self.ref = ref
        path.mkdir()
        git(path, "init", "-q", "-b", "memory")
        git(path, "remote", "add", "origin", str(repository))
        self.fetch()
        git(path, "reset", "-q", "--hard", "FETCH_HEAD")

    def fetch(self) -> None:
        """Have what the repository has as FETCH_HEAD."""
        git(self.path, "fetch", "-q", "origin", self.ref)

    def pull(self) -> None:
        """Merge what the repository has."""
        self.fetch()
        git(self.path, "merge", "-q", "--no-edit", "FETCH_HEAD")

    def write(self, name: str, text: str) -> None:
        """A file of the work tree."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str = "by hand") -> str:
        """Commit all there is in the work tree; the commit's id."""
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "-m", message)
        return git(self.path, "rev-parse", "HEAD")

    def push(self, *options: str, fails: bool = False) -> None:
        """Bring the branch to the reference it came from."""
        git(self.path, "push", "-q", *options, "origin", f"HEAD:{self.ref}", fails=fails)
