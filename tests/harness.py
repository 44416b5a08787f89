"""What tests of the port and of stores share: commands that must succeed or fail, and all of a scope."""

from __future__ import annotations

from typing import Any

from memfs.port.errors import PortError
from memfs.port.memory import Memory
from memfs.port.receipts import DirectoryView, FileView


def must(memory: Memory, command: str, **fields: Any) -> Any:
    """Carry out a command in wire names that has to succeed; its receipt."""
    result = memory.execute({"command": command, **fields})
    assert result.ok, result.to_wire()
    return result.value


def failure(memory: Memory, command: str, **fields: Any) -> PortError:
    """Carry out a command in wire names that has to be refused; its error."""
    result = memory.execute({"command": command, **fields})
    assert result.error is not None, result.to_wire()
    return result.error


def texts(memory: Memory, directory: str = "/memories") -> dict[str, str]:
    """Every file below *directory* and its text, as views show them."""
    found: dict[str, str] = {}
    view = must(memory, "view", path=directory)
    assert isinstance(view, DirectoryView)
    for entry in view.entries:
        if entry.kind == "directory":
            found |= texts(memory, entry.path)
        else:
            file = must(memory, "view", path=entry.path)
            assert isinstance(file, FileView)
            found[entry.path] = file.text
    return found
