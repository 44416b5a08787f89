"""What a command means: the six commands of the contract, decided once.

``plan`` is pure. It reads a scope's metadata, asks for the bytes of the one file that a view
or an edit is about, and returns a change, a receipt that needs no change, or an error. Its
cost is that of the files a command touches, never of the scope. The order of the checks is
part of the contract: the first that fails is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from memfs.port.change import Change, File, Move, Put, PutOperation, Remove
from memfs.port.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import ErrorCode, PortError
from memfs.port.lines import ends_in_line_ending, logical_lines
from memfs.port.names import ROOT, extension_error, is_well_formed, path_error
from memfs.port.policy import Limits
from memfs.port.receipts import Created, Deleted, DirectoryView, Edited, Entry, FileView, Kind, Lines, Renamed
from memfs.port.scope import Scope

Content: TypeAlias = Callable[[File], bytes]
"""Gives the bytes of a file of the scope that is planned on."""
Plan: TypeAlias = Change | FileView | DirectoryView | PortError


def plan(scope: Scope, command: Command, content: Content) -> Plan:
    """What *command* does to *scope*, or why it is refused; nothing is changed here.

    *content* is called at most once, for the file that a view, replacement or insertion names.
    """
    match command:
        case View():
            return _plan_view(scope, command, content)
        case Create():
            return _plan_create(scope, command)
        case StrReplace():
            return _plan_str_replace(scope, command, content)
        case Insert():
            return _plan_insert(scope, command, content)
        case Delete():
            return _plan_delete(scope, command)
        case Rename():
            return _plan_rename(scope, command)


class Joined(NamedTuple):
    """The first half of a save: the change *version*, which deleted or emptied the memory *id*.

    ``operation`` is what the two halves are together.
    """

    id: int
    version: int
    operation: PutOperation


def plan_write(
    scope: Scope, path: str, data: bytes, mtime_ns: int | None = None, joined: Joined | None = None
) -> Change | PortError:
    """As ``create`` with *data*, which must be valid UTF-8: the door of those who hold bytes.

    With *joined*, the write is the second half of a save and carries that memory on, unless somebody
    else has come in between.
    """
    return (
        _cannot_write_at(path)
        or _cannot_hold_file(scope, path)
        or _put(scope, path, data, _created_receipt, mtime_ns, joined)
    )


def too_large(path: str, size: int, limits: Limits) -> PortError:
    """The refusal of a file of *size* bytes, which no eviction can make room for."""
    return PortError(
        ErrorCode.LIMIT_EXCEEDED,
        f"{path} would have {_count(size, 'byte')}; a file may have "
        f"{min(limits.max_file_bytes, limits.max_total_bytes)}. Split it or shorten it.",
        path,
        {
            "byteLength": size,
            "maxFileBytes": limits.max_file_bytes,
            "maxTotalBytes": limits.max_total_bytes,
        },
    )


def _plan_view(scope: Scope, command: View, content: Content) -> Plan:
    error = path_error(command.path)
    if error:
        return error
    path = command.path
    file = scope.file(path)
    if file is not None:
        text = _text_of(file, content)
        if isinstance(text, PortError):
            return text
        return _view_file(path, text, file.size, command.view_range)
    if not scope.is_directory(path):
        return _not_found(path)
    if command.view_range is not None:
        return PortError(
            ErrorCode.INVALID_RANGE, f"{path} is a directory; a range of lines is for files.", path
        )
    children = scope.children(path)
    return DirectoryView(
        path, tuple(Entry(name, f"{path}/{name}", _kind(children[name])) for name in sorted(children))
    )


def _view_file(path: str, text: str, size: int, view_range: object) -> FileView | PortError:
    lines = logical_lines(text)
    total = len(lines)
    if view_range is None:
        return FileView(path, text, size, Lines(1 if total else 0, total, total))
    if not (
        isinstance(view_range, list | tuple)
        and len(view_range) == 2
        and _is_integer(start := view_range[0])
        and _is_integer(end := view_range[1])
    ):
        return PortError(
            ErrorCode.INVALID_RANGE,
            "A range must be two integers, [start, end], with -1 for the last line.",
            path,
        )
    if end == -1:
        end = total
    if not 1 <= start <= end <= total:
        return PortError(
            ErrorCode.INVALID_RANGE,
            f"The range [{start}, {end}] does not fit {path}, which has {_count(total, 'line')}.",
            path,
            {"totalLines": total},
        )
    chosen = "\n".join(lines[start - 1 : end])
    if end < total or ends_in_line_ending(text):
        chosen += "\n"
    return FileView(path, chosen, len(chosen.encode()), Lines(start, end, total))


def _plan_create(scope: Scope, command: Create) -> Change | PortError:
    error = _cannot_write_at(command.path)
    if error:
        return error
    path = command.path
    data = _encoded(command.text, "text", path)
    if isinstance(data, PortError):
        return data
    return _cannot_hold_file(scope, path) or _put(scope, path, data, _created_receipt)


def _plan_str_replace(scope: Scope, command: StrReplace, content: Content) -> Change | PortError:
    error = path_error(command.path)
    if error:
        return error
    path, old, new = command.path, command.old_text, command.new_text
    for field, value in (("oldText", old), ("newText", new)):
        encoded = _encoded(value, field, path)
        if isinstance(encoded, PortError):
            return encoded
    if old == "":
        return PortError(
            ErrorCode.INVALID_ARGUMENT, "oldText must not be empty; name the text to replace.", path
        )
    file = _existing_file(scope, path)
    if isinstance(file, PortError):
        return file
    text = _text_of(file, content)
    if isinstance(text, PortError):
        return text
    first = text.find(old)
    if first < 0:
        return PortError(
            ErrorCode.MATCH_NOT_FOUND,
            f"oldText does not occur in {path}; view it and copy the text exactly.",
            path,
        )
    after = first + len(old)
    if text.find(old, after) >= 0:
        return PortError(
            ErrorCode.MATCH_NOT_UNIQUE,
            f"oldText occurs more than once in {path}; add text around it until it occurs once.",
            path,
        )
    return _put(scope, path, (text[:first] + new + text[after:]).encode(), _edited_receipt)


def _plan_insert(scope: Scope, command: Insert, content: Content) -> Change | PortError:
    error = path_error(command.path)
    if error:
        return error
    path, at = command.path, command.insert_line
    encoded = _encoded(command.text, "text", path)
    if isinstance(encoded, PortError):
        return encoded
    if not _is_integer(at) or at < 0:
        return PortError(
            ErrorCode.INVALID_RANGE,
            "insertLine must be an integer of 0 or more; 0 is before the first line.",
            path,
        )
    file = _existing_file(scope, path)
    if isinstance(file, PortError):
        return file
    text = _text_of(file, content)
    if isinstance(text, PortError):
        return text
    lines = logical_lines(text)
    if at > len(lines):
        return PortError(
            ErrorCode.INVALID_RANGE,
            f"insertLine {at} is beyond {path}, which has {_count(len(lines), 'line')}.",
            path,
            {"maxInsertLine": len(lines)},
        )
    lines[at:at] = logical_lines(command.text)
    return _put(scope, path, ("\n".join(lines) + "\n").encode(), _edited_receipt)


def _plan_delete(scope: Scope, command: Delete) -> Change | PortError:
    error = path_error(command.path) or _root_protected(command.path, "deleted")
    if error:
        return error
    path = command.path
    file = scope.file(path)
    if file is not None:
        files, kind = [file], _kind(False)
    elif scope.is_directory(path):
        files, kind = sorted(scope.files_below(path), key=_by_path), _kind(True)
    else:
        return _not_found(path)
    freed = sum(file.size for file in files)
    return Change(
        removes=tuple(Remove(each, evicted=False) for each in files),
        directory=path if file is None else None,
        receipt=Deleted(path, kind, len(files), freed),
    )


def _plan_rename(scope: Scope, command: Rename) -> Change | PortError:
    old, new = command.old_path, command.new_path
    error = path_error(old) or path_error(new) or _root_protected(old, "renamed")
    if error:
        return error
    if new == ROOT:
        return PortError(ErrorCode.ROOT_PROTECTED, f"Nothing can take the place of {ROOT}.", new)
    file = scope.file(old)
    if file is None and not scope.is_directory(old):
        return _not_found(old)
    if scope.file(new) is not None or scope.is_directory(new):
        return PortError(
            ErrorCode.ALREADY_EXISTS,
            f"{new} already exists; a rename never overwrites. Delete it first or choose another name.",
            new,
        )
    if file is None and new.startswith(old + "/"):
        return PortError(ErrorCode.CONFLICT, f"The directory {old} cannot move into itself.", new)
    if file is not None:
        error = extension_error(new, scope.policy.extensions)
        if error:
            return error
    error = _file_among_parents(scope, new)
    if error:
        return error
    files = [file] if file is not None else sorted(scope.files_below(old), key=_by_path)
    moves = tuple(Move(each, new + each.path[len(old) :]) for each in files)
    for move in moves:
        error = path_error(move.new_path)
        if error:
            return error
    return Change(
        moves=moves,
        directory=old if file is None else None,
        receipt=Renamed(old, new, _kind(file is None), len(moves)),
    )


def _put(
    scope: Scope,
    path: str,
    data: bytes,
    receipt: Callable[[str, int, tuple[str, ...], bool], Created | Edited],
    mtime_ns: int | None = None,
    joined: Joined | None = None,
) -> Change | PortError:
    """Write *data* at *path*, where a file may be, and let the earliest writes leave for it."""
    limits, size = scope.policy.limits, len(data)
    if size > limits.max_file_bytes or size > limits.max_total_bytes:
        return too_large(path, size, limits)
    earlier = scope.file(path)
    count = len(scope) + (earlier is None)
    total = scope.total_bytes + size - (earlier.size if earlier else 0)
    evicted: list[Remove] = []
    if count > limits.max_files or total > limits.max_total_bytes:
        for candidate in scope.in_write_order():
            if candidate.path == path:
                continue
            evicted.append(Remove(candidate, evicted=True))
            count -= 1
            total -= candidate.size
            if count <= limits.max_files and total <= limits.max_total_bytes:
                break
    file_id = earlier.id if earlier else scope.version + 1
    operation: PutOperation = "modified" if earlier else "created"
    joins = None
    if joined is not None and _is_first_half(scope, earlier, joined):
        file_id, joins, operation = joined
    return Change(
        removes=tuple(evicted),
        puts=(Put(file_id, path, size, operation, data, mtime_ns, joins),),
        receipt=receipt(path, size, tuple(left.file.path for left in evicted), earlier is not None),
    )


def _is_first_half(scope: Scope, earlier: File | None, joined: Joined) -> bool:
    """Whether *joined* is still the last that happened to the memory that is written now."""
    if earlier is None:
        return scope.file_by_id(joined.id) is None
    return earlier.id == joined.id and earlier.content == joined.version


def _created_receipt(path: str, size: int, evicted: tuple[str, ...], overwritten: bool) -> Created:
    return Created(path, size, evicted, overwritten)


def _edited_receipt(path: str, size: int, evicted: tuple[str, ...], _overwritten: bool) -> Edited:
    return Edited(path, size, evicted)


def _cannot_write_at(path: str) -> PortError | None:
    return path_error(path) or _root_protected(path, "a file")


def _cannot_hold_file(scope: Scope, path: str) -> PortError | None:
    error = extension_error(path, scope.policy.extensions)
    if error:
        return error
    if scope.is_directory(path):
        return PortError(
            ErrorCode.PATH_CONFLICT, f"{path} is a directory; choose another name for the file.", path
        )
    return _file_among_parents(scope, path)


def _file_among_parents(scope: Scope, path: str) -> PortError | None:
    above = scope.file_above(path)
    if above is None:
        return None
    return PortError(
        ErrorCode.PATH_CONFLICT, f"{above} is a file, so nothing can lie below it at {path}.", path
    )


def _existing_file(scope: Scope, path: str) -> File | PortError:
    file = scope.file(path)
    if file is not None:
        return file
    if scope.is_directory(path):
        return PortError(ErrorCode.PATH_CONFLICT, f"{path} is a directory; name a file in it.", path)
    return _not_found(path)


def _text_of(file: File, content: Content) -> str | PortError:
    try:
        return content(file).decode()
    except UnicodeDecodeError:
        return PortError(
            ErrorCode.UNSAFE_STORAGE,
            f"What is stored for {file.path} is no UTF-8, so memfs did not write it; restore it from a copy.",
            file.path,
        )


def _root_protected(path: str, what: str) -> PortError | None:
    if path != ROOT:
        return None
    return PortError(
        ErrorCode.ROOT_PROTECTED, f"{ROOT} is the root and cannot be {what}; name a path below it.", path
    )


def _not_found(path: str) -> PortError:
    return PortError(
        ErrorCode.NOT_FOUND, f"{path} does not exist; view its directory to see what does.", path
    )


def _encoded(text: object, field: str, path: str) -> bytes | PortError:
    if not isinstance(text, str):
        return PortError(ErrorCode.INVALID_ARGUMENT, f"{field} must be a string.", path)
    if not is_well_formed(text):
        return PortError(
            ErrorCode.INVALID_ARGUMENT, f"{field} holds a lone surrogate and cannot be stored as UTF-8.", path
        )
    return text.encode()


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(is_directory: bool) -> Kind:
    return "directory" if is_directory else "file"


def _by_path(file: File) -> str:
    return file.path


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
