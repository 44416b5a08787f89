"""A folder of plain files as a memory: mounted, edited from both sides, and a workspace's."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Place, Shell
from tests.mount.harness import eventually


@pytest.fixture
def notes(shell: Shell) -> Path:
    folder = shell.home / "notes"
    (folder / "d").mkdir(parents=True)
    (folder / "a.md").write_text("first\n")
    (folder / "d/b.md").write_text("second\n")
    (folder / "my picture.png").write_bytes(b"\x89PNG")
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "elsewhere").symlink_to("/tmp")
    return folder


def test_the_commands_work_on_a_folder(shell: Shell, notes: Path) -> None:
    store = ("--store", f"directory:{notes}")
    assert shell("view", *store).done() == "a.md\nd/\n"
    shell("create", "c.md", "third", *store).done()
    assert (notes / "c.md").read_text() == "third"
    (notes / "c.md").write_text("by hand\n")
    assert "by hand" in shell("view", "c.md", *store).done()
    refusal = shell("view", "link.md", *store).refusal(3)
    assert "link.md is a link" in refusal
    assert "notes" in shell("view", *store, "--scope", "other").refusal(2)
    assert '"eviction": "refuse"' in shell("policy", "show", "--json", *store).done()


@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="machine: /dev/fuse cannot be opened")
def test_a_mounted_folder_is_edited_from_both_sides(shell: Shell, place: Place, notes: Path) -> None:
    place.mount("--store", f"directory:{notes}")
    mount = place.directory
    assert (mount / "a.md").read_text() == "first\n"
    assert sorted(os.listdir(mount)) == ["a.md", "d"]
    (mount / "a.md").write_text("through the mount\n")
    eventually(lambda: (notes / "a.md").read_text(), "through the mount\n")
    # As vim saves: a backup is put aside, the file is made anew, the backup goes.
    (mount / "a.md").rename(mount / "a.md~")
    (mount / "a.md").write_text("as vim does\n")
    (mount / "a.md~").unlink()
    eventually(lambda: (notes / "a.md").read_text(), "as vim does\n")
    (notes / "a.md").write_text("from outside\n")
    eventually(lambda: (mount / "a.md").read_text(), "from outside\n")
    (notes / "new.md").write_text("new\n")
    eventually(lambda: sorted(os.listdir(mount)), ["a.md", "d", "new.md"])
    (notes / "d/b.md").unlink()
    eventually(lambda: (mount / "d/b.md").exists(), False)
    for name in ("link.md", "elsewhere/a.md"):
        (mount / name).parent.mkdir(exist_ok=True)
        with pytest.raises(OSError, match="Input/output error"):  # at once: many programs overlook close(2)
            os.close(os.open(mount / name, os.O_WRONLY | os.O_CREAT))
        assert "is a link" in (mount / ".memfs/events").read_text().splitlines()[-1]
    (mount / "d2").mkdir()
    (mount / "new.md").rename(mount / "d2/renamed.md")
    eventually(lambda: (notes / "d2/renamed.md").exists())
    status = shell("status").done()
    assert "1 with names that memfs cannot hold" in status
    assert "2 left alone" in status
    shell("unmount", str(mount)).done()
    assert (notes / "my picture.png").read_bytes() == b"\x89PNG"


def test_a_mount_over_or_in_its_own_folder_is_refused(shell: Shell, notes: Path) -> None:
    (notes / "inside").mkdir()
    for directory in (notes, notes / "inside"):
        assert str(notes) in shell("mount", str(directory), "--store", f"directory:{notes}").refusal(73)
    assert not (notes / ".meta").exists()


@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="machine: /dev/fuse cannot be opened")
def test_a_workspace_is_bootstrapped_and_its_memory_mounted(shell: Shell, place: Place) -> None:
    agent = shell.home / "agent"
    agent.mkdir()
    (agent / "MEMORY.md").write_text("# Ada\n")
    place.mount("--store", f"directory:{agent}", "--workspace")
    assert (place.directory / "index.md").read_text() == "# Ada\n"
    (place.directory / "note.md").write_text("# Note\n")
    eventually(lambda: (agent / "memory/note.md").exists())
    assert "note.md" in shell("view", "--store", f"directory:{agent}", "--workspace").done()
    shell("unmount", str(place.directory)).done()
    assert '"note.md"' in (agent / "memory/.meta/index.json").read_text()


def test_a_workspace_s_warnings_reach_the_person(shell: Shell) -> None:
    agent = shell.home / "agent"
    agent.mkdir()
    (agent / "MEMORY.md").symlink_to("/etc/passwd")
    done = shell("view", "--store", f"directory:{agent}", "--workspace")
    assert done.status == 0
    assert "MEMORY.md is a link" in done.err


def test_a_link_in_the_place_of_a_workspace_or_its_memory_is_refused(shell: Shell) -> None:
    elsewhere = shell.home / "elsewhere"
    elsewhere.mkdir()
    agent = shell.home / "agent"
    agent.mkdir()
    (agent / "memory").symlink_to(elsewhere)
    done = shell("view", "--store", f"directory:{agent}", "--workspace")
    assert done.status == 1
    assert "is no folder of its own" in done.err
    link = shell.home / "link"
    link.symlink_to(agent)
    assert shell("view", "--store", f"directory:{link}", "--workspace").status == 1
    assert os.listdir(elsewhere) == []


def test_a_workspace_goes_with_a_directory_only(shell: Shell) -> None:
    for store in ("simple:", "sqlite:x", "directory:"):
        assert "directory:PATH" in shell("view", "--store", store, "--workspace").refusal(2)
    assert "directory:PATH" in shell("view", "--workspace").refusal(2)


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="machine: /dev/fuse cannot be opened")
def test_ten_thousand_notes_are_mounted_whole(shell: Shell, place: Place) -> None:
    folder = shell.home / "many"
    for number in range(10_000):
        path = folder / f"{number % 100}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n" + "A line of a note.\n" * 100)
    begun = time.monotonic()
    place.mount("--store", f"directory:{folder}")
    first = time.monotonic() - begun
    assert sum(len(files) for _, _, files in os.walk(place.directory)) == 10_000
    shell("unmount", str(place.directory)).done()
    begun = time.monotonic()
    place.mount("--store", f"directory:{folder}")
    print(f"mounted in {first:.2f} s, then in {time.monotonic() - begun:.2f} s")
    (folder / "7/7.md").write_text("changed\n")
    eventually(lambda: (place.directory / "7/7.md").read_text(), "changed\n")


@pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="machine: /dev/fuse cannot be opened")
def test_a_directory_that_another_program_took_away_is_gone_from_the_mount(
    shell: Shell, place: Place, notes: Path
) -> None:
    for name in ("p/x/a.md", "p/x/e/b.md", "p/y/c.md", "s/one/d.md", "s/two/e.md", "q/f.md"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(f"{name}\n")
    place.mount("--store", f"directory:{notes}")
    mount = place.directory

    def listed() -> list[str]:
        found = [Path(top) / name for top, below, files in os.walk(mount) for name in (*below, *files)]
        places = [path.relative_to(mount) for path in found]
        return sorted(str(place) for place in places if place.parts[0] in "pqs" and len(place.parts) > 1)

    def in_folder(script: str) -> None:
        os.kill(place.daemon, signal.SIGSTOP)  # so that it sees but what all of it led to
        try:
            subprocess.check_call(script, shell=True, cwd=notes)
        finally:
            os.kill(place.daemon, signal.SIGCONT)

    before = ["p/x", "p/x/a.md", "p/x/e", "p/x/e/b.md", "p/y", "p/y/c.md", "q/f.md"]
    split = ["s/one", "s/one/d.md", "s/two", "s/two/e.md"]
    eventually(listed, before + split)
    inode = (mount / "p/x").stat().st_ino
    (mount / "p/x/only-here").mkdir()
    in_folder("mv p/x p/z")
    moved = ["p/y", "p/y/c.md", "p/z", "p/z/a.md", "p/z/e", "p/z/e/b.md", "p/z/only-here", "q/f.md"]
    eventually(listed, moved + split)
    assert (mount / "p/z").stat().st_ino == inode
    assert (mount / "p/z/e/b.md").read_text() == "p/x/e/b.md\n"
    # What was in one directory goes to several places, and it goes itself.
    in_folder("mv s/one p/ && mv s/two/e.md q/ && rm -r s")
    eventually(listed, sorted(["p/one", "p/one/d.md", *moved, "q/e.md"]))
    eventually(lambda: (mount / "s").exists(), False)
    in_folder("rm -r p")
    eventually(listed, ["q/e.md", "q/f.md"])
    eventually(lambda: (mount / "p").exists(), False)
    # A directory that stays in the folder stays.
    in_folder("rm q/*.md")
    eventually(listed, [])
    assert (mount / "q").is_dir()
    shell("unmount", str(mount)).done()
