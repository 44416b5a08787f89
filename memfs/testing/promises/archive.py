"""Eviction into the archive: nothing is lost, live limits hold, and the way back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

TWO_FILES = Limits(max_file_bytes=100, max_total_bytes=1_000, max_files=2)
TEN_BYTES = Limits(max_file_bytes=10, max_total_bytes=10, max_files=9)
chapter = Promises(TWO_FILES, eviction="archive")
A, B, C, D = (f"/memories/{letter}.md" for letter in "abcd")
PAST = "/memories/archive/1999"
"""A year in which no test runs."""
LONG = "s" * 125 + ".md"
"""The longest name."""


@chapter.promise
def _a_file_that_leaves_moves_to_the_archive_as_it_is(port: Port) -> None:
    port.put(A, "first")
    port.put(B)
    _evicts(port, [A], "create", path=C, text="x")
    port.same(_texts(port), {"/memories/archive/YEAR/a.md": "first", B: "x", C: "x"}, "what is stored")


@chapter.promise
def _the_archive_is_by_the_year_of_the_write_in_utc(port: Port) -> None:
    for path in (A, B):
        port.put(path)
    years = [datetime.now(UTC).year]
    port.put(C)
    years.append(datetime.now(UTC).year)
    entries = port.run("view", path="/memories/archive")["entries"]
    port.same([entry["name"] in map(str, years) for entry in entries], [True], "whether it is this year's")


@chapter.promise
def _the_archive_has_the_whole_path(port: Port) -> None:
    port.put("/memories/d/e/a.md", "first")
    port.put(B)
    _evicts(port, ["/memories/d/e/a.md"], "create", path=C, text="x")
    port.same(_texts(port)["/memories/archive/YEAR/d/e/a.md"], "first", "the archived text")
    port.refuse("NOT_FOUND", "view", path="/memories/d")


@chapter.within(TEN_BYTES)
def _every_write_may_move_files_to_the_archive(port: Port) -> None:
    port.put(A, "1234")
    port.put(B, "1234\n")
    _evicts(port, [A], "str_replace", path=B, oldText="4", newText="45678")
    port.put(A, "1")
    _evicts(port, [B], "insert", path=A, insertLine=1, text="2")


@chapter.within(TEN_BYTES)
def _files_leave_for_the_archive_in_their_order(port: Port) -> None:
    port.put(B, "12")
    port.put(A, "34")
    port.put(C, "567890")
    _evicts(port, [B, A], "create", path=D, text="1234")
    port.same(
        _texts(port),
        {
            "/memories/archive/YEAR/a.md": "34",
            "/memories/archive/YEAR/b.md": "12",
            C: "567890",
            D: "1234",
        },
        "what is stored",
    )


@chapter.promise
def _archived_files_count_against_no_limit_and_never_leave(port: Port) -> None:
    for number in range(20):
        port.put(f"/memories/{number}.md", "x" * 100)
    port.same(len(port.texts()), 20, "how many files there are")
    port.same([path for path in port.texts() if "archive" not in path], _names(18, 19), "the live files")


@chapter.promise
def _archived_files_are_read(port: Port) -> None:
    _archive(port, A, "one\ntwo\n")
    archived = f"{PAST}/a.md"
    port.same(port.text(archived), "one\ntwo\n", "the text of an archived file")
    port.same(port.run("view", path=archived, viewRange=[2, 2])["text"], "two\n", "a line of it")


@chapter.promise
def _archived_files_are_never_written(port: Port) -> None:
    _archive(port, A)
    for path in (f"{PAST}/a.md", f"{PAST}/new.md", "/memories/archive/new.md"):
        port.refuse("ROOT_PROTECTED", "create", path=path, text="y")
        port.refuse("ROOT_PROTECTED", "str_replace", path=path, oldText="x", newText="y")
        port.refuse("ROOT_PROTECTED", "insert", path=path, insertLine=0, text="y")


@chapter.promise
def _archived_files_are_deleted(port: Port) -> None:
    _archive(port, A)
    archived = f"{PAST}/a.md"
    port.expect(
        {"path": archived, "kind": "file", "deletedFiles": 1, "freedBytes": 1}, "delete", path=archived
    )
    port.refuse("NOT_FOUND", "view", path="/memories/archive")


@chapter.promise
def _a_name_that_is_taken_in_the_archive_gets_an_ordinal(port: Port) -> None:
    for number in range(5):
        port.put(A, str(number))
        port.put(B, "x")
        port.run("delete", path=B)
        port.put(C, "x")
        port.put(D, "x")
        port.run("delete", path=C)
        port.run("delete", path=D)
    archive = "/memories/archive/YEAR/a"
    port.same(
        _texts(port),
        {f"{archive}.md": "0"} | {f"{archive}-{number + 1}.md": str(number) for number in range(1, 5)},
        "what is stored",
    )


@chapter.promise
def _an_ordinal_keeps_the_name_within_its_length(port: Port) -> None:
    for text in "12":
        port.put(f"/memories/{LONG}", text)
        port.put(A)
        _evicts(port, [f"/memories/{LONG}"], "create", path=B, text="x")
        port.run("delete", path=A)
        port.run("delete", path=B)
    shorter = "s" * 123 + "-2.md"
    port.same(
        _texts(port),
        {f"/memories/archive/YEAR/{LONG}": "1", f"/memories/archive/YEAR/{shorter}": "2"},
        "what is stored",
    )


@chapter.promise
def _a_directory_is_no_place_for_a_file_in_the_archive(port: Port) -> None:
    _archive(port, "/memories/d.md/a.md", "in the directory", to=_this_year())
    port.put("/memories/d.md", "the file")
    port.put(B)
    port.put(C)
    port.same(_texts(port)["/memories/archive/YEAR/d-2.md"], "the file", "the text that left")


@chapter.promise
def _a_file_is_no_directory_in_the_archive(port: Port) -> None:
    _archive(port, "/memories/d.md", "the file", to=_this_year())
    port.put("/memories/d.md/a.md", "in the directory")
    port.put(B)
    port.put(C)
    port.same(_texts(port)["/memories/archive/YEAR/d-2.md/a.md"], "in the directory", "the text that left")


@chapter.promise
def _a_path_too_long_for_the_archive_keeps_its_file_and_refuses_the_write(port: Port) -> None:
    deep = "/memories" + f"/{'d' * 120}" * 8 + "/" + "f" * 40 + ".md"
    port.put(deep)
    port.put(A)
    port.refuse("LIMIT_EXCEEDED", "create", path=B, text="x")
    port.run("delete", path=deep)
    _evicts(port, [], "create", path=B, text="x")


@chapter.promise
def _a_rename_into_the_archive_makes_room(port: Port) -> None:
    port.put(A)
    port.put(B)
    new = f"{PAST}/elsewhere.md"
    port.expect(_renamed(A, new), "rename", oldPath=A, newPath=new)
    _evicts(port, [], "create", path=C, text="x")


@chapter.promise
def _a_rename_within_the_archive_is_one_like_any_other(port: Port) -> None:
    _archive(port, A)
    port.put(A)
    port.put(B)
    old, new = f"{PAST}/a.md", f"{PAST}/kept/a.md"
    port.expect(_renamed(old, new), "rename", oldPath=old, newPath=new)
    port.same(sorted(port.texts()), [A, new, B], "what is stored")


@chapter.promise
def _a_rename_out_of_the_archive_is_a_write(port: Port) -> None:
    _archive(port, C, "old")
    port.put(A)
    old = f"{PAST}/c.md"
    port.expect(_renamed(old, C), "rename", oldPath=old, newPath=C)
    _evicts(port, [A], "create", path=B, text="x")
    port.same(port.text(C), "old", "the text that came back")


@chapter.promise
def _a_rename_out_of_the_archive_names_what_leaves_for_it(port: Port) -> None:
    _archive(port, C, "old")
    port.put(A, "earliest")
    port.put(B)
    old = f"{PAST}/c.md"
    port.expect(_renamed(old, C) | {"evicted": [A]}, "rename", oldPath=old, newPath=C)
    port.same(_texts(port), {B: "x", C: "old", "/memories/archive/YEAR/a.md": "earliest"}, "what is stored")


@chapter.promise
def _a_rename_out_of_the_archive_never_overwrites(port: Port) -> None:
    _archive(port, A, "old")
    port.put(A, "new")
    port.refuse("ALREADY_EXISTS", "rename", oldPath=f"{PAST}/a.md", newPath=A)


@chapter.within(Limits(max_file_bytes=100, max_total_bytes=1_000, max_files=3))
def _a_directory_comes_out_of_the_archive_with_the_order_of_its_files(port: Port) -> None:
    for name in ("z", "a"):
        port.put(f"/memories/d/{name}.md", name)
    port.run("rename", oldPath="/memories/d", newPath=f"{PAST}/d")
    port.put(A)
    port.put(B)
    port.expect(
        _renamed(f"{PAST}/d", "/memories/e", kind="directory", moved=2) | {"evicted": [A]},
        "rename",
        oldPath=f"{PAST}/d",
        newPath="/memories/e",
    )
    _evicts(port, [B], "create", path=C, text="x")
    _evicts(port, ["/memories/e/z.md"], "create", path=D, text="x")


@chapter.promise
def _a_directory_that_does_not_fit_stays_in_the_archive(port: Port) -> None:
    for number in range(3):
        _archive(port, f"/memories/d/{number}.md")
    port.put(A)
    port.refuse("LIMIT_EXCEEDED", "rename", oldPath=f"{PAST}/d", newPath="/memories/d")
    port.run("delete", path=f"{PAST}/d/1.md")
    port.run("rename", oldPath=f"{PAST}/d", newPath="/memories/d")
    port.same([path for path in port.texts() if "archive" not in path], _names("d/0", "d/2"), "what is live")


@chapter.promise
def _a_directory_moves_into_the_archive_as_a_whole(port: Port) -> None:
    port.put("/memories/d/a.md", "1")
    port.put("/memories/d/b.md", "2")
    port.expect(
        _renamed("/memories/d", f"{PAST}/d", kind="directory", moved=2),
        "rename",
        oldPath="/memories/d",
        newPath=f"{PAST}/d",
    )
    _evicts(port, [], "create", path=A, text="x")
    _evicts(port, [], "create", path=B, text="x")


@chapter.within(TEN_BYTES, max_archive_bytes=12)
def _a_full_archive_refuses_the_write_that_would_fill_it(port: Port) -> None:
    port.put(A, "1234567")
    port.put(B, "1234567")
    port.refuse("LIMIT_EXCEEDED", "create", path=C, text="1234567")
    port.refuse("LIMIT_EXCEEDED", "rename", oldPath=B, newPath=f"{PAST}/b.md")
    port.run("delete", path="/memories/archive")
    _evicts(port, [B], "create", path=C, text="1234567")


@chapter.within(TEN_BYTES, max_archive_bytes=7)
def _what_comes_out_of_a_full_archive_makes_room_in_it(port: Port) -> None:
    _archive(port, A, "1234567")
    port.put(B, "7654321")
    old = f"{PAST}/a.md"
    port.expect(_renamed(old, A) | {"evicted": [B]}, "rename", oldPath=old, newPath=A)


def _archive(port: Port, path: str, text: str = "x", to: str = PAST) -> None:
    """Have a file in the archive."""
    port.put(path, text)
    port.run("rename", oldPath=path, newPath=to + path.removeprefix("/memories"))


def _this_year() -> str:
    return f"/memories/archive/{datetime.now(UTC).year}"


def _texts(port: Port) -> dict[str, str]:
    """What is stored, with ``YEAR`` for this year in the archive's paths, or for the next if it is new."""
    texts = {}
    for path, text in port.texts().items():
        names = path.split("/")
        if names[2] == "archive" and abs(int(names[3]) - datetime.now(UTC).year) <= 1:
            names[3] = "YEAR"
        texts["/".join(names)] = text
    return texts


def _names(*names: object) -> list[str]:
    return [f"/memories/{name}.md" for name in names]


def _renamed(old: str, new: str, kind: str = "file", moved: int = 1) -> dict[str, Any]:
    return {"oldPath": old, "newPath": new, "kind": kind, "movedFiles": moved}


def _evicts(port: Port, evicted: list[str], command: str, **fields: Any) -> None:
    port.same(port.run(command, **fields)["evicted"], evicted, f"what left for {command} {fields['path']}")
