"""``consolidate``: the target is written once, with a valid text, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given

from memfs import Created, Edited, ErrorCode, Limits, Memory, open_memory
from memfs.mechanics import Failed, Folding, Source, consolidate
from memfs.mechanics.prompt import WARNING
from tests.harness import must, texts
from tests.mechanics.hostile import ended, frame_of, hostile_text, texts_in

TARGET = "/memories/summary.md"
FILES = {"/memories/log/1.md": "one\n", "/memories/log/2.md": "two\n"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Two logs, and no summary yet."""
    with open_memory("simple:", limits=Limits(max_file_bytes=20_000)) as opened:
        for path, text in FILES.items():
            must(opened, "create", path=path, text=text)
        yield opened


def joined(folding: Folding) -> str:
    """A fold that needs no model."""
    return (folding.prior or "") + "".join(document.text for document in folding.documents)


def refused(memory: Memory, fold: Callable[[Folding], Any], **options: Any) -> Failed:
    """A consolidation that has to fail and to change nothing."""
    before, version = texts(memory), memory.snapshot().version
    result = consolidate(memory, TARGET, ["/memories/log"], fold, **options)
    assert isinstance(result, Failed)
    assert (texts(memory), memory.snapshot().version) == (before, version)
    return result


def test_sources_are_folded_into_a_new_target_and_into_an_earlier_one(memory: Memory) -> None:
    first = consolidate(memory, TARGET, ["/memories/log"], joined)
    assert first.ok
    assert first.text == "one\ntwo\n"
    assert first.receipt == Created(TARGET, 8, (), overwritten=False)
    assert first.folding.prior is None
    second = consolidate(
        memory, TARGET, ["/memories/log/2.md", Source("/memories/x.md", optional=True)], joined
    )
    assert second.ok
    assert second.receipt == Edited(TARGET, 12, ())
    assert second.folding.prior == "one\ntwo\n"
    assert second.folding.grounded.missing == ("/memories/x.md",)
    assert texts(memory) == FILES | {TARGET: "one\ntwo\ntwo\n"}


def test_the_target_is_written_in_one_change(memory: Memory) -> None:
    version = memory.snapshot().version
    assert consolidate(memory, TARGET, ["/memories/log"], joined).ok
    assert memory.snapshot().version == version + 1


def test_the_target_is_none_of_its_sources(memory: Memory) -> None:
    must(memory, "create", path=TARGET, text="before\n")
    result = consolidate(memory, TARGET, ["/memories", TARGET], joined)
    assert result.ok
    assert [document.path for document in result.folding.documents] == list(FILES)
    assert result.text == "before\none\ntwo\n"


def test_an_empty_target_is_an_earlier_text(memory: Memory) -> None:
    must(memory, "create", path=TARGET, text="")
    result = consolidate(memory, TARGET, ["/memories/log"], joined)
    assert result.ok
    assert result.folding.prior == ""
    assert texts(memory)[TARGET] == "one\ntwo\n"


def test_the_function_is_shown_everything_under_the_warning(memory: Memory) -> None:
    must(memory, "create", path=TARGET, text="before\n")
    prompts: list[str] = []

    def fold(folding: Folding) -> str:
        prompts.append(folding.prompt)
        return "after\n"

    assert consolidate(memory, TARGET, ["/memories/log"], fold).ok
    assert prompts == [
        (
            f"{WARNING}\n\n# {TARGET}, as it is now\n| before\n\n"
            "# /memories/log/1.md\n| one\n\n# /memories/log/2.md\n| two\n"
        )
    ]


def test_a_missing_source_is_read_failed(memory: Memory) -> None:
    result = consolidate(memory, TARGET, ["/memories/x.md"], joined)
    assert isinstance(result, Failed)
    assert result.reason == "read_failed"
    assert result.error is not None
    assert result.error.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize("target", ["/memories/log", "/memories", "/etc/passwd"])
def test_a_target_that_cannot_be_one_is_read_failed(memory: Memory, target: str) -> None:
    result = consolidate(memory, target, ["/memories/log"], joined)
    assert isinstance(result, Failed)
    assert result.reason == "read_failed"
    assert texts(memory) == FILES


def test_a_function_that_raises_writes_nothing(memory: Memory) -> None:
    error = RuntimeError("no model")

    def fold(folding: Folding) -> str:
        raise error

    failed = refused(memory, fold)
    assert (failed.reason, failed.message) == ("callback_failed", "fold raised RuntimeError: no model")
    assert failed.cause is error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "fold must return a text, not a NoneType."),
        (b"x", "fold must return a text, not a bytes."),
        ("", "fold returned a blank text."),
        (" \n\t", "fold returned a blank text."),
        ("x" * 16_001, "fold returned 16001 characters; 16000 are allowed."),
        ("x\udfff", "fold returned half of a surrogate pair, which no file can hold."),
    ],
)
def test_an_invalid_text_writes_nothing(memory: Memory, text: Any, message: str) -> None:
    failed = refused(memory, lambda folding: text)
    assert (failed.reason, failed.message, failed.error) == ("invalid_text", message, None)


def test_16000_characters_are_allowed_or_what_the_caller_says(memory: Memory) -> None:
    assert consolidate(memory, TARGET, [], lambda folding: "é" + "x" * 15_999).ok
    assert consolidate(memory, TARGET, [], lambda folding: "xyz", max_characters=3).ok
    assert refused(memory, lambda folding: "wxyz", max_characters=3).reason == "invalid_text"
    with pytest.raises(ValueError, match="max_characters"):
        consolidate(memory, TARGET, [], lambda folding: "x", max_characters=0)


def test_what_the_store_refuses_is_write_failed_with_its_error(memory: Memory) -> None:
    failed = refused(memory, lambda folding: "🧠" * 6_000)
    assert failed.reason == "write_failed"
    assert failed.error is not None
    assert failed.error.code is ErrorCode.LIMIT_EXCEEDED
    result = consolidate(memory, "/memories/summary.exe", [], lambda folding: "x")
    assert isinstance(result, Failed)
    assert result.error is not None
    assert (result.reason, result.error.code) == ("write_failed", ErrorCode.INVALID_EXTENSION)


def test_what_leaves_for_the_text_is_in_the_receipt() -> None:
    with open_memory("simple:", limits=Limits(max_files=2)) as memory:
        for path, text in FILES.items():
            must(memory, "create", path=path, text=text)
        result = consolidate(memory, TARGET, ["/memories/log"], joined)
        assert result.ok
        assert result.receipt.evicted == ("/memories/log/1.md",)


# --- another writer, while the function thinks ---------------------------------------------------


def test_what_somebody_appended_meanwhile_stays(memory: Memory) -> None:
    must(memory, "create", path=TARGET, text="before\n")

    def fold(folding: Folding) -> str:
        must(memory, "insert", path=TARGET, insertLine=1, text="from a person")
        return "after\n"

    assert consolidate(memory, TARGET, ["/memories/log"], fold).ok
    assert texts(memory)[TARGET] == "after\nfrom a person\n"


@pytest.mark.parametrize(
    ("command", "fields", "left"),
    [
        ("str_replace", {"oldText": "be", "newText": "there"}, "therefore\n"),
        ("create", {"text": "mine\n"}, "mine\n"),
        ("delete", {}, None),
    ],
)
def test_what_somebody_changed_meanwhile_is_not_overwritten(
    memory: Memory, command: str, fields: dict[str, Any], left: str | None
) -> None:
    must(memory, "create", path=TARGET, text="before\n")

    def fold(folding: Folding) -> str:
        must(memory, command, path=TARGET, **fields)
        return "after\n"

    result = consolidate(memory, TARGET, ["/memories/log"], fold)
    assert isinstance(result, Failed)
    assert result.reason == "write_failed"
    assert texts(memory).get(TARGET) == left


@given(prior=hostile_text, source=hostile_text)
def test_no_text_can_look_like_the_frame(prior: str, source: str) -> None:
    prompts: list[str] = []

    def fold(folding: Folding) -> str:
        prompts.append(folding.prompt)
        return "after\n"

    with open_memory("simple:") as memory:
        must(memory, "create", path=TARGET, text=prior)
        must(memory, "create", path="/memories/a.md", text=source)
        assert consolidate(memory, TARGET, ["/memories/a.md"], fold).ok
    heading = "# /memories/a.md" if source else "# /memories/a.md (empty)"
    assert frame_of(prompts[0]) == [WARNING, f"# {TARGET}, as it is now", heading]
    assert texts_in(prompts[0]) == [ended(prior), ended(source)]
