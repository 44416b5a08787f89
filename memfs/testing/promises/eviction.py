"""Limits of a scope: which files leave for a write, in which order, and when none does."""

from __future__ import annotations

from typing import Any

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

TWO_FILES = Limits(max_file_bytes=100, max_total_bytes=1_000, max_files=2)
THREE_FILES = Limits(max_file_bytes=100, max_total_bytes=1_000, max_files=3)
TEN_BYTES = Limits(max_file_bytes=10, max_total_bytes=10, max_files=9)
chapter = Promises(TWO_FILES)
A, B, C, D = (f"/memories/{letter}.md" for letter in "abcd")

Sent = tuple[str, dict[str, Any]]
WRITES_TO_A: dict[str, Sent] = {
    "create": ("create", {"path": A, "text": "new"}),
    "create with the same text": ("create", {"path": A, "text": "x\n"}),
    "str_replace": ("str_replace", {"path": A, "oldText": "x", "newText": "y"}),
    "str_replace by the same": ("str_replace", {"path": A, "oldText": "x", "newText": "x"}),
    "insert": ("insert", {"path": A, "insertLine": 1, "text": "y"}),
    "insert of nothing": ("insert", {"path": A, "insertLine": 0, "text": ""}),
}
REFUSED_WRITES_TO_A: dict[str, tuple[str, str, dict[str, Any]]] = {
    "create, too large": ("LIMIT_EXCEEDED", "create", {"path": A, "text": "x" * 101}),
    "create, malformed": ("INVALID_ARGUMENT", "create", {"path": A, "text": "\ud800"}),
    "str_replace, no match": ("MATCH_NOT_FOUND", "str_replace", {"path": A, "oldText": "z", "newText": "y"}),
    "str_replace, too large": (
        "LIMIT_EXCEEDED",
        "str_replace",
        {"path": A, "oldText": "x", "newText": "y" * 101},
    ),
    "insert, beyond the end": ("INVALID_RANGE", "insert", {"path": A, "insertLine": 9, "text": "y"}),
    "insert, too large": ("LIMIT_EXCEEDED", "insert", {"path": A, "insertLine": 0, "text": "y" * 100}),
    "rename over another": ("ALREADY_EXISTS", "rename", {"oldPath": A, "newPath": B}),
}


@chapter.promise
def _a_file_too_many_makes_the_earliest_write_leave(port: Port) -> None:
    port.put(B)
    port.put(A)
    _evicts(port, [B], "create", path=C, text="x")
    port.same(port.texts(), {A: "x", C: "x"}, "what is stored")


@chapter.within(TEN_BYTES)
def _bytes_too_many_make_the_earliest_writes_leave_in_their_order(port: Port) -> None:
    port.put(B, "12")
    port.put(A, "34")
    port.put(C, "567890")
    _evicts(port, [B, A], "create", path=D, text="1234")
    port.same(port.texts(), {C: "567890", D: "1234"}, "what is stored")


@chapter.within(Limits(max_file_bytes=10, max_total_bytes=10, max_files=3))
def _both_limits_hold_at_once(port: Port) -> None:
    for path in (A, B, C):
        port.put(path, "123")
    _evicts(port, [A], "create", path=D, text="1")
    _evicts(port, [B, C], "create", path=A, text="1234567")


@chapter.within(TEN_BYTES)
def _a_scope_may_be_filled_to_the_last_byte(port: Port) -> None:
    port.put(A, "12345")
    _evicts(port, [], "create", path=B, text="12345")
    _evicts(port, [], "create", path=C, text="")
    _evicts(port, [A], "create", path=D, text="1")


@chapter.promise
def _an_empty_file_counts_as_a_file(port: Port) -> None:
    port.put(A, "")
    port.put(B, "")
    _evicts(port, [A], "create", path=C, text="")


@chapter.within(TEN_BYTES)
def _a_file_that_is_replaced_counts_once(port: Port) -> None:
    port.put(A, "12345")
    port.put(B, "12345")
    _evicts(port, [], "create", path=A, text="54321")
    _evicts(port, [], "create", path=B, text="5")


@chapter.within(TEN_BYTES)
def _the_file_being_written_never_leaves(port: Port) -> None:
    port.put(A, "12")
    port.put(B, "1234")
    port.put(C, "1234")
    _evicts(port, [B], "create", path=A, text="123456")
    _evicts(port, [C], "str_replace", path=A, oldText="6", newText="6789")
    port.same(port.texts(), {A: "123456789"}, "what is stored")


@chapter.within(TEN_BYTES)
def _an_edit_makes_room_for_itself_too(port: Port) -> None:
    port.put(A, "1234\n")
    port.put(B, "1234\n")
    _evicts(port, [A], "insert", path=B, insertLine=1, text="5")
    port.put(A, "123")
    _evicts(port, [B], "str_replace", path=A, oldText="3", newText="3456")


@chapter.within(Limits(max_file_bytes=100, max_total_bytes=1_000, max_files=1))
def _a_scope_of_one_file_keeps_the_latest(port: Port) -> None:
    port.put(A)
    _evicts(port, [A], "create", path=B, text="x")
    _evicts(port, [B], "create", path=A, text="y")
    _evicts(port, [], "create", path=A, text="z")


@chapter.promise
def _a_view_does_not_count_as_a_write(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.run("view", path=A)
    port.run("view", path=A, viewRange=[1, 1])
    port.run("view", path="/memories")
    _evicts(port, [A], "create", path=C, text="x")


@chapter.promise
def _a_rename_does_not_count_as_a_write(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.run("rename", oldPath=A, newPath=D)
    _evicts(port, [D], "create", path=C, text="x")


@chapter.within(THREE_FILES)
def _a_directory_that_moves_keeps_the_order_of_its_files(port: Port) -> None:
    for path in ("/memories/d/z.md", B, "/memories/d/a.md"):
        port.put(path)
    port.run("rename", oldPath="/memories/d", newPath="/memories/e")
    _evicts(port, ["/memories/e/z.md"], "create", path=C, text="x")
    _evicts(port, [B], "create", path=D, text="x")
    _evicts(port, ["/memories/e/a.md"], "create", path=A, text="x")


@chapter.for_each(WRITES_TO_A)
def _a_write_makes_a_file_the_latest(port: Port, write: Sent) -> None:
    port.put(A, "x\n")
    port.put(B, "x\n")
    command, fields = write
    port.run(command, **fields)
    _evicts(port, [B], "create", path=C, text="x")


@chapter.for_each(REFUSED_WRITES_TO_A)
def _a_refused_write_leaves_a_file_in_its_place(port: Port, write: tuple[str, str, dict[str, Any]]) -> None:
    port.put(A, "x\n")
    port.put(B, "x\n")
    code, command, fields = write
    port.refuse(code, command, **fields)
    _evicts(port, [A], "create", path=C, text="x")


@chapter.within(TEN_BYTES)
def _a_refused_write_evicts_nothing(port: Port) -> None:
    port.put(A, "12345")
    port.put(B, "12345")
    port.refuse("LIMIT_EXCEEDED", "create", path=C, text="12345678901")
    port.refuse("LIMIT_EXCEEDED", "str_replace", path=B, oldText="5", newText="5678901")
    port.refuse("LIMIT_EXCEEDED", "insert", path=B, insertLine=0, text="678901")


@chapter.promise
def _no_eviction_makes_way_for_a_path(port: Port) -> None:
    port.put(A)
    port.put("/memories/d.md/b.md")
    port.refuse("PATH_CONFLICT", "create", path=f"{A}/c.md", text="x")
    port.refuse("PATH_CONFLICT", "create", path="/memories/d.md", text="x")


@chapter.promise
def _a_directory_goes_with_its_last_file(port: Port) -> None:
    port.put("/memories/d/e/a.md")
    port.put(B)
    _evicts(port, ["/memories/d/e/a.md"], "create", path=C, text="x")
    port.refuse("NOT_FOUND", "view", path="/memories/d")


@chapter.promise
def _a_file_may_leave_for_its_neighbour(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.put("/memories/d/b.md")
    _evicts(port, ["/memories/d/a.md"], "create", path="/memories/d/c.md", text="x")
    port.same(port.texts(), {"/memories/d/b.md": "x", "/memories/d/c.md": "x"}, "what is stored")


@chapter.promise
def _a_file_that_left_is_new_when_it_comes_back(port: Port) -> None:
    for path in (A, B, C):
        port.put(path)
    port.expect(
        {"path": A, "byteLength": 1, "evicted": [B], "overwritten": False}, "create", path=A, text="x"
    )


@chapter.promise
def _a_deletion_makes_room(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.run("delete", path=B)
    _evicts(port, [], "create", path=C, text="x")


@chapter.promise
def _a_file_made_again_has_the_latest_place(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.run("delete", path=A)
    port.put(A)
    _evicts(port, [B], "create", path=C, text="x")


@chapter.within(Limits())
def _the_usual_limit_is_256_files(port: Port) -> None:
    for number in range(256):
        port.put(f"/memories/{number}.md")
    _evicts(port, ["/memories/0.md"], "create", path=A, text="x")


def _evicts(port: Port, evicted: list[str], command: str, **fields: Any) -> None:
    port.same(port.run(command, **fields)["evicted"], evicted, f"what left for {command} {fields['path']}")
