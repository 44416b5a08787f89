"""Every tool saves a memory that exists, and a new one: as one change, and leaving nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.harness import Editing
from tests.editors.tools import TOOLS, Tool, prepare, run
from tests.mount.harness import eventually

pytestmark = [pytest.mark.slow, pytest.mark.packages]

OLD = "the old line\n"
NEW = "a new line\nb and another one\n"
BACKUPS = {"notes.md~", "notes.md.bak", "notes.md.orig"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_saves_an_existing_memory_as_one_change(
    tool: Tool, shared: Editing, here: Path, tmp_path: Path
) -> None:
    (here / "notes.md").write_text(OLD)
    name = f"{here.name}/notes.md"
    eventually(lambda: shared.stored().get(name), OLD)
    before = shared.id_of(name)
    shared.mark()
    done = run(tool, here, "notes.md", prepare(tmp_path, OLD.encode(), NEW.encode()))
    assert done.returncode == 0, done.stderr
    assert (here / "notes.md").read_text() == NEW
    eventually(lambda: shared.stored().get(name), NEW)
    changes = [(change.operation, change.path, change.id) for change in shared.changes()]
    assert changes == [("modified", name, before)]
    left = {path.name for path in here.iterdir()} - {"notes.md"}
    assert left <= BACKUPS, "no junk in the listing"
    assert set(shared.stored()) == {name}, "no junk in the store"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.creates], ids=lambda tool: tool.name)
def test_a_tool_saves_a_new_memory_as_one_change(
    tool: Tool, shared: Editing, here: Path, tmp_path: Path
) -> None:
    shared.mark()
    name = f"{here.name}/notes.md"
    done = run(tool, here, "notes.md", prepare(tmp_path, b"", NEW.encode()))
    assert done.returncode == 0, done.stderr
    assert (here / "notes.md").read_text() == NEW
    eventually(lambda: shared.stored().get(name), NEW)
    assert [(change.operation, change.path) for change in shared.changes()] == [("created", name)]
    left = {path.name for path in here.iterdir()} - {"notes.md"}
    assert left <= BACKUPS, "no junk in the listing"  # patch -b backs up what was not there, too
