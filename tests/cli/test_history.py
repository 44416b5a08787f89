"""``memfs log``, ``show``, ``diff``, ``restore`` and ``undo`` from a shell."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from memfs import open_memory
from tests.cli.conftest import Shell
from tests.harness import must


@pytest.fixture
def notes(shell: Shell) -> Shell:
    """A scope in which notes.md was written three times and renamed, and old.md deleted."""
    shell("create", "notes.md", "one\n", "--actor", "ann", "--reason", "asked for").done()
    with open_memory(f"sqlite:{shell.home}/.local/share/memfs/store") as memory:
        must(memory, "create", path="/memories/old.md", text="gone soon\n")
        must(memory, "create", path="/memories/notes.md", text="one\ntwo\n")
        must(memory, "rename", oldPath="/memories/notes.md", newPath="/memories/kept.md")
        must(memory, "str_replace", path="/memories/kept.md", oldText="two", newText="three")
        must(memory, "delete", path="/memories/old.md")
    return shell


def columns(printed: str) -> list[tuple[str, str]]:
    """Version and operation of each record in a printed log."""
    return [(line.split()[0], line.split()[3]) for line in printed.splitlines() if line[:6].strip().isdigit()]


def test_the_log_of_the_scope_and_of_one_memory(notes: Shell) -> None:
    assert columns(notes("log").done()) == [
        ("6", "deleted"), ("5", "modified"), ("4", "renamed"), ("3", "modified"), ("2", "created"),
        ("1", "created"),
    ]  # fmt: skip
    printed = notes("log", "kept.md").done()
    assert [version for version, _ in columns(printed)] == ["5", "4", "3", "1"]
    assert "from /memories/notes.md" in printed
    assert "ann" in printed
    assert "asked for" in printed
    assert columns(notes("log", "notes.md").done()) == columns(printed), "the name it had before"
    assert columns(notes("log", "-n", "2", "kept.md").done()) == [("5", "modified"), ("4", "renamed")]
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_the_log_of_those_that_have_left(notes: Shell) -> None:
    assert columns(notes("log", "--deleted").done()) == [("6", "deleted")]
    assert columns(notes("log", "--deleted", "old.md").done()) == [("6", "deleted")]
    assert columns(notes("log", "old.md").done()) == [("6", "deleted"), ("2", "created")]
    assert "has left /memories/kept.md" in notes("log", "--deleted", "kept.md").refusal(1)


def test_the_log_by_actor_and_time(notes: Shell) -> None:
    assert columns(notes("log", "--actor", "ann").done()) == [("1", "created")]
    assert len(columns(notes("log", "--since", "1h").done())) == 6
    assert notes("log", "--since", "2999-01-01").refusal(1)
    for since in ("yesterday", "1w"):
        assert columns(notes("log", "--since", since, "-n", "1").done()) == [("6", "deleted")]
    for since in ("today", "00:00"):
        assert notes("log", "--since", since).status in (0, 1), "midnight may have come since"
    assert "is no time such as today" in notes("log", "--since", "some day").err
    assert "Nothing is recorded of /memories/none.md" in notes("log", "none.md").refusal(1)


def test_a_clock_that_was_set_back_hides_nothing(notes: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(f"sqlite:{notes.home}/.local/share/memfs/store") as memory:
        monkeypatch.setattr(time, "time_ns", lambda: 10**18)
        must(memory, "create", path="/memories/kept.md", text="long ago, says the clock\n")
    everything = columns(notes("log").done())
    assert columns(notes("log", "--since", "1d").done()) == everything[1:]


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_log_of_no_record_is_not_taken_for_an_empty_history(notes: Shell, count: str) -> None:
    done = notes("log", "-n", count)
    assert (done.status, done.out) == (2, "")
    assert "is not a number, 1 or more" in done.err


def test_the_log_as_json_is_one_object_a_line(notes: Shell) -> None:
    records = [json.loads(line) for line in notes("log", "--json").done().splitlines()]
    assert [record["version"] for record in records] == [6, 5, 4, 3, 2, 1]
    assert records[2]["oldPath"] == "/memories/notes.md"
    assert records[5]["program"] == "ann"
    assert records[5]["reason"] == "asked for"
    assert records[5]["byteLength"] == 4
    assert "reason" not in records[0]
    assert notes("log", "none.md", "--json").done() == ""


def test_any_version_is_shown(notes: Shell) -> None:
    assert notes("show", "kept.md@1").done() == "one\n"
    assert notes("show", "kept.md@4").done() == "one\ntwo\n"
    assert notes("show", "kept.md").done() == "one\nthree\n"
    assert notes("show", "old.md").done() == "gone soon\n"
    assert "the nearest it has: 1, 3, 4" in notes("show", "kept.md@2").refusal(1)
    assert notes("show", "kept.md@x").refusal(2)
    assert notes("show", "none.md").refusal(1)


def test_two_versions_are_compared_as_patch_takes_it(notes: Shell, tmp_path: Path) -> None:
    printed = notes("diff", "kept.md").done()
    assert [line for line in printed.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-two", "+three",
    ]  # fmt: skip
    assert notes("diff", "kept.md", "3", "4").done() == ""
    assert "+two" in notes("diff", "kept.md", "1", "3").done()
    notes("create", "kept.md", "one\nwithout an end").done()
    target = tmp_path / "kept.md"
    target.write_text("one\n")
    patch = notes("diff", "kept.md", "1").done()
    assert patch.endswith("\\ No newline at end of file\n")
    subprocess.run(["patch", "-s", str(target)], input=patch, text=True, check=True)
    assert target.read_text() == "one\nwithout an end"


def test_a_version_is_named_as_the_mount_shows_it(notes: Shell) -> None:
    version = ".memfs/history/kept.md/00000003-2026-11-30T20.44.13Z-python.md"
    assert notes("show", version).done() == "one\ntwo\n"
    assert notes("show", f"/memories/{version}").done() == "one\ntwo\n"
    assert (
        notes("diff", version).done()
        == notes("diff", "kept.md@3").done()
        == notes("diff", "kept.md", "3").done()
    )
    assert notes("diff", version, "3").done() == ""
    notes("restore", version).done()
    assert notes("view", "kept.md").done() == "one\ntwo\n"
    assert notes("restore", ".memfs/deleted/old.md").done() == "Restored /memories/old.md, 10 bytes.\n"


def test_a_first_version_is_compared_with_nothing(notes: Shell) -> None:
    notes("create", "new.md", "x\n").done()
    assert notes("diff", "new.md").done().startswith("--- /dev/null\n+++ /memories/new.md@7")


def test_what_is_pruned_is_not_taken_for_nothing(notes: Shell) -> None:
    notes("prune", "--keep-versions", "0").done()
    newest = notes("log", "kept.md", "-n", "1", "--json").json["version"]
    refusal = notes("diff", "kept.md").refusal(1)
    assert f"before version {newest} is pruned" in refusal


def test_a_difference_has_colours_on_a_terminal_only(notes: Shell) -> None:
    assert "\033[" not in notes("diff", "kept.md").done()
    assert "\033[32m+three\033[m" in on_a_terminal(notes, {"TERM": "xterm"})
    assert "\033[" not in on_a_terminal(notes, {"TERM": "xterm", "NO_COLOR": "1"})
    assert "\033[" not in on_a_terminal(notes, {"TERM": "dumb"})


def on_a_terminal(shell: Shell, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in shell.environment.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        shell.command("diff", "kept.md"), stdout=theirs, env=plain | environment, cwd=shell.home
    )
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 4096):
            printed += piece
    except OSError:  # the terminal has been closed
        pass
    assert process.wait() == 0
    os.close(ours)
    return printed.decode()


def test_a_version_and_what_was_deleted_are_restored(notes: Shell) -> None:
    assert notes("restore", "kept.md@1").done() == "Restored /memories/kept.md, 4 bytes.\n"
    assert notes("view", "kept.md").done() == "one\n"
    assert (
        notes("restore", "old.md", "--reason", "still of use").done()
        == "Restored /memories/old.md, 10 bytes.\n"
    )
    assert notes("view", "old.md").done() == "gone soon\n"
    assert "still of use" in notes("log", "old.md").done()
    assert "name the version" in notes("restore", "kept.md").refusal(1)
    assert notes("restore", "kept.md@1", "--to", "old.md").refusal(1)
    assert (
        notes("restore", "kept.md@5", "--to", "copy.md").done() == "Restored /memories/copy.md, 10 bytes.\n"
    )


def test_what_is_archived_is_restored(shell: Shell) -> None:
    shell("policy", "set", "--eviction", "archive", "--max-files", "1").done()
    shell("create", "a.md", "1").done()
    shell("create", "b.md", "2").done()
    (archived,) = [json.loads(line)["path"] for line in shell("log", "a.md", "--json").done().splitlines()][
        :1
    ]
    assert shell("restore", archived).done().startswith(f"Restored {archived} to /memories/a.md.")


def test_the_last_change_is_undone_and_redone(notes: Shell) -> None:
    assert notes("undo").done() == "Took back version 6.\n  restored  /memories/old.md\n"
    assert notes("view", "old.md").done() == "gone soon\n"
    assert notes("undo", "--json").json["value"]["removed"] == ["/memories/old.md"]
    assert notes("undo", "--scope", "another").refusal(1).startswith("There is no change to undo")


def test_what_is_expected_is_asked_of_restore_archive_and_undo(shell: Shell) -> None:
    shell("policy", "set", "--eviction", "archive").done()
    for text in "12":
        shell("create", "a.md", text).done()
    seen = ("--expected", "version:2")
    assert "should be version 2, and is version 3" in shell("undo", *seen).refusal(1)
    assert "should be absent, and is version 3" in shell("archive", "a.md", "--expected", "absent").refusal(1)
    result = shell("restore", "a.md@2", *seen, "--json")
    assert (result.status, result.json["error"]["details"]) == (1, {"expected": 2, "actual": 3})
    assert shell("view", "a.md").done() == "2"
    shell("restore", "a.md@2", "--expected", "version:3").done()
    shell("undo", "--expected", "version:4").done()
    shell("archive", "a.md", "--expected", "version:5").done()
