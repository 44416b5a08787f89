"""Memories that are directories, and agents that work on folders, with their folder on the mount.

Their tools know nothing of memfs: what works on a disk has to work here, one change for each save.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import (
    BetaAsyncLocalFilesystemMemoryTool,
    BetaLocalFilesystemMemoryTool,
)

from tests.editors import packages
from tests.editors.conftest import MakeEditing
from tests.editors.folder_agent import FolderAgent, ToolServer
from tests.editors.harness import Editing
from tests.mount.harness import eventually

Fields = dict[str, Any]
Call = Callable[[Fields], str]

COMMANDS: Sequence[Fields] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/d/a.md", "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": "/memories/d/a.md", "file_text": "other"},
    {"command": "create", "path": "/memories/b.md", "file_text": "é🧠\n"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/d/a.md"},
    {"command": "view", "path": "/memories/d/a.md", "view_range": [2, -1]},
    {"command": "str_replace", "path": "/memories/d/a.md", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/d/a.md", "old_str": "none", "new_str": "2"},
    {"command": "insert", "path": "/memories/d/a.md", "insert_line": 1, "insert_text": "1.5"},
    {"command": "insert", "path": "/memories/d/a.md", "insert_line": 9, "insert_text": "9"},
    {"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/d/a.md"},
    {"command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/e/f/b.md"},
    {"command": "rename", "old_path": "/memories/e/f", "new_path": "/memories/d/f"},
    {"command": "create", "path": "/memories/c.md", "file_text": ""},
    {"command": "delete", "path": "/memories/c.md"},
    {"command": "view", "path": "/memories/c.md"},
    {"command": "view", "path": "/memories/d"},
)
CHANGES = [
    ("created", "d/a.md"),
    ("created", "b.md"),
    ("modified", "d/a.md"),
    ("modified", "d/a.md"),
    ("renamed", "e/f/b.md"),
    ("renamed", "d/f/b.md"),
    ("created", "c.md"),
    ("deleted", "c.md"),
]
STORED = {"d/a.md": "one\n1.5\n2\nthree\n", "d/f/b.md": "é🧠\n"}


def sync_tool(folder: Path) -> Call:
    """The SDK's filesystem tool: it keeps its memories in *folder*/memories."""
    tool = BetaLocalFilesystemMemoryTool(str(folder))
    return lambda fields: str(tool.call(fields))


def async_tool(folder: Path) -> Call:
    """Its asynchronous twin."""
    tool = BetaAsyncLocalFilesystemMemoryTool(str(folder))
    return lambda fields: str(asyncio.run(tool.call(fields)))


both = pytest.mark.parametrize("tool", [sync_tool, async_tool])


def answers(call: Call, commands: Sequence[Fields]) -> list[str]:
    """What the model reads for each command; a directory's size is the disk's affair."""
    found = []
    for fields in commands:
        try:
            answer = call(fields)
        except ToolError as error:
            answer = f"error: {error.content}"
        found.append(re.sub(r"^\S+\t(?=/memories$|/memories/d$|.*/$)", "\t", answer, flags=re.MULTILINE))
    return found


@both
def test_the_sdks_filesystem_tool_has_its_memories_on_the_mount(
    tool: Callable[[Path], Call], shared: Editing, here: Path, tmp_path: Path
) -> None:
    assert answers(tool(here), COMMANDS) == answers(tool(tmp_path), COMMANDS)
    prefix = f"{here.name}/memories/"
    eventually(shared.stored, {prefix + name: text for name, text in STORED.items()})
    changes = [(change.operation, change.path.removeprefix(prefix)) for change in shared.changes()]
    assert changes == CHANGES, "one change for each command"


@both
def test_the_sdks_filesystem_tool_clears_all(
    tool: Callable[[Path], Call], shared: Editing, here: Path
) -> None:
    call = tool(here)
    answers(call, COMMANDS)
    if tool is sync_tool:
        assert BetaLocalFilesystemMemoryTool(str(here)).clear_all_memory() == "All memory cleared"
    else:
        done = BetaAsyncLocalFilesystemMemoryTool(str(here)).clear_all_memory()
        assert asyncio.run(done) == "All memory cleared"
    assert shared.stored() == {}
    assert call({"command": "view", "path": "/memories"}).endswith("\t/memories")


@both
def test_a_refused_edit_of_the_sdks_tool_leaves_the_old_memory(
    tool: Callable[[Path], Call], editing: MakeEditing
) -> None:
    mount = editing(max_file_bytes=100)
    call = tool(mount.path)
    call({"command": "create", "path": "/memories/a.md", "file_text": "old\n"})
    with pytest.raises(OSError, match="File too large"):
        call({"command": "str_replace", "path": "/memories/a.md", "old_str": "old", "new_str": "x" * 200})
    assert mount.stored() == {"memories/a.md": "old\n"}
    assert mount.listing() == {"memories", "memories/a.md"}, "and no temporary file"
    assert any("a file may have 100" in event["message"] for event in mount.events())
    assert mount.rejected() == [b"x" * 200 + b"\n"]


# --- the reference filesystem server of MCP --------------------------------------------------------


@pytest.fixture
def server(here: Path, shared: Editing) -> Iterator[ToolServer]:
    """The server from npm, allowed to work in the test's directory."""
    program = packages.node_program("mcp-server-filesystem")
    if program is None:
        pytest.skip("machine: npm cannot install @modelcontextprotocol/server-filesystem")
    with ToolServer(str(program), str(here), environment=shared.environment) as started:
        yield started


@pytest.mark.slow
@pytest.mark.packages
def test_the_reference_filesystem_server_works_on_the_mount(
    server: ToolServer, shared: Editing, here: Path
) -> None:
    def do(tool: str, **arguments: Any) -> str:
        text, is_error = server.call(tool, **arguments)
        assert not is_error, text
        return text

    note, moved = str(here / "notes.md"), str(here / "d/moved.md")
    do("write_file", path=note, content="one\n")
    do("write_file", path=note, content="one\ntwo\nthree\n")
    assert "+2\n" in do("edit_file", path=note, edits=[{"oldText": "two", "newText": "2"}])
    assert do("read_text_file", path=note) == "one\n2\nthree\n"
    assert do("read_text_file", path=note, head=1) == "one"
    assert do("read_text_file", path=note, tail=2).strip() == "three"
    do("create_directory", path=str(here / "d"))
    assert sorted(do("list_directory", path=str(here)).splitlines()) == ["[DIR] d", "[FILE] notes.md"]
    assert "12 B" in do("list_directory_with_sizes", path=str(here))
    assert re.search(r"size: 12\b", do("get_file_info", path=note))
    do("move_file", source=note, destination=moved)
    do("write_file", path=note, content="another\n")
    text, is_error = server.call("move_file", source=note, destination=moved)
    assert is_error, text
    assert do("search_files", path=str(here), pattern="**/*.md").splitlines() == [moved, note]
    assert '"name": "moved.md"' in do("directory_tree", path=str(here))
    assert "another" in do("read_multiple_files", paths=[note, moved])

    prefix = f"{here.name}/"
    eventually(shared.stored, {prefix + "d/moved.md": "one\n2\nthree\n", prefix + "notes.md": "another\n"})
    assert [(change.operation, change.path.removeprefix(prefix)) for change in shared.changes()] == [
        ("created", "notes.md"),
        ("modified", "notes.md"),
        ("modified", "notes.md"),
        ("renamed", "d/moved.md"),
        ("created", "notes.md"),
    ]
    assert {path.name for path in here.rglob("*")} == {"d", "moved.md", "notes.md"}


@pytest.mark.slow
@pytest.mark.packages
def test_the_reference_server_hears_why_a_name_is_refused(
    server: ToolServer, shared: Editing, here: Path
) -> None:
    text, is_error = server.call("write_file", path=str(here / "notes.exe"), content="x")
    assert is_error
    assert "EINVAL" in text
    assert shared.stored() == {}


# --- a coding agent -------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["grep", "rg"])
def test_a_coding_agent_works_on_the_mount(program: str, shared: Editing, here: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"machine: there is no {program}")
    agent, prefix = FolderAgent(here), f"{here.name}/"
    agent.write("MEMORY.md", "# Index\n- [plan](projects/plan.md)\n")
    agent.write("projects/plan.md", "".join(f"step {number}\n" for number in range(1, 51)))
    assert agent.read("projects/plan.md", first=49) == "step 49\nstep 50\n"
    agent.edit("projects/plan.md", "step 7\n", "step seven\n")
    agent.edit("projects/plan.md", "step 8\n", "step eight\n")
    assert agent.grep(program, "step [se]") == [
        "projects/plan.md:7:step seven",
        "projects/plan.md:8:step eight",
    ]
    assert agent.glob("**/*.md") == ["projects/plan.md", "MEMORY.md"]
    assert [change.operation for change in shared.changes()] == ["created", "created", "modified", "modified"]
    assert set(shared.stored()) == {prefix + "MEMORY.md", prefix + "projects/plan.md"}


def test_a_coding_agent_sees_that_its_memory_tool_or_a_person_was_there(shared: Editing, here: Path) -> None:
    agent, path = FolderAgent(here), f"/memories/{here.name}/a.md"
    agent.write("a.md", "one\n")
    shared.execute("str_replace", path=path, oldText="one", newText="1")
    eventually(lambda: (here / "a.md").read_text(), "1\n")
    with pytest.raises(ValueError, match="changed since it was read"):
        agent.edit("a.md", "1", "uno")
    assert agent.read("a.md") == "1\n"
    agent.edit("a.md", "1", "uno")
    assert shared.execute("view", path=path).text == "uno\n"
