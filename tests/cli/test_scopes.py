"""``memfs scopes``: what a store holds, told without changing anything in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memfs import open_memory
from tests.cli.conftest import Shell
from tests.harness import must

KINDS = ["sqlite", "git", "directory"]


def lines(printed: str) -> list[tuple[str, int, int, int]]:
    """Name, files, bytes and version of each scope in JSON."""
    found = [json.loads(line) for line in printed.splitlines()]
    return [(each["scope"], each["files"], each["bytes"], each["version"]) for each in found]


def everything(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else b""
        for path in place.rglob("*")
    }


@pytest.fixture
def url(shell: Shell, request: pytest.FixtureRequest) -> str:
    """A store with the scope 'work', of three changes, and where it can have several, an empty one."""
    url = f"{request.param}:{shell.home}/store"
    with open_memory(url, scope="work", actor="ann") as memory:
        must(memory, "create", path="/memories/a.md", text="four")
        must(memory, "create", path="/memories/b.md", text="and more")
        must(memory, "delete", path="/memories/a.md")
    if request.param != "directory":
        open_memory(url, scope="empty").close()
    return url


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_each_scope_with_its_size_and_last_change_and_nothing_is_touched(shell: Shell, url: str) -> None:
    before = everything(shell.home / "store")
    found = lines(shell("scopes", "--store", url, "--json").done())
    assert found[-1] == ("work", 1, 8, 3)
    assert [name for name, *_ in found[:-1]] == ([] if url.startswith("directory") else ["empty"])
    last = json.loads(shell("scopes", "--store", url, "--json", "--like", "work").done())["lastChange"]
    assert last["program"] == "ann"
    head, *rows = shell("scopes", "--store", url, "--like", "or").done().splitlines()
    assert head.split() == ["files", "bytes", "version", "last", "change", "by", "scope"]
    assert [row.split()[-1] for row in rows] == ["work"]
    assert everything(shell.home / "store") == before


def test_one_that_is_open_shows_what_it_is_now(shell: Shell) -> None:
    url = f"sqlite:{shell.home}/store"
    with open_memory(url) as memory:
        must(memory, "create", path="/memories/a.md", text="four")
        assert lines(shell("scopes", "--store", url, "--json").done()) == [("default", 1, 4, 1)]


def test_a_page_at_a_time(shell: Shell) -> None:
    url = f"sqlite:{shell.home}/store"
    for name in ("c", "a", "b"):
        open_memory(url, scope=name).close()
    first = lines(shell("scopes", "--store", url, "--json", "--limit", "2").done())
    assert [name for name, *_ in first] == ["a", "b"]
    assert [name for name, *_ in lines(shell("scopes", "--store", url, "--json", "--after", "b").done())] == [
        "c"
    ]


def test_what_is_no_scope_is_named_and_the_others_are_shown(shell: Shell) -> None:
    url = f"sqlite:{shell.home}/store"
    open_memory(url).close()
    (shell.home / "store" / ("0" * 32 + ".db")).write_bytes(b"something else")
    done = shell("scopes", "--store", url, "--json")
    assert [name for name, *_ in lines(done.out)] == ["default"]
    assert "it was left as it is" in done.refusal(1)


def test_a_commit_of_plain_git_counts(shell: Shell) -> None:
    url = f"git:{shell.home}/store?ref=refs/heads/notes"
    with open_memory(url) as memory:
        must(memory, "create", path="/memories/a.md", text="four")
    assert lines(shell("scopes", "--store", url, "--json").done()) == [("default", 1, 4, 1)]
    assert "There is no scope" in shell("scopes", "--store", f"git:{shell.home}/store").refusal(1)


def test_where_there_is_none(shell: Shell) -> None:
    for url in (f"{kind}:{shell.home}/nothing" for kind in KINDS):
        assert "There is no scope" in shell("scopes", "--store", url).refusal(1)
        assert shell("scopes", "--store", url, "--json").done() == ""
    assert not (shell.home / "nothing").exists()
    assert "simple:" in shell("scopes", "--store", "simple:").refusal(2)
