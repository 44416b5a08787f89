"""The search: the best passages, with an index or without one, whatever has happened to the index."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memfs
from memfs.search import Hit, Index, forget, search

SCOPE = "work"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def memory(sqlite_url: str) -> Iterator[memfs.Memory]:
    with memfs.open_memory(sqlite_url, scope=SCOPE) as opened:
        yield opened


@pytest.fixture
def index(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index that is used however small the scope is."""
    monkeypatch.setattr("memfs.search.index.WORTH_IT_FROM_FILES", 0)
    made = Index(sqlite_url, SCOPE)
    yield made
    made.close()


def write(memory: memfs.Memory, path: str, text: str) -> None:
    assert memory.execute(memfs.Create(f"/memories/{path}", text)).ok


def hits(memory: memfs.Memory, words: str, path: str = "/memories", index: Index | None = None) -> list[Hit]:
    found = search(memory, words, path, index=index)
    assert isinstance(found, list), found
    return found


def places(found: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.path.removeprefix("/memories/"), hit.start) for hit in found]


def test_phrases_come_first_then_more_terms_then_more_occurrences(memory: memfs.Memory) -> None:
    write(memory, "d.md", "atlas\n\natlas")
    write(memory, "c.md", "atlas, atlas and atlas")
    write(memory, "b.md", "a deadline, and atlas")
    write(memory, "a/z.md", "# Plan\n\nthe atlas deadline")
    found = hits(memory, "Atlas deadline")
    assert places(found) == [("a/z.md", 1), ("b.md", 1), ("c.md", 1), ("d.md", 1), ("d.md", 3)]
    assert found[0].text == "# Plan\n\nthe atlas deadline"
    assert (found[0].start, found[0].end) == (1, 3)


def test_a_path_narrows_the_search_to_a_file_or_a_directory(memory: memfs.Memory, index: Index) -> None:
    for path in ("a.md", "a/b.md", "a/c/d.md", "a-b/c.md", "ab.md"):
        write(memory, path, "word")
    for by in (None, index):
        assert places(hits(memory, "word", "/memories/a", by)) == [("a/b.md", 1), ("a/c/d.md", 1)]
        assert places(hits(memory, "word", "/memories/a.md", by)) == [("a.md", 1)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("",), "INVALID_ARGUMENT"),
        (("!?",), "INVALID_ARGUMENT"),
        (("x" * 1001,), "INVALID_ARGUMENT"),
        (("东" * 10 + " ".join(map(str, range(100))),), "INVALID_ARGUMENT"),
        (("word", "/elsewhere"), "INVALID_PATH"),
        (("word", "/memories/none.md"), "NOT_FOUND"),
        (("word", "/memories", 0), "INVALID_ARGUMENT"),
        (("word", "/memories", 101), "INVALID_ARGUMENT"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(
    memory: memfs.Memory, arguments: tuple[str, str, int], code: str
) -> None:
    refused = search(memory, *arguments)
    assert isinstance(refused, memfs.PortError)
    assert refused.code == code
    assert refused.message.endswith(".")


def test_a_closed_memory_is_an_error_as_a_value(memory: memfs.Memory) -> None:
    memory.close()
    refused = search(memory, "word")
    assert isinstance(refused, memfs.PortError)
    assert refused.code == "STORAGE_ERROR"


WORDS = [
    "atlas",
    "atlases",
    "deadline",
    "a",
    "ab",
    "abc",
    "Straße",
    "strasse",
    "東",
    "京",
    "\U0001e900x",
    "x_1",
    "\x00",
]
_TEXTS = st.lists(st.sampled_from(WORDS) | st.sampled_from(["\n", "\n\n", "# "]), max_size=12).map(" ".join)
_NAMES = st.sampled_from(["a.md", "b.md", "d/a.md", "d/b.py"])
_STEPS = st.one_of(
    st.tuples(st.just("create"), _NAMES, _TEXTS),
    st.tuples(st.just("delete"), _NAMES, st.just("")),
    st.tuples(st.just("rename"), _NAMES, _NAMES),
    st.tuples(st.just("search"), st.sampled_from(["/memories", "/memories/d", "/memories/a.md"]), _TEXTS),
)


@pytest.fixture(params=["as for a few passages", "as for many"])
def index_of_any_size(request: pytest.FixtureRequest, index: Index, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index that takes the ways of a small scope, or those of a large one."""
    if request.param == "as for many":
        monkeypatch.setattr("memfs.search.index.MANY_EQUAL", 0)
        monkeypatch.setattr("memfs.search.postings._BLOCK_BITS", 1)
        monkeypatch.setattr("memfs.search.postings._MOST_BLOCKS", 2)
    return index


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_STEPS, max_size=12), st.integers(1, 4))
def test_with_an_index_the_answers_are_those_of_the_texts(
    index_of_any_size: Index, steps: list[tuple[str, str, str]], limit: int
) -> None:
    """Each example is another memory under the same index: as if a store had been made anew."""
    index = index_of_any_size
    with memfs.open_memory("simple:", scope=SCOPE) as memory:
        for step, name, text in [*steps, ("search", "/memories", "atlas a 東")]:
            if step == "search":
                assert search(memory, text, name, limit, index) == search(memory, text, name, limit)
            elif step == "rename":
                memory.execute(memfs.Rename(f"/memories/{name}", f"/memories/{text}"))
            elif step == "delete":
                memory.execute(memfs.Delete(f"/memories/{name}"))
            else:
                write(memory, name, text)


def damage_nothing(file: Path) -> None:
    file.unlink()


def damage_all(file: Path) -> None:
    file.write_bytes(b"nonsense" * 2000)


def damage_format(file: Path) -> None:
    with apsw.Connection(str(file)) as connection:
        connection.execute("PRAGMA user_version = 99")


def damage_tables(file: Path) -> None:
    with apsw.Connection(str(file)) as connection:
        connection.execute("DROP TABLE passage")


def damage_content(file: Path) -> None:
    """An index that is whole, and wrong."""
    with apsw.Connection(str(file)) as connection:
        connection.execute("UPDATE passage SET start = start + 1")


def damage_lists(file: Path) -> None:
    with apsw.Connection(str(file)) as connection:
        connection.execute("UPDATE posting SET entries = x'000001'")


@pytest.mark.parametrize(
    "damage", [damage_nothing, damage_all, damage_format, damage_tables, damage_content, damage_lists]
)
@pytest.mark.parametrize("is_open", [True, False])
def test_an_index_that_is_lost_or_wrong_changes_no_answer(
    memory: memfs.Memory, index: Index, damage: object, is_open: bool
) -> None:
    assert callable(damage)
    write(memory, "a.md", "word\n\nother\n\nword word")
    wanted = [("a.md", 5), ("a.md", 1)]
    assert places(hits(memory, "word", index=index)) == wanted
    if not is_open:
        index.close()
    damage(index.file)
    for _ in range(3):
        assert places(hits(memory, "word", index=index)) == wanted


def test_where_no_index_can_be_the_texts_are_searched(memory: memfs.Memory, index: Index) -> None:
    write(memory, "a.md", "word")
    index.file.parent.parent.mkdir(parents=True)
    index.file.parent.write_text("a file where the directory should be")
    assert places(hits(memory, "word", index=index)) == [("a.md", 1)]


def test_a_link_in_the_place_of_the_index_is_not_followed(
    memory: memfs.Memory, index: Index, tmp_path: Path
) -> None:
    write(memory, "a.md", "word")
    elsewhere = tmp_path / "elsewhere"
    index.file.parent.mkdir(parents=True)
    index.file.symlink_to(elsewhere)
    assert places(hits(memory, "word", index=index)) == [("a.md", 1)]
    assert not elsewhere.exists()


def test_an_index_is_for_its_user_alone_and_only_for_a_large_scope(
    memory: memfs.Memory, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(memory, "a.md", "word")
    monkeypatch.setattr("memfs.search.index.WORTH_IT_FROM_FILES", 2)
    hits(memory, "word", index=index)
    assert not index.file.exists()
    write(memory, "b.md", "word")
    hits(memory, "word", index=index)
    made = [index.file.parent, *index.file.parent.iterdir()]
    assert [os.stat(path).st_mode & 0o077 for path in made] == [0] * len(made)
    assert len(made) > 1


def test_a_forgotten_index_leaves_no_word_behind(memory: memfs.Memory, index: Index, sqlite_url: str) -> None:
    write(memory, "a.md", "sesame")
    hits(memory, "sesame", index=index)
    index.close()
    assert b"sesame" in index.file.read_bytes()
    hits(memory, "sesame", index=index)
    forget(sqlite_url, SCOPE)
    assert list(index.file.parent.iterdir()) == []
    memory.execute(memfs.Delete("/memories/a.md"))
    assert hits(memory, "sesame", index=index) == []  # by a file made anew, not the one that was open
    index.close()
    assert b"sesame" not in index.file.read_bytes()


def test_of_equal_answers_the_first_by_path_and_line_are_given(memory: memfs.Memory, index: Index) -> None:
    for number in range(150):
        write(memory, f"{(7 * number) % 150:03}.md", "word\n\nword word\n\nword")
    for limit in (1, 7, 100):
        found = search(memory, "word", limit=limit, index=index)
        assert isinstance(found, list)
        assert places(found) == [(f"{number:03}.md", 3) for number in range(limit)]
    by_index, by_texts = (search(memory, "word", "/memories/149.md", index=by) for by in (index, None))
    assert by_index == by_texts


def test_two_doors_share_an_index(memory: memfs.Memory, index: Index, sqlite_url: str) -> None:
    with memfs.open_memory(sqlite_url, scope=SCOPE) as other:
        others = Index(sqlite_url, SCOPE)
        write(memory, "a.md", "word")
        assert places(hits(other, "word", index=others)) == [("a.md", 1)]
        write(other, "b.md", "word word")
        assert places(hits(memory, "word", index=index)) == [("b.md", 1), ("a.md", 1)]
        memory.execute(memfs.Rename("/memories/b.md", "/memories/c.md"))
        assert places(hits(other, "word", index=others)) == [("c.md", 1), ("a.md", 1)]
        others.close()
