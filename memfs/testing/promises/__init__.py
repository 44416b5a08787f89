"""The promises of the contract, chapter by chapter; see :data:`conformance_cases`."""

from memfs.testing.kit import Case
from memfs.testing.promises import (
    archive,
    deletes,
    edits,
    eviction,
    fields,
    layouts,
    order,
    paths,
    preconditions,
    refusals,
    renames,
    scopes,
    views,
    writes,
)

_MODULES = (
    *(fields, paths, views, writes, edits, deletes, renames, order, eviction, preconditions, scopes),
    *(archive, refusals, layouts),
)

conformance_cases: tuple[Case, ...] = tuple(case for module in _MODULES for case in module.chapter.cases)
"""Every promise, to parametrize a test with."""
