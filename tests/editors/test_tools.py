"""Every tool saves a memory that exists, and a new one: as one change, and leaving nothing behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.harness import Editing, a_place, editing_in
from tests.editors.tools import TOOLS, Tool, prepare, run
from tests.mount.harness import eventually

OLD = "the old line\n"
NEW = "a new line\nb and another one\n"
BACKUPS = {"notes.md~", "notes.md.bak", "notes.md.orig"}


@pytest.fixture(scope="module")
def mount() -> Iterator[Editing]:
    with a_place() as place, editing_in(place) as make:
        yield make(max_files=10_000, max_total_bytes=1 << 30)


@pytest.fixture
def here(mount: Editing, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory of the test's own in the module's mount; what it held is gone afterwards."""
    directory = mount.path / f"t{abs(hash(request.node.name))}"
    directory.mkdir()
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_saves_an_existing_memory_as_one_change(
    tool: Tool, mount: Editing, here: Path, tmp_path: Path
) -> None:
    (here / "notes.md").write_text(OLD)
    name = f"{here.name}/notes.md"
    eventually(lambda: mount.stored().get(name), OLD)
    before = mount.id_of(name)
    mount.mark()
    done = run(tool, here, "notes.md", prepare(tmp_path, OLD.encode(), NEW.encode()))
    assert done.returncode == 0, done.stderr
    assert (here / "notes.md").read_text() == NEW
    eventually(lambda: mount.stored().get(name), NEW)
    changes = [(change.operation, change.path, change.id) for change in mount.changes()]
    assert changes == [("modified", name, before)]
    left = {path.name for path in here.iterdir()} - {"notes.md"}
    assert left <= BACKUPS, "no junk in the listing"
    assert set(mount.stored()) == {name}, "no junk in the store"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.creates], ids=lambda tool: tool.name)
def test_a_tool_saves_a_new_memory_as_one_change(
    tool: Tool, mount: Editing, here: Path, tmp_path: Path
) -> None:
    mount.mark()
    name = f"{here.name}/notes.md"
    done = run(tool, here, "notes.md", prepare(tmp_path, b"", NEW.encode()))
    assert done.returncode == 0, done.stderr
    assert (here / "notes.md").read_text() == NEW
    eventually(lambda: mount.stored().get(name), NEW)
    assert [(change.operation, change.path) for change in mount.changes()] == [("created", name)]
    left = {path.name for path in here.iterdir()} - {"notes.md"}
    assert left <= BACKUPS, "no junk in the listing"  # patch -b backs up what was not there, too
