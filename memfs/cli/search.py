"""``memfs search``: the passages of a memory that have some words, the best first."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from textwrap import indent

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.complaint import Status, status_of
from memfs.cli.streams import write
from memfs.opening import open_with
from memfs.port.errors import PortError
from memfs.port.names import ROOT
from memfs.search import Hit, Index, search


def run(options: Namespace) -> int:
    """Print the passages for a person or, with ``--json``, for a program."""
    chosen, rules = choose_with_rules(options, options.path)
    path = ROOT if options.path is None else port_path(options.path, chosen)
    index = None if chosen.ends_with_its_process else Index(*chosen)
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        found = search(memory, " ".join(options.words), path, options.count, index)
    if isinstance(found, PortError):
        if options.json:
            _write_json({"ok": False, "command": "search", "error": found.to_wire()})
        print(f"memfs: {found.message}", file=sys.stderr)
        return status_of(found)
    if options.json:
        value = {"passages": [hit.to_wire() for hit in found]}
        _write_json({"ok": True, "command": "search", "value": value})
    elif found:
        write("\n".join(map(told, found)).encode())
    else:
        print("memfs: no memory has any of these words.", file=sys.stderr)
    return Status.DONE


def told(hit: Hit) -> str:
    """A passage as a person reads it: where it is, and its lines."""
    where = f"{hit.start}" if hit.start == hit.end else f"{hit.start}-{hit.end}"
    return f"{hit.path}:{where}\n{indent(hit.text, '  ')}\n"


def _write_json(value: object) -> None:
    write(json.dumps(value).encode() + b"\n")
