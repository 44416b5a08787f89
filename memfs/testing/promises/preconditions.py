"""Preconditions: a command that says what it expects changes nothing where something else is there."""

from __future__ import annotations

import hashlib
from typing import Any

from memfs.testing.kit import Promises
from memfs.testing.port import BrokenPromise, Port

chapter = Promises()
A, B, DIRECTORY = "/memories/a.md", "/memories/b.md", "/memories/d"
TEXT = "one line\n"
NO_DIGEST = "0" * 64

CHANGING: dict[str, tuple[str, dict[str, Any]]] = {
    "create": ("create", {"path": A, "text": "y"}),
    "str_replace": ("str_replace", {"path": A, "oldText": "one", "newText": "two"}),
    "insert": ("insert", {"path": A, "insertLine": 0, "text": "y"}),
    "delete": ("delete", {"path": A}),
    "rename": ("rename", {"oldPath": A, "newPath": B}),
}
MALFORMED: dict[str, object] = {
    "a string": "present",
    "a number": 1,
    "true": True,
    "an array": ["absent"],
    "an empty object": {},
    "both": {"sha256": NO_DIGEST, "version": 1},
    "another field": {"digest": NO_DIGEST},
    "a short digest": {"sha256": "00"},
    "a digest that is no hexadecimal": {"sha256": "g" * 64},
    "a digest of null": {"sha256": None},
    "a version of zero": {"version": 0},
    "a version that is no integer": {"version": "1"},
    "a version of true": {"version": True},
}


@chapter.for_each(CHANGING)
def _the_digest_of_what_is_there_is_as_expected(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    port.run(command, **fields, expected={"sha256": _digest(TEXT)})


@chapter.for_each(CHANGING)
def _an_upper_case_digest_is_the_same(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    port.run(command, **fields, expected={"sha256": _digest(TEXT).upper()})


@chapter.for_each(CHANGING)
def _another_digest_is_a_conflict_that_names_both(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    error = port.refuse("CONFLICT", command, **fields, expected={"sha256": NO_DIGEST})
    port.same(error.get("path"), A, "the path of the conflict")
    port.same(
        error.get("details"), {"expected": NO_DIGEST, "actual": _digest(TEXT)}, "the details of the conflict"
    )


@chapter.for_each(CHANGING)
def _the_version_that_wrote_it_is_as_expected_and_an_earlier_one_is_not(
    port: Port, given: tuple[str, dict[str, Any]]
) -> None:
    command, fields = given
    port.put(A, "before")
    before = _version(port, A)
    port.put(A, TEXT)
    now = _version(port, A)
    error = port.refuse("CONFLICT", command, **fields, expected={"version": before})
    port.same(error.get("details"), {"expected": before, "actual": now}, "the details of the conflict")
    port.refuse("CONFLICT", command, **fields, expected={"version": now + 1_000})
    port.run(command, **fields, expected={"version": now})


@chapter.for_each(CHANGING)
def _what_is_there_is_not_absent(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    version = _version(port, A)
    error = port.refuse("CONFLICT", command, **fields, expected="absent")
    port.same(error.get("details"), {"expected": "absent", "actual": version}, "the details of the conflict")


@chapter.promise
def _a_file_is_created_where_it_is_expected_to_be_absent(port: Port) -> None:
    port.run("create", path=A, text=TEXT, expected="absent")


@chapter.promise
def _what_is_missing_has_neither_digest_nor_version(port: Port) -> None:
    for expected in ({"sha256": NO_DIGEST}, {"version": 1}):
        error = port.refuse("CONFLICT", "create", path=A, text=TEXT, expected=expected)
        (wanted,) = expected.values()
        port.same(
            error.get("details"), {"expected": wanted, "actual": "absent"}, "the details of the conflict"
        )


@chapter.promise
def _a_directory_has_no_content(port: Port) -> None:
    port.put(f"{DIRECTORY}/a.md", TEXT)
    for expected in ({"sha256": _digest(TEXT)}, {"version": 1}, "absent"):
        error = port.refuse("CONFLICT", "delete", path=DIRECTORY, expected=expected)
        port.same(error["details"]["actual"], "directory", "what is there")
    port.refuse("CONFLICT", "rename", oldPath=DIRECTORY, newPath="/memories/e", expected="absent")


@chapter.promise
def _a_rename_keeps_the_version_that_wrote_the_content(port: Port) -> None:
    port.put(A, TEXT)
    version = _version(port, A)
    port.run("rename", oldPath=A, newPath=B)
    port.same(_version(port, B), version, "the version after the rename")
    port.run("delete", path=B, expected={"version": version})


@chapter.promise
def _the_path_is_looked_at_first(port: Port) -> None:
    port.refuse("INVALID_PATH", "create", path="a.md", text=TEXT, expected={"version": 1})
    port.refuse("INVALID_EXTENSION", "create", path="/memories/a.exe", text=TEXT, expected={"version": 1})
    port.refuse("NOT_FOUND", "delete", path=A, expected={"version": 1})
    port.put(A, TEXT)
    port.put(B, TEXT)
    port.refuse("ALREADY_EXISTS", "rename", oldPath=A, newPath=B, expected="absent")


@chapter.promise
def _the_content_is_looked_at_last(port: Port) -> None:
    port.put(A, TEXT)
    port.refuse("CONFLICT", "str_replace", path=A, oldText="zzz", newText="", expected="absent")
    port.refuse("CONFLICT", "insert", path=A, insertLine=99, text="", expected="absent")


@chapter.for_each(MALFORMED)
def _a_precondition_has_one_of_three_forms(port: Port, expected: object) -> None:
    port.put(A, TEXT)
    for command, fields in CHANGING.values():
        port.refuse("INVALID_ARGUMENT", command, **fields, expected=expected)


@chapter.for_each(CHANGING)
def _a_precondition_of_null_is_none(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    port.run(command, **fields, expected=None)


@chapter.promise
def _a_view_has_no_precondition(port: Port) -> None:
    port.put(A, TEXT)
    port.run("view", path=A, expected="absent")


@chapter.for_each(CHANGING)
def _a_command_may_give_a_reason(port: Port, given: tuple[str, dict[str, Any]]) -> None:
    command, fields = given
    port.put(A, TEXT)
    for reason in (1, True, ["x"], "two\nlines", "\ud800", "x" * 1001):
        port.refuse("INVALID_ARGUMENT", command, **fields, reason=reason)
    port.run(command, **fields, reason="the user asked for it – ✓")


def _version(port: Port, path: str) -> int:
    """The version that wrote what is at *path*, as a conflict tells it."""
    version = port.refuse("CONFLICT", "create", path=path, text="", expected="absent")["details"]["actual"]
    if isinstance(version, bool) or not isinstance(version, int):
        raise BrokenPromise(f"The version of {path} is no integer but {version!r}.")
    return version


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
