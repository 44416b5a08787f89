"""The port's six commands from a shell, one a process."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from memfs.cli.choose import Chosen, choose_with_rules, port_path
from memfs.cli.complaint import Complaint, Status, status_of, status_of_opening
from memfs.cli.streams import write
from memfs.cli.texts import text_from
from memfs.opening import open_with
from memfs.port.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import OpenError, PortError
from memfs.port.receipts import Failure, Receipt, Result
from memfs.port.telling import told


def run(options: Namespace) -> int:
    """Carry out one command, and print its result for a person or, with ``--json``, for a program."""
    name = options.command.replace("-", "_")
    try:
        chosen, rules = choose_with_rules(options, options.path)
        result = _execute(options, chosen, rules, name)
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


def _execute(options: Namespace, chosen: Chosen, rules: dict[str, Any], name: str) -> Result:
    # The text comes first: whoever types it must not keep the store open meanwhile.
    command = _command(options, port_path(options.path, chosen), chosen)
    if isinstance(command, PortError):
        return Failure(name, command)
    if isinstance(command, View):
        actor, reason = None, ""
    else:
        actor, reason = options.actor, options.reason
    with open_with(chosen.store, chosen.scope, rules, actor=actor or "memfs") as memory:
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
