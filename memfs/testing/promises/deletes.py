"""delete: files, and directories with everything below them."""

from __future__ import annotations

from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()


@chapter.promise
def _a_file_is_deleted(port: Port) -> None:
    port.put("/memories/a.md", "\u00e9")
    port.put("/memories/b.md")
    port.expect(
        {"path": "/memories/a.md", "kind": "file", "deletedFiles": 1, "freedBytes": 2},
        "delete",
        path="/memories/a.md",
    )
    port.same(port.texts(), {"/memories/b.md": "x"}, "what is stored")


@chapter.promise
def _a_directory_is_deleted_with_every_file_below_it(port: Port) -> None:
    for path in ("/memories/d/a.md", "/memories/d/e/b.md", "/memories/d/e/f/c.md", "/memories/de.md"):
        port.put(path, "12")
    port.expect(
        {"path": "/memories/d", "kind": "directory", "deletedFiles": 3, "freedBytes": 6},
        "delete",
        path="/memories/d",
    )
    port.same(port.texts(), {"/memories/de.md": "12"}, "what is stored")


@chapter.promise
def _an_empty_file_frees_no_bytes(port: Port) -> None:
    port.put("/memories/a.md", "")
    port.expect(
        {"path": "/memories/a.md", "kind": "file", "deletedFiles": 1, "freedBytes": 0},
        "delete",
        path="/memories/a.md",
    )


@chapter.promise
def _what_is_not_there_cannot_be_deleted(port: Port) -> None:
    port.put("/memories/a.md")
    for path in ("/memories/b.md", "/memories/d", "/memories/a.md/b.md", "/memories/a"):
        port.refuse("NOT_FOUND", "delete", path=path)


@chapter.promise
def _what_was_deleted_cannot_be_deleted_again(port: Port) -> None:
    port.put("/memories/d/a.md")
    port.run("delete", path="/memories/d/a.md")
    port.refuse("NOT_FOUND", "delete", path="/memories/d/a.md")
    port.refuse("NOT_FOUND", "delete", path="/memories/d")
