"""``memfs init``: a workspace's memory from a shell."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shell


def test_it_prints_the_path_of_the_memory_it_made(shell: Shell) -> None:
    (shell.home / "agent").mkdir()
    (shell.home / "agent" / "MEMORY.md").write_text("Ada likes tea.\n")
    for _ in range(2):
        assert shell("init", "agent").done() == "agent/memory\n"
    assert (shell.home / "agent" / "memory" / "index.md").read_text() == "Ada likes tea.\n"


def test_a_workspace_that_is_not_there_is_made(shell: Shell) -> None:
    path = shell.home / "agent"
    assert shell("init", f"{path}/").done() == f"{path}/memory\n"
    assert (path / "memory" / ".meta" / "index.json").exists()


def test_what_is_in_the_way_is_said_beside_the_path(shell: Shell, tmp_path: Path) -> None:
    (shell.home / "agent").symlink_to(tmp_path)
    done = shell("init", "agent")
    assert done.refusal(1) == "agent is a link, or no folder; it is left as it is."
    assert done.out == "agent/memory\n"


def test_the_workspace_has_to_be_named(shell: Shell) -> None:
    assert shell("init").status == 2
    assert "'.' is the one you are in" in shell("init", "").refusal(2)
    assert not (shell.home / "memory").exists()
