"""A store whose path was mistyped: commands that need one say so, and make none."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Shell

READING: list[list[str]] = [
    ["view", "/memories"],
    ["log"],
    ["show", "a.md"],
    ["diff", "a.md@1"],
    ["search", "word"],
    ["tasks"],
    ["export", "--dir", "out"],
    ["policy", "show"],
    ["place", "--type", "semantic", "--title", "T"],
    ["delete", "a.md"],
    ["undo"],
    ["restore", "a.md"],
    ["prune", "--keep-versions", "1"],
]


@pytest.mark.parametrize("kind", ["sqlite", "directory"])
def test_what_needs_a_store_makes_none_of_a_path_that_was_mistyped(shell: Shell, kind: str) -> None:
    missing = shell.home / "typo"
    for command in READING:
        done = shell(*command, "--store", f"{kind}:{missing}")
        assert done.status == 1, (command, done)
        assert f"There is no store at {kind}:{missing};" in done.err
    done = shell("view", "/memories", "--store", f"{kind}:{missing}", "--json")
    assert json.loads(done.out)["error"]["code"] == "NOT_FOUND"
    shell.environment["MEMFS_STORE"] = f"{kind}:{missing}"
    assert "There is no store" in shell("log").refusal()
    assert not missing.exists()
    shell("create", "a.md", "text").done()
    assert shell("view", "a.md").done() == "text"


def test_a_workspace_that_was_mistyped_is_not_made(shell: Shell) -> None:
    missing = shell.home / "typo"
    assert "There is no store" in shell("log", "--store", f"directory:{missing}", "--workspace").refusal()
    assert not missing.exists()
