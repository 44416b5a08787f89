"""The tools: what a model reads of each, and what a call does. Nothing here knows the protocol's SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, NamedTuple, cast

from memfs.agents.mcp.schemas import EXPECTED, Schema, input_schema, output_schema
from memfs.port.change import Actor
from memfs.port.commands import Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import ErrorCode, PortError, StoreError
from memfs.port.memory import Memory
from memfs.port.names import MAX_REASON, ROOT, path_error
from memfs.port.receipts import Created, Deleted, DirectoryView, Edited, FileView, Renamed, Result
from memfs.port.store import Record
from memfs.port.telling import record_to_wire, told
from memfs.search import Index, search
from memfs.search.find import DEFAULT_LIMIT, MOST_HITS, limit_error

PREFIX = "memory_"


class Tool(NamedTuple):
    """One tool, as the protocol lists it.

    The last three are hints to a client that asks a person before it calls: whether the tool changes
    nothing, whether it can take something away, and whether a second same call is of no further effect.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    read_only: bool
    destructive: bool
    idempotent: bool


class Answer(NamedTuple):
    """What a call gives: a text for the model, the same as JSON, or the error; its message is the text."""

    text: str
    structured: Mapping[str, Any] | None = None
    error: PortError | None = None


_PATH = f"The path of a file or directory: {ROOT}, or {ROOT}/ and names, such as {ROOT}/projects/atlas.md."
_FIELDS = {
    "path": _PATH,
    "viewRange": "The first and the last line to read, from 1; -1 is the last of the file. Files only.",
    "text": "The text, in full.",
    "oldText": "The text to replace, exactly as it is in the file; it must occur just once.",
    "newText": "The text that takes its place.",
    "insertLine": "The line to insert after; 0 is before the first.",
    "oldPath": "The path as it is.",
    "newPath": "The path as it shall be; nothing may be there yet.",
    "expected": "What must be there for this to happen: the SHA-256 of the text, a version that the history "
    "shows, or 'absent' for nothing. For what somebody else may have changed meanwhile.",
    "reason": "Why, in one line, for the history.",
    "version": "A version that the history shows.",
    "to": "Bring it back at this path, where nothing may be yet.",
    "limit": f"How many at most; {DEFAULT_LIMIT} if left out.",
}
_REASON: Schema = {"type": "string", "maxLength": MAX_REASON}
_LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_HITS}


def _input(required: str, **properties: Schema) -> Schema:
    """An input schema made by hand, with the common descriptions where it has none of its own."""
    described = {name: {"description": _FIELDS.get(name, ""), **field} for name, field in properties.items()}
    return {"type": "object", "properties": described, "required": [required]}


_WORD: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_SEARCH_INPUT = _input(
    "words",
    words={**_WORD, "description": "The words to look for; case does not matter."},
    path={**_WORD, "description": "Only in this file, or below this directory."},
    limit=_LIMIT,
)
_PASSAGE: Schema = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {
            "type": "object",
            "properties": {"start": _NUMBER, "end": _NUMBER},
            "required": ["start", "end"],
        },
        "text": {"type": "string"},
        "phrase": {"type": "boolean"},
        "terms": {"type": "integer"},
        "occurrences": {"type": "integer"},
    },
    "required": ["path", "lines", "text", "phrase", "terms", "occurrences"],
}
_SEARCH_OUTPUT: Schema = {
    "type": "object",
    "properties": {"passages": {"type": "array", "items": _PASSAGE}},
    "required": ["passages"],
}
_HISTORY_INPUT = _input(
    "path",
    path={**_WORD, "description": "A file, also one that has left, or a directory."},
    version={**_NUMBER, "description": "With it: the text that the file had after that version."},
    limit=_LIMIT,
)
_RECORD: Schema = {
    "type": "object",
    "properties": {
        **dict.fromkeys(
            ("time", "operation", "path", "oldPath", "sha256", "user", "program", "reason"), _WORD
        ),
        **dict.fromkeys(("version", "byteLength", "pid", "joins"), _NUMBER),
        "redacted": {"type": "boolean"},
    },
    "required": ["version", "time", "operation", "path", "byteLength"],
}
_HISTORY_OUTPUT: Schema = {
    "type": "object",
    "properties": {"records": {"type": "array", "items": _RECORD}, "text": _WORD},
    "required": ["records"],
}
_RESTORE_INPUT = _input("path", path=_WORD, version=_NUMBER, to=_WORD, expected=EXPECTED, reason=_REASON)

TOOLS = (
    Tool(
        "memory_view",
        "Read memory",
        "Read a memory file (all of it, or some lines), or list what is in a directory. "
        f"Begin with {ROOT} to see what there is.",
        input_schema(View, _FIELDS),
        output_schema(FileView, DirectoryView),
        read_only=True,
        destructive=False,
        idempotent=True,
    ),
    Tool(
        "memory_create",
        "Write memory",
        "Make a memory file, or replace all of its text. Directories come with the file. "
        "The answer names older files that had to leave to make room, if any.",
        input_schema(Create, _FIELDS, reason=_REASON),
        output_schema(Created),
        read_only=False,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_str_replace",
        "Edit memory",
        "Replace a text that occurs exactly once in a memory file.",
        input_schema(StrReplace, _FIELDS, reason=_REASON),
        output_schema(Edited),
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "memory_insert",
        "Add to memory",
        "Insert lines into a memory file after one of its lines.",
        input_schema(Insert, _FIELDS, reason=_REASON),
        output_schema(Edited),
        read_only=False,
        destructive=False,
        idempotent=False,
    ),
    Tool(
        "memory_delete",
        "Delete memory",
        "Delete a memory file, or a directory with everything in it.",
        input_schema(Delete, _FIELDS, reason=_REASON),
        output_schema(Deleted),
        read_only=False,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_rename",
        "Move memory",
        "Move or rename a memory file or a directory; nothing is ever overwritten.",
        input_schema(Rename, _FIELDS, reason=_REASON),
        output_schema(Renamed),
        read_only=False,
        destructive=False,
        idempotent=False,
    ),
    Tool(
        "memory_search",
        "Search memory",
        "Find the passages of the memory that have some words, the best first: those with the exact phrase, "
        "then those with more of the words. A word of three letters or more also finds what begins with it.",
        _SEARCH_INPUT,
        _SEARCH_OUTPUT,
        read_only=True,
        destructive=False,
        idempotent=True,
    ),
    Tool(
        "memory_history",
        "History of memory",
        "See what happened to a memory file, or below a directory, the newest first: versions, who and why. "
        "With a version, read the text that the file had then.",
        _HISTORY_INPUT,
        _HISTORY_OUTPUT,
        read_only=True,
        destructive=False,
        idempotent=True,
    ),
    Tool(
        "memory_restore",
        "Restore memory",
        "Bring back a memory file: an earlier version of it, or, without a version, what was deleted, "
        "archived or had to leave. What it holds now stays in the history.",
        _RESTORE_INPUT,
        output_schema(Created, Renamed),
        read_only=False,
        destructive=True,
        idempotent=True,
    ),
)


class Toolbox:
    """The tools over one open memory. Calls may come from several threads."""

    def __init__(self, memory: Memory, index: Index | None = None) -> None:
        self.memory = memory
        self._index = index
        self._others: Mapping[str, Callable[[Mapping[str, Any], Actor], Answer]] = {
            "memory_search": self._search,
            "memory_history": self._history,
            "memory_restore": self._restore,
        }

    def call(self, name: str, arguments: Mapping[str, Any], actor: Actor) -> Answer:
        """Call the tool *name*, which is one of ``TOOLS``, for *actor*."""
        # Many models write null for what they leave out.
        arguments = {field: value for field, value in arguments.items() if value is not None}
        other = self._others.get(name)
        if other is not None:
            return other(arguments, actor)
        command = {**arguments, "command": name.removeprefix(PREFIX)}
        return _answer(self.memory.execute(command, actor=actor))

    def _search(self, arguments: Mapping[str, Any], _actor: Actor) -> Answer:
        found = search(
            self.memory,
            arguments.get("words", ""),
            arguments.get("path", ROOT),
            arguments.get("limit", DEFAULT_LIMIT),
            self._index,
        )
        if isinstance(found, PortError):
            return refused(found)
        text = "\n\n".join(f"{hit.path}:{hit.start}-{hit.end}\n{hit.text}" for hit in found)
        return Answer(
            text or "No memory has any of these words.", {"passages": [hit.to_wire() for hit in found]}
        )

    def _history(self, arguments: Mapping[str, Any], _actor: Actor) -> Answer:
        path, version = arguments.get("path"), arguments.get("version")
        limit = arguments.get("limit", DEFAULT_LIMIT)
        error = path_error(path) or limit_error(limit) or _version_error(version)
        if error is not None:
            return refused(error)
        assert isinstance(path, str), "a path without an error is a string"
        try:
            if version is None:
                records = list(islice(self.memory.history(path), limit))
                text = "\n".join(map(_line, records)) or f"Nothing is recorded of {path}."
                return Answer(text, {"records": list(map(record_to_wire, records))})
            text = self.memory.read_version(path, version).decode(errors="replace")
            records = [record for record in self.memory.history(path) if record.version == version][:1]
            return Answer(text, {"records": list(map(record_to_wire, records)), "text": text})
        except StoreError as failure:
            return refused(PortError(failure.code, failure.message, path))

    def _restore(self, arguments: Mapping[str, Any], actor: Actor) -> Answer:
        path, version, to, expected = (arguments.get(name) for name in ("path", "version", "to", "expected"))
        reason = arguments.get("reason", "")
        return _answer(
            self.memory.restore(
                cast(str, path), version, to, expected=expected, actor=actor, reason=reason
            )  # which says of each of them why it is none
        )


def _answer(result: Result) -> Answer:
    if result.error is not None:
        return refused(result.error)
    return Answer(told(result.value), result.value.to_wire())


def _version_error(version: object) -> PortError | None:
    if version is None or (isinstance(version, int) and not isinstance(version, bool) and version > 0):
        return None
    return PortError(ErrorCode.INVALID_ARGUMENT, "The version must be a number that memory_history shows.")


def _line(record: Record) -> str:
    """A record as a model reads it."""
    wire = record_to_wire(record)
    moved = f" from {record.old_path}" if record.old_path else ""
    why = f": {record.reason}" if record.reason else ""
    who = record.actor.program or record.actor.user
    return f"version {record.version}, {wire['time']}: {record.operation} {record.path}{moved} by {who}{why}"


def refused(error: PortError) -> Answer:
    """The answer to a call that was refused."""
    return Answer(error.message, error=error)


def no_such_tool(name: str) -> PortError:
    """The error of a call to a tool that there is not."""
    names = ", ".join(tool.name for tool in TOOLS)
    return PortError(ErrorCode.INVALID_COMMAND, f"There is no tool {name!r}; there are {names}.")
