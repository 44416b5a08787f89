"""What a path may be, at every command that takes one."""

from __future__ import annotations

from memfs.testing.kit import Promises
from memfs.testing.port import Port

chapter = Promises()
SOURCE = "/memories/source.md"
LONG = "s" * 128
"""The longest name."""
FULL = "/memories" + f"/{LONG}" * 7 + "/" + "f" * 108 + ".md"
"""A path of 1,024 bytes, the longest."""

MALFORMED = {
    "empty": "",
    "a slash": "/",
    "relative": "memories/a.md",
    "a bare name": "a.md",
    "another root": "/notes/a.md",
    "a longer root": "/memoriesx/a.md",
    "the root in upper case": "/Memories/a.md",
    "two slashes at the front": "//memories/a.md",
    "a space at the front": " /memories/a.md",
    "the root with a slash": "/memories/",
    "a slash at the end": "/memories/a/",
    "a slash after a file": "/memories/a.md/",
    "two slashes": "/memories//a.md",
    "a dot": "/memories/./a.md",
    "a dot at the end": "/memories/a/.",
    "two dots": "/memories/../a.md",
    "two dots at the end": "/memories/a/..",
    "two dots within": "/memories/a/../b.md",
    "a hidden file": "/memories/.a.md",
    "only an extension": "/memories/.md",
    "a hidden directory": "/memories/.git/a.md",
    "three dots": "/memories/.../a.md",
    "a hyphen first": "/memories/-a.md",
    "a directory with a hyphen first": "/memories/-d/a.md",
    "a space": "/memories/a b.md",
    "a space at the end": "/memories/a.md ",
    "a percent sign": "/memories/a%2Fb.md",
    "dots in disguise": "/memories/%2e%2e/a.md",
    "a backslash": "/memories/a\\b.md",
    "a colon": "/memories/a:b.md",
    "a star": "/memories/*.md",
    "a tilde": "/memories/a~.md",
    "NUL": "/memories/a\0.md",
    "a tab": "/memories/a\tb.md",
    "a newline": "/memories/a\nb.md",
    "a newline at the end": "/memories/a.md\n",
    "a newline after the root": "/memories\n",
    "DEL": "/memories/a\x7f.md",
    "a letter with an accent": "/memories/\u00e9.md",
    "a letter that looks like another": "/memories/\u0430.md",
    "a digit of another script": "/memories/\u0661.md",
    "a wide letter": "/memories/\uff41.md",
    "an emoji": "/memories/\U0001f9e0.md",
    "a letter that lower case makes ASCII": "/memories/\u212a.md",
    "a lone surrogate": "/memories/\ud800.md",
    "a file name of 129 characters": f"/memories/{'f' * 126}.md",
    "a directory name of 129 characters": f"/memories/{'d' * 129}/a.md",
    "1,025 bytes": FULL[:-3] + "f.md",
}
WELL_FORMED = {
    "a digit": "/memories/1.md",
    "upper case": "/memories/A.md",
    "an underscore first": "/memories/_a.md",
    "only an underscore": "/memories/_/a.md",
    "a hyphen within": "/memories/a-b.md",
    "a hyphen at the end": "/memories/a-/b-.md",
    "dots within": "/memories/a..b.c.md",
    "a dot at the end of a directory": "/memories/a./b.md",
    "the root's name": "/memories/memories/memories.md",
    "a directory named as a file": "/memories/a.md/b.md",
    "a name of 128 characters": f"/memories/{'d' * 128}/{'f' * 125}.md",
    "1,024 bytes": FULL,
    "five hundred directories": "/memories" + "/d" * 500 + "/a.md",
    ".txt": "/memories/a.txt",
    ".json": "/memories/a.json",
    ".py": "/memories/a.py",
    ".yaml": "/memories/a.yaml",
    ".yml": "/memories/a.yml",
}
OTHER_EXTENSIONS = {
    "none": "/memories/a",
    "a dot and nothing": "/memories/a.",
    "upper case": "/memories/a.MD",
    "another": "/memories/a.ts",
    "html": "/memories/a.html",
    "the last one counts": "/memories/a.md.bak",
    "only the directory has one": "/memories/a.md/b",
    "longer": "/memories/a.markdown",
    "shorter": "/memories/a.m",
    "a hyphen behind it": "/memories/a.md-",
}


@chapter.for_each(MALFORMED)
def _a_malformed_path_is_refused_by_every_command(port: Port, path: str) -> None:
    port.put(SOURCE)
    port.refuse("INVALID_PATH", "view", path=path)
    port.refuse("INVALID_PATH", "create", path=path, text="x")
    port.refuse("INVALID_PATH", "str_replace", path=path, oldText="x", newText="y")
    port.refuse("INVALID_PATH", "insert", path=path, insertLine=0, text="y")
    port.refuse("INVALID_PATH", "delete", path=path)
    port.refuse("INVALID_PATH", "rename", oldPath=path, newPath="/memories/b.md")
    port.refuse("INVALID_PATH", "rename", oldPath=SOURCE, newPath=path)


@chapter.for_each(WELL_FORMED)
def _a_well_formed_path_is_taken_by_every_command(port: Port, path: str) -> None:
    port.put(path, "x")
    port.run("str_replace", path=path, oldText="x", newText="y")
    port.run("insert", path=path, insertLine=1, text="z")
    port.run("rename", oldPath=path, newPath=SOURCE)
    port.run("rename", oldPath=SOURCE, newPath=path)
    port.same(port.texts(), {path: "y\nz\n"}, "what is stored")
    port.run("delete", path=path)
    port.same(port.texts(), {}, "what is stored")


@chapter.for_each(OTHER_EXTENSIONS)
def _a_file_with_another_extension_is_refused(port: Port, path: str) -> None:
    port.put(SOURCE)
    port.refuse("INVALID_EXTENSION", "create", path=path, text="x")
    port.refuse("INVALID_EXTENSION", "rename", oldPath=SOURCE, newPath=path)


@chapter.promise
def _a_directory_needs_no_extension(port: Port) -> None:
    port.put("/memories/a.ts/b.md")
    port.run("rename", oldPath="/memories/a.ts", newPath="/memories/b")


@chapter.promise
def _names_that_differ_in_case_are_two_names(port: Port) -> None:
    port.put("/memories/notes.md", "lower")
    port.put("/memories/Notes.md", "upper")
    port.same(port.text("/memories/notes.md"), "lower", "the text of notes.md")


@chapter.promise
def _the_root_exists_from_the_start_and_is_empty(port: Port) -> None:
    port.expect({"kind": "directory", "path": "/memories", "entries": []}, "view", path="/memories")


@chapter.promise
def _the_root_is_no_file(port: Port) -> None:
    port.refuse("ROOT_PROTECTED", "create", path="/memories", text="x")
    port.refuse("PATH_CONFLICT", "str_replace", path="/memories", oldText="x", newText="y")
    port.refuse("PATH_CONFLICT", "insert", path="/memories", insertLine=0, text="x")


@chapter.promise
def _the_root_stays_where_it_is(port: Port) -> None:
    port.put(SOURCE)
    port.refuse("ROOT_PROTECTED", "delete", path="/memories")
    port.refuse("ROOT_PROTECTED", "rename", oldPath="/memories", newPath="/memories/b")
    port.refuse("ROOT_PROTECTED", "rename", oldPath=SOURCE, newPath="/memories")


@chapter.promise
def _a_directory_exists_while_a_file_lies_below_it(port: Port) -> None:
    port.refuse("NOT_FOUND", "view", path="/memories/a")
    port.put("/memories/a/b/c.md")
    port.run("view", path="/memories/a")
    port.run("view", path="/memories/a/b")
    port.run("delete", path="/memories/a/b/c.md")
    port.refuse("NOT_FOUND", "view", path="/memories/a/b")
    port.refuse("NOT_FOUND", "view", path="/memories/a")


@chapter.promise
def _the_beginning_of_a_name_is_no_directory(port: Port) -> None:
    port.put("/memories/ab/c.md")
    port.refuse("NOT_FOUND", "view", path="/memories/a")
    port.refuse("NOT_FOUND", "delete", path="/memories/a")
    port.refuse("NOT_FOUND", "rename", oldPath="/memories/a", newPath="/memories/b")
