"""The steps that lead to a store's format: what was released stays as it is, for databases that took it."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

from memfs.stores.postgres import schema

KNOWN = {1: "0d8998d72d349eb0"}
"""Each step's digest; whoever changes the tables writes another step, and gives the format a number more."""


def digest(step: int) -> str:
    """Of what a step does, comments and spaces aside."""
    steps = files("memfs.stores.postgres").joinpath("steps")
    texts = [steps.joinpath(name).read_text() for name in (f"{step}.sql", f"{step}-part.sql")]
    bare = " ".join(re.sub(r"--[^\n]*", "", "\n".join(texts)).split())
    return hashlib.sha256(bare.encode()).hexdigest()[:16]


def test_whoever_changes_the_tables_writes_a_step_of_its_own() -> None:
    assert {step: digest(step) for step in range(1, schema.FORMAT + 1)} == KNOWN
