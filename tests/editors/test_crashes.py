"""What an editor had when it died, and the daemon with it, is recovered; two editors warn each other."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.driving import Session
from tests.editors.harness import Terminal
from tests.editors.terminal_editors import EMACS, NANO, VIM, Program
from tests.mount.harness import content, eventually

pytestmark = pytest.mark.slow

ORIGINAL = "original line\nand another\n"
UNSAVED = "these words were never saved "


def require(program: Program) -> None:
    """Skip where the program is missing."""
    if not program.is_here:
        pytest.skip(f"machine: {program.executable} is missing (Debian's {program.package})")


def with_options(program: Program, *options: str) -> Program:
    """The program started with more on its command line."""
    return replace(program, command=(program.command[0], *options, *program.command[1:]))


@pytest.mark.parametrize("daemon_dies", [False, True], ids=["vim-dies", "both-die"])
def test_vim_recovers_what_was_not_saved(editing: MakeEditing, terminal: Terminal, daemon_dies: bool) -> None:
    require(VIM)
    mount = editing(files={"notes.md": ORIGINAL})
    session = Session(terminal, mount, VIM, mount.path / "notes.md")
    session.insert(UNSAVED)
    session.go((":preserve", "<Enter>", "?File preserved"))
    terminal.kill()
    if daemon_dies:
        mount.kill()
        mount.start()
    else:
        mount.remount()
    assert mount.listing() == {"notes.md", ".notes.md.swp"}
    assert mount.stored() == {"notes.md": ORIGINAL}

    recovery = replace(with_options(VIM, "-r"), begin=("?Press ENTER", "<Enter>"))
    session = Session(terminal, mount, recovery, mount.path / "notes.md")
    session.terminal.see(UNSAVED)
    session.save()
    eventually(lambda: content(mount.path / "notes.md"), UNSAVED + ORIGINAL)
    session.quit()
    assert [change.operation for change in mount.changes()] == ["modified"]


def test_vim_recovers_what_its_swap_file_had_when_it_was_killed(
    editing: MakeEditing, terminal: Terminal
) -> None:
    """Without being asked to preserve: vim writes its swap file in its own time, here after every key."""
    require(VIM)
    mount = editing(files={"notes.md": ORIGINAL})
    eager = with_options(VIM, "--cmd", "set updatecount=1")
    session = Session(terminal, mount, eager, mount.path / "notes.md")
    session.insert(UNSAVED)
    eventually(lambda: any(UNSAVED.encode() in kept for kept in mount.scratch()))
    os.kill(mount.pid, signal.SIGKILL)
    terminal.kill()
    mount.discard()
    mount.start()
    recovery = replace(with_options(VIM, "-r"), begin=("?Press ENTER", "<Enter>"))
    session = Session(terminal, mount, recovery, mount.path / "notes.md")
    session.terminal.see(UNSAVED)
    session.abandon()
    assert mount.stored() == {"notes.md": ORIGINAL}


def test_emacs_finds_its_autosave(editing: MakeEditing, terminal: Terminal) -> None:
    require(EMACS)
    mount = editing(files={"notes.md": ORIGINAL})
    session = Session(terminal, mount, EMACS, mount.path / "notes.md")
    session.insert(UNSAVED)
    session.go(("<Escape>", "x", "do-auto-save", "<Enter>", "?Auto-saving...done"))
    terminal.kill()
    mount.kill()
    mount.start()
    # The lock says only that a process has the file open, and so does not outlive the mount.
    assert mount.listing() == {"notes.md", "#notes.md#"}

    session = Session(terminal, mount, EMACS, mount.path / "notes.md")
    session.go(("<Escape>", "x", "recover-this-file", "<Enter>", "?Recover auto save file", "yes", "<Enter>"))
    session.terminal.see(UNSAVED)
    session.save()
    eventually(lambda: content(mount.path / "notes.md"), UNSAVED + ORIGINAL)
    session.quit()
    assert [change.operation for change in mount.changes()] == ["modified"]


@pytest.mark.parametrize(
    ("program", "warning"),
    [
        pytest.param(VIM, r"E325|already exists", id="vim"),
        pytest.param(NANO, r"is being edited", id="nano"),
    ],
)
def test_a_second_editor_is_warned_when_it_opens(
    editing: MakeEditing, terminal: Terminal, second: Terminal, program: Program, warning: str
) -> None:
    require(program)
    mount = editing(files={"notes.md": ORIGINAL})
    if program is NANO:
        program = with_options(NANO, "--locking")
    Session(terminal, mount, program, mount.path / "notes.md").insert("mine ")
    warned = replace(program, begin=(f"?{warning}",))
    Session(second, mount, warned, mount.path / "notes.md")
    assert mount.stored() == {"notes.md": ORIGINAL}


def test_a_second_emacs_is_warned_when_it_changes(
    editing: MakeEditing, terminal: Terminal, second: Terminal
) -> None:
    require(EMACS)
    mount = editing(files={"notes.md": ORIGINAL})
    first = Session(terminal, mount, EMACS, mount.path / "notes.md")
    first.insert("mine ")
    eventually(lambda: ".#notes.md" in mount.listing())
    other = Session(second, mount, EMACS, mount.path / "notes.md")
    other.go(("x", r"?locked by"))
    other.go(("q",))
    first.save()
    eventually(lambda: content(mount.path / "notes.md"), "mine " + ORIGINAL)
    first.quit()
    assert mount.listing() == {"notes.md", "notes.md~"}
