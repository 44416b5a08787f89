"""The archive: free places in it, the way back out of it, and that nothing is lost on the way in."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs import Create, Delete, ErrorCode, Limits, Policy, Rename
from memfs.port.archiving import plan_archive
from memfs.port.buckets import archive_place, original_place
from memfs.port.change import Actor, Change, Commit, File, Origin
from memfs.port.errors import PortError
from memfs.port.places import FreePlaces
from memfs.port.receipts import Renamed
from memfs.port.restoring import plan_restore_archived
from memfs.port.scope import Scope
from tests.port.planned import NOW_NS, Planned, picture
from tests.port.strategies import Session, sessions

A, B = "/memories/projects/a.md", "/memories/areas/b.md"
ARCHIVED_A = "/memories/archive/1970/projects/a.md"
PARA = Policy.from_json({"layout": "para", "extensions": [".md"], "max_files": 2})


def must(planned: Planned, *commands: Any) -> None:
    for command in commands:
        result = planned.execute(command)
        assert result.ok, result


def paths(scope: Scope) -> list[str]:
    return [file.path for file in scope.in_write_order()]


def restore(planned: Planned, path: str) -> Renamed:
    change = plan_restore_archived(planned.scope, path, NOW_NS)
    assert isinstance(change, Change), change
    planned.apply(change)
    assert isinstance(change.receipt, Renamed)
    return change.receipt


def refusal(planned: Planned, path: str) -> PortError:
    error = plan_restore_archived(planned.scope, path, NOW_NS)
    assert isinstance(error, PortError)
    return error


# What holds after every command, whatever the rules


@given(sessions)
def test_an_eviction_into_the_archive_loses_nothing(session: Session) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        before = Counter(planned.contents[file.id] for file in planned.scope.in_write_order())
        files = {file.id: file for file in planned.scope.in_write_order()}
        result = planned.execute(command)
        if session.policy.eviction == "delete" or result.command == "delete":
            continue
        kept = {file.id for file in planned.scope.in_write_order()}
        assert files.keys() <= kept
        if result.command in ("rename", "view"):
            assert before == Counter(planned.contents[file.id] for file in planned.scope.in_write_order())


@given(sessions)
def test_the_limits_hold_for_what_is_live(session: Session) -> None:
    planned, limits = Planned(session.policy), session.policy.limits
    for command in session.sent:
        planned.execute(command)
        scope = planned.scope
        assert scope.live_files <= limits.max_files
        assert scope.live_bytes <= limits.max_total_bytes
        assert scope.live_bytes + scope.archived_bytes == sum(file.size for file in scope.in_write_order())
        assert scope.live_files + scope.archived_files == len(scope)
        if session.policy.max_archive_bytes is not None:
            assert scope.archived_bytes <= session.policy.max_archive_bytes


@given(sessions)
def test_what_is_archived_by_itself_comes_back_to_where_it_was(session: Session) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        before = planned.scope.live_files
        evicted = getattr(planned.execute(command).value, "evicted", ())
        if session.policy.eviction != "archive" or not evicted:
            continue
        assert planned.scope.live_files <= before + 1
        again = Planned(session.policy)
        again.scope = Scope(session.policy, planned.scope.version, planned.scope.in_write_order())
        again.contents = planned.contents
        if again.scope.file(evicted[0]) is not None or again.scope.file_above(evicted[0]) is not None:
            continue
        change = plan_restore_archived(again.scope, archive_place(evicted[0], NOW_NS), NOW_NS)
        if isinstance(change, PortError):
            assert change.code in (ErrorCode.LIMIT_EXCEEDED, ErrorCode.NOT_FOUND)
            continue
        again.apply(change)
        assert evicted[0] in paths(again.scope)


@given(sessions, st.sampled_from(("delete", "archive", "refuse")), st.sampled_from(("flat", "para")))
def test_a_scope_under_other_rules_is_as_one_made_with_them(
    session: Session, eviction: str, layout: str
) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        planned.execute(command)
    scope, policy = planned.scope, session.policy.changed({"eviction": eviction, "layout": layout})
    before = paths(scope)
    scope.apply(Commit(scope.version + 1, Change(policy=policy), Origin(NOW_NS, Actor())))
    assert paths(scope) == before
    assert picture(scope) == picture(Scope(policy, scope.version, scope.in_write_order()))


# Archiving by hand, and restoring


def archive(planned: Planned, path: str) -> Renamed:
    change = plan_archive(planned.scope, path, NOW_NS)
    assert isinstance(change, Change), change
    planned.apply(change)
    assert isinstance(change.receipt, Renamed)
    return change.receipt


def test_what_is_archived_by_hand_goes_where_an_eviction_would_put_it() -> None:
    planned = Planned(PARA)
    for place in (ARCHIVED_A, ARCHIVED_A.replace(".md", "-2.md")):
        must(planned, Create(A, "x"))
        assert archive(planned, A) == Renamed(A, place, "file", 1)


def test_a_directory_joins_what_of_it_is_in_the_archive() -> None:
    planned = Planned(PARA)
    must(planned, Create("/memories/projects/d/a.md", "1"))
    archive(planned, "/memories/projects/d/a.md")
    must(planned, Create("/memories/projects/d/b.md", "2"), Create("/memories/projects/d/a.md", "3"))
    there = "/memories/archive/1970/projects/d"
    assert archive(planned, "/memories/projects/d") == Renamed("/memories/projects/d", there, "directory", 2)
    assert sorted(paths(planned.scope)) == [f"{there}/{name}.md" for name in ("a-2", "a", "b")]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/memories", ErrorCode.ROOT_PROTECTED),
        ("/memories/projects", ErrorCode.ROOT_PROTECTED),
        ("/memories/archive/1970", ErrorCode.INVALID_PATH),
        (ARCHIVED_A, ErrorCode.INVALID_PATH),
        ("/memories/projects/none", ErrorCode.NOT_FOUND),
        ("", ErrorCode.INVALID_PATH),
    ],
)
def test_what_cannot_be_archived_is_refused(path: str, code: ErrorCode) -> None:
    planned = Planned(PARA)
    must(planned, Create(A, "x"), Rename(A, ARCHIVED_A))
    error = plan_archive(planned.scope, path, NOW_NS)
    assert isinstance(error, PortError)
    assert error.code is code


def test_a_scope_without_an_archive_archives_nothing() -> None:
    planned = Planned(Limits())
    must(planned, Create("/memories/a.md", "x"))
    error = plan_archive(planned.scope, "/memories/a.md", NOW_NS)
    assert isinstance(error, PortError)
    assert "memfs policy set" in error.message


def test_a_path_too_long_for_the_archive_is_not_archived() -> None:
    deep = "/memories/projects" + f"/{'d' * 120}" * 8 + "/" + "f" * 28 + ".md"
    planned = Planned(PARA)
    must(planned, Create(deep, "x"))
    error = plan_archive(planned.scope, deep, NOW_NS)
    assert isinstance(error, PortError)
    assert error.code is ErrorCode.LIMIT_EXCEEDED


def test_a_restored_memory_is_where_it_was_with_the_newest_place() -> None:
    planned = Planned(PARA)
    must(planned, Create(A, "x"), Rename(A, ARCHIVED_A), Create(B, "y"))
    assert restore(planned, ARCHIVED_A) == Renamed(ARCHIVED_A, A, "file", 1)
    assert paths(planned.scope) == [B, A]


def test_a_place_that_is_taken_gets_an_ordinal() -> None:
    planned = Planned(PARA)
    must(planned, Create(A, "old"), Rename(A, ARCHIVED_A), Create(A, "new"))
    assert restore(planned, ARCHIVED_A).new_path == "/memories/projects/a-2.md"
    assert len(planned.scope) == 2


def test_what_leaves_for_a_restored_memory_is_in_the_receipt_and_in_the_archive() -> None:
    planned = Planned(PARA)
    must(planned, Create(A, "x"), Rename(A, ARCHIVED_A), Create(B, "y"), Create("/memories/areas/c.md", "z"))
    assert restore(planned, ARCHIVED_A).evicted == (B,)
    assert paths(planned.scope) == ["/memories/archive/1970/areas/b.md", "/memories/areas/c.md", A]


def test_the_files_of_a_directory_are_restored_each_to_its_place() -> None:
    planned = Planned(PARA.changed({"max_files": 4}))
    directory = "/memories/archive/1970/projects/d"
    must(planned, Create("/memories/projects/d/z.md", "1"), Create("/memories/projects/d/e/a.md", "2"))
    must(planned, Rename("/memories/projects/d", directory), Create("/memories/projects/d/z.md", "3"))
    receipt = restore(planned, directory)
    assert receipt == Renamed(directory, "/memories/projects/d", "directory", 2)
    assert paths(planned.scope) == [f"/memories/projects/d/{name}.md" for name in ("z", "z-2", "e/a")]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/memories/archive/1970/none.md", ErrorCode.NOT_FOUND),
        (B, ErrorCode.INVALID_PATH),
        ("/memories/archive/b.md", ErrorCode.INVALID_PATH),
        ("/memories/archive", ErrorCode.INVALID_PATH),
        ("/memories/archive/1970", ErrorCode.INVALID_PATH),
        ("/memories/archive/1970/stuff/b.md", ErrorCode.INVALID_PATH),
        ("memories", ErrorCode.INVALID_PATH),
    ],
)
def test_what_names_no_place_to_go_back_to_is_refused(path: str, code: ErrorCode) -> None:
    planned = Planned(PARA.changed({"max_files": 9}))
    for archived in ("/memories/archive/b.md", ARCHIVED_A, "/memories/archive/1970/stuff/b.md"):
        must(planned, Create(B, "x"), Rename(B, archived))
    must(planned, Create(B, "x"))
    assert refusal(planned, path).code is code


def test_a_scope_without_an_archive_restores_nothing() -> None:
    planned = Planned(Limits())
    must(planned, Create(ARCHIVED_A, "x"))
    assert refusal(planned, ARCHIVED_A).code is ErrorCode.INVALID_PATH


# What was there before the layout


def test_what_lies_outside_the_buckets_is_read_moved_and_deleted_but_not_written() -> None:
    outside = ("/memories/a.md", "/memories/d/a.md", "/memories/d/b.md")
    planned = Planned(Limits())
    must(planned, *(Create(path, "x") for path in outside))
    planned.apply(Change(policy=PARA))
    assert planned.execute({"command": "view", "path": "/memories/a.md"}).ok
    assert planned.execute({"command": "view", "path": "/memories/d"}).ok
    result = planned.execute(Create("/memories/a.md", "y"))
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_PATH
    must(planned, Rename("/memories/a.md", A), Delete("/memories/d/b.md"))
    must(planned, Rename("/memories/d", "/memories/projects/d"))
    assert paths(planned.scope) == [A, "/memories/projects/d/a.md"]


def test_a_path_outside_the_buckets_is_refused_in_the_words_of_the_layout() -> None:
    for command in (Create("/memories/stuff/a.md", "x"), Delete("/memories/stuff")):
        error = Planned(PARA).execute(command).error
        assert error is not None
        assert "lies in none of the buckets projects, areas, resources, archive;" in error.message


# Places


def scope_of(*taken: str) -> Scope:
    files = [File(number, path, 1, 0, number) for number, path in enumerate(taken, 1)]
    return Scope(Policy(), len(files), files)


@given(st.sets(st.integers(1, 40)), st.sampled_from(("a.md", "a", "x" * 125 + ".md", "x" * 119 + "-2.md")))
def test_a_free_place_is_free_whatever_is_taken(ordinals: set[int], name: str) -> None:
    places = FreePlaces(scope_of())
    all_of_them = [places.take(f"/memories/{name}") for _ in range(40)]
    assert len(set(all_of_them)) == 40
    assert all(len(path.rpartition("/")[2]) <= 128 for path in all_of_them)
    taken = [all_of_them[ordinal - 1] for ordinal in ordinals]
    assert FreePlaces(scope_of(*taken)).take(f"/memories/{name}") not in taken


def test_ordinals_follow_one_another() -> None:
    places = FreePlaces(scope_of("/memories/d/a.md"))
    assert [places.take("/memories/d/a.md") for _ in range(3)] == [
        f"/memories/d/a-{ordinal}.md" for ordinal in (2, 3, 4)
    ]


def test_a_file_in_the_place_of_a_directory_is_passed_by() -> None:
    places = FreePlaces(scope_of("/memories/d.md"))
    assert places.take("/memories/d.md/a.md") == "/memories/d-2.md/a.md"
    assert places.take("/memories/d.md/a.md") == "/memories/d-2.md/a-2.md"
    assert places.take("/memories/d-2.md") == "/memories/d-2-2.md"


@given(st.datetimes(datetime(1970, 1, 1), datetime(2262, 1, 1)))
def test_the_year_of_the_archive_is_that_in_utc(moment: datetime) -> None:
    now_ns = int(moment.replace(tzinfo=UTC).timestamp()) * 10**9
    assert archive_place(A, now_ns) == f"/memories/archive/{moment.year}/projects/a.md"
    assert original_place(archive_place(A, now_ns)) == A


def test_the_last_instant_of_a_year_is_in_it() -> None:
    new_year_ns = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * 10**9
    assert archive_place(A, new_year_ns - 1).startswith("/memories/archive/2029/")
    assert archive_place(A, new_year_ns).startswith("/memories/archive/2030/")
