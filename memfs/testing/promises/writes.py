"""create: making and replacing files."""

from __future__ import annotations

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A = "/memories/a.md"
SMALL = Limits(max_file_bytes=8, max_total_bytes=64, max_files=8)

KEPT_AS_THEY_ARE = {
    "nothing": "",
    "every line ending": "a\nb\rc\r\nd",
    "white space": "  \t\n  ",
    "NUL and other controls": "\0\x01\x1b[0m\x7f",
    "a byte order mark": "\ufeffa",
    "composed and decomposed": "\u00e9 e\u0301",
    "noncharacters": "\uffff\U0010ffff",
    "an emoji": "\U0001f9e0",
    "what looks like a surrogate": "\\ud800",
    "a format and an escape": "%s {0} \\n $&",
}


@chapter.promise
def _a_new_file_is_reported_with_its_bytes(port: Port) -> None:
    port.expect(
        {"path": "/memories/d/a.md", "byteLength": 7, "evicted": [], "overwritten": False},
        "create",
        path="/memories/d/a.md",
        text="\u00e9\u20ac\n.",
    )


@chapter.promise
def _a_file_that_exists_is_replaced(port: Port) -> None:
    port.put(A, "a long first text")
    port.expect(
        {"path": A, "byteLength": 3, "evicted": [], "overwritten": True}, "create", path=A, text="new"
    )
    port.same(port.texts(), {A: "new"}, "what is stored")


@chapter.promise
def _a_file_that_was_deleted_is_new_again(port: Port) -> None:
    port.put(A, "first")
    port.run("delete", path=A)
    port.expect({"path": A, "byteLength": 1, "evicted": [], "overwritten": False}, "create", path=A, text="x")


@chapter.for_each(KEPT_AS_THEY_ARE)
def _a_text_is_kept_as_it_is(port: Port, text: str) -> None:
    port.put(A, text)
    port.same(port.run("view", path=A)["text"], text, "the text")
    port.same(port.run("view", path=A)["byteLength"], len(text.encode()), "its length in bytes")


@chapter.promise
def _a_directory_is_no_place_for_a_file(port: Port) -> None:
    port.put("/memories/d.md/a.md")
    port.refuse("PATH_CONFLICT", "create", path="/memories/d.md", text="x")


@chapter.promise
def _a_file_is_no_place_for_a_directory(port: Port) -> None:
    port.put(A)
    port.refuse("PATH_CONFLICT", "create", path=f"{A}/b.md", text="x")
    port.refuse("PATH_CONFLICT", "create", path=f"{A}/b/c/d.md", text="x")


@chapter.within(SMALL)
def _a_file_may_be_as_large_as_the_limit(port: Port) -> None:
    port.put(A, "12345678")
    port.put(A, "\u20ac\u20ac\u00e9")


@chapter.within(SMALL)
def _a_file_larger_than_the_limit_is_refused_with_the_numbers(port: Port) -> None:
    numbers = {"byteLength": 9, "maxFileBytes": 8, "maxTotalBytes": 64}
    error = port.refuse("LIMIT_EXCEEDED", "create", path=A, text="123456789")
    port.same(error.get("details"), numbers, "the details")
    error = port.refuse("LIMIT_EXCEEDED", "create", path=A, text="\u20ac\u20ac\u20ac")
    port.same(error.get("details"), numbers, "the details of three characters of three bytes")


@chapter.within(Limits(max_file_bytes=64, max_total_bytes=8, max_files=8))
def _a_file_larger_than_the_whole_scope_is_refused_with_the_numbers(port: Port) -> None:
    port.put(A, "12345678")
    error = port.refuse("LIMIT_EXCEEDED", "create", path="/memories/b.md", text="123456789")
    numbers = {"byteLength": 9, "maxFileBytes": 64, "maxTotalBytes": 8}
    port.same(error.get("details"), numbers, "the details")


@chapter.promise
def _without_limits_of_its_own_a_scope_has_the_usual_ones(port: Port) -> None:
    port.put(A, "x" * 65_536)
    error = port.refuse("LIMIT_EXCEEDED", "create", path=A, text="x" * 65_537)
    numbers = {"byteLength": 65_537, "maxFileBytes": 65_536, "maxTotalBytes": 1_048_576}
    port.same(error.get("details"), numbers, "the details")
