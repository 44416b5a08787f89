"""The tools: what a model reads of each, and what a call does. Nothing here knows the protocol's SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from memfs.agents.mcp.schemas import Schema, input_schema, output_schema
from memfs.port.change import Actor
from memfs.port.commands import Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import ErrorCode, PortError
from memfs.port.memory import Memory
from memfs.port.names import ROOT
from memfs.port.receipts import Created, Deleted, DirectoryView, Edited, FileView, Renamed
from memfs.port.telling import told
from memfs.search import Index, search
from memfs.search.find import DEFAULT_LIMIT, MOST_HITS

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
}
_SEARCH_INPUT: Schema = {
    "type": "object",
    "properties": {
        "words": {"type": "string", "description": "The words to look for; case does not matter."},
        "path": {"type": "string", "description": "Only in this file, or below this directory."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_HITS,
            "description": f"How many passages at most; {DEFAULT_LIMIT} if left out.",
        },
    },
    "required": ["words"],
}
_LINE: Schema = {"type": "integer"}
_PASSAGE: Schema = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {
            "type": "object",
            "properties": {"start": _LINE, "end": _LINE},
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
        input_schema(Create, _FIELDS),
        output_schema(Created),
        read_only=False,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_str_replace",
        "Edit memory",
        "Replace a text that occurs exactly once in a memory file.",
        input_schema(StrReplace, _FIELDS),
        output_schema(Edited),
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        "memory_insert",
        "Add to memory",
        "Insert lines into a memory file after one of its lines.",
        input_schema(Insert, _FIELDS),
        output_schema(Edited),
        read_only=False,
        destructive=False,
        idempotent=False,
    ),
    Tool(
        "memory_delete",
        "Delete memory",
        "Delete a memory file, or a directory with everything in it.",
        input_schema(Delete, _FIELDS),
        output_schema(Deleted),
        read_only=False,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        "memory_rename",
        "Move memory",
        "Move or rename a memory file or a directory; nothing is ever overwritten.",
        input_schema(Rename, _FIELDS),
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
)


class Toolbox:
    """The tools over one open memory. Calls may come from several threads."""

    def __init__(self, memory: Memory, index: Index | None = None) -> None:
        self.memory = memory
        self._index = index
        self._others: Mapping[str, Callable[[Mapping[str, Any], Actor], Answer]] = {
            "memory_search": self._search,
        }

    def call(self, name: str, arguments: Mapping[str, Any], actor: Actor) -> Answer:
        """Call the tool *name*, which is one of ``TOOLS``, for *actor*."""
        other = self._others.get(name)
        if other is not None:
            return other(arguments, actor)
        result = self.memory.execute({**arguments, "command": name.removeprefix(PREFIX)}, actor=actor)
        if result.error is not None:
            return refused(result.error)
        return Answer(told(result.value), result.value.to_wire())

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


def refused(error: PortError) -> Answer:
    """The answer to a call that was refused."""
    return Answer(error.message, error=error)


def no_such_tool(name: str) -> PortError:
    """The error of a call to a tool that there is not."""
    names = ", ".join(tool.name for tool in TOOLS)
    return PortError(ErrorCode.INVALID_COMMAND, f"There is no tool {name!r}; there are {names}.")
