"""The daemon is killed before each step of each tool's save: the memory is the old or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.looks import text_of
from tests.editors.tools import BY_REMOVAL, TOOLS, Tool, prepare, run
from tests.mount.watchdog import WATCHDOG

SECONDS = 600.0
"""For one tool: every step takes two mounts."""
pytestmark = [pytest.mark.slow, pytest.mark.packages, pytest.mark.timeout(SECONDS)]

OLD, NEW = "the old line\n", "a new line\nb and another one\n"
# One of each way of saving: every step takes two mounts, and the same steps break in the same places.
OF_EACH_KIND = (
    "tee", "cp", "sort -o", "VS Code", "IntelliJ", "sed -i", "rsync --delay-updates", "write-file-atomic",
    "filesystem MCP server", "sed -i.bak", "cp --backup", "Helix", "vim's sequence", "mv", "tar", "git apply",
)  # fmt: skip
KINDS = [tool for tool in TOOLS if tool.name in OF_EACH_KIND]
AT = "tests.editors.dying:AT"
MOST_STEPS = 60


def crashes(tool: Tool, mount: Editing, tmp_path: Path, old: str) -> Iterator[int]:
    """Have *tool* save with a crash before its first step, its second, …; each time, it is mounted again."""
    WATCHDOG.expect_end_within(SECONDS)
    for step in count(1):
        assert step < MOST_STEPS, "there is no end to it"
        mount.stop()
        if old:
            mount.execute("create", path="/memories/notes.md", text=old)
        elif "notes.md" in mount.stored():
            mount.execute("delete", path="/memories/notes.md")
        mount.start(constants={AT: step})
        done = run(tool, mount.path, "notes.md", prepare(tmp_path, old.encode(), NEW.encode()))
        if is_alive(mount):
            assert done.returncode == 0, done.stderr
            assert mount.stored().get("notes.md") == NEW
            return
        mount.kill()
        mount.start(constants={AT: 0})
        yield step
        clear_up(mount.path)


def clear_up(directory: Path) -> None:
    """What the crashed program left in scratch survives, as it should; the next run is to begin without."""
    for left in directory.iterdir():
        if left.name != "notes.md":
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def is_alive(mount: Editing) -> bool:
    try:
        os.statvfs(mount.path)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("tool", KINDS, ids=lambda tool: tool.name)
def test_a_memory_is_the_old_or_the_new_one(tool: Tool, editing: MakeEditing, tmp_path: Path) -> None:
    mount = editing(files={"notes.md": OLD})
    for step in crashes(tool, mount, tmp_path, OLD):
        stored = mount.stored().get("notes.md")
        assert text_of(mount.path / "notes.md") == stored, step
        if tool in BY_REMOVAL and stored is None:
            assert OLD in mount.versions_of("notes.md"), step  # .memfs/deleted has it
        else:
            assert stored in (OLD, NEW), step


@pytest.mark.parametrize("tool", [tool for tool in KINDS if tool.creates], ids=lambda tool: tool.name)
def test_a_new_memory_is_whole_or_not_there(tool: Tool, editing: MakeEditing, tmp_path: Path) -> None:
    mount = editing()
    for step in crashes(tool, mount, tmp_path, ""):
        stored = mount.stored().get("notes.md")
        assert text_of(mount.path / "notes.md") == stored, step
        assert stored in (None, NEW), step
