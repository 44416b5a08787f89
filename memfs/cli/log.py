"""``memfs log``: what happened to a memory, below a directory, or in the whole scope."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import islice

from memfs.cli.choose import choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status
from memfs.cli.recordlines import line_of
from memfs.cli.streams import write
from memfs.opening import open_with
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.port.store import Record


def run(options: Namespace) -> int:
    """Print the records, newest first, as they are read."""
    chosen, rules = choose_with_rules(options, options.path)
    path = ROOT if options.path is None else port_path(options.path, chosen)
    shown = False
    with open_with(chosen.store, chosen.scope, rules, actor="memfs") as memory:
        for record in islice(_wanted(_records(memory, path, options.deleted), options), options.count):
            shown = True
            write(line_of(record, options.json))
    if not shown and not options.json:
        raise Complaint(_nothing(path, options))
    return Status.DONE


def _records(memory: Memory, path: str, deleted: bool) -> Iterable[Record]:
    if deleted:
        return sorted(memory.gone(path), key=lambda record: record.version, reverse=True)
    return memory.history(path)


def _wanted(records: Iterable[Record], options: Namespace) -> Iterator[Record]:
    since_ns = None if options.since is None else int(options.since.timestamp() * 1e9)
    for record in records:
        # Not to the first that is older: clocks are set back, and commits made long ago are pushed.
        if since_ns is not None and record.time_ns < since_ns:
            continue
        if options.actor is None or options.actor in record.actor[:2]:
            yield record


def _nothing(path: str, options: Namespace) -> str:
    what = "No memory has left" if options.deleted else "Nothing is recorded of"
    if options.since is not None or options.actor is not None:
        return (
            f"{what} {path} by that actor or since that time; without --actor and --since there may be more."
        )
    if path == ROOT:
        return (
            "No memory has left this scope." if options.deleted else "Nothing has happened in this scope yet."
        )
    return f"{what} {path}; `memfs log` shows the whole scope."
