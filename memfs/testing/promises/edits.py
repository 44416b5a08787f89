"""str_replace and insert: changing a part of a file."""

from __future__ import annotations

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A = "/memories/a.md"
SMALL = Limits(max_file_bytes=8, max_total_bytes=64, max_files=8)

REPLACEMENTS = {
    "a word": ("one two", "two", "three", "one three"),
    "the whole text": ("one", "one", "two", "two"),
    "by nothing": ("one two", " two", "", "one"),
    "everything by nothing": ("one", "one", "", ""),
    "by the same": ("one", "one", "one", "one"),
    "by what contains it": ("one", "one", "one one", "one one"),
    "over lines": ("a\nb\nc\n", "a\nb", "x", "x\nc\n"),
    "other line endings stay": ("a\r\nb\rc\n", "b", "x", "a\r\nx\rc\n"),
    "a line ending": ("a\r\nb", "\r\n", "\n", "a\nb"),
    "half of a line ending": ("a\r\nb", "\r", "", "a\nb"),
    "what would be a pattern": ("a.c abc", "a.c", "x", "x abc"),
    "by what would be a reference": ("one", "one", "\\1 $& %s \\g<0>", "\\1 $& %s \\g<0>"),
    "beyond ASCII": ("\u00e9t\u00e9", "t\u00e9", "\U0001f9e0", "\u00e9\U0001f9e0"),
    "an accent of its own": ("e\u0301 \u00e9", "\u00e9", "x", "e\u0301 x"),
    "overlapping itself": ("aaa", "aa", "b", "ba"),
    "overlapping itself in words": ("abababa", "ababa", "x", "xba"),
}
NO_MATCHES = {
    "another word": ("one", "two"),
    "another case": ("One", "one"),
    "another line ending": ("a\r\nb", "a\nb"),
    "a longer text": ("one", "one "),
    "an empty file": ("", "x"),
    "another spelling of the same letter": ("e\u0301", "\u00e9"),
}
SEVERAL_MATCHES = {
    "two": ("x x", "x"),
    "three": ("x x x", "x"),
    "side by side": ("aaaa", "aa"),
    "at both ends": ("ab c ab", "ab"),
    "on two lines": ("a\na\n", "a\n"),
}
INSERTIONS = {
    "before the first line": ("a\nb\n", 0, "x", "x\na\nb\n"),
    "between": ("a\nb\n", 1, "x", "a\nx\nb\n"),
    "after the last": ("a\nb\n", 2, "x", "a\nb\nx\n"),
    "after a last line without an ending": ("a\nb", 2, "x", "a\nb\nx\n"),
    "text with an ending": ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
    "two lines": ("a\nb\n", 1, "x\ny", "a\nx\ny\nb\n"),
    "an empty line": ("a\nb\n", 1, "\n", "a\n\nb\n"),
    "two empty lines": ("a\nb\n", 1, "\n\n", "a\n\n\nb\n"),
    "into an empty file": ("", 0, "x", "x\n"),
    "nothing": ("a\nb\n", 1, "", "a\nb\n"),
    "nothing, which completes the last line": ("a\nb", 0, "", "a\nb\n"),
    "nothing into an empty file": ("", 0, "", "\n"),
    "an empty line into an empty file": ("", 0, "\n", "\n"),
    "into a file of one empty line": ("\n", 1, "x", "\nx\n"),
    "the file's other endings are rewritten": ("a\r\nc\rd\r\n", 1, "b", "a\nb\nc\nd\n"),
    "nothing, which rewrites the endings": ("a\r\nb\r", 2, "", "a\nb\n"),
    "the text's other endings are rewritten": ("a\n", 1, "x\r\ny\rz", "a\nx\ny\nz\n"),
    "what ends no line stays": ("a\fb\u2028c", 1, "x\fy\u2029z", "a\fb\u2028c\nx\fy\u2029z\n"),
    "beyond ASCII": ("\u00e9", 0, "\U0001f9e0", "\U0001f9e0\n\u00e9\n"),
}


@chapter.for_each(REPLACEMENTS)
def _a_text_that_occurs_once_is_replaced(port: Port, given: tuple[str, str, str, str]) -> None:
    before, old, new, after = given
    port.put(A, before)
    port.expect(
        {"path": A, "byteLength": len(after.encode()), "evicted": []},
        "str_replace",
        path=A,
        oldText=old,
        newText=new,
    )
    port.same(port.text(A), after, "the text")


@chapter.for_each(NO_MATCHES)
def _a_text_that_does_not_occur_is_not_replaced(port: Port, given: tuple[str, str]) -> None:
    port.put(A, given[0])
    port.refuse("MATCH_NOT_FOUND", "str_replace", path=A, oldText=given[1], newText="y")


@chapter.for_each(SEVERAL_MATCHES)
def _a_text_that_occurs_again_behind_itself_is_not_replaced(port: Port, given: tuple[str, str]) -> None:
    port.put(A, given[0])
    port.refuse("MATCH_NOT_UNIQUE", "str_replace", path=A, oldText=given[1], newText="y")


@chapter.for_each(INSERTIONS)
def _an_insertion_rewrites_the_file_with_newlines(port: Port, given: tuple[str, int, str, str]) -> None:
    before, at, text, after = given
    port.put(A, before)
    port.expect(
        {"path": A, "byteLength": len(after.encode()), "evicted": []},
        "insert",
        path=A,
        insertLine=at,
        text=text,
    )
    port.same(port.text(A), after, "the text")


@chapter.for_each({"no line": ("", 0), "one line": ("a", 1), "a final ending": ("a\nb\r\n", 2)})
def _an_insertion_beyond_the_last_line_is_refused_with_the_largest_slot(
    port: Port, given: tuple[str, int]
) -> None:
    text, lines = given
    port.put(A, text)
    for beyond in (lines + 1, 2**70):
        error = port.refuse("INVALID_RANGE", "insert", path=A, insertLine=beyond, text="x")
        port.same(error.get("details", {}).get("maxInsertLine"), lines, "details.maxInsertLine")


@chapter.promise
def _an_edit_needs_a_file(port: Port) -> None:
    port.put("/memories/d/a.md")
    for path, code in (("/memories/b.md", "NOT_FOUND"), ("/memories/d", "PATH_CONFLICT")):
        port.refuse(code, "str_replace", path=path, oldText="x", newText="y")
        port.refuse(code, "insert", path=path, insertLine=0, text="y")


@chapter.promise
def _an_edit_below_a_file_finds_nothing(port: Port) -> None:
    port.put(A)
    port.refuse("NOT_FOUND", "str_replace", path=f"{A}/b.md", oldText="x", newText="y")
    port.refuse("NOT_FOUND", "insert", path=f"{A}/b.md", insertLine=0, text="y")


@chapter.within(SMALL)
def _an_edit_may_fill_a_file_up_to_the_limit(port: Port) -> None:
    port.put(A, "1234")
    port.run("str_replace", path=A, oldText="4", newText="45678")
    port.put(A, "123")
    port.run("insert", path=A, insertLine=1, text="567")


@chapter.within(SMALL)
def _an_edit_that_makes_a_file_too_large_is_refused_with_the_numbers(port: Port) -> None:
    port.put(A, "12345678")
    for command, fields, size in (
        ("str_replace", {"oldText": "8", "newText": "\u00e9"}, 9),
        ("insert", {"insertLine": 0, "text": ""}, 9),
        ("insert", {"insertLine": 1, "text": "xyz"}, 13),
    ):
        error = port.refuse("LIMIT_EXCEEDED", command, path=A, **fields)
        numbers = {"byteLength": size, "maxFileBytes": 8, "maxTotalBytes": 64}
        port.same(error.get("details"), numbers, "the details")
