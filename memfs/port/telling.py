"""What a person, a model or a program is given of a receipt, and of the history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memfs.port.receipts import (
    Created,
    Deleted,
    DirectoryView,
    Edited,
    FileView,
    Imported,
    Receipt,
    Renamed,
    Undone,
)
from memfs.port.store import Record


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


def record_to_wire(record: Record) -> dict[str, Any]:
    """A record in the manner of the port's JSON; what does not apply to it is left out."""
    fields = {
        "version": record.version,
        "time": datetime.fromtimestamp(record.time_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
        "operation": record.operation,
        "path": record.path,
        "oldPath": record.old_path,
        "byteLength": record.size,
        "sha256": record.digest,
        "user": record.actor.user,
        "program": record.actor.program,
        "pid": record.actor.pid,
        "reason": record.reason or None,
        "redacted": record.redacted or None,
        "joins": record.joins,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _left(evicted: tuple[str, ...]) -> str:
    return f" Evicted to make room: {', '.join(evicted)}." if evicted else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
