"""What people read of the history, and what brings back what was: versions, restore, undo."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings

from memfs import (
    ErrorCode,
    Expected,
    Limits,
    Memory,
    NotKept,
    OpenError,
    Policy,
    Record,
    Result,
    StoreError,
    Undone,
    open_memory,
)
from memfs.port.change import Actor
from memfs.port.keeping import Retention
from memfs.port.plan import Joined, plan_write
from memfs.stores.simple import SimpleStore
from memfs.stores.sqlite import open_sqlite
from tests.harness import must, texts
from tests.port.strategies import Session, sessions

A, B, C, D = (f"/memories/{name}.md" for name in "abcd")


@pytest.fixture(params=["simple", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    policy = Policy(Limits(max_files=3, max_total_bytes=100))
    store = (
        SimpleStore("work", policy) if request.param == "simple" else open_sqlite(tmp_path, "work", policy)[0]
    )
    return Memory(store, Actor("ann", "test", 7))


def brief(records: list[Record]) -> list[tuple[int, str, str]]:
    return [(record.version, record.operation, record.path) for record in records]


def undone(memory: Memory) -> Undone:
    result = memory.undo()
    assert result.ok, result.to_wire()
    assert isinstance(result.value, Undone)
    return result.value


# --- reading ---------------------------------------------------------------------------------------


def test_the_history_of_a_file_is_its_memory_under_all_its_names(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=B, text="another")
    must(memory, "rename", oldPath=A, newPath=C)
    must(memory, "create", path=A, text="a new memory")
    assert brief(memory.versions(C)) == [(3, "renamed", C), (1, "created", A)]
    assert brief(memory.versions(A)) == [(4, "created", A)]
    assert [record.version for record in memory.history()] == [4, 3, 2, 1]


def test_a_free_path_shows_the_memories_that_were_last_there(memory: Memory) -> None:
    for text in "12":
        must(memory, "create", path=A, text=text)
        must(memory, "delete", path=A)
    assert brief(memory.versions(A)) == [
        (4, "deleted", A), (3, "created", A), (2, "deleted", A), (1, "created", A),
    ]  # fmt: skip


def test_a_path_that_a_memory_has_left_by_renaming_shows_that_one(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "rename", oldPath=A, newPath=B)
    assert brief(memory.versions(A)) == [(2, "renamed", B), (1, "created", A)]
    assert memory.versions(C) == []
    assert memory.versions("no path") == []


def test_a_directory_shows_what_happened_below_it(memory: Memory) -> None:
    must(memory, "create", path="/memories/d/a.md", text="1")
    must(memory, "create", path=B, text="beside")
    must(memory, "rename", oldPath="/memories/d/a.md", newPath=A)
    must(memory, "create", path="/memories/d/c.md", text="1")
    assert [record.version for record in memory.history("/memories/d")] == [4, 3, 1]


def test_two_changes_that_were_one_save_are_one_record(memory: Memory) -> None:
    must(memory, "create", path=A, text="old")
    must(memory, "delete", path=A)
    joined = Joined(1, 2, "modified")
    memory.perform("create", lambda scope, now_ns: plan_write(scope, A, b"new", now_ns, None, joined))
    assert brief(memory.versions(A)) == [(3, "modified", A), (1, "created", A)]
    assert brief(list(memory.history())) == [(3, "modified", A), (1, "created", A)]
    undone(memory)
    assert texts(memory) == {A: "old"}


def test_any_version_is_read_by_a_path_of_its_memory(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "create", path=B, text="22")
    must(memory, "delete", path=B)
    assert [memory.read_version(B, version) for version in (1, 2, 3, 4)] == [b"1", b"1", b"22", b"22"]
    with pytest.raises(NotKept, match="no version 9; the nearest it has: 2, 3, 4"):
        memory.read_version(B, 9)
    with pytest.raises(NotKept, match="Nothing is recorded"):
        memory.read_version(D, 1)


@pytest.mark.parametrize("directory", ["/memories", "/memories/d"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_directory_has_no_versions_of_its_own(memory: Memory, directory: str, is_there: bool) -> None:
    for name in "ab":
        must(memory, "create", path=f"/memories/d/{name}.md", text=name)
    if not is_there:
        must(memory, "delete", path="/memories/d")
    before = texts(memory), list(memory.history())
    with pytest.raises(NotKept, match="is a directory; name a memory in it"):
        memory.read_version(directory, 1)
    result = memory.restore(directory, 1)
    assert result.error is not None
    assert result.error.code is ErrorCode.NOT_FOUND
    if memory.history_use() is not None:
        with pytest.raises(NotKept, match="is a directory"):
            memory.redact([(directory, 1)])
    assert (texts(memory), list(memory.history())) == before


def test_who_and_why_is_recorded(memory: Memory) -> None:
    memory.execute({"command": "create", "path": A, "text": "1", "reason": "asked for"})
    memory.execute({"command": "create", "path": A, "text": "2", "reason": "ignored"}, reason="for tidiness")
    memory.undo(reason="not tidy at all")
    assert [record.reason for record in memory.versions(A)] == [
        "not tidy at all", "for tidiness", "asked for",
    ]  # fmt: skip
    assert {record.actor for record in memory.versions(A)} == {Actor("ann", "test", 7)}
    refused = memory.restore(A, 1, reason="two\nlines")
    assert refused.error is not None
    assert refused.error.code is ErrorCode.INVALID_ARGUMENT


# --- restore ---------------------------------------------------------------------------------------


def test_a_version_is_restored_as_a_change_of_the_same_memory(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    must(memory, "rename", oldPath=A, newPath=B)
    assert memory.restore(B, 1).ok
    assert texts(memory) == {B: "1"}
    assert [record.operation for record in memory.versions(B)] == [
        "restored", "renamed", "modified", "created",
    ]  # fmt: skip


def test_a_memory_that_has_left_comes_back_with_its_last_content_and_its_id(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    must(memory, "delete", path=A)
    assert memory.restore(A).ok
    assert texts(memory) == {A: "2"}
    assert len(memory.versions(A)) == 4
    assert list(memory.gone()) == []


def test_the_last_of_those_that_were_there_comes_back(memory: Memory) -> None:
    for text in "12":
        must(memory, "create", path=A, text=text)
        must(memory, "delete", path=A)
    assert memory.restore(A).ok
    assert texts(memory) == {A: "2"}
    assert memory.restore(A, 1).error is not None, "version 1 is another memory's, and A is taken"
    assert brief(list(memory.gone())) == [(2, "deleted", A)]


def test_a_path_that_is_no_unicode_has_no_history(memory: Memory) -> None:
    path = "/memories/\udcff.md"
    assert (list(memory.history(path)), list(memory.gone(path))) == ([], [])
    for version in (None, 1):
        error = memory.restore(path, version).error
        assert error is not None
        assert error.code is ErrorCode.INVALID_PATH


def test_what_is_archived_is_named_to_who_would_restore_it_where_it_was() -> None:
    with open_memory("simple:", scope="archiving", layout="para", extensions=[".md"]) as memory:
        a, b = "/memories/projects/x/a.md", "/memories/areas/b.md"
        for year in (2025, 2026):
            must(memory, "create", path=a, text=str(year))
            must(memory, "rename", oldPath=a, newPath=f"/memories/archive/{year}/projects/x/a.md")
        for path in (a, "/memories/projects/x"):
            error = memory.restore(path).error
            assert error is not None
            assert error.code is ErrorCode.NOT_FOUND
            assert path.replace("/memories", "/memories/archive/2026") in error.message
        error = memory.restore(b).error
        assert error is not None
        assert "archive" not in error.message


def test_nothing_is_overwritten_unasked(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "delete", path=A)
    must(memory, "create", path=B, text="2")
    for result in (memory.restore(B), memory.restore(A, to=B)):
        assert result.error is not None
        assert result.error.code is ErrorCode.ALREADY_EXISTS
    assert memory.restore(A, to=C).ok
    assert memory.restore(B, 3, to=D).ok, "a copy of one that is still there"
    assert texts(memory) == {B: "2", C: "1", D: "2"}
    assert brief(memory.versions(D)) == [(5, "created", D)]
    assert [record.version for record in memory.versions(C)] == [4, 2, 1]


def test_what_never_was_cannot_be_restored(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    for result in (memory.restore(B), memory.restore(A, 7), memory.restore("/memories/none")):
        assert result.error is not None
        assert result.error.code is ErrorCode.NOT_FOUND
    assert memory.snapshot().version == 1


@pytest.mark.parametrize("path", [5, None, "kept.md", "/memories/../a.md"])
@pytest.mark.parametrize("version", [None, 1])
def test_what_is_no_path_is_refused_as_by_any_command(
    memory: Memory, path: object, version: int | None
) -> None:
    result = memory.restore(cast("str", path), version)
    assert result.error is not None
    assert result.error.code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_PATH)


def test_a_directory_that_was_deleted_is_restored_by_its_memories(memory: Memory) -> None:
    must(memory, "create", path="/memories/d/a.md", text="a")
    must(memory, "delete", path="/memories/d")
    result = memory.restore("/memories/d")
    assert result.error is not None
    assert result.error.code is ErrorCode.NOT_FOUND
    assert "`memfs log --deleted /memories/d` lists" in result.error.message
    assert memory.restore("/memories/d/a.md").ok


def test_a_restored_memory_makes_room_as_any_other(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "delete", path=A)
    for path in (B, C, D):
        must(memory, "create", path=path, text="2")
    assert memory.restore(A).ok
    assert set(texts(memory)) == {A, C, D}


# --- undo ------------------------------------------------------------------------------------------


def test_nothing_can_be_undone_in_a_scope_without_changes(memory: Memory) -> None:
    result = memory.undo()
    assert result.error is not None
    assert result.error.code is ErrorCode.NOT_FOUND


def test_a_creation_is_undone_and_redone(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    assert undone(memory) == Undone(1, (A,), (), ())
    assert texts(memory) == {}
    assert undone(memory) == Undone(2, (), (A,), ())
    assert texts(memory) == {A: "1"}
    assert [record.id for record in memory.versions(A)] == [1, 1, 1]


def test_an_eviction_is_undone_with_the_creation_that_caused_it(memory: Memory) -> None:
    for path in (A, B, C):
        must(memory, "create", path=path, text=path)
    must(memory, "create", path=D, text="1")
    assert set(texts(memory)) == {B, C, D}
    assert undone(memory) == Undone(4, (D,), (A,), ())
    assert texts(memory) == {A: A, B: B, C: C}


def test_a_directory_is_deleted_and_renamed_back(memory: Memory) -> None:
    for name in ("a", "b"):
        must(memory, "create", path=f"/memories/d/{name}.md", text=name)
    before = texts(memory)
    must(memory, "delete", path="/memories/d")
    undone(memory)
    assert texts(memory) == before
    must(memory, "rename", oldPath="/memories/d", newPath="/memories/d2")
    assert len(undone(memory).moved) == 2
    assert texts(memory) == before


def test_the_rules_stay_as_they_are_and_are_kept(memory: Memory) -> None:
    must(memory, "create", path=A, text="x" * 60)
    must(memory, "create", path=A, text="y")
    memory.set_policy({"max_file_bytes": 10})
    result = memory.undo()
    assert result.error is not None
    assert result.error.code is ErrorCode.LIMIT_EXCEEDED
    assert texts(memory) == {A: "y"}
    memory.set_policy({"max_file_bytes": 60})
    undone(memory)
    assert texts(memory) == {A: "x" * 60}
    assert memory.policy.limits.max_file_bytes == 60


def test_an_undo_is_planned_on_the_newest_state(tmp_path: Path) -> None:
    policy = Policy(Limits())
    first, second = (Memory(open_sqlite(tmp_path, "work", policy)[0], Actor(name)) for name in "ab")
    with first, second:
        must(first, "create", path=A, text="1")
        must(second, "create", path=B, text="2")
        assert undone(first) == Undone(2, (B,), (), ())
        assert texts(second) == {A: "1"}


@given(session=sessions)
@settings(max_examples=40, deadline=None)
def test_whatever_was_done_undo_leads_back_and_again_forth(session: Session) -> None:
    store = SimpleStore("work", session.policy)
    with Memory(store, Actor("any")) as memory:
        for command in session.sent[:30]:
            before, version = texts(memory), memory.snapshot().version
            memory.execute(command)
            if memory.snapshot().version == version:
                continue
            after = texts(memory)
            undone(memory)
            assert texts(memory) == before
            undone(memory)
            assert texts(memory) == after


# --- the archive -----------------------------------------------------------------------------------


def test_what_is_archived_moves_out_and_its_archiving_is_undone() -> None:
    with Memory(SimpleStore("work", Policy(Limits(max_files=1), eviction="archive")), Actor("ann")) as memory:
        must(memory, "create", path=A, text="1")
        must(memory, "create", path=B, text="2")
        (archived,) = (path for path in texts(memory) if path != B)
        assert archived.startswith("/memories/archive/")
        assert undone(memory) == Undone(2, (B,), (), ((archived, A),))
        assert texts(memory) == {A: "1"}
        undone(memory)
        assert texts(memory) == {archived: "1", B: "2"}
        assert memory.restore(archived, to=C).ok
        assert set(texts(memory).values()) == {"1", "2"}
        assert C in texts(memory)
        must(memory, "delete", path=C)
        (archived,) = texts(memory)
        assert memory.restore(archived).ok
        assert texts(memory) == {B: "2"}


# --- what a caller expects, and what is none of a method's arguments -------------------------------------


def conflict(result: Result) -> object:
    assert result.error is not None, result.to_wire()
    assert result.error.code is ErrorCode.CONFLICT, result.to_wire()
    return result.error.details


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_version_comes_back_only_over_what_was_seen(memory: Memory) -> None:
    for text in "123":
        must(memory, "create", path=A, text=text)
    assert conflict(memory.restore(A, 1, expected=Expected(version=2))) == {"expected": 2, "actual": 3}
    assert conflict(memory.restore(A, 1, expected={"sha256": digest("2")})) == {
        "expected": digest("2"), "actual": digest("3"),
    }  # fmt: skip
    assert texts(memory) == {A: "3"}
    assert memory.restore(A, 1, expected={"sha256": digest("3")}).ok
    must(memory, "delete", path=A)
    must(memory, "create", path=B, text="another")
    assert conflict(memory.restore(A, to=B, expected="absent")) == {"expected": "absent", "actual": 6}
    assert memory.restore(A, expected="absent").ok
    assert texts(memory) == {A: "1", B: "another"}


def test_only_the_change_that_was_seen_is_undone(memory: Memory) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    assert conflict(memory.undo(expected={"version": 1})) == {"expected": 1, "actual": 2}
    assert conflict(memory.undo(expected={"version": 3})) == {"expected": 3, "actual": 2}
    memory.set_policy({"max_files": 2})
    assert memory.undo(expected=Expected(version=3)).ok
    assert texts(memory) == {A: "1"}
    result = memory.undo(expected="absent")
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_ARGUMENT


def test_what_is_archived_and_restored_is_what_was_seen() -> None:
    memory = Memory(SimpleStore("work", Policy(eviction="archive")), Actor("ann", "test", 7))
    must(memory, "create", path=A, text="1")
    assert conflict(memory.archive(A, expected={"sha256": digest("2")}))
    assert conflict(memory.archive(A, expected="absent")) == {"expected": "absent", "actual": 1}
    assert conflict(memory.archive(B, expected=Expected(version=1))) == {"expected": 1, "actual": "absent"}
    result = memory.archive(A, expected=Expected(version=1), reason="over")
    assert result.ok, result.to_wire()
    (there,) = texts(memory)
    assert next(memory.history()).reason == "over"
    for to in (None, B):
        assert conflict(memory.restore(there, to=to, expected="absent")) == {
            "expected": "absent", "actual": 1,
        }  # fmt: skip
    assert memory.restore(there, expected={"version": 1}).ok
    assert texts(memory) == {A: "1"}


NONE_OF_THEIRS: list[Any] = [5, 1.5, True, b"bytes", ["a"], {"a": 1}, object()]


@pytest.mark.parametrize("wrong", NONE_OF_THEIRS, ids=lambda wrong: type(wrong).__name__)
def test_a_value_of_the_wrong_type_is_an_answer(memory: Memory, wrong: Any) -> None:
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    version: Any = "1" if wrong in (5, True) else wrong  # 5 is one, if not of this memory
    before = texts(memory), list(memory.history())
    for result in (
        memory.restore(wrong),
        memory.restore(A, version),
        memory.restore(A, 1, wrong),
        memory.restore(A, 1, expected=wrong),
        memory.restore(A, 1, actor=wrong),
        memory.restore(A, 1, reason=wrong),
        memory.undo(expected=wrong),
        memory.undo(actor=wrong),
        memory.undo(reason=wrong),
        memory.archive(wrong),
        memory.archive(A, expected=wrong),
        memory.archive(A, actor=wrong),
        memory.execute(wrong),
        memory.execute({"command": "delete", "path": A}, actor=wrong),
        memory.execute({"command": "delete", "path": A}, reason=wrong),
    ):
        assert result.error is not None
        assert result.error.code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.INVALID_COMMAND), result.to_wire()
    for raises in (
        lambda: memory.history(wrong),
        lambda: memory.versions(wrong),
        lambda: memory.gone(wrong),
        lambda: memory.gone_children(wrong),
        lambda: memory.read_version(wrong, 1),
        lambda: memory.read_version(A, version),
        lambda: memory.prune(wrong),
        lambda: memory.prune(Retention(wrong if wrong != 5 else -1, None)),
        lambda: memory.redact(wrong),
        lambda: memory.redact([wrong]),
        lambda: memory.redact([(A, version)]),
        lambda: memory.redact([(A, 1)], reason=wrong),
    ):
        with pytest.raises(StoreError) as failure:
            raises()
        assert failure.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(OpenError):
        memory.set_policy(wrong)
    assert (texts(memory), list(memory.history())) == before


@pytest.mark.parametrize("pid", [-1, 1 << 31, True])
def test_a_process_id_that_no_system_gives_is_refused(memory: Memory, pid: int) -> None:
    result = memory.execute({"command": "create", "path": A, "text": "1"}, actor=Actor("ann", "test", pid))
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_ARGUMENT
    assert texts(memory) == {}


def test_the_name_of_an_actor_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OpenError, match="has 256 characters; the longest allowed is 255"):
        open_memory(f"sqlite:{tmp_path}", actor="x" * 256)
    monkeypatch.setattr("sys.argv", ["p" * 255 + "q"])
    with open_memory(f"sqlite:{tmp_path}") as memory:
        assert memory.actor.program == "p" * 255
        must(memory, "create", path=A, text="1")
        result = memory.undo(actor=Actor("ann", "x" * 256, 7))
        assert result.error is not None
        assert result.error.code is ErrorCode.INVALID_ARGUMENT
