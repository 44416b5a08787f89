"""``memfs redact``: the bytes of versions, gone for good.

From the store, and from what mounts keep beside it: refused saves and editors' temporary files.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from getpass import getpass
from typing import NamedTuple

from memfs.cli.choose import Chosen, choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status
from memfs.cli.elapsed import elapsed
from memfs.cli.sought import (
    Beside,
    Sought,
    beside_the_store,
    sought_by_text,
    sought_by_versions,
)
from memfs.cli.texts import text_from
from memfs.cli.versions import at_version
from memfs.opening import open_with
from memfs.port.errors import NotKept, PortError
from memfs.port.history import brings_bytes
from memfs.port.keeping import Redaction
from memfs.port.memory import Memory
from memfs.port.store import Record
from memfs.progress import Progress
from memfs.search import forget

LEAST_TEXT = 8
"""Bytes of a text that is looked for everywhere; fewer are found in what nobody means."""


class Named(NamedTuple):
    """What is to be redacted, and what has to stay: a sentence each."""

    records: list[Record]
    sought: Sought
    left: list[str]


class Done(NamedTuple):
    """What has become of it. ``left`` are sentences about what is there still."""

    records: Sequence[Record]
    redaction: Redaction
    dropped: list[str]
    left: list[str]


def run(options: Namespace) -> int:
    """Redact the versions that were named, or all with a text, wherever they are; 1 if something is left."""
    text = None if options.text_from is None else _text(options.text_from)
    if (text is None) == (not options.names):
        raise Complaint(
            "Name versions as PATH@VERSION, or a text with --text-from; one of them.", Status.USAGE
        )
    named = [at_version(name) for name in options.names]
    if any(each.version is None for each in named):
        raise Complaint("Name each version, as in notes.md@42; `memfs log` shows them.", Status.USAGE)
    chosen, rules = choose_with_rules(options, named[0].path if named else None)
    with open_with(chosen.store, chosen.scope, rules, actor=options.actor or "memfs") as memory:
        if text is not None:
            going = _with_text(memory, text)
        else:
            given = [(port_path(path, chosen), version) for path, version in named if version is not None]
            records = [memory.find(path, version) for path, version in dict.fromkeys(given)]
            going = Named(records, sought_by_versions(memory, records), [])
        done = _preview(memory, chosen, going) if options.dry_run else _redact(memory, chosen, going, options)
    if options.json:
        print(json.dumps(_as_json(done)))
    else:
        _tell(done, ("Would redact", "Would drop") if options.dry_run else ("Redacted", "Dropped"))
        if not (done.records or done.dropped or done.left):
            print("Nothing that memfs keeps of this memory has it.")
    return Status.REFUSED if done.left else Status.DONE


def _redact(memory: Memory, chosen: Chosen, going: Named, options: Namespace) -> Done:
    redaction = Redaction(pending=False, same=())
    if going.records:
        with elapsed("memfs redact: taking the bytes out of the store"):
            redaction = memory.redact_records(going.records, reason=options.reason)
        if options.text_from is not None:
            redaction = redaction._replace(same=())  # they have the text too, and are found by it
    forget(*chosen)  # an index for search has the words of what memories held
    whole, part = _beside(memory, chosen, going.sought)
    for each in whole:
        each.drop()
    return Done(going.records, redaction, [each.name for each in whole], going.left + _parts(part))


def _preview(memory: Memory, chosen: Chosen, going: Named) -> Done:
    whole, part = _beside(memory, chosen, going.sought)
    nothing = Redaction(pending=False, same=())
    return Done(going.records, nothing, [each.name for each in whole], going.left + _parts(part))


def _with_text(memory: Memory, text: bytes) -> Named:
    """All versions that have *text*, and what has it and cannot be redacted."""
    sought = sought_by_text(text)
    scope = memory.look(lambda scope: scope)
    now = {(file.id, file.content): file for file in scope.in_write_order()}
    left = [
        f"{file.path} has it now; take it out of there, and run this again."
        for file in now.values()
        if sought.all_in(memory.read(file)) or sought.part_in(memory.read(file))
    ]
    records = list(memory.history())
    found = []
    with Progress("memfs redact: looking for it", len(records)) as progress:
        for record in records:
            progress.step(record.path)
            if sought.all_in(record.reason.encode()):
                left.append(f"The reason of version {record.version} has it, and reasons stay.")
            if not brings_bytes(record) or record.redacted or (record.id, record.version) in now:
                continue
            try:
                content = memory.read_record(record)
            except NotKept:
                continue
            if sought.all_in(content):
                found.append(record)
            elif sought.part_in(content):
                left.append(
                    f"{record.path}@{record.version} has a line of it, and not all; "
                    f"memfs redact {record.path}@{record.version} takes it out."
                )
    return Named(found[::-1], sought, left)


def _beside(memory: Memory, chosen: Chosen, sought: Sought) -> tuple[list[Beside], list[Beside]]:
    """What mounts keep with all of it, and with a part of it."""
    whole, part = [], []
    for each in beside_the_store(memory, chosen):
        try:
            content = each.read()
        except FileNotFoundError:
            continue  # dropped meanwhile
        if sought.all_in(content):
            whole.append(each)
        elif sought.part_in(content):
            part.append(each)
    return whole, part


def _parts(found: list[Beside]) -> list[str]:
    return [f"{each.name} has a line of it, and was left; {each.command} removes it." for each in found]


def _text(source: str) -> bytes:
    """The text to look for: from a file, standard input, or a person, to whom it is not shown."""
    if source == "-" and sys.stdin is not None and sys.stdin.isatty():
        text: str | PortError = getpass("The text to take out (it is not shown): ")
    else:
        text = text_from(None, source, "", "")
    if isinstance(text, PortError):
        raise Complaint(text.message)
    sought = text.strip().encode()
    if len(sought) < LEAST_TEXT:
        raise Complaint(
            f"The text has {len(sought)} bytes; fewer than {LEAST_TEXT} are found in what nobody means; "
            "name versions instead.",
            Status.USAGE,
        )
    return sought


def _tell(done: Done, verbs: tuple[str, str]) -> None:
    for record in done.records:
        print(f"{verbs[0]} {record.path}@{record.version}.")
    for place in done.dropped:
        print(f"{verbs[1]} {place}, with the same bytes in it.")
    for record in done.redaction.same:
        print(f"memfs: {record.path}@{record.version} holds the same bytes; redact it too.", file=sys.stderr)
    for sentence in done.left:
        print(f"memfs: {sentence}", file=sys.stderr)
    if done.redaction.pending:
        why = done.redaction.left_over or (
            "a program reads the store at this moment; its files lose the bytes when it has ended. "
            "`memfs status` tells until then."
        )
        print(f"memfs: pending: {why}", file=sys.stderr)


def _as_json(done: Done) -> dict[str, object]:
    left_over = done.redaction.left_over
    return {
        "redacted": [{"path": record.path, "version": record.version} for record in done.records],
        "pending": done.redaction.pending,
        "same": [{"path": record.path, "version": record.version} for record in done.redaction.same],
        "dropped": done.dropped,
        "left": done.left,
    } | ({"leftOver": left_over} if left_over else {})
