"""What a command answers: a typed receipt on success, an error otherwise, both as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from memfs.port.errors import PortError

Kind: TypeAlias = Literal["file", "directory"]


class Lines(NamedTuple):
    """Which logical lines a view holds, counted from 1; 0 to 0 of 0 for the empty file."""

    start: int
    end: int
    total: int


class Entry(NamedTuple):
    """One immediate child of a directory."""

    name: str
    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class FileView:
    """A file's text, or the lines asked for; ``byte_length`` is that text's, in UTF-8."""

    path: str
    text: str
    byte_length: int
    lines: Lines
    kind: Literal["file"] = "file"

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract."""
        return {
            "kind": "file",
            "path": self.path,
            "text": self.text,
            "byteLength": self.byte_length,
            "lines": self.lines._asdict(),
        }


@dataclass(frozen=True, slots=True)
class DirectoryView:
    """A directory's immediate children, sorted by the bytes of their names."""

    path: str
    entries: tuple[Entry, ...]
    kind: Literal["directory"] = "directory"

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract."""
        return {
            "kind": "directory",
            "path": self.path,
            "entries": [entry._asdict() for entry in self.entries],
        }


@dataclass(frozen=True, slots=True)
class Created:
    """A file was made or replaced; ``evicted`` names what left for it, in that order."""

    path: str
    byte_length: int
    evicted: tuple[str, ...]
    overwritten: bool

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract."""
        return {
            "path": self.path,
            "byteLength": self.byte_length,
            "evicted": list(self.evicted),
            "overwritten": self.overwritten,
        }


@dataclass(frozen=True, slots=True)
class Edited:
    """A file was edited by ``str_replace`` or ``insert``; ``byte_length`` is the whole file's."""

    path: str
    byte_length: int
    evicted: tuple[str, ...]

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract."""
        return {"path": self.path, "byteLength": self.byte_length, "evicted": list(self.evicted)}


@dataclass(frozen=True, slots=True)
class Deleted:
    """A file, or a directory and its files, are gone; ``freed_bytes`` is what they held."""

    path: str
    kind: Kind
    deleted_files: int
    freed_bytes: int

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract."""
        return {
            "path": self.path,
            "kind": self.kind,
            "deletedFiles": self.deleted_files,
            "freedBytes": self.freed_bytes,
        }


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file or directory moved, with ``moved_files`` files.

    ``evicted`` names what left for it, in that order: a file that comes out of the archive needs room.
    """

    old_path: str
    new_path: str
    kind: Kind
    moved_files: int
    evicted: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract; ``evicted`` only where something left."""
        wire: dict[str, object] = {
            "oldPath": self.old_path,
            "newPath": self.new_path,
            "kind": self.kind,
            "movedFiles": self.moved_files,
        }
        if self.evicted:
            wire["evicted"] = list(self.evicted)
        return wire


@dataclass(frozen=True, slots=True)
class Undone:
    """The change *version* was taken back: which files left again, got their content back, moved back."""

    version: int
    removed: tuple[str, ...]
    restored: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]

    def to_wire(self) -> dict[str, object]:
        """A JSON object in the contract's manner."""
        return {
            "version": self.version,
            "removed": list(self.removed),
            "restored": list(self.restored),
            "moved": [{"oldPath": old, "newPath": new} for old, new in self.moved],
        }


@dataclass(frozen=True, slots=True)
class Imported:
    """Files came in, in this order; ``refused`` are those that could not, each with its reason."""

    paths: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]

    def to_wire(self) -> dict[str, object]:
        """A JSON object in the contract's manner."""
        refused = [{"path": path, "reason": reason} for path, reason in self.refused]
        return {"paths": list(self.paths), "refused": refused}


Receipt: TypeAlias = FileView | DirectoryView | Created | Edited | Deleted | Renamed | Undone | Imported


@dataclass(frozen=True, slots=True)
class Success:
    """A command was carried out; ``value`` is its receipt."""

    command: str
    value: Receipt
    ok: ClassVar[Literal[True]] = True
    error: ClassVar[None] = None

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract, in camelCase."""
        return {"ok": True, "command": self.command, "value": self.value.to_wire()}


@dataclass(frozen=True, slots=True)
class Failure:
    """A command was refused and changed nothing; ``command`` is the name supplied, or ``unknown``."""

    command: str
    error: PortError
    ok: ClassVar[Literal[False]] = False
    value: ClassVar[None] = None

    def to_wire(self) -> dict[str, object]:
        """The JSON object of the contract, in camelCase."""
        return {"ok": False, "command": self.command, "error": self.error.to_wire()}


Result: TypeAlias = Success | Failure
