"""``memfs export`` and ``memfs import``, from a shell."""

from __future__ import annotations

import subprocess
import tarfile

import pytest

from tests.cli.conftest import Shell, Terminal
from tests.stores.git.harness import git


@pytest.mark.slow
def test_a_memory_goes_out_and_comes_back(shell: Shell) -> None:
    shell("create", "a.md", "first").done()
    shell("create", "d/b.md", "second").done()
    assert "2 files" in shell("export", "--dir", "out").done()
    assert "2 files" in shell("export", "--tar", "out.tgz").done()
    assert "2 changes" in shell("export", "--git", "out.git").done()
    assert "0 changes" in shell("export", "--git", "out.git").done()
    ref = git(shell.home / "out.git", "for-each-ref", "--format=%(refname)")
    for number, source in enumerate(
        (("--dir", "out"), ("--tar", "out.tgz"), ("--git", "out.git", "--ref", ref))
    ):
        store = ("--store", f"sqlite:s{number}")
        assert (
            shell("import", *source, *store, "--dry-run").done() == "Would import 2 files into /memories.\n"
        )
        assert shell("view", *store).done() == ""
        assert shell("import", *source, *store).done() == "Imported 2 files into /memories.\n"
        assert shell("view", "d/b.md", *store).done() == "second"
    assert shell("view", "d/b.md", "--store", "git:out.git").done() == "second"


def test_an_import_says_who_and_why(shell: Shell) -> None:
    (shell.home / "a.md").write_text("x")
    shell("import", "--dir", ".", "--actor", "mover", "--reason", "a new machine")
    assert shell("log", "--json").json["program"] == "mover"
    assert shell("log", "--json").json["reason"] == "a new machine"
    assert "one line" in shell("import", "--dir", ".", "--to", "/memories/d", "--reason", "a\nb").refusal(1)


def test_what_cannot_come_in_is_listed_and_the_status_says_so(shell: Shell) -> None:
    (shell.home / "notes").mkdir()
    for name in ("a.md", "My note.md", "\x1b[2Jevil.md"):
        (shell.home / "notes" / name).write_text("x")
    done = shell("import", "--dir", "notes", "--to", "/memories/from")
    assert done.status == 1
    assert done.out == "Imported 1 file into /memories/from.\n"
    assert len(done.err.splitlines()) == 2
    assert "\x1b" not in done.err
    done = shell("import", "--dir", "notes", "--json")
    assert done.json["imported"] == ["/memories/a.md"]
    assert len(done.json["left"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("export",),
        ("export", "--tar", "a", "--dir", "b"),
        ("export", "--tar", "a", "--ref", "refs/x/y"),
        ("export", "--git", "a", "--ref", "main"),
        ("import",),
        ("import", "--tar", "a", "--dir", "b"),
        ("import", "--tar", "a", "--ref", "main"),
        ("import", "--git", "a", "--from-scope", "x"),
    ],
)
def test_a_wrong_choice_is_wrong_usage(shell: Shell, arguments: tuple[str, ...]) -> None:
    shell(*arguments).refusal(2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dir", "tar"])
def test_an_import_shows_how_far_it_has_read_on_a_terminal_only(shell: Shell, kind: str) -> None:
    folder = shell.home / "folder"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text("x")
    with tarfile.open(shell.home / "tar", "w") as tar:
        tar.add(folder, ".")
    source = folder if kind == "dir" else shell.home / "tar"
    code = (
        "import sys\n"
        "from memfs import progress\n"
        "progress.QUICK_SECONDS = 0\n"
        "from memfs.cli import main\n"
        f"sys.exit(main(['import', '--dry-run', '--{kind}', '{source}']))\n"
    )
    command = [*shell.command()[:1], "-c", code]
    piped = subprocess.run(command, capture_output=True, env=shell.environment, check=True)
    assert piped.stderr == b""
    with Terminal(shell, *command) as terminal:
        terminal.until(b"Would import 3 files")
    assert b"1 files read" in terminal.shown


def test_an_export_shows_a_bar_on_a_terminal_only(shell: Shell) -> None:
    shell("create", "a.md", "x").done()
    code = (
        "import sys\n"
        "from memfs import progress\n"
        "progress.QUICK_SECONDS = 0\n"
        "from memfs.cli import main\n"
        "sys.exit(main(['export', sys.argv[1], sys.argv[2]]))\n"
    )
    command = [*shell.command()[:1], "-c", code]
    piped = subprocess.run(
        [*command, "--dir", "folder"], capture_output=True, env=shell.environment, cwd=shell.home, check=True
    )
    assert piped.stderr == b""
    with Terminal(shell, *command, "--git", "repository") as terminal:
        terminal.until(b"Exported 1 change")
    assert b"1 of 1 changes" in terminal.shown


def test_a_memhtml_repository_makes_a_scope_that_can_hold_it(shell: Shell) -> None:
    pages = shell.home / "mem" / "projects" / "atlas"
    pages.mkdir(parents=True)
    (pages / "plan.html").write_text("<p>plan</p>")
    git(shell.home, "init", "-q", "mem")
    assert "has no commit yet" in shell("import", "--memhtml", "mem").refusal(3)
    git(shell.home / "mem", "add", "-A")
    git(shell.home / "mem", "commit", "-qm", "pages")
    assert "is no git repository" in shell("import", "--memhtml", "nowhere").refusal(3)
    assert "not a git repository" in shell("import", "--memhtml", "mem/projects").refusal(3)
    store = ("--store", "sqlite:new")
    assert shell("import", "--memhtml", "mem", *store).done() == "Imported 1 file into /memories.\n"
    assert shell("policy", "show", *store, "--json").json["layout"] == "para"
    flat = ("--store", "sqlite:flat")
    shell("create", "a.md", "a scope with other rules", *flat).done()
    done = shell("import", "--memhtml", "mem", *flat)
    assert done.status == 1
    *_, advice = done.err.splitlines()
    assert advice.startswith("memfs: `memfs policy set --extensions .txt,")
    shell(*advice.split("`")[1].split()[1:], *flat).done()
    assert shell("import", "--memhtml", "mem", *flat).done() == "Imported 1 file into /memories.\n"


@pytest.mark.parametrize("kind", ["tar", "dir", "git"])
def test_what_cannot_be_written_is_what_was_named(shell: Shell, kind: str) -> None:
    shell("create", "a.md", "a").done()
    (shell.home / "file").write_text("")
    target = shell.home / "file" / "x.tar"
    sentence = shell("export", f"--{kind}", str(target)).refusal(3)
    assert sentence == f"{target} cannot be written: Not a directory."


def test_what_is_named_moves_no_cursor(shell: Shell) -> None:
    git(shell.home, "init", "-q", "bare")
    sentence = shell("import", "--obversa", "bare", "--from-scope", "a\x1b[31mb").refusal(3)
    assert "for the scope 'a\\x1b[31mb'" in sentence
