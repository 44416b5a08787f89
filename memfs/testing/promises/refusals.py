"""The eviction that is none: a full scope refuses what it has no room for."""

from __future__ import annotations

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises(Limits(max_file_bytes=8, max_total_bytes=10, max_files=2), eviction="refuse")
A, B, C = (f"/memories/{letter}.md" for letter in "abc")


@chapter.promise
def _a_file_too_many_is_refused_and_nothing_leaves(port: Port) -> None:
    port.put(A, "1")
    port.put(B, "2")
    error = port.refuse("LIMIT_EXCEEDED", "create", path=C, text="3")
    port.same(
        "byteLength" in error.get("details", {}), False, "whether the file itself is said to be too large"
    )


@chapter.promise
def _bytes_too_many_are_refused_and_nothing_leaves(port: Port) -> None:
    port.put(A, "12345\n")
    port.refuse("LIMIT_EXCEEDED", "create", path=B, text="12345")
    port.put(B, "1234")
    port.refuse("LIMIT_EXCEEDED", "create", path=B, text="12345")
    port.refuse("LIMIT_EXCEEDED", "str_replace", path=A, oldText="5", newText="56")
    port.refuse("LIMIT_EXCEEDED", "insert", path=A, insertLine=1, text="6")


@chapter.promise
def _a_full_scope_takes_what_needs_no_more_room(port: Port) -> None:
    port.put(A, "12345\n")
    port.put(B, "1234")
    port.put(B, "4321")
    port.put(A, "123")
    port.run("str_replace", path=B, oldText="1", newText="123")
    port.run("rename", oldPath=B, newPath=C)
    port.same(port.texts(), {A: "123", C: "432123"}, "what is stored")


@chapter.promise
def _a_deletion_makes_room_for_what_was_refused(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.refuse("LIMIT_EXCEEDED", "create", path=C, text="x")
    port.run("delete", path=A)
    port.put(C)
    port.same(port.texts(), {B: "x", C: "x"}, "what is stored")


@chapter.promise
def _the_name_archive_means_nothing_where_nothing_is_archived(port: Port) -> None:
    port.put("/memories/archive/2020/a.md")
    port.put("/memories/archive/2020/a.md", "y")
    port.put(B)
    port.refuse("LIMIT_EXCEEDED", "create", path=C, text="x")


@chapter.within(Limits(max_file_bytes=8, max_total_bytes=10, max_files=1), layout="para")
def _what_is_archived_by_hand_comes_back_only_where_there_is_room(port: Port) -> None:
    work, home, archived = "/memories/projects/a.html", "/memories/areas/a.html", "/memories/archive/a.html"
    port.put(work)
    port.run("rename", oldPath=work, newPath=archived)
    port.put(home)
    port.refuse("LIMIT_EXCEEDED", "rename", oldPath=archived, newPath=work)
    port.run("delete", path=home)
    port.run("rename", oldPath=archived, newPath=work)
