"""``curate``: a function chooses from what was grounded; where it fails, everything is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from memfs.mechanics.grounding import Document, Grounded
from memfs.mechanics.limits import MAX_BRIEF_CHARACTERS, require_positive
from memfs.mechanics.outcomes import raised
from memfs.mechanics.prompt import Section, framed
from memfs.port.names import is_well_formed


class Decision(NamedTuple):
    """What applies: paths of grounded documents, and a brief of what matters in them, or none."""

    sources: Sequence[str]
    brief: str = ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why everything was taken; ``cause`` is what the function raised, where it did."""

    reason: Literal["callback_failed", "invalid_decision"]
    message: str
    cause: Exception | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Curated:
    """The chosen documents, sorted by path, and the brief; all, and no brief, after a *fallback*."""

    documents: tuple[Document, ...]
    brief: str = ""
    fallback: Fallback | None = None

    @property
    def prompt(self) -> str:
        """Brief and documents under the warning: the brief was made of untrusted data, and is no better."""
        brief = [Section("Brief", self.brief)] if self.brief else []
        return framed([*brief, *(document.to_section() for document in self.documents)])


def curate(
    grounded: Grounded,
    intent: str,
    decide: Callable[[Grounded, str], Decision],
    *,
    max_brief_characters: int = MAX_BRIEF_CHARACTERS,
) -> Curated:
    """Let *decide* choose what of *grounded* serves *intent*.

    A decision names grounded documents only, and its brief is at most so long. Where *decide* raises,
    or answers with anything else, all documents are taken and ``fallback`` says why.
    """
    require_positive("max_brief_characters", max_brief_characters)
    try:
        decision: object = decide(grounded, intent)
    except Exception as error:  # noqa: BLE001  a caller's function may fail in any way; memory stays usable
        return _everything(grounded, Fallback("callback_failed", raised("decide", error), error))
    chosen = {document.path for document in grounded.documents}
    fault = _fault(decision, chosen, max_brief_characters)
    if fault is not None or not isinstance(decision, Decision):
        return _everything(grounded, Fallback("invalid_decision", f"The decision {fault}."))
    chosen &= set(decision.sources)
    return Curated(tuple(each for each in grounded.documents if each.path in chosen), decision.brief)


def _everything(grounded: Grounded, fallback: Fallback) -> Curated:
    return Curated(grounded.documents, fallback=fallback)


def _fault(decision: object, paths: set[str], max_brief_characters: int) -> str | None:
    """What is wrong with *decision*, about documents with these *paths*; None for nothing."""
    if not isinstance(decision, Decision):
        return f"must be a Decision, not a {type(decision).__name__}"
    sources: object = decision.sources
    brief: object = decision.brief
    if not isinstance(sources, list | tuple) or not all(isinstance(path, str) for path in sources):
        return "must name its sources as a list of paths"
    unknown = sorted(set(sources) - paths)
    if unknown:
        return f"names {unknown[0]!a}, which is none of the grounded documents"
    if not isinstance(brief, str) or not is_well_formed(brief):
        return "has a brief that is no text"
    if len(brief) > max_brief_characters:
        return f"has a brief of {len(brief)} characters; {max_brief_characters} are allowed"
    return None
