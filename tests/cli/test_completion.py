"""Completion, in the shells themselves: what somebody sees who presses Tab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Place, Shell, Terminal


def words(shell: Shell, *given: str, cwd: Path | None = None) -> list[str]:
    """What the last of *given* can become."""
    return shell("completion", "words", "--", *given, cwd=cwd).done().splitlines()


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose memory holds two directories, and which finds the command."""
    for path in ("notes.md", "projects/atlas/plan.md", "projects/atlas/people.md", "projects/bo.md"):
        shell("create", path, "x").done()
    command = shell.home / "bin/memfs"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memfs "$@"\n')
    command.chmod(0o755)
    shell.environment["PATH"] = f"{command.parent}:{shell.environment['PATH']}"
    return shell


def test_commands_options_and_choices_are_completed(shell: Shell) -> None:
    assert words(shell, "sta") == ["status"]
    assert words(shell, "store", "m") == ["migrate"]
    assert words(shell, "no-such", "") == []
    assert "--json" in words(shell, "status", "--")
    assert words(shell, "policy", "s") == ["set", "show"]
    assert words(shell, "completion", "") == ["bash", "fish", "zsh"]
    assert words(shell, "view", "--range", "") == []


def test_names_of_configured_memories_are_completed(shell: Shell) -> None:
    shell.configure("work", "")
    shell.configure("world", "")
    shell.configure("work (copy)", "")
    assert words(shell, "view", "--memory", "wo") == ["work", "world"]
    assert words(shell, "doctor", "wor") == ["work", "world"]
    assert words(shell, "view", "--memory=wo") == ["--memory=work", "--memory=world"]
    assert words(shell, "view", "--memory", "=", "wo") == ["work", "world"], "as bash parts it"


@pytest.mark.slow
def test_paths_are_those_in_the_memory(filled: Shell) -> None:
    assert words(filled, "view", "") == ["notes.md", "projects/"]
    assert words(filled, "view", "projects/") == ["projects/atlas/", "projects/bo.md"]
    assert words(filled, "view", "/memories/projects/a") == ["/memories/projects/atlas/"]
    assert words(filled, "rename", "notes.md", "projects/atlas/p") == [
        "projects/atlas/people.md",
        "projects/atlas/plan.md",
    ]
    assert words(filled, "delete", "--json", "n") == ["notes.md"]
    assert words(filled, "view", "no/such") == []
    filled("create", "other.md", "x", "--scope", "other").done()
    assert words(filled, "view", "--scope", "other", "") == ["other.md"]
    assert words(filled, "view", "--scope=other", "") == ["other.md"]


def test_completion_makes_no_memory(shell: Shell) -> None:
    assert words(shell, "view", "") == []
    assert list(shell.home.iterdir()) == []


@pytest.mark.slow
def test_paths_in_a_mount_are_those_of_its_memory(shell: Shell, place: Place) -> None:
    place.mount("--scope", "mounted")
    (place.directory / "a").mkdir()
    (place.directory / "a/b.md").write_text("x")
    assert words(shell, "view", "a", cwd=place.directory) == ["a/"]
    assert words(shell, "view", f"{place.directory}/a/") == [f"{place.directory}/a/b.md"]
    assert words(shell, "unmount", str(place.directory)[:-2]) == [str(place.directory)]


def interactive(name: str) -> list[str]:
    """A shell on a terminal that reads no files of whoever runs the tests."""
    if shutil.which(name) is None:
        pytest.skip(f"machine: no {name}")
    return {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "setup"),
    [
        ("bash", "source <(memfs completion bash)"),
        ("zsh", "autoload -U compinit; compinit -u -D; source <(memfs completion zsh)"),
        (
            "zsh",
            "mkdir f; memfs completion zsh >f/_memfs; fpath+=($PWD/f); autoload -U compinit; compinit -u -D",
        ),
    ],
)
def test_tab_completes_in_the_shell_itself(filled: Shell, name: str, setup: str) -> None:
    with Terminal(filled, *interactive(name), PS1="> ", HISTFILE="/dev/null") as terminal:
        terminal.until(b"> ")
        os.write(terminal.master, f"{setup}; echo re''ady\n".encode())
        terminal.until(b"ready")
        for typed, added in (
            (b"memfs stat", b"us"),
            (b"memfs view proj", b"ects/"),
            (b"memfs view projects/atlas/pl", b"an.md"),
        ):
            os.write(terminal.master, b"\x15" + typed + b"\t")
            terminal.until(added)
        os.write(terminal.master, b"\x15exit\n")
        terminal.process.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [r"\ o", r"\ o*\ d", r"\ o*\ dir/a"])
def test_bash_completes_names_with_spaces_and_signs(filled: Shell, place: Place, typed: str) -> None:
    """Each time from a place where the signs could also stand for other names."""
    directory = place.directory.with_name("my o* dir")
    directory.mkdir()
    place.directory.with_name("my other dir").mkdir()
    filled("mount", str(directory), "--scope", "odd").done()
    (directory / "a.md").write_text("x")
    shell = [*interactive("bash")]
    with Terminal(filled, *shell, PS1="> ", HISTFILE="/dev/null", COLUMNS="300") as terminal:
        terminal.until(b"> ")
        os.write(terminal.master, b"source <(memfs completion bash); echo re''ady\n")
        terminal.until(b"ready")
        command = "view" if "/" in typed else "unmount"
        os.write(terminal.master, f"memfs {command} {place.directory.parent}/my{typed}\t\n".encode())
        terminal.until(b"x" if command == "view" else f"Unmounted {directory}".encode())


@pytest.mark.slow
def test_fish_completes_too(filled: Shell) -> None:
    if shutil.which("fish") is None:
        pytest.skip("machine: no fish")
    for typed, completed in (("memfs stat", ["status"]), ("memfs view proj", ["projects/"])):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f'memfs completion fish | source; complete -C "{typed}"'],
            capture_output=True,
            text=True,
            env=filled.environment,
            cwd=filled.home,
            timeout=60,
            check=True,
        )
        assert done.stdout.splitlines() == completed
