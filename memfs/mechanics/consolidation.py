"""``consolidate``: sources and an earlier text folded into one, which is written once or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from memfs.mechanics.grounding import Document, Grounded, Source, read_grounded, read_text
from memfs.mechanics.limits import DEFAULT_LIMITS, MAX_FOLDED_CHARACTERS, GroundLimits, require_positive
from memfs.mechanics.outcomes import Failed, MemoryPort, ReadFailed, raised
from memfs.mechanics.prompt import Section, framed
from memfs.port.commands import Create, StrReplace
from memfs.port.names import is_well_formed
from memfs.port.receipts import Created, Edited


@dataclass(frozen=True, slots=True)
class Folding:
    """What is to be folded: the target's text as it is, None if there is none yet, and the sources."""

    target: str
    prior: str | None
    grounded: Grounded

    @property
    def documents(self) -> tuple[Document, ...]:
        """The sources, sorted by path; the target is none of them."""
        return self.grounded.documents

    @property
    def prompt(self) -> str:
        """The earlier text and the sources under the warning that they are untrusted data."""
        prior = [] if self.prior is None else [Section(f"{self.target}, as it is now", self.prior)]
        return framed([*prior, *(document.to_section() for document in self.documents)])


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The target was written with ``text``; the receipt says what left the memory for it, if anything."""

    text: str
    receipt: Created | Edited
    folding: Folding
    ok: ClassVar[Literal[True]] = True


def consolidate(
    memory: MemoryPort,
    target: str,
    sources: Iterable[str | Source],
    fold: Callable[[Folding], str],
    *,
    limits: GroundLimits = DEFAULT_LIMITS,
    max_characters: int = MAX_FOLDED_CHARACTERS,
) -> Consolidated | Failed:
    """Fold *sources* and what *target* holds into one text, and write it to *target*.

    *sources* are read as by ``ground``, within *limits*. What *fold* returns must be a text of 1 to
    *max_characters* characters that is not blank. Every failure leaves the memory as it was:
    ``read_failed``, ``callback_failed``, ``invalid_text``, or ``write_failed`` with the store's error.

    A target that exists is written only if all the text that *fold* was shown is still in it: what
    somebody wrote around it meanwhile stays, and any other change is ``write_failed``. A target that
    somebody made meanwhile, where there was none, is replaced.
    """
    require_positive("max_characters", max_characters)
    try:
        prior = read_text(memory, target)
        folding = Folding(target, prior, read_grounded(memory, sources, limits, without=target))
    except ReadFailed as failed:
        return failed.to_value()
    try:
        text: object = fold(folding)
    except Exception as error:  # noqa: BLE001  a caller's function may fail in any way; nothing is written
        return Failed("callback_failed", raised("fold", error), cause=error)
    if not isinstance(text, str):
        return Failed("invalid_text", f"fold must return a text, not a {type(text).__name__}.")
    fault = _fault(text, max_characters)
    if fault is not None:
        return Failed("invalid_text", f"fold returned {fault}.")
    # The port's one comparison: a replacement of all that was there is made only while it is there.
    result = memory.execute(StrReplace(target, prior, text) if prior else Create(target, text))
    if result.error is not None:
        return Failed("write_failed", result.error.message, result.error)
    assert isinstance(result.value, Created | Edited), "a write's receipt"
    return Consolidated(text, result.value, folding)


def _fault(text: str, max_characters: int) -> str | None:
    if not text.strip():
        return "a blank text"
    if len(text) > max_characters:
        return f"{len(text)} characters; {max_characters} are allowed"
    if not is_well_formed(text):
        return "half of a surrogate pair, which no file can hold"
    return None
