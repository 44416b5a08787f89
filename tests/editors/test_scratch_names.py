"""Which names are scratch: every pattern by example, and never a name that a memory can have."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.mount import scratch
from memfs.port.names import DEFAULT_EXTENSIONS, is_segment
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.names import MEMORIES, NEITHER, SCRATCH
from tests.mount.harness import errno_of

NAMES = [name for names in SCRATCH.values() for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_programs_temporary_file_is_scratch(name: str, shared: Editing, here: Path) -> None:
    (here / name).write_bytes(b"\xff no text, and no memory")
    assert (here / name).read_bytes() == b"\xff no text, and no memory"
    assert shared.changes() == []


@pytest.mark.parametrize("name", MEMORIES)
def test_a_memorys_name_is_no_scratch(name: str, here: Path) -> None:
    (here / name).write_text("text\n")
    assert errno_of(lambda: (here / name).write_bytes(b"\xff no text")) == errno.EILSEQ


@pytest.mark.parametrize("name", NEITHER)
def test_any_other_name_is_refused(name: str, here: Path) -> None:
    """A file that would silently never be stored is worse than an error."""
    assert errno_of(lambda: (here / name).write_text("text\n")) == errno.EINVAL
    assert not (here / name).exists()


def test_every_pattern_has_an_example() -> None:
    for pattern in scratch.FILES:
        assert any(re.fullmatch(pattern.expression, name) for name in NAMES), pattern


segments = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,40}", fullmatch=True)
bases = st.sampled_from([name for name in NAMES if is_segment(name)])


@given(name=segments | bases, extension=st.sampled_from(DEFAULT_EXTENSIONS))
def test_whatever_a_memory_can_be_called_is_no_scratch(shared: Editing, name: str, extension: str) -> None:
    """Whatever the list says of it: notes.md.bak.txt matches a pattern, and is a memory."""
    path = shared.path / (name + extension)
    assert errno_of(lambda: path.write_bytes(b"\xff no text")) == errno.EILSEQ


@pytest.mark.parametrize("name", ["sedatives", "projects.old", "5036", "tmpfiles0", "DEADJOE", "backup.bak"])
def test_a_directory_may_have_a_name_that_is_scratch_for_a_file(
    name: str, shared: Editing, here: Path
) -> None:
    (here / name).mkdir()
    (here / name / "notes.md").write_text("a memory\n")
    assert f"{here.name}/{name}/notes.md" in shared.stored()


@pytest.mark.parametrize("name", [".git", ".Trash", ".Trash-1000"])
@pytest.mark.parametrize("depth", ["", "below"])
def test_a_repository_or_a_trash_is_refused(name: str, depth: str, shared: Editing, here: Path) -> None:
    (here / depth).mkdir(exist_ok=True)
    place = here / depth / name
    assert errno_of(place.mkdir) == errno.EPERM
    event = shared.events()[-1]
    assert (event["operation"], event["path"], event["errno"]) == ("mkdir", shared.port_path(place), "EPERM")


@pytest.mark.slow
def test_further_programs_can_be_named(editing: MakeEditing) -> None:
    mount = editing(options={"more_scratch": [r"draft-\d+", r".*\.xyz"]})
    for name in ("draft-12", "notes.xyz"):
        (mount.path / name).write_bytes(b"\xff")
    assert errno_of(lambda: (mount.path / "draft-x").touch()) == errno.EINVAL
    assert mount.stored() == {}
    mount.remount()
    assert mount.listing() == {"draft-12", "notes.xyz"}
