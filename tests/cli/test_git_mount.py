"""A mount over a git store: what a person does with plain git shows in it, and it waits for no disk."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Place, Shell, eventually
from tests.stores.git.harness import Clone, damage_of, git

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(shell: Shell, place: Place) -> Path:
    """A repository whose default scope is mounted."""
    place.mount("--store", "git:repository")
    return shell.home / "repository"


def ref_of(shell: Shell) -> str:
    """The reference, as ``memfs status`` prints it."""
    (line,) = (line for line in shell("status").done().splitlines() if line.startswith("  ref "))
    return line.split()[1]


def test_clone_edit_push_while_it_is_mounted(shell: Shell, place: Place, repository: Path) -> None:
    (place.directory / "notes.md").write_text("from the mount\n")
    ref = ref_of(shell)
    clone = Clone(repository, shell.home / "clone", ref)
    assert (clone.path / "memories" / "notes.md").read_text() == "from the mount\n"
    for number in range(3):
        clone.write("memories/notes.md", f"from the clone {number}\n")
        clone.write(f"memories/d/{number}.md", "new\n")
        clone.commit()
        clone.push()
        eventually(lambda: (place.directory / "notes.md").read_text() == f"from the clone {number}\n")  # noqa: B023
        eventually(lambda: (place.directory / "d" / f"{number}.md").exists())  # noqa: B023
        (place.directory / f"mine{number}.md").write_text("from the mount\n")
        clone.pull()
        assert (clone.path / "memories" / f"mine{number}.md").read_text() == "from the mount\n"
    git(repository, "gc", "-q")
    (place.directory / "notes.md").write_text("after gc\n")
    shell("unmount", str(place.directory)).done()
    assert shell("view", "notes.md", "--store", "git:repository").done() == "after gc\n"
    log = git(repository, "log", "--format=%an", ref).splitlines()
    assert log.count("Bo") == 3
    assert damage_of(repository) == ""


def test_a_save_says_which_program_made_it(shell: Shell, place: Place, repository: Path) -> None:
    subprocess.run(["dd", "of=a.md", "status=none"], cwd=place.directory, input=b"x", check=True)
    ref = ref_of(shell)
    eventually(lambda: "(dd)" in git(repository, "log", "-1", "--format=%an", ref))


def test_a_daemon_that_was_killed_has_lost_nothing(shell: Shell, place: Place, repository: Path) -> None:
    for number in range(5):
        (place.directory / f"{number}.md").write_text(str(number))
    place.kill()
    assert len(shell("view", "--store", "git:repository").done().splitlines()) == 5
    place.mount("--store", "git:repository")
    assert sorted(os.listdir(place.directory)) == [f"{number}.md" for number in range(5)]
    assert damage_of(repository) == ""


def test_readers_go_on_while_a_commit_waits(shell: Shell, place: Place, repository: Path) -> None:
    (place.directory / "read.md").write_text("x")
    lock = repository / f"{ref_of(shell)}.lock"
    lock.write_text("")  # as another git program that is at work there

    def write() -> None:
        (place.directory / "written.md").write_text("y")

    writer = threading.Thread(target=write)
    writer.start()
    eventually(lambda: "written.md" in (place.directory / ".memfs" / "status").read_text())
    assert (place.directory / "read.md").read_text() == "x"
    assert lock.exists()
    lock.unlink()
    writer.join()
    assert (place.directory / "written.md").read_text() == "y"
    assert shell("view", "written.md", "--store", "git:repository").done() == "y"
