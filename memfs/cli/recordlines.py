"""A record of the history as ``memfs log`` and ``memfs watch`` print it."""

from __future__ import annotations

import json
from datetime import datetime

from memfs.cli.texts import on_one_line
from memfs.port.store import Record
from memfs.port.telling import record_to_wire


def line_of(record: Record, as_json: bool) -> bytes:
    """One object on one line, or one line and one each for what only few records have."""
    told = json.dumps(record_to_wire(record)) if as_json else _told(record)
    return told.encode() + b"\n"


def _told(record: Record) -> str:
    when = datetime.fromtimestamp(record.time_ns / 1e9).astimezone()
    who = on_one_line(" ".join(filter(None, record.actor[:2])))
    line = f"{record.version:>6}  {when:%Y-%m-%d %H:%M}  {record.operation:<8}  {record.size:>6}  "
    lines = [f"{line}{who:<14}  {record.path}"]
    if record.old_path is not None:
        lines.append(f"        from {record.old_path}")
    if record.redacted:
        lines.append("        its content was redacted")
    if record.operation == "redacted" and record.joins is not None:
        lines.append(f"        took out the content of version {record.joins}")
    if record.reason:
        lines.append(f"        {on_one_line(record.reason)}")
    return "\n".join(lines)
