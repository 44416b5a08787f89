"""Superseded bytes become deltas, and every version can still be read exactly."""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs.stores.sqlite import rows
from tests.harness import must
from tests.stores.harness import chain_lengths, files_of, open_pair

PATH = "/memories/notes.md"
LINES = st.text(st.characters(codec="utf-8"), max_size=80)


@st.composite
def successive_texts(draw: st.DrawFn) -> list[str]:
    """Versions of one text: mostly an edit of the one before, sometimes all new, empty or the same."""
    lines = draw(st.lists(LINES, max_size=40))
    versions = ["\n".join(lines)]
    for _ in range(draw(st.integers(1, 60))):
        if draw(st.integers(0, 9)) == 0:
            lines = draw(st.lists(LINES, max_size=40))
        else:
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
        versions.append("\n".join(lines))
    return versions


@settings(max_examples=settings().max_examples // 2)  # each makes a database
@given(versions=successive_texts(), upkeep_after=st.sets(st.integers(0, 60)))
def test_every_version_reads_back_exactly(versions: list[str], upkeep_after: set[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        memory, store = open_pair(Path(directory), relaxed=True)
        with memory:
            for number, text in enumerate(versions):
                must(memory, "create", path=PATH, text=text)
                if number in upkeep_after:
                    memory.maintain()
            memory.maintain()
            file = memory.snapshot().file(PATH)
            assert file is not None
            kept = [store.read(file.id, version) for version in range(1, len(versions) + 1)]
        assert kept == [text.encode() for text in versions]


def test_a_renamed_memory_keeps_every_version(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path)
    with memory:
        must(memory, "create", path="/memories/a.md", text="first " * 100)
        must(memory, "rename", oldPath="/memories/a.md", newPath="/memories/b.md")
        must(memory, "create", path="/memories/b.md", text="second " + "first " * 100)
        must(memory, "delete", path="/memories/b.md")
        memory.maintain()
        assert store.read(1, 1) == b"first " * 100
        assert store.read(1, 3) == b"second " + b"first " * 100


def test_a_chain_of_deltas_is_bounded_however_many_versions_one_upkeep_meets(tmp_path: Path) -> None:
    memory, store = open_pair(tmp_path, relaxed=True)
    with memory:
        for number in range(150):
            must(memory, "create", path=PATH, text=f"{number}\n" + "a line that stays\n" * 50)
        memory.maintain()
        lengths = chain_lengths(files_of(tmp_path).database)
        assert max(lengths) == rows.LONGEST_CHAIN
        assert store.read(1, 1).startswith(b"0\n")


def test_small_edits_take_little_space(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path, relaxed=True)
    with memory:
        for number in range(200):
            must(memory, "create", path=PATH, text=f"{number}\n" + "a line that stays\n" * 200)
        before = stored_bytes(files_of(tmp_path).database)
        memory.maintain()
        after = stored_bytes(files_of(tmp_path).database)
    assert after < before / 10


def test_versions_that_share_nothing_stay_whole(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path, relaxed=True)
    with memory:
        must(memory, "create", path=PATH, text="abcdefghij")
        must(memory, "create", path=PATH, text="klmnopqrst")
        memory.maintain()
        assert chain_lengths(files_of(tmp_path).database) == [0, 0]


def stored_bytes(database: Path) -> int:
    """The bytes that all versions take."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    total: int = rows.select(connection, "SELECT sum(length(content)) FROM history")[0][0]
    connection.close()
    return total
