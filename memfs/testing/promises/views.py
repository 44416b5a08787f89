"""view: files, ranges of lines, directories."""

from __future__ import annotations

from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A = "/memories/a.md"

TEXTS: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "one line": ("a", ["a"]),
    "a final newline adds no line": ("a\n", ["a"]),
    "an empty line": ("\n", [""]),
    "two empty lines": ("\n\n", ["", ""]),
    "newlines": ("a\nb", ["a", "b"]),
    "carriage returns": ("a\rb\r", ["a", "b"]),
    "both": ("a\r\nb\r\n", ["a", "b"]),
    "both are one ending": ("\r\n\r\n", ["", ""]),
    "newline, carriage return": ("a\n\rb", ["a", "", "b"]),
    "two carriage returns, newline": ("a\r\r\nb", ["a", "", "b"]),
    "mixed": ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
    "a form feed ends no line": ("a\fb", ["a\fb"]),
    "a vertical tab ends no line": ("a\vb", ["a\vb"]),
    "separators of ASCII end no line": ("a\x1cb\x1dc\x1ed", ["a\x1cb\x1dc\x1ed"]),
    "NEL ends no line": ("a\x85b", ["a\x85b"]),
    "U+2028 ends no line": ("a\u2028b\u2029c", ["a\u2028b\u2029c"]),
    "NUL is text": ("a\0b\n", ["a\0b"]),
    "a byte order mark is text": ("\ufeffa\n", ["\ufeffa"]),
    "beyond ASCII": ("\u00e9\n\U0001f9e0", ["\u00e9", "\U0001f9e0"]),
}
WRONG_RANGES: dict[str, object] = {
    "null": None,
    "a number": 1,
    "true": True,
    "a string": "12",
    "an object": {"start": 1, "end": 2},
    "empty": [],
    "one number": [1],
    "three numbers": [1, 2, 3],
    "strings": ["1", "2"],
    "nulls": [None, None],
    "a boolean start": [True, 2],
    "a boolean end": [1, True],
    "a fraction": [1, 1.5],
    "a nested array": [[1], [2]],
    "from 0": [0, 1],
    "from -1": [-1, -1],
    "to 0": [1, 0],
    "to -2": [1, -2],
    "backwards": [2, 1],
    "beyond the end": [1, 4],
    "from beyond the end": [4, 4],
    "from beyond the end to the last": [4, -1],
    "far beyond the end": [1, 2**70],
}


@chapter.for_each(TEXTS)
def _a_view_gives_the_text_as_it_is_stored(port: Port, given: tuple[str, list[str]]) -> None:
    text, lines = given
    port.put(A, text)
    port.expect(_file(text, 1 if lines else 0, len(lines), len(lines)), "view", path=A)


@chapter.for_each(TEXTS)
def _a_range_gives_logical_lines_joined_by_newlines(port: Port, given: tuple[str, list[str]]) -> None:
    text, lines = given
    port.put(A, text)
    total = len(lines)
    for start in range(1, total + 1):
        for end in range(start, total + 1):
            complete = end < total or text.endswith(("\n", "\r"))
            chosen = "\n".join(lines[start - 1 : end]) + ("\n" if complete else "")
            port.expect(_file(chosen, start, end, total), "view", path=A, viewRange=[start, end])


@chapter.promise
def _an_end_of_minus_1_is_the_last_line(port: Port) -> None:
    port.put(A, "a\nb\nc")
    port.expect(_file("b\nc", 2, 3, 3), "view", path=A, viewRange=[2, -1])
    port.expect(_file("c", 3, 3, 3), "view", path=A, viewRange=[3, -1])


@chapter.for_each(WRONG_RANGES)
def _a_range_must_be_two_integers_that_fit_the_file(port: Port, view_range: object) -> None:
    port.put(A, "a\nb\nc\n")
    port.refuse("INVALID_RANGE", "view", path=A, viewRange=view_range)


@chapter.promise
def _an_empty_file_has_no_range(port: Port) -> None:
    port.put(A, "")
    for view_range in ([0, 0], [1, 1], [1, 0], [1, -1], [0, -1]):
        port.refuse("INVALID_RANGE", "view", path=A, viewRange=view_range)


@chapter.for_each(WRONG_RANGES | {"one that would fit a file": [1, 1]})
def _a_directory_takes_no_range(port: Port, view_range: object) -> None:
    port.put("/memories/d/a.md")
    port.refuse("INVALID_RANGE", "view", path="/memories/d", viewRange=view_range)
    port.refuse("INVALID_RANGE", "view", path="/memories", viewRange=view_range)


@chapter.promise
def _a_directory_lists_its_immediate_children_by_the_bytes_of_their_names(port: Port) -> None:
    names = ["a.md", "a", "a-b.md", "a_b.md", "a0.md", "B.md", "_.md", "1.md", "10.md", "2.md", "a.b.md"]
    for name in names:
        port.put(f"/memories/d/{name}/deep/x.md" if name == "a" else f"/memories/d/{name}")
    port.put("/memories/elsewhere.md")
    entries = [
        {"name": name, "path": f"/memories/d/{name}", "kind": "directory" if name == "a" else "file"}
        for name in sorted(names, key=str.encode)
    ]
    port.expect({"kind": "directory", "path": "/memories/d", "entries": entries}, "view", path="/memories/d")


@chapter.promise
def _a_directory_of_many_files_is_listed_once(port: Port) -> None:
    for name in ("x.md", "y.md", "z/w.md"):
        port.put(f"/memories/d/{name}")
    entries = [{"name": "d", "path": "/memories/d", "kind": "directory"}]
    port.expect({"kind": "directory", "path": "/memories", "entries": entries}, "view", path="/memories")


@chapter.promise
def _what_is_not_there_cannot_be_viewed(port: Port) -> None:
    port.put(A)
    port.refuse("NOT_FOUND", "view", path="/memories/b.md")
    port.refuse("NOT_FOUND", "view", path="/memories/d")
    port.refuse("NOT_FOUND", "view", path="/memories/no-extension")


@chapter.promise
def _nothing_lies_below_a_file(port: Port) -> None:
    port.put(A)
    port.refuse("NOT_FOUND", "view", path=f"{A}/b.md")


def _file(text: str, start: int, end: int, total: int) -> dict[str, object]:
    return {
        "kind": "file",
        "path": A,
        "text": text,
        "byteLength": len(text.encode()),
        "lines": {"start": start, "end": end, "total": total},
    }
