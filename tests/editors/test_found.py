"""Single steps in which a real program differed from what was expected of it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Change
from tests.mount.harness import eventually, open_fd


def test_a_file_that_is_created_only_to_be_read_is_stored(editing: MakeEditing) -> None:
    """mcedit makes a new file so when it starts, and flock its lock."""
    mount = editing()
    with open_fd(mount.path / "new.md", os.O_RDONLY | os.O_CREAT | os.O_EXCL):
        pass
    eventually(mount.stored, {"new.md": ""})
    [change] = mount.changes()
    assert change == Change("created", "new.md", change.id, Path("/proc/self/comm").read_text().strip())
