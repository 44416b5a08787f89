"""The six commands, typed, and their form on the wire.

A command holds what its caller supplied: ``plan`` checks every field, in the contract's
order, so a value of the wrong type is refused there and nowhere else. Those that change something may
carry a precondition; for a rename it is about the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from memfs.port.errors import ErrorCode, PortError
from memfs.port.expected import Expected, parse_expected


@dataclass(frozen=True, slots=True)
class View:
    """Read a file, some of its lines, or a directory.

    ``view_range`` is ``(start, end)``, logical lines from 1, ``-1`` for the last.
    """

    path: str
    view_range: tuple[int, int] | None = None
    name: ClassVar[str] = "view"


@dataclass(frozen=True, slots=True)
class Create:
    """Make a file or replace its text; its directories come with it."""

    path: str
    text: str
    expected: Expected | None = None
    name: ClassVar[str] = "create"


@dataclass(frozen=True, slots=True)
class StrReplace:
    """Replace the one place where ``old_text`` occurs."""

    path: str
    old_text: str
    new_text: str
    expected: Expected | None = None
    name: ClassVar[str] = "str_replace"


@dataclass(frozen=True, slots=True)
class Insert:
    """Insert ``text`` after line ``insert_line``; 0 is before the first."""

    path: str
    insert_line: int
    text: str
    expected: Expected | None = None
    name: ClassVar[str] = "insert"


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a file, or a directory with every file below it."""

    path: str
    expected: Expected | None = None
    name: ClassVar[str] = "delete"


@dataclass(frozen=True, slots=True)
class Rename:
    """Move a file or a directory; an existing destination is refused."""

    old_path: str
    new_path: str
    expected: Expected | None = None
    name: ClassVar[str] = "rename"


Command: TypeAlias = View | Create | StrReplace | Insert | Delete | Rename

_COMMANDS: dict[str, tuple[type[Command], dict[str, str]]] = {
    "view": (View, {"path": "path", "view_range": "viewRange"}),
    "create": (Create, {"path": "path", "text": "text"}),
    "str_replace": (StrReplace, {"path": "path", "old_text": "oldText", "new_text": "newText"}),
    "insert": (Insert, {"path": "path", "insert_line": "insertLine", "text": "text"}),
    "delete": (Delete, {"path": "path"}),
    "rename": (Rename, {"old_path": "oldPath", "new_path": "newPath"}),
}
COMMAND_NAMES = tuple(_COMMANDS)


def parse_command(supplied: object) -> Command | tuple[str, PortError]:
    """A typed command from a mapping in wire names, or the supplied name and why there is none.

    A typed command passes through. A field that is missing becomes None, which ``plan`` refuses in
    its turn; a field the command does not have is ignored.
    """
    if isinstance(supplied, View | Create | StrReplace | Insert | Delete | Rename):
        return supplied
    if not isinstance(supplied, Mapping):
        return "unknown", PortError(
            ErrorCode.INVALID_COMMAND,
            'A command must be an object such as {"command": "view", "path": "/memories"}.',
        )
    name = supplied.get("command")
    known = _COMMANDS.get(name) if isinstance(name, str) else None
    if known is None:
        shown = name if isinstance(name, str) else "unknown"
        return shown, PortError(
            ErrorCode.INVALID_COMMAND, f"The command must be one of {', '.join(COMMAND_NAMES)}."
        )
    kind, wire_names = known
    values: dict[str, Any] = {field: supplied.get(wire) for field, wire in wire_names.items()}
    if kind is View and values["view_range"] is None and "viewRange" in supplied:
        values["view_range"] = ()  # a range that was given as null is a wrong range, not an absent one
    if kind is not View and supplied.get("expected") is not None:
        values["expected"] = parse_expected(supplied["expected"])
    return kind(**values)


def reason_in(supplied: object) -> object:
    """The reason that a mapping in wire names gives for its change, or None."""
    return supplied.get("reason") if isinstance(supplied, Mapping) else None
