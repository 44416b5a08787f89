"""What a command means: the six commands of the contract, decided once.

``plan`` is pure. It reads a scope's metadata, asks for the bytes of the one file that a view
or an edit is about, and returns a change, a receipt that needs no change, or an error. Its
cost is that of the files a command touches, never of the scope. The order of the checks is
part of the contract: the first that fails is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from memfs.port.buckets import move_operation
from memfs.port.change import Change, File, Move, Put, PutOperation, Remove
from memfs.port.checks import (
    cannot_edit_at,
    cannot_hold_file,
    cannot_write_at,
    existing_file,
    file_among_parents,
    not_found,
    outside,
    outside_and_missing,
    protected,
)
from memfs.port.commands import Command, Create, Delete, Insert, Rename, StrReplace, View
from memfs.port.errors import ErrorCode, PortError
from memfs.port.eviction import Evicted, archive_overflow, count_of, make_room
from memfs.port.expected import unexpected
from memfs.port.lines import ends_in_line_ending, logical_lines
from memfs.port.names import ROOT, extension_error, is_well_formed, path_error
from memfs.port.receipts import (
    Created,
    Deleted,
    DirectoryView,
    Edited,
    Entry,
    FileView,
    Imported,
    Kind,
    Lines,
    Renamed,
)
from memfs.port.scope import Scope

Content: TypeAlias = Callable[[File], bytes]
"""Gives the bytes of a file of the scope that is planned on."""
Plan: TypeAlias = Change | FileView | DirectoryView | Imported | PortError


def plan(scope: Scope, command: Command, content: Content, now_ns: int) -> Plan:
    """What *command* does to *scope*, or why it is refused; nothing is changed here.

    *content* is asked for one file at most: the one that a view, replacement or insertion names, or a
    precondition with a digest. *now_ns* is the time of the commit, in nanoseconds since the epoch: what is
    archived goes to its year.
    """
    match command:
        case View():
            return _plan_view(scope, command, content)
        case Create():
            return _plan_create(scope, command, content, now_ns)
        case StrReplace():
            return _plan_str_replace(scope, command, content, now_ns)
        case Insert():
            return _plan_insert(scope, command, content, now_ns)
        case Delete():
            return _plan_delete(scope, command, content)
        case Rename():
            return _plan_rename(scope, command, content, now_ns)


class Joined(NamedTuple):
    """The first half of a save: the change *version*, which deleted or emptied the memory *id*.

    ``operation`` is what the two halves are together. With None for ``version`` there is no first half:
    the memory *id* is to be written, whether it is there or has left.
    """

    id: int
    version: int | None
    operation: PutOperation


def plan_write(
    scope: Scope,
    path: str,
    data: bytes,
    now_ns: int,
    mtime_ns: int | None = None,
    joined: Joined | None = None,
) -> Change | PortError:
    """As ``create`` with *data*, which must be valid UTF-8: the door of those who hold bytes.

    With *joined*, the write is the second half of a save and carries that memory on, unless somebody
    else has come in between.
    """
    return (
        cannot_write_at(scope, path)
        or cannot_hold_file(scope, path)
        or _put(scope, path, data, _created_receipt, now_ns, mtime_ns, joined)
    )


def plan_moves(
    scope: Scope, moves: tuple[Move, ...], receipt: Renamed, now_ns: int, directories: tuple[str, ...] = ()
) -> Change | PortError:
    """Carry out *moves*, whose destinations are free and well-formed; what leaves for them is in the receipt.

    Only a file that leaves the archive needs room, as a new one would; *directories* are as in the change.
    """
    entering = [move.file for move in moves if move.operation == "archived"]
    restored = {move.new_path: move.file.size for move in moves if move.operation == "restored"}
    error = archive_overflow(scope, entering)
    if error:
        return error
    left = make_room(scope, restored, now_ns, sum(restored.values())) if restored else Evicted()
    if isinstance(left, PortError):
        return left
    return Change(
        removes=left.removes,
        moves=(*moves, *left.moves),
        directories=directories,
        receipt=replace(receipt, evicted=left.paths),
    )


def _plan_view(scope: Scope, command: View, content: Content) -> Plan:
    error = path_error(command.path) or outside_and_missing(scope, command.path)
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
        return not_found(path)
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
            f"The range [{start}, {end}] does not fit {path}, which has {count_of(total, 'line')}.",
            path,
            {"totalLines": total},
        )
    chosen = "\n".join(lines[start - 1 : end])
    if end < total or ends_in_line_ending(text):
        chosen += "\n"
    return FileView(path, chosen, len(chosen.encode()), Lines(start, end, total))


def _plan_create(scope: Scope, command: Create, content: Content, now_ns: int) -> Change | PortError:
    error = cannot_write_at(scope, command.path)
    if error:
        return error
    path = command.path
    data = _encoded(command.text, "text", path)
    if isinstance(data, PortError):
        return data
    return (
        cannot_hold_file(scope, path)
        or unexpected(scope, path, command.expected, content)
        or _put(scope, path, data, _created_receipt, now_ns)
    )


def _plan_str_replace(scope: Scope, command: StrReplace, content: Content, now_ns: int) -> Change | PortError:
    error = cannot_edit_at(scope, command.path)
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
    file = existing_file(scope, path)
    if isinstance(file, PortError):
        return file
    error = unexpected(scope, path, command.expected, content)
    if error:
        return error
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
    return _put(scope, path, (text[:first] + new + text[after:]).encode(), _edited_receipt, now_ns)


def _plan_insert(scope: Scope, command: Insert, content: Content, now_ns: int) -> Change | PortError:
    error = cannot_edit_at(scope, command.path)
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
    file = existing_file(scope, path)
    if isinstance(file, PortError):
        return file
    error = unexpected(scope, path, command.expected, content)
    if error:
        return error
    text = _text_of(file, content)
    if isinstance(text, PortError):
        return text
    lines = logical_lines(text)
    if at > len(lines):
        return PortError(
            ErrorCode.INVALID_RANGE,
            f"insertLine {at} is beyond {path}, which has {count_of(len(lines), 'line')}.",
            path,
            {"maxInsertLine": len(lines)},
        )
    lines[at:at] = logical_lines(command.text)
    return _put(scope, path, ("\n".join(lines) + "\n").encode(), _edited_receipt, now_ns)


def _plan_delete(scope: Scope, command: Delete, content: Content) -> Change | PortError:
    error = (
        path_error(command.path)
        or protected(scope, command.path, "deleted")
        or outside_and_missing(scope, command.path)
    )
    if error:
        return error
    path = command.path
    file = scope.file(path)
    if file is not None:
        files, kind = [file], _kind(False)
    elif scope.is_directory(path):
        files, kind = sorted(scope.files_below(path), key=_by_path), _kind(True)
    else:
        return not_found(path)
    error = unexpected(scope, path, command.expected, content)
    if error:
        return error
    freed = sum(file.size for file in files)
    return Change(
        removes=tuple(Remove(each, evicted=False) for each in files),
        directories=(path,) if file is None else (),
        receipt=Deleted(path, kind, len(files), freed),
    )


def _plan_rename(scope: Scope, command: Rename, content: Content, now_ns: int) -> Change | PortError:
    old, new = command.old_path, command.new_path
    error = (
        path_error(old)
        or path_error(new)
        or outside_and_missing(scope, old)
        or outside(scope, new)
        or protected(scope, old, "renamed")
    )
    if error:
        return error
    if new == ROOT:
        return PortError(ErrorCode.ROOT_PROTECTED, f"Nothing can take the place of {ROOT}.", new)
    file = scope.file(old)
    if file is None and not scope.is_directory(old):
        return not_found(old)
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
    error = file_among_parents(scope, new)
    if error:
        return error
    operation = move_operation(
        f"{old}/" if file is None else old, f"{new}/" if file is None else new, scope.policy
    )
    files = [file] if file is not None else sorted(scope.files_below(old), key=_by_path)
    if operation == "restored":
        files.sort(key=by_write)
    moves = tuple(Move(each, new + each.path[len(old) :], operation) for each in files)
    for move in moves:
        error = path_error(move.new_path)
        if error:
            return error
    error = unexpected(scope, old, command.expected, content)
    if error:
        return error
    receipt = Renamed(old, new, _kind(file is None), len(moves))
    return plan_moves(scope, moves, receipt, now_ns, (old,) if file is None else ())


def _put(
    scope: Scope,
    path: str,
    data: bytes,
    receipt: Callable[[str, int, tuple[str, ...], bool], Created | Edited],
    now_ns: int,
    mtime_ns: int | None = None,
    joined: Joined | None = None,
) -> Change | PortError:
    """Write *data* at *path*, where a file may be, and let the earliest writes leave for it."""
    size = len(data)
    left = make_room(scope, {path: size}, now_ns)
    if isinstance(left, PortError):
        return left
    earlier = scope.file(path)
    file_id = earlier.id if earlier else scope.version + 1
    operation: PutOperation = "modified" if earlier else "created"
    joins = None
    if joined is not None and _is_first_half(scope, earlier, joined):
        file_id, joins, operation = joined
    return Change(
        removes=left.removes,
        moves=left.moves,
        puts=(Put(file_id, path, size, operation, data, mtime_ns, joins),),
        receipt=receipt(path, size, left.paths, earlier is not None),
    )


def _is_first_half(scope: Scope, earlier: File | None, joined: Joined) -> bool:
    """Whether *joined* is still the last that happened to the memory that is written now."""
    if earlier is None:
        return scope.file_by_id(joined.id) is None
    return earlier.id == joined.id and joined.version in (None, earlier.content)


def _created_receipt(path: str, size: int, evicted: tuple[str, ...], overwritten: bool) -> Created:
    return Created(path, size, evicted, overwritten)


def _edited_receipt(path: str, size: int, evicted: tuple[str, ...], _overwritten: bool) -> Edited:
    return Edited(path, size, evicted)


def _text_of(file: File, content: Content) -> str | PortError:
    try:
        return content(file).decode()
    except UnicodeDecodeError:
        return PortError(
            ErrorCode.UNSAFE_STORAGE,
            f"What is stored for {file.path} is no UTF-8, so memfs did not write it; restore it from a copy.",
            file.path,
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


def by_write(file: File) -> tuple[int, str]:
    """Sorts by the change that wrote the bytes: what is restored together keeps its order among itself."""
    return file.content, file.path
