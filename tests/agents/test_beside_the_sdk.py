"""The same commands to our memory tool and to the SDK's own: the same answers, its known faults aside.

Random sequences first; then each fault by itself, with what the SDK's tool does and what ours does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memfs import Limits, open_memory
from tests.agents.pair import Answer, Fields, Pair
from tests.harness import texts

FILES = (
    "/memories/a.md",
    "/memories/b.txt",
    "/memories/d/a.md",
    "/memories/d/e/c.json",
    "/memories/d/e/f/g.py",
)
ODD_PATHS = (
    "/memories", "/memories/", "/memories/d", "/memories/d/", "/memories//d/e", "/memories/d/./a.md",
    "/memories/d/../a.md", "/memories/../a.md", "/memories/../memories/b.txt", "/memories/a.md/", "a.md", "",
    "/memoriesfoo", "/memories/a.md/b.md", "/memories/d/e/d", "/memories/x", "/memories/.hidden.md",
    "/memories/no spaces.md", "/memories/a\0.md",
)  # fmt: skip
PIECES = ("a", "a", "bc", "\n", "\n", "\r\n", "\r", "\f", "\u2028", "é", "🧠", "\t")
MEMORY_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The SDK's tool syncs every file, which costs most of the time elsewhere."""
some_path = st.sampled_from(FILES * 2 + ODD_PATHS)
some_text = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
some_line = st.integers(-2, 9)
some_range = st.none() | st.lists(some_line, max_size=3) | st.tuples(st.integers(1, 3), st.just(-1)).map(list)
some_command = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": some_path, "file_text": some_text}),
    st.fixed_dictionaries({"command": st.just("view"), "path": some_path, "view_range": some_range}),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": some_path, "old_str": some_text, "new_str": some_text}
    ),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": some_path, "old_str": st.just("a"), "new_str": some_text}
    ),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": some_path, "insert_line": some_line, "insert_text": some_text}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": some_path}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": some_path, "new_path": some_path}),
    st.fixed_dictionaries(
        {
            "command": st.just("rename"),
            "old_path": st.sampled_from((*FILES, "/memories/d", "/memories/d/e")),
            "new_path": st.sampled_from(
                ("/memories/new.md", "/memories/n", "/memories/n/e.py", "/memories/d/n")
            ),
        }
    ),
)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The two tools, both empty."""
    with open_memory("simple:") as memory:
        yield Pair(memory, tmp_path)


@settings(max_examples=100)
@given(
    files=st.dictionaries(st.sampled_from(FILES), some_text),
    commands=st.lists(some_command, max_size=12),
)
@example(
    files={"/memories/a.md": "a\n\n"},
    commands=[
        {"command": "view", "path": "/memories/a.md", "view_range": lines}
        for lines in ([1, 2], [0, 1], [-2, 1], [1, -2], [2], [2, 1, 1])
    ],
)
@example(
    files={"/memories/a.md": "aaa\n", "/memories/b.txt": "aaaa\n"},
    commands=[
        {"command": "str_replace", "path": path, "old_str": "aa", "new_str": "x"}
        for path in ("/memories/a.md", "/memories/b.txt")
    ],
)
def test_the_answers_and_the_files_are_the_same(files: dict[str, str], commands: list[Fields]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder, open_memory("simple:") as memory:
        pair = Pair(memory, Path(folder))
        for path, text in files.items():
            pair.ask(command="create", path=path, file_text=text)
        for command in commands:
            pair.ask(**command)


def test_what_a_model_reads(pair: Pair) -> None:
    plan = "/memories/d/plan.md"
    assert pair.ask(command="create", path=plan, file_text="one\ntwo\nthree\nfour\nfive\nsix\n") == Answer(
        "File created successfully at: /memories/d/plan.md"
    )
    pair.ask(command="create", path="/memories/d/e/f/deep.md", file_text="x" * 1536)
    pair.ask(command="create", path="/memories/empty.md", file_text="")
    assert pair.ask(command="view", path="/memories") == Answer(
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "4K\t/memories\n"
        "4K\t/memories/d/\n"
        "4K\t/memories/d/e/\n"
        "28B\t/memories/d/plan.md\n"
        "0B\t/memories/empty.md"
    )
    assert pair.ask(command="view", path="/memories/d/e/f").text.endswith("\n1.5K\t/memories/d/e/f/deep.md")
    assert pair.ask(command="view", path=plan, view_range=[5, -1]) == Answer(
        "Here's the content of /memories/d/plan.md with line numbers:\n     5\tfive\n     6\tsix"
    )
    assert pair.ask(command="view", path=plan, view_range=[9, 12]) == Answer(
        "Here's the content of /memories/d/plan.md with line numbers:\n"
    )
    assert pair.ask(command="str_replace", path=plan, old_str="four", new_str="4\n4.5") == Answer(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     2\ttwo\n     3\tthree\n     4\t4\n     5\t4.5\n     6\tfive"
    )
    assert pair.ask(command="insert", path=plan, insert_line=0, insert_text="zero") == Answer(
        "The file /memories/d/plan.md has been edited."
    )
    assert pair.ask(command="rename", old_path=plan, new_path="/memories/n/p.md") == Answer(
        "Successfully renamed /memories/d/plan.md to /memories/n/p.md"
    )
    assert pair.ask(command="delete", path="/memories/d") == Answer("Successfully deleted /memories/d")
    assert texts(pair.memory) == {
        "/memories/n/p.md": "zero\none\ntwo\nthree\n4\n4.5\nfive\nsix\n",
        "/memories/empty.md": "",
    }


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"command": "view", "path": "/memories/x.md"},
            "The path /memories/x.md does not exist. Please provide a valid path.",
        ),
        ({"command": "view", "path": "/etc"}, "Path must start with /memories, got: /etc"),
        (
            {"command": "view", "path": "/memories/../etc"},
            "Path /memories/../etc would escape /memories directory",
        ),
        (
            {"command": "create", "path": "/memories/a.md", "file_text": "x"},
            "File /memories/a.md already exists",
        ),
        ({"command": "create", "path": "/memories/d", "file_text": "x"}, "File /memories/d already exists"),
        (
            {"command": "str_replace", "path": "/memories/a.md", "old_str": "ten", "new_str": ""},
            "No replacement was performed, old_str `ten` did not appear verbatim in /memories/a.md.",
        ),
        (
            {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": ""},
            (
                "No replacement was performed. Multiple occurrences of old_str `one` in lines: 1, 3. "
                "Please ensure it is unique"
            ),
        ),
        (
            {"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": ""},
            "The path /memories/d is not a file.",
        ),
        (
            {"command": "insert", "path": "/memories/a.md", "insert_line": 99, "insert_text": ""},
            "Invalid `insert_line` parameter: 99. It should be within the range [0, 4].",
        ),
        (
            {"command": "insert", "path": "/memories/d/", "insert_line": 0, "insert_text": ""},
            "The path /memories/d/ is not a file.",
        ),
        ({"command": "delete", "path": "/memories/x.md"}, "The path /memories/x.md does not exist"),
        ({"command": "delete", "path": "/memories/"}, "Cannot delete the /memories directory itself"),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/d/b.md"},
            "The destination /memories/d/b.md already exists",
        ),
        (
            {"command": "rename", "old_path": "/memories/x.md", "new_path": "/memories/y.md"},
            "The path /memories/x.md does not exist",
        ),
        (
            {"command": "rename", "old_path": "/memories", "new_path": "/memories/y"},
            "Cannot rename the /memories directory itself",
        ),
    ],
)
def test_a_refusal_is_one_sentence(pair: Pair, fields: dict[str, Any], sentence: str) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="one\ntwo\none\nfour\n")
    pair.ask(command="create", path="/memories/d/b.md", file_text="b")
    assert pair.ask(**fields) == Answer(sentence, is_error=True)


def test_a_file_of_more_lines_than_have_numbers_is_not_shown(tmp_path: Path) -> None:
    limits = Limits(max_file_bytes=4_000_000, max_total_bytes=4_000_000)
    with open_memory("simple:", limits=limits) as memory:
        pair = Pair(memory, tmp_path)
        pair.ask(command="create", path="/memories/a.md", file_text="\n" * 999_999)
        assert pair.ask(command="view", path="/memories/a.md", view_range=[1, 2]) == Answer(
            "File /memories/a.md exceeds maximum line limit of 999,999 lines.", is_error=True
        )


# --- the faults, one by one: what the SDK's tool does, and what ours does --------------------------


def test_fault_a_path_beside_the_root_is_taken_for_one_below_it(pair: Pair) -> None:
    beside = {"command": "create", "path": "/memoriesfoo", "file_text": "x"}
    assert pair.ask_theirs(beside) == Answer("File created successfully at: /memoriesfoo")
    assert pair.files() == {"/memories/foo": "x"}
    assert pair.ask_ours(beside) == Answer("Path must start with /memories, got: /memoriesfoo", is_error=True)


def test_fault_a_listing_doubles_the_slash_of_its_path(pair: Pair) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="x")
    listing = {"command": "view", "path": "/memories/"}
    assert "\t/memories//a.md" in pair.read_theirs(listing)
    assert pair.ask_ours(listing).text.endswith("4K\t/memories/\n1B\t/memories/a.md")


def test_fault_a_failed_rename_leaves_empty_parents(pair: Pair) -> None:
    failing = {"command": "rename", "old_path": "/memories/x.md", "new_path": "/memories/d/e/x.md"}
    assert pair.ask_theirs(failing) == pair.ask_ours(failing)
    assert (pair.folder / "d/e").is_dir()
    assert pair.ask_ours({"command": "view", "path": "/memories/d"}).is_error


def test_fault_an_empty_old_str_is_found_at_every_position(pair: Pair) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="ab\n")
    empty = {"command": "str_replace", "path": "/memories/a.md", "old_str": "", "new_str": "x"}
    assert "in lines: 1, 1, 1, 2." in pair.read_theirs(empty)
    assert pair.ask_ours(empty) == Answer(
        "No replacement was performed, old_str is empty. Give the text to replace.", is_error=True
    )


def test_fault_a_line_with_two_occurrences_is_named_twice(pair: Pair) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="a a\nb\na\n")
    twice = {"command": "str_replace", "path": "/memories/a.md", "old_str": "a", "new_str": "x"}
    assert "in lines: 1, 1, 3." in pair.read_theirs(twice)
    assert "in lines: 1, 3." in pair.ask_ours(twice).text


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"command": "create", "path": "/memories/a.md/b.md", "file_text": "x"},
            "/memories/a.md is a file, so nothing can lie below it at /memories/a.md/b.md.",
        ),
        (
            {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"},
            "The directory /memories/d cannot move into itself.",
        ),
    ],
    ids=["a child of a file", "a directory into itself"],
)
def test_fault_the_systems_error_escapes_with_the_hosts_path(
    pair: Pair, fields: dict[str, Any], sentence: str
) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="x")
    pair.ask(command="create", path="/memories/d/b.md", file_text="x")
    theirs = pair.ask_theirs(fields)
    assert isinstance(theirs, OSError)
    assert str(pair.folder) in str(theirs)
    assert pair.ask_ours(fields) == Answer(sentence, is_error=True)


def test_fault_a_nul_in_a_path_escapes(pair: Pair) -> None:
    nul = {"command": "create", "path": "/memories/a\0.md", "file_text": "x"}
    assert isinstance(pair.ask_theirs(nul), ValueError)
    assert pair.ask_ours(nul) == Answer(
        r"The path '/memories/a\x00.md' has a name with a character "
        "other than letters, digits, '.', '_' and '-'.",
        is_error=True,
    )


def test_fault_half_a_surrogate_pair_escapes_and_leaves_an_empty_file(pair: Pair) -> None:
    half = {"command": "create", "path": "/memories/a.md", "file_text": "x\ud800"}
    assert isinstance(pair.ask_theirs(half), UnicodeError)
    assert pair.files() == {"/memories/a.md": ""}
    assert pair.ask_ours(half) == Answer(
        "`file_text` holds half of a surrogate pair, which no file can hold; leave it out.", is_error=True
    )
    assert texts(pair.memory) == {}


@pytest.mark.parametrize(
    ("text", "line", "inserted", "theirs", "ours"),
    [
        ("a\nb\n", 1, "x\n\n\n", "a\nx\nb\n", "a\nx\n\n\nb\n"),
        ("a\n\n", 0, "x", "x\na\n", "x\na\n\n"),
        ("a\n", 1, "", "a\n", "a\n\n"),
        ("a\nb", 0, "x", "x\na\nb\n", "x\na\nb"),
        ("a\nb", 2, "x", "a\nb\nx\n", "a\nb\nx"),
        ("a\nb", 2, "x\n", "a\nb\nx\n", "a\nb\nx\n"),
        ("", 0, "x", "x\n", "x\n"),
        ("a\r\nb\r\n", 1, "x\r\n", "a\r\nx\r\nb\r\n", "a\r\nx\r\nb\r\n"),
    ],
)
def test_fault_an_insertion_loses_blank_lines_and_completes_the_last(
    pair: Pair, text: str, line: int, inserted: str, theirs: str, ours: str
) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text=text)
    insertion = {"command": "insert", "path": "/memories/a.md", "insert_line": line, "insert_text": inserted}
    assert pair.ask_theirs(insertion) == pair.ask_ours(insertion)
    assert pair.files() == {"/memories/a.md": theirs}
    assert texts(pair.memory) == {"/memories/a.md": ours}


def test_fault_what_follows_the_last_line_is_shown_as_a_line(pair: Pair) -> None:
    pair.ask(command="create", path="/memories/a.md", file_text="a\n")
    viewing = {"command": "view", "path": "/memories/a.md"}
    assert pair.read_theirs(viewing).endswith("\n     2\t")
    assert pair.ask_ours(viewing).text.endswith(":\n     1\ta")
