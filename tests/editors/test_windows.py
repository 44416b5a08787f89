"""Every editor of ``windows``: it saves as on any disk, and no refusal loses a memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Change, Editing
from tests.editors.windows import PAUSE_SECONDS, WINDOWS, Display, WindowProgram, a_display, a_window
from tests.mount.harness import content, eventually

pytestmark = pytest.mark.slow

ORIGINAL = "original line\nand another\n"
MARK = "words that count "

every_program = pytest.mark.parametrize("program", WINDOWS, ids=lambda program: program.name)


@pytest.fixture
def display(program: WindowProgram) -> Iterator[Display]:
    """A screen for the test's program, if the machine has both."""
    if program.missing:
        pytest.skip(f"machine: missing {program.missing}")
    with a_display() as made:
        yield made


def insert(display: Display, text: str) -> None:
    """Type *text* at the beginning of the file."""
    display.press("ctrl+Home")
    display.type(text)


def must_have_kept(mount: Editing, text: str = ORIGINAL) -> None:
    """The store and the mount have the old content of the memory, and never had another."""
    eventually(lambda: content(mount.path / "notes.md"), text)
    assert mount.stored() == {"notes.md": text}
    assert mount.changes() == []


@every_program
def test_each_save_is_one_change_of_the_same_memory(
    editing: MakeEditing, display: Display, program: WindowProgram
) -> None:
    mount = editing(files={"notes.md": ORIGINAL})
    notes, id_before = mount.path / "notes.md", mount.id_of("notes.md")
    assert id_before is not None
    with a_window(display, program, notes, mount.environment, mount.home) as process:
        for word in ("first ", "second "):
            insert(display, word)
            display.press("ctrl+s")
            eventually(lambda word=word: word in (content(notes) or ""))  # type: ignore[misc]
            time.sleep(PAUSE_SECONDS)
        display.press("ctrl+q")
        eventually(lambda: process.poll() is not None)
    assert mount.stored() == {"notes.md": "second first " + ORIGINAL}
    assert mount.changes() == [Change("modified", "notes.md", id_before, program.executable)] * 2
    assert mount.listing() == {"notes.md"}
    assert mount.events() == []


@every_program
def test_a_new_memory_is_one_change(editing: MakeEditing, display: Display, program: WindowProgram) -> None:
    mount = editing(files={"notes.md": ORIGINAL})
    fresh = mount.path / "fresh.md"
    with a_window(display, program, fresh, mount.environment, mount.home):
        insert(display, MARK)
        display.press("ctrl+s")
        eventually(lambda: mount.stored().get("fresh.md", "").split(), MARK.split())
    [change] = mount.changes()
    assert (change.operation, change.path, change.program) == ("created", "fresh.md", program.executable)
    assert mount.stored().keys() == {"fresh.md", "notes.md"}


@every_program
@pytest.mark.parametrize("limit", ["max_file_bytes", "max_total_bytes"])
def test_too_much_is_refused(
    editing: MakeEditing, display: Display, program: WindowProgram, limit: str
) -> None:
    mount = editing(files={"notes.md": ORIGINAL}, **{limit: len(ORIGINAL) + 2})
    with a_window(display, program, mount.path / "notes.md", mount.environment, mount.home):
        insert(display, MARK)
        display.press("ctrl+s")
        eventually(lambda: "LIMIT_EXCEEDED" in [event["code"] for event in mount.events()])
        time.sleep(PAUSE_SECONDS)
    must_have_kept(mount)
    eventually(lambda: any(MARK.encode() in kept for kept in (*mount.rejected(), *mount.scratch())))


@every_program
def test_a_failing_store_keeps_the_old_content(
    editing: MakeEditing, display: Display, program: WindowProgram
) -> None:
    mount = editing(files={"notes.md": ORIGINAL})
    with a_window(display, program, mount.path / "notes.md", mount.environment, mount.home):
        insert(display, MARK)
        with mount.failing_store():
            display.press("ctrl+s")
            eventually(lambda: "UNSAFE_STORAGE" in [event["code"] for event in mount.events()])
            time.sleep(PAUSE_SECONDS)
    must_have_kept(mount)
    eventually(lambda: any(MARK.encode() in kept for kept in (*mount.rejected(), *mount.scratch())))


@every_program
def test_a_read_only_mount_stays_as_it_is(
    editing: MakeEditing, display: Display, program: WindowProgram
) -> None:
    mount = editing(files={"notes.md": ORIGINAL})
    mount.stop()
    mount.start(options={"read_only": True})
    with a_window(display, program, mount.path / "notes.md", mount.environment, mount.home):
        insert(display, MARK)
        display.press("ctrl+s")
        time.sleep(PAUSE_SECONDS)
    must_have_kept(mount)
    assert mount.listing() == {"notes.md"}


@every_program
def test_the_daemon_is_killed_before_a_save(
    editing: MakeEditing, display: Display, program: WindowProgram
) -> None:
    mount = editing(files={"notes.md": ORIGINAL})
    with a_window(display, program, mount.path / "notes.md", mount.environment, mount.home):
        insert(display, MARK)
        os.kill(mount.pid, signal.SIGKILL)
        display.press("ctrl+s")
        time.sleep(PAUSE_SECONDS)
    mount.discard()
    mount.start()
    must_have_kept(mount)
