"""Manual pages, suggestions, colours and progress: what helps a person and stays out of a program's way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memfs import progress
from memfs.cli import man, terminal
from memfs.cli.arguments import COMMANDS
from memfs.cli.parser import parse, parser_of
from tests.cli.conftest import Shell, Terminal


class TestManual:
    def test_there_is_a_page_for_each_command_and_one_for_all(self, shell: Shell) -> None:
        written = shell("man", "--to", "pages").done().splitlines()
        assert {Path(file).name for file in written} == {"memfs.1", *(f"memfs-{name}.1" for name in COMMANDS)}
        assert all((shell.home / file).read_text().startswith(".TH MEMFS") for file in written)

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("man") is None, reason="machine: no man")
    def test_every_page_is_well_formed_and_says_what_the_help_says(self, tmp_path: Path) -> None:
        for name, page in man.pages():
            (tmp_path / name).write_text(page)
            done = subprocess.run(
                ["man", "--warnings", "-E", "UTF-8", "-l", tmp_path / name],
                capture_output=True,
                text=True,
                env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
                check=True,
            )
            assert done.stderr == "", name
            shown = " ".join(done.stdout.split())
            command = name.removeprefix("memfs-").removesuffix(".1")
            if name == "memfs.1":
                for each, row in COMMANDS.items():
                    assert f"memfs {each}(1)" in shown
                    assert " ".join(row.summary.split()) in shown
                continue
            for option in parser_of(command)._option_string_actions:
                assert option in shown or option == "--first-memory", (name, option)
            for line in COMMANDS[command].example.splitlines():
                assert " ".join(line.split()) in shown, (name, line)

    def test_in_a_pipe_a_page_is_its_source(self, shell: Shell) -> None:
        assert shell("man", "status").done().startswith(".TH MEMFS\\-STATUS 1")
        assert "no command 'sttaus'" in shell("man", "sttaus").refusal(2)

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("man") is None, reason="machine: no man")
    def test_on_a_terminal_a_page_is_shown(self, shell: Shell) -> None:
        with Terminal(shell, *shell.command("man", "status"), MANPAGER="cat", LC_ALL="C") as shown:
            shown.until(b"your memories")
            assert shown.process.wait(60) == 0


def test_a_mistyped_option_is_told_the_nearest(shell: Shell) -> None:
    assert shell("status", "--jsno").refusal(2) == "there is no option --jsno; did you mean --json?"
    assert shell("status", "--zzz=1").refusal(2) == (
        "there is no option --zzz; `memfs status --help` lists them."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["create"], "PATH is missing; `memfs create --help` explains it."),
        (["view", "a", "b"], "the argument 'b' is one too many; `memfs view --help` says what it takes."),
        (
            ["view", "--", "a", "-b"],
            "the argument '-b' is one too many; `memfs view --help` says what it takes.",
        ),
        (["unmount", "--memory"], "--memory needs a value; `memfs unmount --help` explains it."),
        (
            ["mount", "--umask=99"],
            "--umask: '99' is not an octal mask such as 077; `memfs mount --help` explains it.",
        ),
        (["service", "instal"], "action: there is no 'instal'; did you mean 'install'?"),
        (
            ["policy", "set", "--layout", "tree"],
            "--layout: there is no 'tree'; there are flat, para; `memfs policy --help` explains it.",
        ),
    ],
)
def test_a_wrong_argument_is_named_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(arguments) == 2
    assert capsys.readouterr() == ("", f"memfs: {sentence}\n")


class TestTerminal:
    @pytest.mark.slow
    def test_colours_are_for_a_terminal_that_wants_them(self, shell: Shell) -> None:
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            with Terminal(shell, *shell.command("status"), **environment) as shown:
                shown.until(b"not mounted")
                assert shown.process.wait(60) == 0
            assert (b"\x1b[" in shown.shown) is coloured, environment

    @pytest.mark.parametrize("command", ["status", "doctor"])
    def test_a_long_sentence_is_wrapped_on_a_terminal_and_whole_in_a_pipe(
        self, shell: Shell, command: str
    ) -> None:
        shell.configure("odd", "max_file = 3\n")
        with Terminal(shell, *shell.command(command), COLUMNS="80", NO_COLOR="1") as shown:
            shown.until(b"'max_files'?")
        file = str(shell.home / ".config/memfs/odd.toml")
        sentence = f"The configuration {file}, line 1, has the unknown key 'max_file'; did you mean"
        lines = [line for line in shown.shown.decode().splitlines() if "max_file" in line]
        assert max(map(len, lines)) <= 80
        assert sentence in " ".join(shown.shown.decode().split())
        assert sentence in shell(command).out

    def test_a_bar_shows_a_little_and_never_more_than_all(self) -> None:
        assert terminal.bar(0, 10, 10) == "[..........]"
        assert terminal.bar(1, 1000, 10) == "[#.........]"
        assert terminal.bar(5, 10, 10) == "[#####.....]"
        assert terminal.bar(20, 10, 10) == "[##########]"
        assert terminal.bar(0, 0, 4) == "[....]"

    def test_a_long_text_loses_its_middle(self) -> None:
        assert terminal.cut("abcdefghij", 10) == "abcdefghij"
        assert terminal.cut("abcdefghijk", 10) == "abc…fghijk"


class TestProgress:
    STEPS = """
import sys, time
from memfs.progress import Progress
with Progress("reading", 3) as progress:
    for name in ("one", "two", "three"):
        time.sleep(float(sys.argv[1]))
        progress.step(name)
print("done")
"""

    def test_what_takes_long_is_shown_on_a_terminal_and_gone_at_the_end(self, shell: Shell) -> None:
        with Terminal(shell, sys.executable, "-c", self.STEPS, "0.6") as shown:
            shown.until(b"done\r\n")
        assert b"reading [#############.......] 2 of 3  two" in shown.shown
        assert shown.shown.endswith(b"\r\x1b[Kdone\r\n")

    def test_what_is_quick_shows_nothing(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "QUICK_SECONDS", 60.0)
        with Terminal(shell, sys.executable, "-c", self.STEPS, "0") as shown:
            shown.until(b"done\r\n")
        assert shown.shown == b"done\r\n"

    @pytest.mark.slow
    def test_a_pipe_sees_nothing_of_it(self, shell: Shell) -> None:
        done = subprocess.run(
            [sys.executable, "-c", self.STEPS, "0.6"], env=shell.environment, capture_output=True, check=True
        )
        assert (done.stdout, done.stderr) == (b"done\n", b"")
