"""The port's six commands from a shell, one a process."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable

from memfs.cli.choose import Chosen, choose, port_path
from memfs.cli.complaint import Complaint, Status, status_of, status_of_opening
from memfs.cli.streams import write
from memfs.cli.texts import text_from
from memfs.opening import open_with
from memfs.port.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import OpenError, PortError
from memfs.port.receipts import (
    Created,
    Deleted,
    DirectoryView,
    Edited,
    Failure,
    FileView,
    Imported,
    Receipt,
    Renamed,
    Result,
    Undone,
)


def run(options: Namespace) -> int:
    """Carry out one command, and print its result for a person or, with ``--json``, for a program."""
    chosen = choose(options, options.path)
    name = options.command.replace("-", "_")
    try:
        result = _execute(options, chosen, name)
    except OpenError as error:
        answer(Failure(name, error.error), options.json)
        return status_of_opening(error)
    status = answer(result, options.json)
    if result.ok and not options.json and chosen.ends_with_its_process and name != "view":
        print("memfs: a simple: store ends with this process, so nothing is kept.", file=sys.stderr)
    return status


def answer(result: Result, as_json: bool, in_words: Callable[[Receipt], str] | None = None) -> int:
    """Print *result* for a program or, *in_words*, for a person; the exit status."""
    if as_json:
        write(json.dumps(result.to_wire()).encode() + b"\n")
    elif result.ok:
        write((in_words or told)(result.value).encode())
    if result.error is not None:
        print(f"memfs: {result.error.message}", file=sys.stderr)
        return status_of(result.error)
    return Status.DONE


def told(receipt: Receipt) -> str:
    """What a person reads; a file's text is printed as it is."""
    match receipt:
        case FileView():
            return receipt.text
        case DirectoryView():
            return "".join(
                entry.name + ("/\n" if entry.kind == "directory" else "\n") for entry in receipt.entries
            )
        case Created():
            verb = "Replaced" if receipt.overwritten else "Created"
            return f"{verb} {receipt.path}, {_count(receipt.byte_length, 'byte')}.{_left(receipt.evicted)}\n"
        case Edited():
            return f"Edited {receipt.path}, {_count(receipt.byte_length, 'byte')}.{_left(receipt.evicted)}\n"
        case Deleted(kind="directory"):
            files, freed = _count(receipt.deleted_files, "file"), _count(receipt.freed_bytes, "byte")
            return f"Deleted {receipt.path} with {files}, {freed}.\n"
        case Deleted():
            return f"Deleted {receipt.path}, {_count(receipt.freed_bytes, 'byte')}.\n"
        case Renamed(kind="directory"):
            files = _count(receipt.moved_files, "file")
            left = _left(receipt.evicted)
            return f"Renamed {receipt.old_path} to {receipt.new_path}, with {files}.{left}\n"
        case Imported():
            return f"Imported {_count(len(receipt.paths), 'file')}.\n"
        case Renamed():
            return f"Renamed {receipt.old_path} to {receipt.new_path}.{_left(receipt.evicted)}\n"
        case Undone():
            lines = [f"Took back version {receipt.version}."]
            lines += [f"  removed   {path}" for path in receipt.removed]
            lines += [f"  restored  {path}" for path in receipt.restored]
            lines += [f"  moved     {old} to {new}" for old, new in receipt.moved]
            return "\n".join(lines) + "\n"


def _execute(options: Namespace, chosen: Chosen, name: str) -> Result:
    # The text comes first: whoever types it must not keep the store open meanwhile.
    command = _command(options, port_path(options.path, chosen), chosen)
    if isinstance(command, PortError):
        return Failure(name, command)
    if isinstance(command, View):
        actor, reason = None, ""
    else:
        actor, reason = options.actor, options.reason
    with open_with(chosen.store, chosen.scope, {}, actor=actor or "memfs") as memory:
        return memory.execute(command, reason=reason)


def _command(options: Namespace, path: str, chosen: Chosen) -> Command | PortError:
    match options.command:
        case "view":
            return View(path, options.range)
        case "delete":
            return Delete(path, options.expected)
        case "rename":
            return Rename(path, port_path(options.new_path, chosen), options.expected)
        case "str-replace":
            return _str_replace(options, path)
    text = text_from(options.text, options.file, path, "TEXT and --file")
    if isinstance(text, PortError):
        return text
    if options.command == "create":
        return Create(path, text, options.expected)
    return Insert(path, options.line, text, options.expected)


def _str_replace(options: Namespace, path: str) -> StrReplace | PortError:
    old, new = options.old, options.new
    if options.old_file is not None and new is None:
        old, new = None, old  # with --old-file, the one text given is the new one
    if options.old_file == options.new_file == "-":
        raise Complaint("Only one of --old-file and --new-file can be standard input.", Status.USAGE)
    if (old is None and options.old_file is None) or (new is None and options.new_file is None):
        raise Complaint(
            "Name the text to replace and the new one: OLD or --old-file, NEW or --new-file.", Status.USAGE
        )
    found = text_from(old, options.old_file, path, "OLD and --old-file")
    if isinstance(found, PortError):
        return found
    replacement = text_from(new, options.new_file, path, "NEW and --new-file")
    if isinstance(replacement, PortError):
        return replacement
    return StrReplace(path, found, replacement, options.expected)


def _left(evicted: tuple[str, ...]) -> str:
    return f" Evicted to make room: {', '.join(evicted)}." if evicted else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
