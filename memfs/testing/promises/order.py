"""The order of the checks: of two things that are wrong, the first in the contract is the answer."""

from __future__ import annotations

from typing import Any

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises(Limits(max_file_bytes=16, max_total_bytes=128, max_files=16))
A, B, MISSING = "/memories/a.md", "/memories/b.md", "/memories/missing.md"
ROOT, DIRECTORY, BAD = "/memories", "/memories/d", "/memories/.bad.md"
FILE_IN_DIRECTORY = "/memories/d/x.md"
LONE, LARGE = "\ud800", "x" * 17

Sent = tuple[str, str, dict[str, Any]]
"""The code that must win, the command, and its fields."""


def _view(code: str, path: object, view_range: object) -> Sent:
    return code, "view", {"path": path, "viewRange": view_range}


def _create(code: str, path: object, text: object) -> Sent:
    return code, "create", {"path": path, "text": text}


def _replace(code: str, path: object, old: object, new: object) -> Sent:
    return code, "str_replace", {"path": path, "oldText": old, "newText": new}


def _insert(code: str, path: object, line: object, text: object) -> Sent:
    return code, "insert", {"path": path, "insertLine": line, "text": text}


def _rename(code: str, old: object, new: object) -> Sent:
    return code, "rename", {"oldPath": old, "newPath": new}


ORDER: dict[str, Sent] = {
    "view: a path that is no string, then the range": _view("INVALID_ARGUMENT", 1, [0]),
    "view: the path, then the range": _view("INVALID_PATH", BAD, [0]),
    "view: existence, then the range": _view("NOT_FOUND", MISSING, [0]),
    "view: existence, then a null range": _view("NOT_FOUND", MISSING, None),
    "create: a path that is no string, then the text": _create("INVALID_ARGUMENT", None, LONE),
    "create: the path, then the text": _create("INVALID_PATH", BAD, LONE),
    "create: the path, then the extension": _create("INVALID_PATH", "/memories/.bad.ts", "x"),
    "create: the path, then a file among the parents": _create("INVALID_PATH", f"{A}/.b.md", "x"),
    "create: the root, then the text": _create("ROOT_PROTECTED", ROOT, LONE),
    "create: the root, then the size": _create("ROOT_PROTECTED", ROOT, LARGE),
    "create: the text, then the extension": _create("INVALID_ARGUMENT", "/memories/a.ts", LONE),
    "create: the text, then a directory there": _create("INVALID_ARGUMENT", "/memories/e.md", LONE),
    "create: the text, then a file among the parents": _create("INVALID_ARGUMENT", f"{A}/b.md", None),
    "create: the extension, then a directory there": _create("INVALID_EXTENSION", DIRECTORY, "x"),
    "create: the extension, then a file among the parents": _create("INVALID_EXTENSION", f"{A}/b.ts", "x"),
    "create: the extension, then the size": _create("INVALID_EXTENSION", "/memories/a.ts", LARGE),
    "create: a directory there, then the size": _create("PATH_CONFLICT", "/memories/e.md", LARGE),
    "create: a file among the parents, then the size": _create("PATH_CONFLICT", f"{A}/b.md", LARGE),
    "str_replace: the path, then an empty oldText": _replace("INVALID_PATH", BAD, "", "x"),
    "str_replace: the path, then the texts": _replace("INVALID_PATH", BAD, LONE, None),
    "str_replace: an empty oldText, then existence": _replace("INVALID_ARGUMENT", MISSING, "", "x"),
    "str_replace: an empty oldText, then a directory": _replace("INVALID_ARGUMENT", DIRECTORY, "", "x"),
    "str_replace: oldText, then existence": _replace("INVALID_ARGUMENT", MISSING, LONE, "x"),
    "str_replace: newText, then existence": _replace("INVALID_ARGUMENT", MISSING, "x", LONE),
    "str_replace: newText, then a directory": _replace("INVALID_ARGUMENT", DIRECTORY, "x", None),
    "str_replace: newText, then no match": _replace("INVALID_ARGUMENT", A, "y", LONE),
    "str_replace: existence, then the size": _replace("NOT_FOUND", MISSING, "x", LARGE),
    "str_replace: no match, then the size": _replace("MATCH_NOT_FOUND", A, "y", LARGE),
    "str_replace: several matches, then the size": _replace("MATCH_NOT_UNIQUE", B, "x", LARGE),
    "insert: the path, then the text": _insert("INVALID_PATH", BAD, 0, LONE),
    "insert: the path, then the line": _insert("INVALID_PATH", BAD, -1, "x"),
    "insert: the text, then the line": _insert("INVALID_ARGUMENT", A, -1, LONE),
    "insert: the text, then existence": _insert("INVALID_ARGUMENT", MISSING, 0, LONE),
    "insert: the line, then existence": _insert("INVALID_RANGE", MISSING, -1, "x"),
    "insert: the line, then a directory": _insert("INVALID_RANGE", DIRECTORY, True, "x"),
    "insert: existence, then the number of lines": _insert("NOT_FOUND", MISSING, 99, "x"),
    "insert: a directory, then the number of lines": _insert("PATH_CONFLICT", DIRECTORY, 99, "x"),
    "insert: existence, then the size": _insert("NOT_FOUND", MISSING, 0, LARGE),
    "insert: the number of lines, then the size": _insert("INVALID_RANGE", A, 99, LARGE),
    "rename: an old path that is no string, then the new path": _rename("INVALID_ARGUMENT", 1, BAD),
    "rename: the old path, then a new path that is no string": _rename("INVALID_PATH", BAD, 1),
    "rename: the new path, then the root": _rename("INVALID_PATH", ROOT, BAD),
    "rename: the old path, then the root": _rename("INVALID_PATH", BAD, ROOT),
    "rename: the new path, then existence": _rename("INVALID_PATH", MISSING, BAD),
    "rename: the root, then existence": _rename("ROOT_PROTECTED", MISSING, ROOT),
    "rename: the root, then the destination": _rename("ROOT_PROTECTED", ROOT, A),
    "rename: the root, then the same path": _rename("ROOT_PROTECTED", ROOT, ROOT),
    "rename: the root, then into itself": _rename("ROOT_PROTECTED", ROOT, "/memories/z"),
    "rename: existence, then the destination": _rename("NOT_FOUND", MISSING, A),
    "rename: existence, then the same path": _rename("NOT_FOUND", MISSING, MISSING),
    "rename: existence, then into itself": _rename("NOT_FOUND", "/memories/no", "/memories/no/d"),
    "rename: existence, then the extension": _rename("NOT_FOUND", MISSING, "/memories/a.ts"),
    "rename: existence, then a file among the parents": _rename("NOT_FOUND", MISSING, f"{A}/b.md"),
    "rename: the destination, then into itself": _rename("ALREADY_EXISTS", DIRECTORY, FILE_IN_DIRECTORY),
    "rename: the destination, then the extension": _rename("ALREADY_EXISTS", A, DIRECTORY),
    "rename: into itself, then a file among the parents": _rename(
        "CONFLICT", DIRECTORY, f"{FILE_IN_DIRECTORY}/y"
    ),
    "rename: the extension, then a file among the parents": _rename("INVALID_EXTENSION", A, f"{B}/c.ts"),
}


@chapter.for_each(ORDER)
def _the_first_check_that_fails_is_the_answer(port: Port, given: Sent) -> None:
    port.put(A, "x")
    port.put(B, "x x")
    port.put(FILE_IN_DIRECTORY, "x")
    port.put("/memories/e.md/x.md", "x")
    code, command, fields = given
    port.refuse(code, command, **fields)


@chapter.promise
def _into_itself_comes_before_paths_that_do_not_fit(port: Port) -> None:
    port.put(f"{DIRECTORY}{_long_tail()}")
    port.refuse("CONFLICT", "rename", oldPath=DIRECTORY, newPath=f"{DIRECTORY}/{'n' * 128}")


@chapter.promise
def _a_file_among_the_parents_comes_before_paths_that_do_not_fit(port: Port) -> None:
    port.put(A)
    port.put(f"{DIRECTORY}{_long_tail()}")
    port.refuse("PATH_CONFLICT", "rename", oldPath=DIRECTORY, newPath=f"{A}/{'n' * 128}")


def _long_tail() -> str:
    """The end of a path with which it only just fits."""
    return f"/{'s' * 128}" * 7 + "/x.md"
