"""``memfs diff``: how two versions of a memory differ."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime
from difflib import unified_diff

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status
from memfs.cli.streams import write
from memfs.cli.versions import at_version, newest
from memfs.opening import open_with
from memfs.port.store import Record

_COLOURS = {"@": "36", "-": "31", "+": "32"}


def run(options: Namespace) -> int:
    """Print how two versions differ: by default the last two."""
    wanted = at_version(options.path)
    if wanted.version is not None:  # PATH@A [B]
        options.old, options.new = wanted.version, options.old
    chosen, rules = choose_with_rules(options, wanted.path)
    path = port_path(wanted.path, chosen)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        records = {record.version: record for record in memory.history(path)}
        after = options.new if options.new is not None else newest(memory, path).version
        before = options.old
        if before is None:
            before = next((version for version in records if version < after), None)
        new = memory.read_version(path, after)
        if before is None and records[after].operation != "created":
            raise Complaint(f"What {path} was before version {after} is pruned; `memfs show` has that one.")
        old = b"" if before is None else memory.read_version(path, before)
    names = [_name(path, version, records.get(version or 0)) for version in (before, after)]
    for line in _lines(old, new, *names):
        write((_coloured(line) if _has_colours() else line).encode())
    return Status.DONE


def _name(path: str, version: int | None, record: Record | None) -> str:
    if version is None:
        return "/dev/null"
    when = (
        f"\t{datetime.fromtimestamp(record.time_ns / 1e9).astimezone():%Y-%m-%d %H:%M:%S}" if record else ""
    )
    return f"{path}@{version}{when}"


def _lines(old: bytes, new: bytes, old_name: str, new_name: str) -> Iterator[str]:
    """A unified difference that patch(1) takes."""
    for line in unified_diff(_split(old), _split(new), old_name, new_name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _split(content: bytes) -> list[str]:
    """Lines as patch(1) counts them: only ``\\n`` ends one."""
    lines = content.decode("utf-8", "replace").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _coloured(line: str) -> str:
    if line.startswith(("--- ", "+++ ")):
        colour: str | None = "1"
    else:
        colour = _COLOURS.get(line[0])
    return line if colour is None else f"\033[{colour}m{line.rstrip(chr(10))}\033[m\n"
