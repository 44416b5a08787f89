"""Driving an editor through its steps, see ``terminal_editors``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.editors.harness import Editing, Screen, Terminal
from tests.editors.terminal_editors import Program, Steps

SHORT = 4.0
"""Seconds for a program to ask what it asks on the way out."""


class Session:
    """One run of an editor on one file, the first of its life: its home is empty."""

    def __init__(self, terminal: Terminal, mount: Editing, program: Program, file: Path) -> None:
        self.terminal = terminal
        self.program = program
        self._answered = False
        self._edits_on = False
        mount.make_home()
        for name, text in program.configuration.items():
            path = mount.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{home}", str(mount.home)))
        command = [
            part.replace("{file}", str(file)).replace("{home}", str(mount.home)) for part in program.command
        ]
        terminal.run(command, mount.environment, mount.home)
        self.go(program.begin)

    def insert(self, text: str) -> None:
        """Type *text* at the beginning of the file, in which there is something."""
        self.go(self.program.insert, text)

    def insert_new(self, text: str) -> None:
        """Type the first text of a file."""
        self.go(self.program.insert_new or self.program.insert, text)

    def save(self) -> None:
        """Order a save, and do not look what comes of it."""
        self.go(self.program.save)

    def answered(self) -> bool:
        """Answer what the program asks before it saves once more, if it asks; always true."""
        asks_to_edit = self.program.asks_to_edit
        if asks_to_edit and not self._edits_on and re.search(asks_to_edit, self.terminal.text()):
            self._edits_on = True
            self.go(("y",))
            self.save()
        asks = self.program.asks
        if asks and not self._answered and re.search(asks, self.terminal.text()):
            self._answered = True
            self.go(self.program.confirm)
        return True

    def quit(self) -> None:
        """Leave, with nothing to save."""
        self.go(self.program.quit)
        self.terminal.ended()

    def abandon(self) -> None:
        """Leave without saving; where the program does not want to, it is killed."""
        try:
            self.go(self.program.abandon)
            self.terminal.ended(SHORT)
        except Screen:
            self.terminal.kill()

    def go(self, steps: Steps, text: str = "") -> None:
        """Take the steps."""
        for step in steps:
            if step.startswith("<") and step.endswith(">"):
                self.terminal.press(step[1:-1])
            elif step.startswith("?"):
                self.terminal.see(step[1:])
            elif step.startswith("!"):
                self.terminal.see_no(step[1:])
            else:
                self.terminal.type(step.replace("{text}", text))
