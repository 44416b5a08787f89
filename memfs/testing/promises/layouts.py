"""The layout ``para``: four buckets that are always there, and nothing beside them."""

from __future__ import annotations

from memfs.port.policy import Limits
from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises(layout="para")
BUCKETS = ("archive", "areas", "projects", "resources")
INBOX = "/memories/areas/inbox"
A, B = "/memories/projects/atlas/a.html", "/memories/areas/health/b.html"

OUTSIDE = {
    "a file on the top level": "/memories/a.html",
    "a directory on the top level": "/memories/stuff/a.html",
    "a bucket in the singular": "/memories/project/a.html",
    "a bucket in upper case": "/memories/Projects/a.html",
    "a bucket with a tail": "/memories/projects.html",
    "with another extension": "/memories/stuff/a.exe",
}
STANDING = {name: f"/memories/{name}" for name in BUCKETS} | {"the inbox": INBOX}


@chapter.promise
def _the_root_lists_the_buckets_from_the_start(port: Port) -> None:
    entries = [{"name": name, "path": f"/memories/{name}", "kind": "directory"} for name in BUCKETS]
    port.expect({"kind": "directory", "path": "/memories", "entries": entries}, "view", path="/memories")


@chapter.promise
def _the_inbox_is_there_from_the_start(port: Port) -> None:
    entries = [{"name": "inbox", "path": INBOX, "kind": "directory"}]
    areas = "/memories/areas"
    port.expect({"kind": "directory", "path": areas, "entries": entries}, "view", path=areas)
    port.expect({"kind": "directory", "path": INBOX, "entries": []}, "view", path=INBOX)


@chapter.for_each(OUTSIDE)
def _nothing_lies_outside_the_buckets(port: Port, path: str) -> None:
    port.put(A)
    port.refuse("INVALID_PATH", "view", path=path)
    port.refuse("INVALID_PATH", "create", path=path, text="x")
    port.refuse("INVALID_PATH", "str_replace", path=path, oldText="x", newText="y")
    port.refuse("INVALID_PATH", "insert", path=path, insertLine=0, text="y")
    port.refuse("INVALID_PATH", "delete", path=path)
    port.refuse("INVALID_PATH", "rename", oldPath=A, newPath=path)
    port.refuse("INVALID_PATH", "rename", oldPath=path, newPath=A)


@chapter.for_each(STANDING)
def _what_the_layout_has_stays_where_it_is(port: Port, path: str) -> None:
    port.refuse("ROOT_PROTECTED", "delete", path=path)
    port.refuse("ROOT_PROTECTED", "rename", oldPath=path, newPath="/memories/projects/new")
    port.put(A)
    port.run("rename", oldPath=A, newPath=f"{path}/a.html")
    port.refuse("ROOT_PROTECTED", "delete", path=path)
    port.refuse("ROOT_PROTECTED", "rename", oldPath=path, newPath="/memories/projects/new")


@chapter.for_each(STANDING)
def _what_the_layout_has_is_never_taken(port: Port, path: str) -> None:
    port.put(A)
    port.put("/memories/projects/d/a.html")
    port.refuse("ALREADY_EXISTS", "rename", oldPath="/memories/projects/d", newPath=path)
    port.refuse("INVALID_EXTENSION", "create", path=path, text="x")
    port.refuse("PATH_CONFLICT", "insert", path=path, insertLine=0, text="x")


@chapter.promise
def _a_bucket_stays_when_its_last_file_leaves(port: Port) -> None:
    port.put(A)
    port.put(f"{INBOX}/a.html")
    port.run("delete", path=A)
    port.run("delete", path=f"{INBOX}/a.html")
    port.same(port.run("view", path="/memories/projects")["entries"], [], "what is in the empty bucket")
    port.same(port.run("view", path=INBOX)["entries"], [], "what is in the empty inbox")
    port.refuse("NOT_FOUND", "view", path="/memories/projects/atlas")


@chapter.promise
def _the_usual_extension_is_html(port: Port) -> None:
    port.refuse("INVALID_EXTENSION", "create", path="/memories/projects/a.md", text="x")
    port.put("/memories/projects/a.html")


@chapter.within(Limits(), extensions=[".md"])
def _other_extensions_are_chosen(port: Port) -> None:
    port.put("/memories/projects/a.md")
    port.refuse("INVALID_EXTENSION", "create", path="/memories/projects/a.html", text="x")


@chapter.promise
def _a_rename_moves_between_buckets(port: Port) -> None:
    port.put(A)
    port.run("rename", oldPath="/memories/projects/atlas", newPath="/memories/resources/atlas")
    port.same(port.texts(), {"/memories/resources/atlas/a.html": "x"}, "what is stored")


@chapter.within(Limits(max_files=1))
def _a_full_scope_archives_and_loses_nothing(port: Port) -> None:
    port.put(A, "first")
    port.same(port.run("create", path=B, text="x")["evicted"], [A], "what left")
    port.same(sorted(port.texts().values()), ["first", "x"], "the texts that are stored")
    archived = next(path for path in port.texts() if "/archive/" in path)
    port.same(archived.endswith("/projects/atlas/a.html"), True, f"whether {archived} says where it was")
    port.refuse("ROOT_PROTECTED", "create", path=archived, text="y")


@chapter.within(Limits(max_files=1), eviction="delete")
def _a_full_scope_deletes_where_that_is_the_rule(port: Port) -> None:
    port.put(A, "first")
    port.same(port.run("create", path=B, text="x")["evicted"], [A], "what left")
    port.same(port.texts(), {B: "x"}, "what is stored")
