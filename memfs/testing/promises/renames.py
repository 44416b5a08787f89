"""rename: files and directories, and never over anything."""

from __future__ import annotations

from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
A, B = "/memories/a.md", "/memories/b.md"
NAME = "s" * 128


def _deep(directory: str, length: int) -> str:
    """A file below *directory* whose whole path has this many bytes."""
    path = directory
    while length - len(path) > 2 * len(NAME) + 2:
        path += f"/{NAME}"
    rest = length - len(path)
    return f"{path}/{'d' * (rest // 2 - 1)}/{'f' * (rest - rest // 2 - 4)}.md"


@chapter.promise
def _a_file_is_renamed(port: Port) -> None:
    port.put(A, "text")
    port.expect(
        {"oldPath": A, "newPath": "/memories/d/e/b.txt", "kind": "file", "movedFiles": 1},
        "rename",
        oldPath=A,
        newPath="/memories/d/e/b.txt",
    )
    port.same(port.texts(), {"/memories/d/e/b.txt": "text"}, "what is stored")


@chapter.promise
def _a_directory_is_renamed_with_every_file_below_it(port: Port) -> None:
    for path in ("/memories/d/a.md", "/memories/d/e/b.md", "/memories/de.md"):
        port.put(path, path)
    port.expect(
        {"oldPath": "/memories/d", "newPath": "/memories/x/y", "kind": "directory", "movedFiles": 2},
        "rename",
        oldPath="/memories/d",
        newPath="/memories/x/y",
    )
    expected = {
        "/memories/x/y/a.md": "/memories/d/a.md",
        "/memories/x/y/e/b.md": "/memories/d/e/b.md",
        "/memories/de.md": "/memories/de.md",
    }
    port.same(port.texts(), expected, "what is stored")


@chapter.promise
def _a_directory_that_lost_its_last_file_by_a_rename_is_gone(port: Port) -> None:
    port.put("/memories/d/e/a.md")
    port.run("rename", oldPath="/memories/d/e/a.md", newPath=B)
    port.refuse("NOT_FOUND", "view", path="/memories/d")


@chapter.promise
def _a_rename_never_overwrites(port: Port) -> None:
    port.put(A, "a")
    port.put(B, "b")
    port.put("/memories/d/a.md", "da")
    port.put("/memories/e/a.md", "ea")
    for old, new in ((A, B), (A, "/memories/d"), ("/memories/d", "/memories/e"), ("/memories/d", A)):
        port.refuse("ALREADY_EXISTS", "rename", oldPath=old, newPath=new)


@chapter.promise
def _a_rename_to_the_same_path_already_exists(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.refuse("ALREADY_EXISTS", "rename", oldPath="/memories/d/a.md", newPath="/memories/d/a.md")
    port.refuse("ALREADY_EXISTS", "rename", oldPath="/memories/d", newPath="/memories/d")


@chapter.promise
def _a_directory_does_not_move_into_itself(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.refuse("CONFLICT", "rename", oldPath="/memories/d", newPath="/memories/d/e")
    port.refuse("CONFLICT", "rename", oldPath="/memories/d", newPath="/memories/d/e/f")


@chapter.promise
def _a_directory_may_move_to_a_name_that_begins_with_its_own(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.run("rename", oldPath="/memories/d", newPath="/memories/de")
    port.run("rename", oldPath="/memories/de", newPath="/memories/d")


@chapter.promise
def _a_directory_may_move_up(port: Port) -> None:
    port.put("/memories/d/e/a.md")
    port.put("/memories/d/b.md")
    port.run("rename", oldPath="/memories/d/e", newPath="/memories/e")
    port.same(port.texts(), {"/memories/e/a.md": "x", "/memories/d/b.md": "x"}, "what is stored")


@chapter.promise
def _nothing_moves_below_a_file(port: Port) -> None:
    port.put(A)
    port.put(B)
    port.put("/memories/d/a.md")
    port.refuse("PATH_CONFLICT", "rename", oldPath=A, newPath=f"{B}/c.md")
    port.refuse("PATH_CONFLICT", "rename", oldPath=A, newPath=f"{B}/c/d.md")
    port.refuse("PATH_CONFLICT", "rename", oldPath="/memories/d", newPath=f"{B}/d")


@chapter.promise
def _a_file_does_not_move_below_itself(port: Port) -> None:
    port.put(A)
    port.refuse("PATH_CONFLICT", "rename", oldPath=A, newPath=f"{A}/b.md")


@chapter.promise
def _what_is_not_there_cannot_be_renamed(port: Port) -> None:
    port.put(A)
    for path in (B, "/memories/d", f"{A}/b.md"):
        port.refuse("NOT_FOUND", "rename", oldPath=path, newPath="/memories/c.md")


@chapter.promise
def _every_path_that_moves_must_fit(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.put(_deep("/memories/d", 1024), "deep")
    port.refuse("INVALID_PATH", "rename", oldPath="/memories/d", newPath="/memories/dd")
    port.run("rename", oldPath="/memories/d", newPath="/memories/e")


@chapter.promise
def _a_file_takes_its_text_along(port: Port) -> None:
    port.put(A, "a\r\nb")
    port.run("rename", oldPath=A, newPath=B)
    port.run("str_replace", path=B, oldText="a", newText="x")
    port.same(port.texts(), {B: "x\r\nb"}, "what is stored")


@chapter.promise
def _the_old_path_is_free_again(port: Port) -> None:
    port.put(A, "first")
    port.run("rename", oldPath=A, newPath=B)
    port.expect(
        {"path": A, "byteLength": 6, "evicted": [], "overwritten": False}, "create", path=A, text="second"
    )
    port.same(port.texts(), {A: "second", B: "first"}, "what is stored")
