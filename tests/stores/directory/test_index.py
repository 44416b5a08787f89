"""The page index: what other programs read instead of the pages, and how it comes to be stale no longer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memfs import ensure_memory
from memfs.stores.directory import pageindex
from memfs.stores.directory.titles import title_of
from tests.harness import must
from tests.stores.directory.harness import open_folder

A, B = "/memories/a.md", "/memories/d/b.md"


def index_of(folder: Path) -> Any:
    return json.loads((folder / ".meta/index.json").read_bytes())


def test_the_index_has_every_page_when_the_memory_is_closed(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="no heading\n")
        must(memory, "create", path=B, text="text\n\n## A *title* ##\n")
        must(memory, "create", path=A, text="# Later\n")
    assert index_of(fast_path) == {
        "version": 1,
        "pages": {
            "d/b.md": {"title": "A *title*", "bytes": 22, "order": 1, "id": 2},
            "a.md": {"title": "Later", "bytes": 8, "order": 2, "id": 1},
        },
    }


def test_the_index_of_a_workspace_s_bootstrap_is_taken_over(fast_path: Path) -> None:
    folder = Path(ensure_memory(fast_path / "agent"))
    assert index_of(folder) == {"version": 1, "pages": {}}
    open_folder(folder)[0].close()
    assert index_of(folder)["pages"]["index.md"]["title"] == "Memory"


@pytest.mark.parametrize("damage", ["removed", "emptied", "stale"])
def test_an_index_that_is_missing_or_stale_is_made_anew(damage: str, fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="# A\n")
    index = fast_path / ".meta/index.json"
    match damage:
        case "removed":
            index.unlink()
        case "emptied":
            index.write_text("")
        case "stale":
            (fast_path / "a.md").write_text("# Another\n")
    open_folder(fast_path)[0].close()
    assert index_of(fast_path)["pages"]["a.md"]["title"] == ("Another" if damage == "stale" else "A")


def test_an_index_that_shows_the_present_is_not_written_again(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="# A\n")
    before = os.stat(fast_path / ".meta/index.json")
    open_folder(fast_path)[0].close()
    after = os.stat(fast_path / ".meta/index.json")
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_index_is_not_written_at_every_change(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        for number in range(10):
            must(memory, "create", path=A, text=f"# {number}\n")
        assert not (fast_path / ".meta/index.json").exists()
        monkeypatch.setattr(pageindex, "SECONDS", 0.0)
        must(memory, "create", path=A, text="# now\n")
        assert index_of(fast_path)["pages"]["a.md"]["title"] == "now"


@pytest.mark.parametrize(
    ("place", "text", "title"),
    [
        ("a.md", "", None),
        ("a.md", "no heading\n#tag\n    # code\n", None),
        ("a.md", "text\n  ### Third  \n# First\n", "Third"),
        ("a.md", "# \n## Next\n", None),
        ("a.md", "#\tTab # in it ##\n", "Tab # in it"),
        ("a.md", "# " + "x" * 500, "x" * 200),
        ("a.html", "<p>x</p><H2 class='x'>One <b>bold</b> &amp;\n two</H2>", "One bold & two"),
        ("a.html", "<title>Page</title><h1>Heading</h1>", "Page"),
        ("a.py", "# a comment\n", None),
        ("a.json", "{}", None),
    ],
)
def test_a_title_is_the_first_heading(place: str, text: str, title: str | None) -> None:
    assert title_of(place, text.encode()) == title
