"""What a person, or a model, reads of a receipt."""

from __future__ import annotations

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


def _left(evicted: tuple[str, ...]) -> str:
    return f" Evicted to make room: {', '.join(evicted)}." if evicted else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
