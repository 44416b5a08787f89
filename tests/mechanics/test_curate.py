"""``curate``: a valid choice is kept to, and anything else falls back to everything, saying why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.mechanics import Curated, Decision, Document, Grounded, curate
from memfs.mechanics.prompt import WARNING
from tests.mechanics.hostile import ended, frame_of, hostile_text, texts_in

GROUNDED = Grounded(tuple(Document(f"/memories/{name}.md", f"{name}\n", 2) for name in "abc"))


def decided(decision: Any, **limit: int) -> Curated:
    """What becomes of a decision."""
    return curate(GROUNDED, "Plan.", lambda grounded, intent: decision, **limit)


def test_the_function_sees_what_was_grounded_and_the_intent() -> None:
    seen: list[object] = []

    def decide(grounded: Grounded, intent: str) -> Decision:
        seen.extend((grounded, intent))
        return Decision([])

    curate(GROUNDED, "Plan the week.", decide)
    assert seen == [GROUNDED, "Plan the week."]


def test_the_choice_is_taken_sorted_and_each_once_under_the_brief() -> None:
    curated = decided(Decision(["/memories/c.md", "/memories/a.md", "/memories/c.md"], "Mind a."))
    assert [document.path for document in curated.documents] == ["/memories/a.md", "/memories/c.md"]
    assert (curated.brief, curated.fallback) == ("Mind a.", None)
    assert curated.prompt == (
        f"{WARNING}\n\n# Brief\n| Mind a.\n\n# /memories/a.md\n| a\n\n# /memories/c.md\n| c\n"
    )


def test_nothing_may_be_chosen() -> None:
    assert decided(Decision(())) == Curated(())
    assert decided(Decision(())).prompt == WARNING + "\n"


def test_a_function_that_raises_falls_back_to_everything() -> None:
    error = TimeoutError("the model is busy")

    def decide(grounded: Grounded, intent: str) -> Decision:
        raise error

    curated = curate(GROUNDED, "Plan.", decide)
    assert curated.documents == GROUNDED.documents
    assert curated.prompt == GROUNDED.prompt
    assert curated.fallback is not None
    assert curated.fallback.reason == "callback_failed"
    assert curated.fallback.message == "decide raised TimeoutError: the model is busy"
    assert curated.fallback.cause is error


def test_an_interrupt_is_no_failed_decision() -> None:
    def decide(grounded: Grounded, intent: str) -> Decision:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curate(GROUNDED, "Plan.", decide)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (None, "The decision must be a Decision, not a NoneType."),
        ({"sources": []}, "The decision must be a Decision, not a dict."),
        (Decision("/memories/a.md"), "The decision must name its sources as a list of paths."),
        (Decision([b"/memories/a.md"]), "The decision must name its sources as a list of paths."),  # type: ignore[list-item]
        (
            Decision(["/memories/a.md", "/memories/x\n.md"]),
            r"The decision names '/memories/x\n.md', which is none of the grounded documents.",
        ),
        (Decision([], "x" * 2_001), "The decision has a brief of 2001 characters; 2000 are allowed."),
        (Decision([], None), "The decision has a brief that is no text."),  # type: ignore[arg-type]
        (Decision([], "\ud800"), "The decision has a brief that is no text."),
    ],
)
def test_an_invalid_decision_falls_back_to_everything(decision: Any, message: str) -> None:
    curated = decided(decision)
    assert (curated.documents, curated.brief) == (GROUNDED.documents, "")
    assert curated.fallback is not None
    assert (curated.fallback.reason, curated.fallback.message) == ("invalid_decision", message)


def test_a_brief_may_have_2000_characters_or_what_the_caller_allows() -> None:
    assert decided(Decision([], "🧠" * 2_000)).fallback is None
    assert decided(Decision([], "xyz"), max_brief_characters=3).fallback is None
    assert decided(Decision([], "wxyz"), max_brief_characters=3).fallback is not None
    with pytest.raises(ValueError, match="max_brief_characters"):
        decided(Decision([]), max_brief_characters=0)


@given(brief=hostile_text.filter(bool), chosen=st.sets(st.sampled_from("abc")))
def test_no_brief_can_look_like_the_frame(brief: str, chosen: set[str]) -> None:
    paths = [f"/memories/{name}.md" for name in sorted(chosen)]
    prompt = decided(Decision(paths, brief)).prompt
    assert frame_of(prompt) == [WARNING, "# Brief", *(f"# {path}" for path in paths)]
    assert texts_in(prompt)[0] == ended(brief)
