"""memfs: an AI agent's memory, as a port of six commands and as a mounted directory.

    import memfs

    with memfs.open_memory("sqlite:notes", scope="work") as memory:
        result = memory.execute(memfs.Create(path="/memories/notes.md", text="Keep it small.\\n"))

Everything here is loaded at its first use, so that importing memfs costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memfs.opening import open_memory
    from memfs.port.change import Actor
    from memfs.port.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
    from memfs.port.errors import ErrorCode, NotKept, OpenError, PortError, StoreError
    from memfs.port.expected import ABSENT, Expected
    from memfs.port.memory import Memory
    from memfs.port.policy import Limits, Policy
    from memfs.port.receipts import (
        Created,
        Deleted,
        DirectoryView,
        Edited,
        Entry,
        Failure,
        FileView,
        Lines,
        Receipt,
        Renamed,
        Result,
        Success,
        Undone,
    )
    from memfs.port.store import Record
    from memfs.workspace import ensure_memory

__all__ = [
    "ABSENT",
    "Actor",
    "Command",
    "Create",
    "Created",
    "Delete",
    "Deleted",
    "DirectoryView",
    "Edited",
    "Entry",
    "ErrorCode",
    "Expected",
    "Failure",
    "FileView",
    "Insert",
    "Limits",
    "Lines",
    "Memory",
    "NotKept",
    "OpenError",
    "Policy",
    "PortError",
    "Receipt",
    "Record",
    "Rename",
    "Renamed",
    "Result",
    "StoreError",
    "StrReplace",
    "Success",
    "Undone",
    "View",
    "ensure_memory",
    "open_memory",
]

_HOMES = {
    "memfs.opening": ("open_memory",),
    "memfs.port.change": ("Actor",),
    "memfs.port.commands": ("Command", "Create", "Delete", "Insert", "Rename", "StrReplace", "View"),
    "memfs.port.errors": ("ErrorCode", "NotKept", "OpenError", "PortError", "StoreError"),
    "memfs.port.expected": ("ABSENT", "Expected"),
    "memfs.port.memory": ("Memory",),
    "memfs.port.policy": ("Limits", "Policy"),
    "memfs.port.receipts": (
        "Created",
        "Deleted",
        "DirectoryView",
        "Edited",
        "Entry",
        "Failure",
        "FileView",
        "Lines",
        "Receipt",
        "Renamed",
        "Result",
        "Success",
        "Undone",
    ),
    "memfs.port.store": ("Record",),
    "memfs.workspace": ("ensure_memory",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'memfs' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
