"""A mount over a git store: what a person does with plain git shows in it, and it waits for no disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


SLOW_EDITOR = """
import sys
with open(sys.argv[1], "r+") as file:
    file.write("FROM")
    file.flush()
    print("written")
    sys.stdin.readline()
"""


def test_a_save_over_what_was_pushed_names_the_two_versions(
    shell: Shell, place: Place, repository: Path
) -> None:
    (place.directory / "notes.md").write_text("from the mount\n")
    clone = Clone(repository, shell.home / "clone", ref_of(shell))
    editor = [sys.executable, "-uc", SLOW_EDITOR, str(place.directory / "notes.md")]
    # A process of its own: each that this one starts would close the file on its way, and so save it.
    with subprocess.Popen(editor, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        clone.write("memories/notes.md", "from the clone\n")
        clone.commit()
        clone.push()
        eventually(lambda: '"version": 2' in (place.directory / ".memfs" / "status").read_text())
        process.communicate(b"\n")
    event = json.loads(shell("events", "-n", "1", "--json").out)
    assert "was saved over what Bo with git wrote" in event["message"]
    assert "theirs is version 2, this save version 3" in event["message"]
    compare = event["message"].split("`")[1].split()[1:]
    assert "-from the clone" in shell(*compare, cwd=place.directory).done()


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
