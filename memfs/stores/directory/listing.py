"""A folder is one scope: as its database has it, without what others have done in the folder since."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memfs.port.listing import Listing
from memfs.stores.directory.folder import META
from memfs.stores.directory.opening import STEM
from memfs.stores.sqlite.database import ScopeFiles
from memfs.stores.sqlite.listing import listed


def scopes_in(path: Path) -> Iterator[Listing]:
    """The scope of the folder; none where memfs has not made it one."""
    files = ScopeFiles(path / META, "", STEM)
    if files.database.exists():
        yield listed(files)
