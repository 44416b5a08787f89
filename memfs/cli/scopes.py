"""``memfs scopes``: which scopes a store has, how large each is, and who changed it last, and when."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from memfs.cli.choose import choose
from memfs.cli.complaint import Complaint, Status
from memfs.cli.streams import write
from memfs.cli.terminal import BOLD, painted
from memfs.cli.texts import on_one_line
from memfs.opening import scopes_of
from memfs.port.change import Origin
from memfs.port.listing import Listed, Unlisted

_HEAD = f"{'files':>7}  {'bytes':>13}  {'version':>9}  {'last change':<16}  {'by':<14}  scope"


def run(options: Namespace) -> int:
    """Print them as they are found, in the order of names; 1 if something among them is none."""
    store = choose(options).store
    shown = failed = 0
    for each in islice(scopes_of(store, options.like, options.after), options.limit):
        if isinstance(each, Unlisted):
            failed += 1
            print(f"memfs: {each.fault}", file=sys.stderr)
            continue
        if options.json:
            write(json.dumps(_to_wire(each)).encode() + b"\n")
        else:
            write(f"{'' if shown else painted(_HEAD, BOLD) + chr(10)}{_told(each)}\n".encode())
        shown += 1
    if not (shown or failed or options.json):
        raise Complaint(
            f"There is no such scope in {store}." if options.like else f"There is no scope in {store}."
        )
    return Status.REFUSED if failed else Status.DONE


def _told(scope: Listed) -> str:
    when, who = "", ""
    if scope.last is not None:
        when = f"{datetime.fromtimestamp(scope.last.time_ns / 1e9).astimezone():%Y-%m-%d %H:%M}"
        who = _who(scope.last)
    numbers = f"{scope.files:>7,}  {scope.size:>13,}  {scope.version:>9,}"
    return f"{numbers}  {when:<16}  {who:<14}  {on_one_line(scope.name)}"


def _who(origin: Origin) -> str:
    return on_one_line(" ".join(filter(None, origin.actor[:2])))


def _to_wire(scope: Listed) -> dict[str, Any]:
    line: dict[str, Any] = {
        "scope": scope.name,
        "files": scope.files,
        "bytes": scope.size,
        "version": scope.version,
    }
    if scope.last is not None:
        time_ns, (user, program, pid), reason = scope.last
        line["lastChange"] = {
            "time": datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
            "user": user,
            "program": program,
            "pid": pid,
        }
        if reason:
            line["lastChange"]["reason"] = reason
    return line
