"""What every store whose scopes are rows checks when it loads one."""

from __future__ import annotations

from collections.abc import Sequence

from memfs.port.change import File
from memfs.port.errors import UnsafeStorage
from memfs.port.names import ROOT, path_error


def check_files(files: Sequence[File], database: str) -> None:
    """What is loaded from *database* must be a state that commands can lead to. Raises UnsafeStorage."""
    paths = {file.path for file in files}
    if len(paths) < len(files):
        raise UnsafeStorage(f"{database} lists two files at one path.")
    for file in files:
        if file.id < 1 or file.size < 0 or path_error(file.path) is not None or file.path == ROOT:
            raise UnsafeStorage(f"{database} lists a file that memfs cannot have written.")
        parent = file.path
        while (parent := parent[: parent.rfind("/")]) != ROOT:
            if parent in paths:
                raise UnsafeStorage(f"{database} lists {parent} both as a file and as a directory.")
