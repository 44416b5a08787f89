"""The folder is the memory: what is created lies there, and what lies there is a memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memfs import Limits, OpenError
from memfs.opening import open_with
from memfs.port.errors import ErrorCode
from memfs.stores.directory import aside
from tests.harness import failure, must, texts
from tests.stores.directory.harness import SCOPE, THEIRS, files_in, open_folder, staged, told

A, B = "/memories/a.md", "/memories/d/b.md"


def test_what_is_created_lies_in_the_folder(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path=B, text="second")
        assert files_in(fast_path) == {"a.md": "first", "d/b.md": "second"}
        must(memory, "create", path=A, text="third")
        must(memory, "rename", oldPath="/memories/d", newPath="/memories/e")
        assert files_in(fast_path) == {"a.md": "third", "e/b.md": "second"}
        assert not (fast_path / "d").exists()
        must(memory, "delete", path="/memories/e")
        assert files_in(fast_path) == {"a.md": "third"}
        assert not (fast_path / "e").exists()
    assert staged(fast_path) == []


@pytest.mark.parametrize("way", ["the next change", "housekeeping", "the next opening", "redaction"])
def test_what_a_change_replaced_is_let_go_of_soon(
    fast_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path=A, text="second")
        memory.maintain()
        assert len(staged(fast_path)) == 1, "a program may be on its way to it"
        if way == "redaction":
            memory.redact([(A, 1)])
        elif way != "the next opening":
            monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
            must(memory, "create", path=B, text="x") if way == "the next change" else memory.maintain()
        if way != "the next opening":
            assert staged(fast_path) == []
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    open_folder(fast_path)[0].close()
    assert staged(fast_path) == []


def test_what_was_replaced_takes_little_room(fast_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "LINGER_SECONDS", 1000.0)
    monkeypatch.setattr(aside, "MOST_BYTES", 10)
    memory, _ = open_folder(fast_path)
    with memory:
        for number in range(10):
            must(memory, "create", path=A, text=f"text {number}")
    assert [(fast_path / ".meta/staged" / name).read_text() for name in staged(fast_path)] == ["text 8"]


def test_a_file_of_somebody_with_the_name_of_what_was_replaced_stays(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path=A, text="second")
        (name,) = staged(fast_path)
        (fast_path / "theirs").write_text("theirs")
        (fast_path / "theirs").rename(fast_path / ".meta/staged" / name)
    assert (fast_path / ".meta/staged" / name).read_text() == "theirs"


def test_files_that_are_there_become_memories_in_the_order_of_their_times(fast_path: Path) -> None:
    for number, name in enumerate(("new.md", "old.md", "d/middle.txt")):
        path = fast_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
        time_ns = {0: 3_000, 1: 1_000, 2: 2_000}[number] * 1_000_000_000
        os.utime(path, ns=(time_ns, time_ns))
    memory, store = open_folder(fast_path)
    with memory:
        files = list(memory.snapshot().in_write_order())
        assert [file.path for file in files] == [
            "/memories/old.md",
            "/memories/d/middle.txt",
            "/memories/new.md",
        ]
        assert [file.mtime_ns // 1_000_000_000 for file in files] == [1_000, 2_000, 3_000]
        assert {(operation, actor) for operation, _, actor in told(store)} == {("created", THEIRS)}
        assert len({file.id for file in files}) == 3
        must(memory, "create", path=A, text="next")
        assert len({file.id for file in memory.snapshot().in_write_order()}) == 4


def test_a_folder_of_many_notes_loses_none_of_them(fast_path: Path) -> None:
    for number in range(300):
        (fast_path / f"{number}.md").write_text("x" * 4_000)
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="one more")
        assert len(memory.snapshot()) == 301
        assert len(files_in(fast_path)) == 301


def test_limits_that_have_no_room_for_what_is_there_are_refused(fast_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (fast_path / name).write_text("text")
    with pytest.raises(OpenError) as refused:
        open_with(f"directory:{fast_path}", SCOPE, {"max_files": 2})
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT
    assert "max_files" in refused.value.error.message
    assert len(files_in(fast_path)) == 3
    with open_with(f"directory:{fast_path}", SCOPE, {"max_files": 3}) as memory:
        assert len(memory.snapshot()) == 3
        assert memory.policy.limits.max_files == 3


def test_an_empty_folder_has_the_usual_limits(fast_path: Path) -> None:
    with open_with(f"directory:{fast_path / 'new'}", SCOPE, {}) as memory:
        assert memory.policy.limits == Limits()


def test_a_folder_is_one_scope(fast_path: Path) -> None:
    open_folder(fast_path)[0].close()
    with pytest.raises(OpenError, match=f"is the scope '{SCOPE}'") as refused:
        open_with(f"directory:{fast_path}", "other", {})
    assert refused.value.error.code is ErrorCode.INVALID_ARGUMENT


def test_files_and_directories_are_their_owners_alone(fast_path: Path) -> None:
    before = os.umask(0)
    try:
        memory, _ = open_folder(fast_path / "new")
        with memory:
            must(memory, "create", path=B, text="x")
            memory.maintain()
            found = [fast_path / "new", *(fast_path / "new").rglob("*")]
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
            assert len(found) >= 8
            assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
    finally:
        os.umask(before)


def test_a_file_keeps_its_mode_when_it_is_replaced(fast_path: Path) -> None:
    (fast_path / "a.md").write_text("before")
    (fast_path / "a.md").chmod(0o640)
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="after")
    assert stat.S_IMODE((fast_path / "a.md").stat().st_mode) == 0o640
    assert (fast_path / "a.md").read_text() == "after"


def test_the_time_of_a_memory_is_that_of_its_file(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="x")
        file = memory.snapshot().file(A)
        assert file is not None
        assert (fast_path / "a.md").stat().st_mtime_ns == file.mtime_ns


def test_hidden_files_and_other_names_are_not_touched_and_those_that_could_be_notes_are_counted(
    fast_path: Path,
) -> None:
    for name in (".git/HEAD", ".obsidian/x.md", "picture.png", "my notes/a.md", "ünï.md", "d/.hidden.md"):
        path = fast_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    memory, store = open_folder(fast_path)
    with memory:
        assert texts(memory) == {}
        assert store.report() == {"unnamed": 3, "unsafe": 0}
        must(memory, "create", path="/memories/d/x.md", text="x")
        must(memory, "delete", path="/memories/d")
        assert (fast_path / "d/.hidden.md").read_text() == "d/.hidden.md"
        must(memory, "create", path="/memories/e/x.md", text="x")
        must(memory, "delete", path="/memories/e")
        assert not (fast_path / "e").exists()
    assert (fast_path / "picture.png").read_text() == "picture.png"


def test_every_version_of_a_file_is_in_the_history(fast_path: Path) -> None:
    (fast_path / "a.md").write_text("theirs")
    memory, store = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="ours")
        records = list(store.history(newest_first=False))
        assert [(record.operation, store.read(record.id, record.version)) for record in records] == [
            ("created", b"theirs"),
            ("modified", b"ours"),
        ]


def test_extensions_that_are_added_bring_in_the_files_that_have_them(fast_path: Path) -> None:
    (fast_path / "page.html").write_text("<h1>x</h1>")
    with open_with(f"directory:{fast_path}", SCOPE, {}) as memory:
        assert texts(memory) == {}
        memory.set_policy({"extensions": [".md", ".html"]})
        assert texts(memory) == {"/memories/page.html": "<h1>x</h1>"}


@pytest.mark.parametrize(
    "rules",
    [{"layout": "para"}, {"extensions": [".html"]}, {"max_file_bytes": 4}],
    ids=lambda rules: next(iter(rules)),
)
def test_memories_stay_when_the_rules_would_no_longer_take_them(
    fast_path: Path, rules: dict[str, object]
) -> None:
    (fast_path / "a.md").write_text("long enough")
    with open_with(f"directory:{fast_path}", SCOPE, {}) as memory:
        (known,) = memory.snapshot().files_below("/memories")
        memory.set_policy(rules)
        (fast_path / "b.md").write_text("another one")
        (fast_path / "a.md").write_text("as long now")
        assert texts(memory) == {A: "as long now"}
    with open_with(f"directory:{fast_path}", SCOPE, {}) as memory:
        assert texts(memory) == {A: "as long now"}
        assert [file.id for file in memory.snapshot().files_below("/memories")] == [known.id]
        must(memory, "delete", path=A)
    assert files_in(fast_path) == {"b.md": "another one"}


def test_a_folder_in_a_file_s_place_is_no_store(fast_path: Path) -> None:
    (fast_path / "notes").write_text("mine")
    for url in (f"directory:{fast_path}/notes", f"directory:{fast_path}/notes/deeper"):
        with pytest.raises(OpenError) as refused:
            open_with(url, SCOPE, {})
        assert refused.value.error.code is ErrorCode.STORAGE_ERROR
    assert (fast_path / "notes").read_text() == "mine"


def test_a_relaxed_store_has_all_of_it_when_it_is_opened_again(fast_path: Path) -> None:
    memory, store = open_folder(fast_path, relaxed=True)
    with memory:
        assert store.waits
        must(memory, "create", path=A, text="x")
        memory.sync()
    memory, _ = open_folder(fast_path)
    with memory:
        assert texts(memory) == {A: "x"}
        assert failure(memory, "view", path=B).code is ErrorCode.NOT_FOUND
