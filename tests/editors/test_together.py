"""Everybody at once: an agent at each door, a person in vim, and somebody who follows the events."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memfs.opening import open_with
from tests.agents.mcp.peer import LEGACY, MODERN, Peer, spoken_to
from tests.agents.mcp.test_http import served
from tests.agents.test_anthropic import run as run_tool
from tests.cli.conftest import Shell
from tests.editors.conftest import MakeEditing
from tests.editors.driving import Session
from tests.editors.harness import Editing, Terminal
from tests.editors.terminal_editors import VIM
from tests.mount.harness import SCOPE, eventually
from tests.mount.watchdog import WATCHDOG

ROUNDS = 6
SHARED = "notes.md"
"""The memory that the person has open, and into which everybody writes."""
BEGUN = "begun"
SECONDS = 400.0

Insert = Callable[[str, str], bool]
"""Puts a line into the memory of a name; whether the door answered that this is done."""


class Written(NamedTuple):
    """A line that was acknowledged."""

    name: str
    line: str


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """As for the other tests with editors, for as long as so many processes may take."""
    with WATCHDOG.guards(SECONDS):
        yield


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 30)
def test_no_acknowledged_change_is_lost_whoever_makes_it(
    editing: MakeEditing, terminal: Terminal, place: Path
) -> None:
    mount = editing(files=dict.fromkeys((SHARED, *map(own, DOORS)), f"{BEGUN}\n"))
    shell = Shell(place)
    with following(mount, place) as followed, ExitStack() as stack:
        doors = {name: stack.enter_context(door(mount, shell)) for name, door in DOORS.items()}
        with ThreadPoolExecutor(len(doors)) as threads:
            writing = {name: threads.submit(write, name, insert) for name, insert in doors.items()}
            by_person = edit(Session(terminal, mount, VIM, mount.path / SHARED))
            refused = [try_to_make(mount.path / f"{number}.png") for number in range(ROUNDS)]
            acknowledged = {name: written.result() for name, written in writing.items()}

        for name, written in acknowledged.items():
            lines = [BEGUN, *(line for where, line in written if where == own(name))]
            assert sorted(mount.stored()[own(name)].splitlines()) == sorted(lines)
        acknowledged["vim"] = by_person
        writers = {entry: name for name, written in acknowledged.items() for entry in written}
        assert len(writers) == (2 * len(DOORS) + 1) * ROUNDS
        eventually(lambda: first_writers(mount), writers)
        eventually(lambda: refused == [told for told in map(program_and_path, followed()) if told in refused])
        eventually(lambda: followed() == mount.events())


def own(program: str) -> str:
    return f"{program}.md"


def write(program: str, insert: Insert) -> list[Written]:
    """Insert a line into the program's own memory and one into the shared one, by turns.

    While vim puts a new file in the place of the old one there may be none, and the agent is told so.
    """
    written = []
    for number in range(ROUNDS):
        for name in (own(program), SHARED):
            line = f"{program} {number}"
            eventually(lambda name=name, line=line: insert(name, line))  # type: ignore[misc]
            written.append(Written(name, line))
    return written


def edit(session: Session) -> list[Written]:
    """Save a line after the other with vim, and insist where it sees that another has written there too."""
    written = []
    for number in range(ROUNDS):
        line = f"vim {number}"
        session.go(("ggO", "?INSERT", "{text}", "<Escape>", "!INSERT"), line)
        session.save()
        shown = session.terminal.see(f"{VIM.saved}|{VIM.asks}")
        if re.search(VIM.asks, shown):
            session.go((*VIM.confirm, f"?{VIM.saved}"))
        session.go(VIM.dismiss)
        written.append(Written(SHARED, line))
    session.quit()
    return written


def try_to_make(file: Path) -> tuple[str, str]:
    """Let a program make what the port refuses; its name and the path, as an event has to have them."""
    done = subprocess.run(["touch", file], capture_output=True, check=False)
    assert done.returncode != 0
    return "touch", f"/memories/{file.name}"


def program_and_path(event: dict[str, Any]) -> tuple[str, str]:
    return event["program"], event["path"]


@contextmanager
def following(mount: Editing, place: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """``tail -f`` on the mount's events; gives what it has printed so far."""
    output = place / "followed"
    with output.open("wb") as printed:
        tail = subprocess.Popen(
            ["tail", "-n", "+1", "-s", "0.1", "-f", mount.path / ".memfs/events"], stdout=printed
        )
    with tail:
        try:
            yield lambda: [
                json.loads(line)
                for line in output.read_text().splitlines(keepends=True)
                if line.endswith("\n")
            ]
        finally:
            tail.kill()


def first_writers(mount: Editing) -> dict[Written, str]:
    """Every line that was ever in a memory, and whose change brought it there."""
    found: dict[Written, str] = {}
    for record in mount.history():
        if record.operation in ("created", "modified", "restored"):
            name = record.path.removeprefix("/memories/")
            for line in mount.memory.read_record(record).decode().splitlines():
                found.setdefault(Written(name, line), record.actor.program)
    return {entry: program for entry, program in found.items() if entry.line != BEGUN}


# --- the doors ------------------------------------------------------------------------------------


def at(mount: Editing) -> tuple[str, ...]:
    """The options of every command that name the mount's memory."""
    return "--store", mount.url, "--scope", SCOPE


@contextmanager
def through_anthropics_tool(mount: Editing, _: Shell) -> Iterator[Insert]:
    """The SDK's own loop calls the tool, as a model's answers tell it to."""
    with open_with(mount.url, SCOPE, {}, "anthropic") as memory:

        def insert(name: str, line: str) -> bool:
            call = {"command": "insert", "path": f"/memories/{name}", "insert_line": 0, "insert_text": line}
            ((_, is_error),) = run_tool(memory, [call]).results
            return not is_error

        yield insert


def with_client(peer: Peer) -> Insert:
    def insert(name: str, line: str) -> bool:
        arguments = {"path": f"/memories/{name}", "insertLine": 0, "text": f"{line}\n"}
        return not peer.tool("insert", **arguments).is_error

    return insert


@contextmanager
def through_mcp(mount: Editing, shell: Shell) -> Iterator[Insert]:
    with spoken_to(shell.environment, *at(mount), mode=LEGACY, name="mcp-stdio") as peer:
        yield with_client(peer)


@contextmanager
def through_mcp_over_http(mount: Editing, shell: Shell) -> Iterator[Insert]:
    with served(shell, *at(mount)) as server, server.client(MODERN, "mcp-http") as peer:
        yield with_client(peer)


@contextmanager
def through_the_ports_lines(mount: Editing, shell: Shell) -> Iterator[Insert]:
    with shell.start("port", "--actor", "port", *at(mount)) as port:
        assert port.stdin is not None
        assert port.stdout is not None
        requests, answers = port.stdin, port.stdout

        def insert(name: str, line: str) -> bool:
            command = {"command": "insert", "path": f"/memories/{name}", "insertLine": 0, "text": f"{line}\n"}
            requests.write(json.dumps(command).encode() + b"\n")
            requests.flush()
            return bool(json.loads(answers.readline())["ok"])

        try:
            yield insert
        finally:
            port.kill()


@contextmanager
def through_the_commands(mount: Editing, shell: Shell) -> Iterator[Insert]:
    def insert(name: str, line: str) -> bool:
        return shell("insert", name, "0", f"{line}\n", "--actor", "shell", *at(mount)).status == 0

    yield insert


@contextmanager
def through_the_mount(mount: Editing, _: Shell) -> Iterator[Insert]:
    def insert(name: str, line: str) -> bool:
        append = ["sh", "-c", 'echo "$1" >>"$2"', "sh", line, str(mount.path / name)]
        return subprocess.run(append, capture_output=True, check=False).returncode == 0

    yield insert


DOORS: Mapping[str, Callable[[Editing, Shell], AbstractContextManager[Insert]]] = {
    "anthropic": through_anthropics_tool,
    "mcp-stdio": through_mcp,
    "mcp-http": through_mcp_over_http,
    "port": through_the_ports_lines,
    "shell": through_the_commands,
    "sh": through_the_mount,
}
"""By what the history calls whoever comes through it; ``NAME.md`` is a memory that is theirs alone."""
