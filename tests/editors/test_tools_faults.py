"""Every tool under every fault: what was stored stays, and nobody is told that all went well."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memfs.mount.rejected import Rejected
from memfs.mount.scratch import is_scratch_directory, is_scratch_file
from tests.editors.harness import Editing, a_place, editing_in
from tests.editors.looks import text_of
from tests.editors.tools import TOOLS, Tool, prepare, run
from tests.mount.harness import eventually

pytestmark = [pytest.mark.slow, pytest.mark.packages]

OLD = "the old line\n"
SILENT = {"git checkout", "unzip"}
"""They do not look at what close(2) returns."""
CLEANS_UP = {"fs-extra move"}
"""libuv removes what it could not write. Where the old memory is back by then, it removes that."""


class Fault(NamedTuple):
    """What is wrong: with what is saved, or with the mount."""

    name: str
    new: bytes = b"a new line\n"
    limits: dict[str, int] = {}  # noqa: RUF012 - never changed
    read_only: bool = False
    store_fails: bool = False


FAULTS = (
    Fault("too large", new=b"a line of a file that is too large\n" * 2000),
    Fault(
        "a scope that cannot make room",
        new=b"too much for all there is\n" * 40,
        limits={"max_total_bytes": 1000},
    ),
    Fault("bad UTF-8", new=b"this is no caf\xe9\n"),
    Fault("read-only", read_only=True),
    Fault("a failing store", store_fails=True),
)


@pytest.fixture(scope="module", params=FAULTS, ids=lambda fault: fault.name)
def broken(request: pytest.FixtureRequest) -> Iterator[tuple[Fault, Editing]]:
    """A mount with a fault, and a directory with a memory for each tool; another with a newcomer's place."""
    fault: Fault = request.param
    files = {f"old{number}/notes.md": OLD for number in range(len(TOOLS))}
    files |= {f"new{number}/a.md": "a\n" for number in range(len(TOOLS))}
    with a_place() as place, editing_in(place) as make, ExitStack() as failing:
        options: dict[str, Any] = {"read_only": True} if fault.read_only else {}
        mount = make(files=files, options=options, **fault.limits)
        if fault.store_fails:
            failing.enter_context(mount.failing_store())
        yield fault, mount


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_stored_memory_keeps_its_content(tool: Tool, broken: tuple[Fault, Editing], tmp_path: Path) -> None:
    fault, mount = broken
    name = f"old{TOOLS.index(tool)}/notes.md"
    here = (mount.path / name).parent
    done = run(tool, here, "notes.md", prepare(tmp_path, OLD.encode(), fault.new))
    if tool.name in CLEANS_UP:
        assert OLD in mount.versions_of(name)
    else:
        eventually(lambda: mount.stored().get(name) == OLD)
        eventually(lambda: text_of(here / "notes.md"), OLD)
    left = {path.name for path in here.iterdir()} - {"notes.md"}
    check_refusal(tool, fault, mount, done, name, left)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.creates], ids=lambda tool: tool.name)
def test_a_new_memory_is_there_as_a_whole_or_not_at_all(
    tool: Tool, broken: tuple[Fault, Editing], tmp_path: Path
) -> None:
    fault, mount = broken
    name = f"new{TOOLS.index(tool)}/notes.md"
    here = (mount.path / name).parent
    done = run(tool, here, "notes.md", prepare(tmp_path, b"", fault.new))
    eventually(lambda: (here / "notes.md").exists(), False)
    assert name not in mount.stored()
    left = {path.name for path in here.iterdir()} - {"a.md"}
    check_refusal(tool, fault, mount, done, name, left)


def check_refusal(
    tool: Tool,
    fault: Fault,
    mount: Editing,
    done: subprocess.CompletedProcess[str],
    name: str,
    left: set[str],
) -> None:
    """Somebody was told, the bytes can be found again, and what is left is scratch."""
    assert done.returncode or done.stderr or tool.name in SILENT, "the tool says that all went well"
    if fault.read_only:
        assert left == set()
        return
    assert all(is_scratch_file(each) or is_scratch_directory(each) for each in left)
    path = f"/memories/{name}"
    events = [event for event in mount.events() if event["path"] == path]
    refusals = [event for event in events if event["errno"]]
    assert refusals, "nothing in .memfs/events"
    assert all(event["message"] and event["program"] and event["pid"] for event in refusals)
    if not fault.store_fails:
        kept = [each for each in Rejected(mount.state) if each.path == path]
        assert kept, "the refused bytes are kept"
        for each in kept:
            arrived = Rejected(mount.state).read(each.name)
            assert arrived == fault.new if each.complete else fault.new.startswith(arrived)
