"""A workspace's memory for the commands: bootstrapped, with what stood in the way told to the person."""

from __future__ import annotations

import logging
import os
import stat
import sys

from memfs.cli.complaint import Complaint, Status
from memfs.places import expanded, memfs_mount_above, resolve
from memfs.workspace import ensure_memory, log


def bootstrap(workspace: str) -> tuple[str, int]:
    """Make what is missing of the ``memory/`` in *workspace*; its path, and how many warnings that gave.

    The warnings are printed on standard error, one sentence each.
    """
    warnings = _Warnings()
    log.addHandler(warnings)
    try:
        return ensure_memory(workspace), warnings.seen
    finally:
        log.removeHandler(warnings)


def workspace_store(store: str | None, makes: bool = True) -> str:
    """The URL of the memory of the workspace that *store*, a ``directory:`` URL, names.

    It is bootstrapped first, unless this *makes* nothing. A link in the place of the workspace or of its
    ``memory/`` is not followed.
    """
    kind, _, path = (store or "").partition(":")
    if kind != "directory" or not path.strip("/") or "\0" in path:
        raise Complaint("--workspace goes with the workspace's folder: --store directory:PATH.", Status.USAGE)
    holder, name = os.path.split(os.path.abspath(expanded(path)))
    workspace = os.path.join(resolve(holder), name)
    mount = memfs_mount_above(workspace)
    if mount is not None:
        raise Complaint(f"{workspace} lies inside the memfs mount {mount}; name a folder outside of it.")
    if not makes:
        return f"directory:{workspace}/memory"
    memory, _ = bootstrap(workspace)
    for folder in (workspace, memory):
        if not _is_folder(folder):
            raise Complaint(f"{folder} is no folder of its own; make it one, or name another workspace.")
    return f"directory:{memory}"


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


class _Warnings(logging.Handler):
    """Warnings as sentences for a person."""

    seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.seen += 1
        print(f"memfs: {record.getMessage()}", file=sys.stderr)
