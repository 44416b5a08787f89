"""What is no command, and fields of the wrong type."""

from __future__ import annotations

from typing import Any

from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A = "/memories/a.md"

NO_OBJECTS: dict[str, object] = {
    "null": None,
    "a string": "view",
    "a number": 1,
    "true": True,
    "an array": ["view", "/memories"],
}
NO_NAMES: dict[str, object] = {
    "no name": {},
    "a name of null": {"command": None},
    "a number": {"command": 1, "path": "/memories"},
    "an array": {"command": ["view"], "path": "/memories"},
    "an object": {"command": {}, "path": "/memories"},
}
UNKNOWN_NAMES = {
    "another verb": "write",
    "upper case": "VIEW",
    "camel case": "strReplace",
    "a space": "view ",
    "the empty name": "",
    "a method of objects": "__class__",
}
NO_STRINGS: dict[str, object] = {
    "null": None,
    "a number": 1,
    "true": True,
    "an array": ["x"],
    "an object": {},
}
LONE_SURROGATES = {
    "high": "\ud800",
    "low": "\udc00",
    "high at the end": "x\udbff",
    "low first": "\ude00\ud83d",
}
NO_INTEGERS: dict[str, object] = {
    "null": None,
    "true": True,
    "false": False,
    "a fraction": 0.5,
    "a string": "0",
    "an array": [0],
    "an object": {},
    "negative": -1,
    "very negative": -(2**70),
}

COMPLETE: dict[str, dict[str, Any]] = {
    "view": {"path": A},
    "create": {"path": A, "text": "y"},
    "str_replace": {"path": A, "oldText": "x", "newText": "y"},
    "insert": {"path": A, "insertLine": 0, "text": "y"},
    "delete": {"path": A},
    "rename": {"oldPath": A, "newPath": "/memories/b.md"},
}
PATH_FIELDS = {
    f"{field} of {command}": (command, field)
    for command, fields in COMPLETE.items()
    for field in fields
    if field.lower().endswith("path")
}
TEXT_FIELDS = {
    f"{field} of {command}": (command, field)
    for command, fields in COMPLETE.items()
    for field in fields
    if field.lower().endswith("text")
}


@chapter.for_each(NO_OBJECTS)
def _what_is_no_object_is_no_command(port: Port, sent: object) -> None:
    port.refuse_raw("INVALID_COMMAND", sent, "unknown")


@chapter.for_each(NO_NAMES)
def _an_object_without_a_name_is_an_unknown_command(port: Port, sent: object) -> None:
    port.refuse_raw("INVALID_COMMAND", sent, "unknown")


@chapter.for_each(UNKNOWN_NAMES)
def _a_name_that_is_none_of_the_six_comes_back_with_the_refusal(port: Port, name: str) -> None:
    port.refuse("INVALID_COMMAND", name, path="/memories")


@chapter.for_each(PATH_FIELDS)
def _a_path_must_be_a_string(port: Port, field: tuple[str, str]) -> None:
    for value in NO_STRINGS.values():
        _refuse_field(port, field, value)


@chapter.for_each(PATH_FIELDS)
def _a_path_must_be_given(port: Port, field: tuple[str, str]) -> None:
    _refuse_without(port, field)


@chapter.for_each(TEXT_FIELDS)
def _a_text_must_be_a_string(port: Port, field: tuple[str, str]) -> None:
    for value in NO_STRINGS.values():
        _refuse_field(port, field, value)


@chapter.for_each(TEXT_FIELDS)
def _a_text_must_be_given(port: Port, field: tuple[str, str]) -> None:
    _refuse_without(port, field)


@chapter.for_each(TEXT_FIELDS)
def _a_text_with_a_lone_surrogate_is_refused(port: Port, field: tuple[str, str]) -> None:
    for value in LONE_SURROGATES.values():
        _refuse_field(port, field, value)


@chapter.promise
def _oldText_must_not_be_empty(port: Port) -> None:  # noqa: N802  the name on the wire
    port.put(A)
    port.refuse("INVALID_ARGUMENT", "str_replace", path=A, oldText="", newText="y")


@chapter.for_each(NO_INTEGERS)
def _insertLine_must_be_an_integer_of_0_or_more(port: Port, value: object) -> None:  # noqa: N802
    port.put(A)
    port.refuse("INVALID_RANGE", "insert", path=A, insertLine=value, text="y")


@chapter.promise
def _insertLine_must_be_given(port: Port) -> None:  # noqa: N802
    port.put(A)
    port.refuse("INVALID_RANGE", "insert", path=A, text="y")


def _refuse_field(port: Port, field: tuple[str, str], value: object) -> None:
    command, name = field
    port.put(A)
    port.refuse("INVALID_ARGUMENT", command, **(COMPLETE[command] | {name: value}))


def _refuse_without(port: Port, field: tuple[str, str]) -> None:
    command, name = field
    port.put(A)
    fields = {key: value for key, value in COMPLETE[command].items() if key != name}
    port.refuse("INVALID_ARGUMENT", command, **fields)
