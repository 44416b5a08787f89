"""A run over all promises, and what it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memfs.testing.kit import Case
from memfs.testing.port import Factory, NotOffered
from memfs.testing.promises import conformance_cases


@dataclass(frozen=True, slots=True)
class CaseFailure:
    """A promise that was not kept, and how."""

    case: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found; ``str()`` of it lists the failures.

    ``cases`` counts the promises that the store was held to; ``not_offered`` names those about rules that
    its factory does not take.
    """

    ok: bool
    cases: int
    failures: tuple[CaseFailure, ...]
    not_offered: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{len(self.failures)} of {self.cases} promises of the memory port are not kept"
        if self.not_offered:
            head += f"; {len(self.not_offered)} are about rules that are not offered"
        return "\n".join([head, *(f"- {failure.case}: {failure.message}" for failure in self.failures)])


def run_conformance(factory: Factory, cases: Iterable[Case] = conformance_cases) -> Report:
    """Hold the store behind *factory* to every promise, or to those *cases*; see :mod:`memfs.testing`."""
    kept, failures, not_offered = 0, [], []
    for case in cases:
        try:
            case.run(factory)
            kept += 1
        except NotOffered:
            not_offered.append(case.name)
        except Exception as error:  # noqa: BLE001  whatever a stranger's store raises is its failure
            failures.append(CaseFailure(case.name, str(error) or repr(error)))
    return Report(not failures, kept + len(failures), tuple(failures), tuple(not_offered))
