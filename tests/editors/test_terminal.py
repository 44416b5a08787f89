"""Every terminal editor of ``terminal_editors``: it saves as on any disk, and no refusal loses a memory."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.driving import SHORT, Session
from tests.editors.harness import Change, Editing, Screen, Terminal
from tests.editors.terminal_editors import TERMINAL, Program
from tests.mount.harness import content, eventually

ORIGINAL = "original line\nand another\n"
QUICK = {"vim", "nano", "emacs", "mg"}
QUICK_FAULTS = {"vim", "nano"}
LIMIT = 400
FULL = "original line\n" + 9 * (40 * "x" + "\n")
"""As much as fits under LIMIT; what MARK adds does not."""
MARK = "the words that count, and are refused "


def each_of(programs: Iterable[Program], quick: set[str]) -> pytest.MarkDecorator:
    """A test for each of these programs, slow but for those in *quick*."""
    return pytest.mark.parametrize(
        "program",
        [
            pytest.param(program, id=program.name, marks=[] if program.name in quick else [pytest.mark.slow])
            for program in programs
        ],
    )


every_program = each_of(TERMINAL, QUICK)
every_program_at_fault = each_of(TERMINAL, QUICK_FAULTS)


@dataclass
class Desk:
    """An editor, a mount with one memory, and what a test asks about both."""

    program: Program
    mount: Editing
    terminal: Terminal

    def __post_init__(self) -> None:
        self.notes = self.mount.path / "notes.md"
        self.before = self.mount.stored()["notes.md"]
        self.id = self.mount.id_of("notes.md")
        assert self.id is not None

    def opens(self, name: str = "notes.md") -> Session:
        """The editor with a file."""
        return Session(self.terminal, self.mount, self.program, self.mount.path / name)

    def shows(self, pattern: str) -> None:
        """Wait for what the user is told, if the program says anything."""
        if pattern:
            self.terminal.see(pattern)

    def shows_or_is_asked_again(self, session: Session, pattern: str) -> None:
        """As ``shows``: an editor that complains of what was typed may have dropped the keys of the save."""
        try:
            self.terminal.see(pattern, SHORT)
        except Screen:
            session.save()
            self.shows(pattern)

    def change(self, operation: str = "modified") -> Change:
        """One save of the memory by this program."""
        assert self.id is not None
        return Change(operation, "notes.md", self.id, self.program.executable)

    def must_have_kept_the_memory(self) -> None:
        """The store and the mount have the old content of the same memory, and never had another."""
        eventually(lambda: content(self.notes), self.before)
        assert self.mount.stored() == {"notes.md": self.before}
        assert set(self.mount.versions_of("notes.md")) == {self.before}
        assert {change.id for change in self.mount.changes()} <= {self.id}
        assert self.mount.id_of("notes.md") == self.id

    def must_find(self, words: str) -> None:
        """What was refused can be found again: as rejected, or in the program's own file."""
        data = words.encode()
        eventually(lambda: any(data in kept for kept in (*self.mount.rejected(), *self.mount.scratch())))


Sit = Callable[..., Desk]


@pytest.fixture
def sit(editing: MakeEditing, terminal: Terminal) -> Sit:
    """Puts a program before a mount of its own with one memory."""

    def take_place(program: Program, text: str = ORIGINAL, **orders: Any) -> Desk:
        if not program.is_here:
            pytest.skip(f"machine: {program.executable} is missing (Debian's {program.package})")
        return Desk(program, editing(files={"notes.md": text}, **orders), terminal)

    return take_place


@pytest.mark.slow
@every_program
def test_each_save_is_one_change_of_the_same_memory(sit: Sit, program: Program) -> None:
    desk = sit(program)
    session = desk.opens()
    for word in ("first ", "second "):
        session.insert(word)
        session.save()
        if word == "first ":
            desk.shows(program.saved)
        eventually(lambda word=word: word in (content(desk.notes) or ""))  # type: ignore[misc]
    session.quit()

    text = desk.mount.stored()["notes.md"]
    assert text.replace("first ", "", 1).replace("second ", "", 1) == ORIGINAL
    assert desk.mount.changes() == [desk.change(), desk.change()]
    assert desk.mount.stored().keys() == {"notes.md"}
    assert desk.mount.listing() == {"notes.md", *program.left}
    assert desk.mount.events() == []


@every_program
def test_a_new_memory_is_one_change(sit: Sit, program: Program) -> None:
    desk = sit(program)
    session = desk.opens("fresh.md")
    session.insert_new("fresh words")
    session.save()
    fresh = desk.mount.path / "fresh.md"
    eventually(lambda: (content(fresh) or "").rstrip("\n"), "fresh words")
    session.quit()

    assert desk.mount.stored()["fresh.md"].rstrip("\n") == "fresh words"
    assert desk.mount.stored().keys() == {"fresh.md", "notes.md"}
    changes = [(change.operation, change.path, change.program) for change in desk.mount.changes()]
    created = ("created", "fresh.md", program.executable)
    expected = [[created]]
    if program.creates_when_it_starts:
        expected.append([created, ("modified", "fresh.md", program.executable)])
    assert changes in expected
    of_fresh = {name.replace("notes.md", "fresh.md") for name in program.left}
    assert desk.mount.listing() <= {"fresh.md", "notes.md", *of_fresh}


@pytest.mark.slow
@every_program_at_fault
@pytest.mark.parametrize("limit", ["max_file_bytes", "max_total_bytes"])
def test_too_much_is_refused(sit: Sit, program: Program, limit: str) -> None:
    desk = sit(program, FULL, **{limit: LIMIT})
    session = desk.opens()
    session.insert(MARK)
    session.save()
    desk.shows(program.refused)
    eventually(lambda: "LIMIT_EXCEEDED" in [event["code"] for event in desk.mount.events()])
    session.abandon()
    desk.must_have_kept_the_memory()
    desk.must_find(MARK)


@every_program_at_fault
def test_a_name_that_no_memory_can_have_is_refused(sit: Sit, program: Program) -> None:
    desk = sit(program)
    name = "fresh.exe"
    if program.creates_when_it_starts:
        with pytest.raises(Screen):
            desk.opens(name).insert_new(MARK)
    else:
        session = desk.opens(name)
        session.insert_new(MARK)
        session.save()
        desk.shows(program.refused)
        session.abandon()
    assert "INVALID_EXTENSION" in [event["code"] for event in desk.mount.events()]
    assert name not in desk.mount.listing()
    desk.must_have_kept_the_memory()


@each_of((program for program in TERMINAL if program.latin1), QUICK_FAULTS)
def test_what_is_no_utf8_is_refused(sit: Sit, program: Program) -> None:
    desk = sit(program)
    session = desk.opens()
    session.insert(MARK + "é ")
    session.go(program.latin1)
    session.save()
    desk.shows(program.refused)
    session.abandon()
    desk.must_have_kept_the_memory()
    desk.must_find(MARK)


@pytest.mark.slow
@every_program_at_fault
def test_a_read_only_mount_stays_as_it_is(sit: Sit, program: Program) -> None:
    desk = sit(program)
    desk.mount.stop()
    desk.mount.start(options={"read_only": True})
    session = desk.opens()
    try:
        session.insert(MARK)
        session.save()
    except Screen:
        pass  # it does not even let its user type
    else:
        desk.shows_or_is_asked_again(session, program.read_only or program.refused)
    session.abandon()
    desk.must_have_kept_the_memory()
    assert desk.mount.listing() == {"notes.md"}


@pytest.mark.slow
@every_program_at_fault
def test_a_failing_store_is_told_of_and_the_next_save_comes_through(sit: Sit, program: Program) -> None:
    desk = sit(program)
    session = desk.opens()
    session.insert(MARK)
    with desk.mount.failing_store():
        session.save()
        if not program.ignores_close:
            desk.shows(program.refused)
        eventually(lambda: "UNSAFE_STORAGE" in [event["code"] for event in desk.mount.events()])
        time.sleep(0.1)
        assert desk.mount.versions_of("notes.md") == [ORIGINAL]
    session.go(program.dismiss)
    session.go(program.insert_again or program.insert, "again ")
    session.save()
    eventually(lambda: session.answered() and "again " in (content(desk.notes) or ""))
    session.abandon()
    text = desk.mount.stored()["notes.md"]
    assert text.replace(MARK, "", 1).replace("again ", "", 1) == ORIGINAL
    assert {change.id for change in desk.mount.changes()} == {desk.id}
    assert desk.mount.stored().keys() == {"notes.md"}


@pytest.mark.slow
@every_program_at_fault
def test_the_daemon_is_killed_before_a_save(sit: Sit, program: Program) -> None:
    desk = sit(program)
    session = desk.opens()
    session.insert(MARK)
    os.kill(desk.mount.pid, signal.SIGKILL)
    try:
        session.save()
        desk.terminal.see(program.refused or ".", SHORT)
    except Screen as screen:
        print(f"{program.name} says nothing of a dead mount:\n{screen}")
    session.abandon()
    desk.mount.discard()
    desk.mount.start()
    desk.must_have_kept_the_memory()


@every_program_at_fault
@pytest.mark.slow
def test_the_daemon_is_killed_during_a_save(sit: Sit, program: Program) -> None:
    """Before, between or after the steps of the save: the memory is the old or the new one, and whole."""
    desk = sit(program)
    session = desk.opens()
    session.insert(MARK)
    chance = random.Random(program.name)
    for step in program.save[:-1]:
        session.go((step,))
    session.go(program.save[-1:])
    time.sleep(chance.uniform(0, 0.02))
    os.kill(desk.mount.pid, signal.SIGKILL)
    desk.terminal.kill()
    desk.mount.discard()
    desk.mount.start()
    text = desk.mount.stored()["notes.md"]
    assert text.replace(MARK, "", 1) == ORIGINAL
    assert content(desk.notes) == text
    assert desk.mount.stored().keys() == {"notes.md"}
    assert desk.mount.id_of("notes.md") == desk.id


def test_the_list_names_what_is_missing_here() -> None:
    """Each program that is tested says which package brings it."""
    assert all(program.package and program.command[-1] == "{file}" for program in TERMINAL)
    assert len({program.name for program in TERMINAL}) == len(TERMINAL)
