"""``memfs redact``: the bytes of versions, gone for good.

From the store, and from what mounts keep beside it: refused saves and editors' temporary files.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from memfs.cli.choose import Chosen, choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status
from memfs.cli.running import State, states
from memfs.cli.versions import at_version
from memfs.mount.lifecycle import is_mounted
from memfs.mount.rejected import Rejected
from memfs.opening import open_with
from memfs.port.keeping import Redaction
from memfs.port.memory import Memory
from memfs.port.names import ROOT, extension_error, path_error
from memfs.search import forget

LEAST_FOUND_WITHIN = 16
"""Bytes from which a content is also looked for within others: a few could be anybody's."""


def run(options: Namespace) -> int:
    """Redact the versions that were named, wherever their bytes are."""
    named = [at_version(name) for name in options.names]
    if any(each.version is None for each in named):
        raise Complaint("Name each version, as in notes.md@42; `memfs log` shows them.", Status.USAGE)
    chosen, rules = choose_with_rules(options, named[0].path)
    given = [(port_path(path, chosen), version) for path, version in named if version is not None]
    versions = list(dict.fromkeys(given))
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as memory:
        contents = {memory.read_version(path, version) for path, version in versions}
        redaction = memory.redact(versions, reason=options.reason)
        forget(*chosen)  # an index for search has the words of what memories held
        dropped = list(_dropped(memory, chosen, contents - {b""}))
    if options.json:
        print(json.dumps(_as_json(versions, redaction, dropped)))
    else:
        _tell(versions, redaction, dropped)
    return Status.DONE


def _tell(versions: list[tuple[str, int]], redaction: Redaction, dropped: list[str]) -> None:
    for path, version in versions:
        print(f"Redacted {path}@{version}.")
    for place in dropped:
        print(f"Dropped {place}, which had the same bytes.")
    for record in redaction.same:
        print(f"memfs: {record.path}@{record.version} holds the same bytes; redact it too.", file=sys.stderr)
    if redaction.pending:
        print(
            "memfs: pending: a program reads the store at this moment; its files lose the bytes when it has "
            "ended, at the next command or unmount.",
            file=sys.stderr,
        )


def _as_json(versions: list[tuple[str, int]], redaction: Redaction, dropped: list[str]) -> dict[str, object]:
    return {
        "redacted": [{"path": path, "version": version} for path, version in versions],
        "pending": redaction.pending,
        "same": [{"path": record.path, "version": record.version} for record in redaction.same],
        "dropped": dropped,
    }


def _dropped(memory: Memory, chosen: Chosen, contents: set[bytes]) -> Iterator[str]:
    """Drop what the mounts of this memory keep of these bytes; where each was."""
    for state in states():
        if (state.store, state.scope) != chosen:
            continue
        rejected = Rejected(Path(state.directory))
        for kept in list(rejected):
            if _holds(rejected.read(kept.name), contents):
                rejected.drop(kept.name)
                yield f"the refused save {kept.name}"
        for path in _scratch(memory, state):
            if _holds(path.read_bytes(), contents):
                path.unlink()
                yield str(path)


def _scratch(memory: Memory, state: State) -> Iterator[Path]:
    """The temporary files of editors: through the mount where it is up, for it has them open.

    There, what can be no memory by its name: a memory that has come this instant must not be dropped.
    """
    mountpoint = state.mountpoint
    if mountpoint is None or not is_mounted(mountpoint):
        yield from (path for path in Path(state.directory, "scratch").glob("*") if path.is_file())
        return
    for directory, _, names in os.walk(mountpoint):
        for name in names:
            path = Path(directory, name)
            in_port = f"{ROOT}/{path.relative_to(mountpoint)}"
            cannot_be_one = path_error(in_port) or extension_error(in_port, memory.policy.extensions)
            if cannot_be_one and stat.S_ISREG(path.lstat().st_mode):
                yield path


def _holds(content: bytes, wanted: set[bytes]) -> bool:
    return any(content == each or (len(each) >= LEAST_FOUND_WITHIN and each in content) for each in wanted)
