"""Opening a memory: by URL, with names and rules that are checked, and recorded with a new scope."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from memfs import ErrorCode, Limits, OpenError, open_memory
from memfs.opening import canonical_url, open_with
from memfs.port.errors import StoreError
from tests.harness import failure, must, texts
from tests.stores.harness import open_pair

A, B, C = "/memories/a.md", "/memories/b.md", "/memories/c.md"


@pytest.fixture(params=["simple", "sqlite", "git"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "simple:" if request.param == "simple" else f"{request.param}:{tmp_path / 'store'}"


@pytest.mark.parametrize("name", ["", " ", "a\n", "\x7f", "\ud800", None, 5])
def test_a_bad_scope_name_is_refused_and_makes_nothing(url: str, name: Any, tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="scope's name") as refused:
        open_memory(url, scope=name)
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("extensions", [[], ["md"], [".\u00e9"]])
def test_a_bad_rule_is_refused_and_makes_nothing(url: str, extensions: list[str], tmp_path: Path) -> None:
    with pytest.raises(OpenError) as refused:
        open_memory(url, extensions=extensions)
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT
    assert list(tmp_path.iterdir()) == []


NO_REFERENCES = ("", "ref=", "ref=main", "ref=HEAD", "ref=refs/x", "branch=refs/x/y")
NO_NAMES = ("a/../b", "a/b.lock", "a/.b", "a//b", "a/b/", "a/b c", "a/b@{1}")


@pytest.mark.parametrize(
    "wrong",
    ["", "sqlite", "notes", "mysql:notes", "sqlite:", "simple:x", "sqlite:a\0b", ":x", "git", "git:"]
    + ["git:?ref=refs/x/y", *(f"git:x?{query}" for query in NO_REFERENCES)]
    + [f"git:x?ref=refs/{name}" for name in NO_NAMES],
)
def test_a_url_that_names_no_store_is_refused(wrong: str) -> None:
    with pytest.raises(OpenError) as refused:
        open_memory(wrong)
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT


def test_a_url_may_hold_a_secret_that_no_refusal_repeats() -> None:
    with pytest.raises(OpenError) as refused:
        open_memory("postgres://me:hunter2@host/db")
    assert "hunter2" not in refused.value.error.message


def test_a_path_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match="UTF-8"):
        open_memory(f"sqlite:{tmp_path}/" + os.fsdecode(b"\xff"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["with space", "100%", "a?b=c", "a#b", "caf\u00e9", "it's", "a;b\nc"])
def test_a_store_may_lie_in_any_directory_that_has_a_name(tmp_path: Path, name: str) -> None:
    for text in ("first", "second"):
        with open_memory(f"sqlite:{tmp_path}/{name}") as memory:
            must(memory, "create", path=A, text=text)
    with open_memory(f"sqlite:{tmp_path}/{name}") as memory:
        assert texts(memory) == {A: "second"}
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_a_url_the_users_own_store_is_opened() -> None:
    with open_memory(scope="mine") as memory:
        must(memory, "create", path=A, text="x")
    store = Path(os.environ["XDG_DATA_HOME"]) / "memfs" / "store"
    assert canonical_url(None) == f"sqlite:{store}"
    with open_memory(f"sqlite:{store}", scope="mine") as memory:
        assert texts(memory) == {A: "x"}


def test_a_url_means_the_same_in_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    assert canonical_url("sqlite:link/store") == f"sqlite:{tmp_path}/real/store"
    assert canonical_url("sqlite:~/store") == f"sqlite:{os.environ['HOME']}/store"
    assert canonical_url("simple:") == "simple:"
    assert canonical_url("git:link/store") == f"git:{tmp_path}/real/store"
    assert canonical_url("git:store?ref=refs/heads/notes") == f"git:{tmp_path}/store?ref=refs/heads/notes"


def test_two_links_to_a_store_are_one_store(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with open_memory(f"sqlite:{tmp_path}/link") as one, open_memory(f"sqlite:{tmp_path}/store") as two:
        must(one, "create", path=A, text="x")
        assert texts(two) == {A: "x"}


def test_scopes_of_one_store_know_nothing_of_each_other(lasting_url: str) -> None:
    with open_memory(lasting_url, scope="one") as one, open_memory(lasting_url, scope="two") as two:
        must(one, "create", path=A, text="one")
        assert texts(two) == {}
        assert (one.scope, two.scope) == ("one", "two")


def test_the_rules_of_a_scope_are_recorded_when_it_is_made(lasting_url: str) -> None:
    open_memory(lasting_url, limits=Limits(max_files=2), extensions=[".org"]).close()
    with open_memory(lasting_url) as memory:
        assert memory.policy.limits == Limits(max_files=2)
        must(memory, "create", path="/memories/a.org", text="x")
        assert failure(memory, "create", path=A, text="x").code is ErrorCode.INVALID_EXTENSION


def test_a_door_with_other_rules_is_refused_by_name_of_the_rule(lasting_url: str) -> None:
    open_memory(lasting_url, limits=Limits(max_files=2)).close()
    others: list[dict[str, Any]] = [
        {"max_files": 3},
        {"extensions": [".md"]},
        {"max_files": 2, "max_total_bytes": 1},
    ]
    for wanted in others:
        with pytest.raises(OpenError, match=list(wanted)[-1]) as refused:
            open_with(lasting_url, "default", wanted)
        assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT
    with open_memory(lasting_url, limits=Limits(max_files=2)) as memory:
        assert memory.policy.limits.max_files == 2


def test_a_door_that_was_refused_holds_nothing_open(lasting_url: str) -> None:
    open_memory(lasting_url).close()
    descriptors = os.listdir("/proc/self/fd")
    with pytest.raises(OpenError):
        open_memory(lasting_url, limits=Limits(max_files=3))
    assert os.listdir("/proc/self/fd") == descriptors


def test_rules_that_change_hold_at_every_open_door(lasting_url: str) -> None:
    with open_memory(lasting_url) as one, open_memory(lasting_url) as two:
        for path in (A, B, C):
            must(one, "create", path=path, text="x")
        one.set_policy({"max_files": 2, "extensions": [".md"]})
        assert sorted(texts(two)) == [A, B, C]
        assert two.policy == one.policy
        assert failure(two, "create", path="/memories/d.txt", text="x").code is ErrorCode.INVALID_EXTENSION
        assert must(two, "create", path=C, text="y").evicted == (A,)
    with open_memory(lasting_url, limits=Limits(max_files=2)) as memory:
        assert memory.policy.extensions == (".md",)


def test_rules_that_are_none_change_nothing(lasting_url: str) -> None:
    with open_memory(lasting_url) as memory:
        impossible: list[dict[str, Any]] = [{"max_dreams": 1}, {"max_files": 0}, {"extensions": []}]
        for wanted in impossible:
            with pytest.raises(OpenError):
                memory.set_policy(wanted)
        assert memory.policy.limits == Limits()
        must(memory, "create", path=A, text="x")


def test_a_closed_memory_takes_no_rules(url: str) -> None:
    memory = open_memory(url)
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.set_policy({"max_files": 2})


def test_a_program_may_be_called_anything(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [os.fsdecode(b"/bin/caf\xe9")])
    with open_memory(sqlite_url) as memory:
        must(memory, "create", path=A, text="x")


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.50.6", "3.44.5", "3.7.0"])
def test_an_sqlite_that_can_lose_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    with pytest.raises(StoreError, match=version):
        open_pair(tmp_path)


@pytest.mark.parametrize("version", ["3.51.3", "3.50.7", "3.44.6", "3.60.0", "4.0.0"])
def test_an_sqlite_with_the_bug_mended_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    open_pair(tmp_path)[0].close()
