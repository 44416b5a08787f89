"""``memfs integrate``: a memory written into the configuration of a program, and out of it again."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from memfs.agents.integrate import PROGRAMS, Program
from memfs.agents.integrate.files import Configuration, Refused, load, replace, require_writable
from memfs.agents.integrate.jsonc import Unreadable
from memfs.cli.choose import choose
from memfs.cli.complaint import Complaint, Status
from memfs.cli.configuration import settings_for

NAME = "memfs"
"""The name of the entry, by which the program shows the server."""


def run(options: Namespace) -> int:
    """Write the entry, or take it out; with ``--dry-run`` say what would be done."""
    program = PROGRAMS[options.program]
    command = _command(options)
    file = program.file()
    try:
        before = load(file)
        after, done = _changed(program, before, command, options.remove)
        if after is not None:
            require_writable(before)
            if not options.dry_run:
                replace(before, after)
    except (Refused, Unreadable) as error:
        what = "Remove" if options.remove else "Add"
        raise Complaint(
            f"{file} {error}. {what} this by hand:\n{_by_hand(program, command)}", Status.CONFIGURATION
        ) from None
    if after is None:
        print(f"{done}; nothing to do.")
        return Status.DONE
    print(f"{'This would be done: ' if options.dry_run else ''}{done}.")
    if not options.remove:
        print(_by_hand(program, command))
        if not options.dry_run:
            print(f"Start {program.title} anew to have it.")
    return Status.DONE


def _command(options: Namespace) -> list[str]:
    """What the program is to run, whatever its own working directory and search path are."""
    if not options.remove and find_spec("mcp") is None:
        raise Complaint("The official SDK is not installed; `pip install 'memfs-mount[mcp]'` brings it.")
    beside = Path(sys.executable).with_name("memfs")
    start = [str(beside)] if beside.exists() else [sys.executable, "-m", "memfs"]
    if options.memory is not None:
        settings_for(options)  # it has to be there
        return [*start, "mcp", "--memory", options.memory]
    chosen = choose(options)
    if chosen.ends_with_its_process:
        raise Complaint("A simple: store ends with its process; name another one.", Status.USAGE)
    return [*start, "mcp", "--store", chosen.store, "--scope", chosen.scope]


def _changed(
    program: Program, before: Configuration, command: list[str], remove: bool
) -> tuple[str | None, str]:
    """The text to write (None: none), and what that does."""
    file, text = before.path, before.text
    contents = program.format.read(text)
    if not isinstance(contents, dict):
        raise Unreadable("holds no object")
    place, entry = program.place(contents, NAME), program.entry(command)
    there = program.find(contents, NAME)
    if there is not None and not program.is_ours(there):
        raise Complaint(
            f"{file} has an entry '{NAME}' that starts another program; rename or remove it first."
        )
    if remove:
        if there is None:
            return None, f"{file} has no entry '{NAME}'"
        return program.format.take_out(text, place), f"'{NAME}' is taken out of {file}"
    if there == entry:
        return None, f"{file} has this entry"
    return program.format.put(text, place, entry), f"'{NAME}' is written into {file}"


def _by_hand(program: Program, command: list[str]) -> str:
    """The entry as a person would write it into an empty file."""
    place, entry = program.place({}, NAME), program.entry(command)
    text: str = program.format.put("", place, entry)
    return text.rstrip()
