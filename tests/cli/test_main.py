"""What every command shares: help, suggestions, exit statuses, and a quick start."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from argparse import ArgumentParser

import pytest

from memfs.cli.arguments import COMMANDS
from tests.cli.conftest import ROOT, Shell


def test_the_version_is_that_of_the_package(shell: Shell) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert shell("--version").done() == f"memfs {project['version']}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_of_a_command_has_a_name_of_its_own(name: str) -> None:
    parser = ArgumentParser()
    COMMANDS[name].declare(parser)  # which refuses an option twice, but not two with one destination
    destinations = [action.dest for action in parser._actions]
    assert len(set(destinations)) == len(destinations)


def test_the_help_lists_every_command_and_the_order_of_choice(shell: Shell) -> None:
    printed = shell("--help").done()
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S", printed, re.MULTILINE), name
    assert "--memory NAME" in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text_with_an_example(shell: Shell, name: str) -> None:
    printed = shell(name, "--help").done()
    assert f"example:\n  {COMMANDS[name].example}" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_mistyped_command_is_told_the_nearest(shell: Shell) -> None:
    assert "did you mean 'create'" in shell("craete").refusal(2)
    assert "did you mean 'str-replace'" in shell("str_replace").refusal(2)
    assert "--help" in shell("zzz").refusal(2)
    assert "follow it" in shell("--json", "view").refusal(2)
    assert shell().status == 2


def test_words_after_two_dashes_are_no_options(shell: Shell) -> None:
    shell("create", "--", "a.md", "-x").done()
    assert shell("view", "a.md").done() == "-x"
    shell("create", "a.md", "--", "--").done()
    assert shell("view", "a.md").done() == "--"
    shell("str-replace", "a.md", "--", "--", "--json").done()
    assert shell("view", "a.md").done() == "--json"
    shell("create", "a.md", "--scope", "default", "after an option").done()
    assert shell("view", "a.md").done() == "after an option"


def test_a_reader_that_leaves_is_no_error(shell: Shell) -> None:
    shell("create", "a.md", "x" * 60_000).done()
    with shell.start("view", "a.md") as viewing:
        assert viewing.stdout is not None
        assert viewing.stderr is not None
        viewing.stdout.close()
        assert viewing.stderr.read() == b""
        assert viewing.wait(60) == 141


def test_a_full_disk_under_the_output_is_an_error(shell: Shell) -> None:
    with open("/dev/full", "wb") as full, shell.start("view", "--json", stdout=full.fileno()) as viewing:
        assert viewing.stderr is not None
        assert viewing.stderr.read() == b"memfs: No space left on device.\n"
        assert viewing.wait(60) == 1


def test_a_fault_of_ours_is_a_sentence_and_a_traceback_on_request(shell: Shell) -> None:
    broken = (
        "import sys, memfs.cli.commands as c, memfs.cli\n"
        "c.choose_with_rules = lambda *_: 1 / 0\n"
        "sys.exit(memfs.cli.main(['view']))"
    )
    for debug in (False, True):
        environment = shell.environment | ({"MEMFS_DEBUG": "1"} if debug else {})
        done = subprocess.run(
            [sys.executable, "-c", broken], env=environment, capture_output=True, text=True, check=False
        )
        assert ("Traceback" in done.stderr) is debug
        assert "ZeroDivisionError" in done.stderr
        assert done.returncode == (1 if debug else 70)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["view"],
        ["create", "a.md", "x"],
        ["policy", "show"],
        ["status"],
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(shell: Shell, arguments: list[str]) -> None:
    """A view is to be done within 150 ms of its start; half of that is gone with trio alone."""
    loaded = _loaded_by(shell, *arguments)
    assert "memfs.cli" in loaded
    assert not loaded & {"pyfuse3", "trio", "asyncio", "memfs.mount.session", "difflib"}


def test_a_view_loads_nothing_of_watching_mounting_or_testing(shell: Shell) -> None:
    shell("create", "a.md", "x").done()
    loaded = _loaded_by(shell, "view", "a.md")
    assert "memfs.stores.sqlite.store" in loaded
    assert not loaded & {"inotify_simple", "ctypes", "subprocess", "logging.handlers", "tomllib", "shutil"}
    assert not [name for name in loaded if name.startswith(("memfs.mount", "memfs.testing"))]


def _loaded_by(shell: Shell, *arguments: str) -> set[str]:
    """Every module that a command has loaded when it is done."""
    program = (
        "import sys, memfs.cli\n"
        "status = memfs.cli.main(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=shell.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())
