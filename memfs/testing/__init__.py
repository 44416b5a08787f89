"""The conformance kit: whether a store, ours or a stranger's, keeps the contract of the memory port.

    from memfs.testing import run_conformance

    report = run_conformance(my_factory)
    assert report.ok, report

*my_factory* is called as ``my_factory(scope="...")`` or ``my_factory(scope="...", limits=memfs.Limits(...))``
and opens the port on a new scope: anything with an ``execute`` that takes a command as a mapping in wire
names, and answers with a result that has ``to_wire()`` or is that JSON object already. If it has a
``close``, that is called in the end. Scopes get names that were never used before, so a store that
persists may be tested many times over. The kit needs no network and no other package.

A factory that also takes ``layout``, ``eviction``, ``extensions`` and ``max_archive_bytes``, as
``memfs.open_memory`` does, is held to what those promise; of another, the report names the promises that
it is not held to.

Under pytest, each promise is a test of its own::

    import pytest
    from memfs.testing import Case, conformance_cases

    @pytest.mark.parametrize("case", conformance_cases, ids=str)
    def test_my_store_keeps_the_contract(case: Case) -> None:
        case.run(my_factory)
"""

from memfs.testing.kit import Case
from memfs.testing.port import BrokenPromise, Executes, Factory, NotOffered
from memfs.testing.promises import conformance_cases
from memfs.testing.report import CaseFailure, Report, run_conformance

__all__ = [
    "BrokenPromise",
    "Case",
    "CaseFailure",
    "Executes",
    "Factory",
    "NotOffered",
    "Report",
    "conformance_cases",
    "run_conformance",
]
