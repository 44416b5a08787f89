"""What a command means, held against the model; and that planning it changes nothing and costs little."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Create, Delete, Insert, Limits, Rename, StrReplace, View
from memfs.port.change import Change
from memfs.port.plan import plan_write
from memfs.port.scope import Scope
from tests.port.planned import NOW_NS, Planned, picture
from tests.port.strategies import Session, comparable, model_of, sessions

A, B = "/memories/a.md", "/memories/b.md"


@settings(max_examples=4 * settings().max_examples)
@given(sessions)
def test_every_command_answers_as_the_model_does(session: Session) -> None:
    planned, model = Planned(session.policy), model_of(session.policy)
    for command in session.sent:
        answer = planned.execute(command).to_wire()
        assert comparable(json.loads(json.dumps(answer))) == comparable(model.execute(command)), command
        stored = {file.path: planned.contents[file.id].decode() for file in planned.scope.in_write_order()}
        assert list(stored.items()) == list(model.files.items()), command


@given(sessions)
def test_a_scope_that_was_changed_is_as_one_made_of_its_files(session: Session) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        planned.execute(command)
        scope = planned.scope
        again = Scope(scope.policy, scope.version, scope.in_write_order())
        assert picture(scope) == picture(again), command
        assert all(scope.is_directory(path) for path in picture(scope)["directories"])


@given(sessions)
def test_a_memory_keeps_its_id_until_it_leaves(session: Session) -> None:
    planned = Planned(session.policy)
    seen: set[int] = set()
    for command in session.sent:
        before = {file.id: file for file in planned.scope.in_write_order()}
        planned.execute(command)
        after = {file.id: file for file in planned.scope.in_write_order()}
        assert not (after.keys() - before.keys()) & seen, "an id came back"
        seen |= after.keys()
        by_path = {file.path: file.id for file in before.values()}
        for file in after.values():
            if file.id not in before:
                assert by_path.get(file.path) not in after


@given(
    command=st.sampled_from(
        (
            (View(A, (1, 2)), {"command": "view", "path": A, "viewRange": [1, 2]}),
            (View(A), {"command": "view", "path": A}),
            (Create(A, "x"), {"command": "create", "path": A, "text": "x"}),
            (StrReplace(A, "x", "y"), {"command": "str_replace", "path": A, "oldText": "x", "newText": "y"}),
            (Insert(A, 1, "y"), {"command": "insert", "path": A, "insertLine": 1, "text": "y"}),
            (Delete(A), {"command": "delete", "path": A}),
            (Rename(A, B), {"command": "rename", "oldPath": A, "newPath": B}),
        )
    ),
    text=st.none() | st.text("x\n", max_size=3),
)
def test_a_typed_command_answers_as_its_wire_form(command: tuple[Any, Any], text: str | None) -> None:
    typed, wire = Planned(Limits()), Planned(Limits())
    if text is not None:
        typed.execute(Create(A, text))
        wire.execute(Create(A, text))
    assert typed.execute(command[0]) == wire.execute(command[1])


@given(sessions)
def test_an_error_says_in_a_sentence_what_to_do(session: Session) -> None:
    planned = Planned(session.policy)
    for command in session.sent:
        error = planned.execute(command).error
        if error is None:
            continue
        subjects = ("/memories", "text", "oldText", "newText", "insertLine")
        assert error.message[0].isupper() or error.message.startswith(subjects)
        assert error.message.endswith(".")
        assert "\n" not in error.message
        json.dumps(error.to_wire(), ensure_ascii=False).encode()
        assert len(error.message) < 1_300  # the longest path and a sentence


def test_writing_bytes_is_creating_their_text() -> None:
    by_text, by_bytes = Planned(Limits()), Planned(Limits())
    by_text.execute(Create(A, "\u00e9"))
    change = plan_write(by_bytes.scope, A, "\u00e9".encode(), NOW_NS)
    assert isinstance(change, Change)
    by_bytes.apply(change)
    assert picture(by_text.scope) == picture(by_bytes.scope)
    for path in ("/memories", "/memories/a", "/memories/.a.md", f"{A}/b.md"):
        text_error = by_text.execute(Create(path, "x")).error
        assert plan_write(by_bytes.scope, path, b"x", NOW_NS) == text_error


def test_a_time_that_the_writer_set_is_the_files() -> None:
    planned = Planned(Limits())
    change = plan_write(planned.scope, A, b"x", NOW_NS, mtime_ns=5)
    assert isinstance(change, Change)
    planned.apply(change)
    planned.execute(Create(B, "x"))
    assert [file.mtime_ns for file in planned.scope.in_write_order()] == [5, 7]
