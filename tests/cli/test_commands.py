"""The six commands from a shell: what they print, and what they return."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


def test_a_text_comes_from_an_argument_a_file_or_standard_input(shell: Shell) -> None:
    (shell.home / "text").write_bytes(b"from a file\r\n")
    assert shell("create", "a.md", "as said").done() == "Created /memories/a.md, 7 bytes.\n"
    assert shell("create", "b.md", "--file", "text").done() == "Created /memories/b.md, 13 bytes.\n"
    assert shell("create", "c.md", text="piped\n").done() == "Created /memories/c.md, 6 bytes.\n"
    assert shell("create", "d.md", "--file", "-", text="é").done() == "Created /memories/d.md, 2 bytes.\n"
    assert shell("view", "a.md").done() == "as said"
    assert (
        subprocess.check_output(shell.command("view", "b.md"), env=shell.environment) == b"from a file\r\n"
    )  # verbatim, line endings included
    assert shell("view", "c.md").done() == "piped\n"
    assert shell("view", "d.md").done() == "é"


def test_a_directory_is_printed_one_name_a_line(shell: Shell) -> None:
    assert shell("view").done() == ""
    shell("create", "z.md", "1").done()
    shell("create", "people/ann.md", "2").done()
    assert shell("view").done() == shell("view", "/memories").done() == "people/\nz.md\n"
    assert shell("view", "people").done() == "ann.md\n"


@pytest.mark.parametrize("spelled", [["2", "3"], ["2:3"], ["2", "-1"], ["2:-1"]])
def test_a_range_is_two_words_or_one(shell: Shell, spelled: list[str]) -> None:
    shell("create", "a.md", "one\ntwo\nthree\n").done()
    assert shell("view", "--range", *spelled, "a.md").done() == "two\nthree\n"
    assert shell("view", "a.md", "--range", *spelled).done() == "two\nthree\n"


def test_edits(shell: Shell) -> None:
    shell("create", "a.md", "one\ntwo\n").done()
    assert shell("insert", "a.md", "1", "--", "- between").done() == "Edited /memories/a.md, 18 bytes.\n"
    assert shell("insert", "a.md", "0", text="first\n").done() == "Edited /memories/a.md, 24 bytes.\n"
    assert shell("str-replace", "a.md", "two", "2").done() == "Edited /memories/a.md, 22 bytes.\n"
    assert shell("view", "a.md").done() == "first\none\n- between\n2\n"


def test_the_texts_of_a_replacement_come_from_files(shell: Shell) -> None:
    (shell.home / "old").write_text("two\nlines")
    (shell.home / "new").write_text("one")
    shell("create", "a.md", "<two\nlines>").done()
    shell("str-replace", "a.md", "--old-file", "old", "--new-file", "new").done()
    assert shell("view", "a.md").done() == "<one>"
    shell("str-replace", "a.md", "one", "--new-file", "-", text="two").done()
    shell("str-replace", "a.md", "--old-file", "-", "--", "-", text="two").done()
    assert shell("view", "a.md").done() == "<->"


def test_deletions_and_renames_say_what_went_along(shell: Shell) -> None:
    for name in ("a/1.md", "a/2.md", "b.md"):
        shell("create", name, "123").done()
    assert shell("rename", "b.md", "c/b.md").done() == "Renamed /memories/b.md to /memories/c/b.md.\n"
    assert shell("rename", "a", "d").done() == "Renamed /memories/a to /memories/d, with 2 files.\n"
    assert shell("delete", "c/b.md").done() == "Deleted /memories/c/b.md, 3 bytes.\n"
    assert shell("delete", "d").done() == "Deleted /memories/d with 2 files, 6 bytes.\n"


def test_what_left_to_make_room_is_named(shell: Shell) -> None:
    shell("policy", "set", "--max-files", "2").done()
    for name in ("a.md", "b.md"):
        shell("create", name, "1").done()
    printed = shell("create", "c.md", "1").done()
    assert printed == "Created /memories/c.md, 1 byte. Evicted to make room: /memories/a.md.\n"
    assert shell("create", "c.md", "1").done() == "Replaced /memories/c.md, 1 byte.\n"


def test_json_is_the_result_of_the_port(shell: Shell) -> None:
    created = shell("create", "a.md", "x", "--json")
    assert created.json == {
        "ok": True,
        "command": "create",
        "value": {"path": "/memories/a.md", "byteLength": 1, "evicted": [], "overwritten": False},
    }
    missing = shell("str-replace", "b.md", "x", "y", "--json")
    assert missing.json["command"] == "str_replace"
    assert missing.json["error"]["code"] == "NOT_FOUND"
    assert missing.refusal(1) == missing.json["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["view", "missing.md"],
        ["view", "/etc/passwd"],
        ["view", "../up.md"],
        ["view", ""],
        ["create", "a.exe", "x"],
        ["create", "/memories", "x"],
        ["create", "/memories/../x.md", "x"],
        ["insert", "a.md", "-1", "x"],
        ["delete", "."],
        ["rename", "missing.md", "x.md"],
    ],
)
def test_what_the_port_refuses_ends_with_1_and_one_sentence(shell: Shell, arguments: list[str]) -> None:
    done = shell(*arguments)
    assert done.refusal(1).endswith(".")
    assert done.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["view", "a.md", "--range", "2"],
        ["view", "a.md", "--rang", "2:3"],
        ["create"],
        ["create", "a.md", "x", "--file", "y"],
        ["create", "a.md", "--file", "missing"],
        ["insert", "a.md", "one", "x"],
        ["str-replace", "a.md", "x"],
        ["view", "--store", "nonsense:x"],
        ["view", "--scope", " "],
        ["view", "--memory", "x", "--scope", "y"],
        ["policy", "set"],
        ["policy", "show", "--max-files", "3"],
        ["policy", "set", "--max-files", "0"],
        ["unmount"],
    ],
)
def test_wrong_usage_ends_with_2(shell: Shell, arguments: list[str]) -> None:
    done = shell(*arguments)
    assert done.refusal(2)
    assert done.out == ""


def test_a_store_that_cannot_be_used_ends_with_3(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    done = shell("view", "--store", f"sqlite:{tmp_path / 'file'}", "--json")
    assert str(tmp_path / "file") in done.refusal(3)
    assert done.json["error"]["code"] == "STORAGE_ERROR"


def test_a_foreign_database_ends_with_3_and_is_left_alone(shell: Shell, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store'}"
    shell("create", "a.md", "x", "--store", store).done()
    (database,) = (tmp_path / "store").glob("*.db")
    database.write_bytes(b"somebody else's bytes" * 400)
    done = shell("view", "--store", store, "--json")
    assert "left as it is" in done.refusal(3)
    assert done.json["error"]["code"] == "UNSAFE_STORAGE"
    assert database.read_bytes() == b"somebody else's bytes" * 400


def test_bytes_that_are_no_text_are_refused(shell: Shell) -> None:
    done = shell("create", "a.md", "--json", text=b"ab\xff")
    assert "not UTF-8 (byte 0xff at 2)" in done.refusal(1)
    assert done.json["error"]["code"] == "INVALID_ARGUMENT"
    assert shell("view").done() == ""


def test_an_argument_of_broken_bytes_is_refused(shell: Shell) -> None:
    done = shell("create", "a.md", os.fsdecode(b"caf\xe9"))
    assert "surrogate" in done.refusal(1)
    assert shell("view", os.fsdecode(b"caf\xe9.md"), "--json").json["error"]["code"] == "INVALID_PATH"


def test_a_closed_standard_input_is_no_empty_text(shell: Shell) -> None:
    shell("create", "a.md", "kept").done()
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *shell.command("create", "a.md")],
        env=shell.environment,
        capture_output=True,
        check=False,
    )
    assert closed.returncode == 2
    assert b"no standard input" in closed.stderr
    assert shell("view", "a.md").done() == "kept"


def test_a_closed_standard_output_harms_nothing(shell: Shell) -> None:
    """Without care the database would be opened as descriptor 1, and be printed into."""
    for _ in range(2):
        closed = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *shell.command("create", "a.md", "text")],
            env=shell.environment,
            check=False,
        )
        assert closed.returncode == 0
    assert shell("view", "a.md").done() == "text"


def test_a_memory_that_ends_with_the_command_says_so(shell: Shell) -> None:
    done = shell("create", "a.md", "x", "--store", "simple:")
    assert done.status == 0
    assert "nothing is kept" in done.err


def test_a_command_may_say_what_it_expects(shell: Shell) -> None:
    shell("create", "a.md", "one", "--expected", "absent").done()
    assert "should be absent, and is version 1" in shell(
        "create", "a.md", "x", "--expected", "absent"
    ).refusal(1)
    shell("insert", "a.md", "0", "two", "--expected", "version:1").done()
    refused = shell("delete", "a.md", "--expected", "version:1", "--json")
    assert refused.json["error"]["details"] == {"expected": 1, "actual": 2}
    digest = hashlib.sha256(b"two\none\n").hexdigest()
    shell("rename", "a.md", "b.md", "--expected", f"sha256:{digest}").done()
    assert shell("delete", "b.md", "--expected", "sha256:12").status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["view", "a/../a.md"],
        ["show", "a/../a.md"],
        ["create", "a/../b.md", "x"],
        ["delete", "a/../a.md"],
        ["rename", "a.md", "b/../c.md"],
        ["restore", "a.md@1", "--to", "b/../c.md"],
        ["restore", "b/../a.md@1"],
    ],
)
def test_a_path_of_a_memory_has_no_way_up(shell: Shell, arguments: list[str]) -> None:
    shell("create", "a.md", "first").done()
    shell(*arguments).refusal()
    assert shell("view", "/memories").done() == "a.md\n"
    assert shell("log", "a.md").done().count("\n") == 1
