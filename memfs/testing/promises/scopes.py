"""Scopes: their names, and that none sees another."""

from __future__ import annotations

import secrets

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A, B, C = "/memories/a.md", "/memories/b.md", "/memories/c.md"

BAD_NAMES = {
    "empty": "",
    "a space": " ",
    "white space": "\u2003\u00a0 ",
    "a newline": "notes\n",
    "a tab": "no\ttes",
    "NUL": "notes\0",
    "DEL": "notes\x7f",
    "a high surrogate": "notes\ud800",
    "a low surrogate": "\udc00notes",
}
GOOD_NAMES = {
    "a word": "notes",
    "spaces": "my notes ",
    "slashes and dots": "../../etc/passwd",
    "a backslash and a quote": "a\\b'c\"d",
    "another script": "\u0437\u0430\u043c\u0435\u0442\u043a\u0438",
    "an emoji": "\U0001f9e0",
    "a hyphen first": "-rf",
    "long": "n" * 400,
}


@chapter.for_each(BAD_NAMES)
def _a_bad_name_is_refused_when_the_scope_is_opened(port: Port, name: str) -> None:
    port.same(port.opens(name), False, f"whether a scope named {name!r} can be opened")


@chapter.for_each(GOOD_NAMES)
def _a_name_may_be_anything_a_person_can_read(port: Port, name: str) -> None:
    other = port.another(scope=name)
    other.put(A)
    port.same(other.texts(), {A: "x"}, f"what the scope {name!r} holds")


@chapter.promise
def _no_scope_sees_the_files_of_another(port: Port) -> None:
    other = port.another()
    port.put(A, "mine")
    port.same(other.texts(), {}, "what the other scope holds")
    other.put(A, "theirs")
    port.run("delete", path=A)
    port.same(other.texts(), {A: "theirs"}, "what the other scope holds")


@chapter.promise
def _names_that_differ_in_case_are_two_scopes(port: Port) -> None:
    name = secrets.token_hex(6)
    lower, upper = port.another(scope=f"{name}x"), port.another(scope=f"{name}X")
    lower.put(A)
    port.same(upper.texts(), {}, "what the other scope holds")


@chapter.within(Limits(max_file_bytes=10, max_total_bytes=10, max_files=2))
def _a_scope_has_limits_of_its_own(port: Port) -> None:
    other = port.another(Limits(max_file_bytes=20, max_total_bytes=20, max_files=3))
    other.put(A, "x" * 20)
    other.put(A, "")
    other.put(B, "")
    port.put(A)
    port.put(B)
    port.put(C)
    port.same(sorted(port.texts()), [B, C], "the files of the scope with two")
    other.put(C, "")
    port.same(sorted(other.texts()), [A, B, C], "the files of the scope with three")
