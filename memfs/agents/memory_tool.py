"""The six commands of Anthropic's memory tool (``memory_20250818``) on the port, and what the model reads.

The texts are those of the SDK's own filesystem tool, which models are used to; a refusal that this tool
does not know, for a limit or a name, has the port's sentence. As there, and unlike at the port, a line
ends with ``\\n`` alone, and other line endings are kept as they are. Each command is one change of the
memory, decided and committed at once. No SDK is needed here.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memfs.port.change import Change, Move, Remove
from memfs.port.checks import not_found
from memfs.port.commands import Command, Create, Delete, Rename, StrReplace, View
from memfs.port.errors import ErrorCode, PortError, StoreError
from memfs.port.memory import Memory, Planner
from memfs.port.names import ROOT, is_well_formed
from memfs.port.plan import Plan, plan
from memfs.port.receipts import Created, Deleted, Edited, FileView, Renamed
from memfs.port.scope import Scope

MAX_LINES = 999_999
"""The longest file, in lines, whose numbers fit their column."""
NUMBER_WIDTH = len(str(MAX_LINES))
CONTEXT_LINES = 2
"""How many lines an edit's answer shows on either side of where it began."""
DIRECTORY_SIZE = 4096
"""A directory of a memory has no size; this is what the SDK's tool shows for one on most disks."""


class Refused(Exception):
    """A command was not carried out and changed nothing; the message is the sentence for the model."""


class _Named(NamedTuple):
    """A path as the model wrote it, which is how it reads it back, and as the port knows it."""

    given: str
    path: str


class MemoryCommands:
    """Carries out the tool's commands on a memory; safe from several threads, as that is."""

    def __init__(self, memory: Memory, *, overwrite: bool = False) -> None:
        """With *overwrite*, ``create`` replaces the text of a file that exists; else it is refused."""
        self._memory = memory
        self._overwrite = overwrite

    def carry_out(self, command: Mapping[str, object]) -> str:
        """The answer for the model to a command, whose fields are unchecked. Raises :class:`Refused`."""
        match command.get("command"):
            case "view":
                return self._view(_named(command, "path"), _view_range(command))
            case "create":
                return self._create(_named(command, "path"), _text(command, "file_text"))
            case "str_replace":
                return self._str_replace(
                    _named(command, "path"), _text(command, "old_str"), _text(command, "new_str")
                )
            case "insert":
                return self._insert(
                    _named(command, "path"), command.get("insert_line"), _text(command, "insert_text")
                )
            case "delete":
                return self._delete(_named(command, "path"))
            case "rename":
                return self._rename(_named(command, "old_path"), _named(command, "new_path"))
            case _:
                raise Refused("`command` must be one of view, create, str_replace, insert, delete, rename.")

    def clear(self) -> str:
        """Delete every memory of the scope, in one change. Raises :class:`Refused`."""

        def planner(scope: Scope, _now_ns: int) -> Plan:
            files = list(scope.files_below(ROOT))
            removes = tuple(Remove(file, evicted=False) for file in files)
            freed = sum(file.size for file in files)
            return Change(removes=removes, receipt=Deleted(ROOT, "directory", len(files), freed))

        self._change("delete", planner)
        return "All memory cleared"

    def _view(self, named: _Named, view_range: tuple[int, int] | None) -> str:
        def reader(scope: Scope) -> str | PortError:
            if scope.is_directory(named.path):
                return _listing(scope, named)
            text = self._text_in(scope, named)
            return text if isinstance(text, PortError) else _numbered_file(named, text, view_range)

        try:
            answer = self._memory.look(reader)
        except StoreError as error:
            raise Refused(error.message) from error
        if isinstance(answer, PortError):
            raise Refused(self._missing(named) if answer.code is ErrorCode.NOT_FOUND else answer.message)
        return answer

    def _create(self, named: _Named, text: str) -> str:
        def planner(scope: Scope, now_ns: int) -> Plan:
            if not self._overwrite and _exists(scope, named.path):
                raise Refused(f"File {named.given} already exists")
            return self._planned(scope, Create(named.path, text), now_ns)

        return f"File created successfully at: {named.given}" + self._change("create", planner)

    def _str_replace(self, named: _Named, old: str, new: str) -> str:
        snippet = ""

        def planner(scope: Scope, now_ns: int) -> Plan:
            nonlocal snippet
            text = self._edited_text_in(scope, named)
            if isinstance(text, PortError):
                return text
            at = _only_place(named, text, old)
            line = text.count("\n", 0, at)
            snippet = _numbered_lines(
                text[:at] + new + text[at + len(old) :],
                max(0, line - CONTEXT_LINES),
                line + CONTEXT_LINES + 1,
            )
            return self._planned(scope, StrReplace(named.path, old, new), now_ns)

        evictions = self._change("str_replace", planner, _no_file(named))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + snippet
            + evictions
        )

    def _insert(self, named: _Named, insert_line: object, inserted: str) -> str:
        def planner(scope: Scope, now_ns: int) -> Plan:
            text = self._edited_text_in(scope, named)
            if isinstance(text, PortError):
                return text
            return self._planned(
                scope, Create(named.path, _with_inserted(text, insert_line, inserted)), now_ns
            )

        return f"The file {named.given} has been edited." + self._change("insert", planner, _no_file(named))

    def _delete(self, named: _Named) -> str:
        if named.path == ROOT:
            raise Refused(f"Cannot delete the {ROOT} directory itself")

        def planner(scope: Scope, now_ns: int) -> Plan:
            if not _exists(scope, named.path):
                return not_found(named.path)
            return self._planned(scope, Delete(named.path), now_ns)

        self._change("delete", planner, f"The path {named.given} does not exist")
        return f"Successfully deleted {named.given}"

    def _rename(self, old: _Named, new: _Named) -> str:
        if old.path == ROOT:
            raise Refused(f"Cannot rename the {ROOT} directory itself")

        def planner(scope: Scope, now_ns: int) -> Plan:
            if _exists(scope, new.path):
                raise Refused(f"The destination {new.given} already exists")
            if not _exists(scope, old.path):
                return not_found(old.path)
            return self._planned(scope, Rename(old.path, new.path), now_ns)

        evictions = self._change("rename", planner, f"The path {old.given} does not exist")
        return f"Successfully renamed {old.given} to {new.given}" + evictions

    def _edited_text_in(self, scope: Scope, named: _Named) -> str | PortError:
        """As :meth:`_text_in`. Raises :class:`Refused` for a directory."""
        if scope.is_directory(named.path):
            raise Refused(f"The path {named.given} is not a file.")
        return self._text_in(scope, named)

    def _text_in(self, scope: Scope, named: _Named) -> str | PortError:
        """The text of the file that is named, or why there is none."""
        if scope.file(named.path) is None:
            return not_found(named.path)
        view = self._planned(scope, View(named.path), time.time_ns())
        if isinstance(view, PortError):
            return view
        assert isinstance(view, FileView), "the view of a file"
        return view.text

    def _missing(self, named: _Named) -> str:
        """The sentence about a file that is no memory: it is not there, or the store leaves it alone."""
        error = self._memory.execute(View(named.path)).error
        if error is not None and error.code is ErrorCode.UNSAFE_STORAGE:
            return error.message
        return _no_file(named)

    def _planned(self, scope: Scope, command: Command, now_ns: int) -> Plan:
        return plan(scope, command, self._memory.read, now_ns)

    def _change(self, name: str, planner: Planner, missing: str = "") -> str:
        """Commit what is planned; a line that names what left to make room for it, or nothing.

        A planner may raise :class:`Refused`: nothing has happened then. *missing* is the sentence for the
        answer that there is nothing at its path.
        """
        result, commits = self._memory.perform(name, planner)
        if not result.ok:
            is_missing = result.error.code is ErrorCode.NOT_FOUND
            raise Refused(missing if is_missing else result.error.message)
        evicted = result.value.evicted if isinstance(result.value, Created | Edited | Renamed) else ()
        return _evictions(evicted, commits[-1].change.moves) if evicted else ""


# --- what the model supplied ---------------------------------------------------------------------


def _named(command: Mapping[str, object], field: str) -> _Named:
    """The path in *field*, canonical as a filesystem would have it: it need not be a path of the port."""
    given = command.get(field)
    if not isinstance(given, str):
        raise Refused(f"`{field}` must be a string such as {ROOT}/notes.md.")
    if not is_well_formed(given):  # no answer could name it
        raise Refused(f"`{field}` holds half of a surrogate pair, which no path can hold; leave it out.")
    if given != ROOT and not given.startswith(ROOT + "/"):
        raise Refused(f"Path must start with {ROOT}, got: {given}")
    path = posixpath.normpath(given)
    if path != ROOT and not path.startswith(ROOT + "/"):
        raise Refused(f"Path {given} would escape {ROOT} directory")
    return _Named(given, path)


def _text(command: Mapping[str, object], field: str) -> str:
    text = command.get(field)
    if not isinstance(text, str):
        raise Refused(f"`{field}` must be a string.")
    if not is_well_formed(text):
        raise Refused(f"`{field}` holds half of a surrogate pair, which no file can hold; leave it out.")
    return text


def _view_range(command: Mapping[str, object]) -> tuple[int, int] | None:
    """The two numbers, or None for the whole file: any other number of numbers means that as well."""
    given = command.get("view_range")
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not all(_is_integer(number) for number in given):
        raise Refused("`view_range` must be two line numbers, as in [1, 20]; -1 is the last line.")
    return (given[0], given[1]) if len(given) == 2 else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# --- what a command finds ------------------------------------------------------------------------


def _exists(scope: Scope, path: str) -> bool:
    return scope.file(path) is not None or scope.is_directory(path)


def _no_file(named: _Named) -> str:
    return f"The path {named.given} does not exist. Please provide a valid path."


def _only_place(named: _Named, text: str, old: str) -> int:
    """Where *old* begins in *text*. Raises :class:`Refused` unless there is exactly one place."""
    if old == "":
        raise Refused("No replacement was performed, old_str is empty. Give the text to replace.")
    at = text.find(old)
    if at < 0:
        raise Refused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {named.given}."
        )
    if text.find(old, at + len(old)) >= 0:
        lines = ", ".join(str(line) for line in _lines_where(text, old))
        raise Refused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    return at


def _lines_where(text: str, old: str) -> Iterator[int]:
    """The numbers of the lines in which *old* begins, each once."""
    line, counted = 1, 0
    at = text.find(old)
    while at >= 0:
        line += text.count("\n", counted, at)
        yield line
        counted = at
        next_line = text.find("\n", at) + 1
        if next_line == 0:
            return
        at = text.find(old, next_line)


def _with_inserted(text: str, insert_line: object, inserted: str) -> str:
    """*text* with the lines of *inserted* after line *insert_line*; the end stays as it was."""
    lines = text.split("\n")
    is_complete = lines[-1] == ""
    if is_complete:
        lines.pop()
    total = len(lines)
    if not isinstance(insert_line, int) or not _is_integer(insert_line) or not 0 <= insert_line <= total:
        raise Refused(
            f"Invalid `insert_line` parameter: {insert_line!a}. It should be within the range [0, {total}]."
        )
    if insert_line == total:
        is_complete = is_complete or inserted.endswith("\n")
    lines[insert_line:insert_line] = inserted.removesuffix("\n").split("\n")
    return "\n".join(lines) + ("\n" if is_complete else "")


# --- what the model reads ------------------------------------------------------------------------


def _evictions(evicted: Sequence[str], moves: Iterable[Move]) -> str:
    """The line about the paths that left; *moves* tell where each is now, if anywhere."""
    places = {move.file.path: move.new_path for move in moves}
    left = ", ".join(f"{path} (now {places[path]})" if path in places else path for path in evicted)
    return f"\nThe memory was full, so the files written longest ago have left it: {left}"


def _listing(scope: Scope, named: _Named) -> str:
    given = named.given
    below = given.rstrip("/")
    header = f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"
    lines = [f"{_size(DIRECTORY_SIZE)}\t{given}"]
    lines += (f"{_size(size)}\t{below}/{name}" for size, name in _entries(scope, named.path, levels=2))
    return "\n".join((header, *lines))


def _entries(scope: Scope, directory: str, levels: int) -> Iterator[tuple[int, str]]:
    """The size and name, relative to *directory*, of what lies at most *levels* below it."""
    children = scope.children(directory)
    for name in sorted(children):
        path = f"{directory}/{name}"
        if not children[name]:
            file = scope.file(path)
            assert file is not None, "a child that is no directory is a file"
            yield file.size, name
            continue
        yield DIRECTORY_SIZE, f"{name}/"
        if levels > 1:
            yield from ((size, f"{name}/{below}") for size, below in _entries(scope, path, levels - 1))


def _size(size: int) -> str:
    """*size* in bytes, kibibytes, mebibytes or gibibytes, with one decimal where it is not whole."""
    unit = "BKMG"
    power = min(max(size.bit_length() - 1, 0) // 10, len(unit) - 1)
    scaled = size / 1024**power
    return f"{scaled:.0f}{unit[power]}" if scaled.is_integer() else f"{scaled:.1f}{unit[power]}"


def _numbered_file(named: _Named, text: str, view_range: tuple[int, int] | None) -> str:
    if text.count("\n") >= MAX_LINES:
        raise Refused(f"File {named.given} exceeds maximum line limit of {MAX_LINES:,} lines.")
    start, end = 0, None
    if view_range is not None:
        start = max(1, view_range[0]) - 1
        end = None if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {named.given} with line numbers:\n" + _numbered_lines(text, start, end)


def _numbered_lines(text: str, start: int, end: int | None) -> str:
    """The lines of *text* in a slice from index *start* to *end*, each behind its number."""
    lines = text.split("\n")
    shown = range(len(lines))[start:end]
    if lines[-1] == "" and len(lines) - 1 in shown:
        shown = shown[:-1]  # what follows the last line's ending is no line
    return "\n".join(f"{index + 1:>{NUMBER_WIDTH}}\t{lines[index]}" for index in shown)
