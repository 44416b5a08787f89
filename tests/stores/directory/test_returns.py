"""A memory that others made unusable, or took away, and that is there again: the same one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from memfs import Limits, Memory
from memfs.stores.directory import DirectoryStore
from tests.harness import must, texts
from tests.stores.directory.harness import THEIRS, eventually, open_folder

A, B, C = "/memories/a.md", "/memories/b.md", "/memories/c.md"


@pytest.fixture
def opened(fast_path: Path) -> Iterator[tuple[Memory, DirectoryStore]]:
    memory, store = open_folder(fast_path, limits=Limits(max_file_bytes=100))
    with memory:
        for path in (A, B, C):
            must(memory, "create", path=path, text=f"in {path}")
        yield memory, store


def order(memory: Memory) -> list[str]:
    return [file.path for file in memory.snapshot().in_write_order()]


def present(memory: Memory) -> list[str]:
    return sorted(texts(memory))


def link_hard(file: Path) -> Callable[[], object]:
    other = file.parent.parent / "other"
    other.hardlink_to(file)
    os.utime(file)  # the kernel tells nobody of a further name, so something else has to
    return other.unlink


def write_no_text(file: Path) -> Callable[[], object]:
    text = file.read_text()
    file.write_bytes(b"\xff\xfe")
    return lambda: file.write_text(text)


def make_too_large(file: Path) -> Callable[[], object]:
    file.write_text(file.read_text() + "x" * 100)
    return lambda: os.truncate(file, len(f"in {A}"))


def put_a_link(file: Path) -> Callable[[], object]:
    away = file.parent / ".away"
    file.rename(away)
    file.symlink_to(away)
    return lambda: away.rename(file)


def take_away(file: Path) -> Callable[[], object]:
    text = file.read_text()
    file.unlink()
    return lambda: file.write_text(text)


WAYS = [link_hard, write_no_text, make_too_large, put_a_link, take_away]


@pytest.mark.parametrize("reopened", [False, True], ids=["while open", "while closed"])
@pytest.mark.parametrize("spoil", WAYS, ids=lambda way: way.__name__)
def test_it_comes_back_with_its_id_its_history_and_its_place_in_write_order(
    fast_path: Path, spoil: Callable[[Path], Callable[[], object]], reopened: bool
) -> None:
    folder = fast_path / "folder"
    limits = Limits(max_file_bytes=100)
    memory, store = open_folder(folder, limits=limits)
    for path in (A, B, C):
        must(memory, "create", path=path, text=f"in {path}")
    before = memory.snapshot().file(A)
    assert before is not None
    for _ in range(2):
        mend = spoil(folder / "a.md")
        eventually(partial(present, memory), [B, C])
        if reopened:
            memory.close()
            memory, store = open_folder(folder, limits=limits)
            assert sorted(texts(memory)) == [B, C]
            memory.close()
        mend()
        if reopened:
            memory, store = open_folder(folder, limits=limits)
        eventually(partial(present, memory), [A, B, C])
        after = memory.snapshot().file(A)
        assert after is not None
        assert after.id == before.id
        assert order(memory) == [A, B, C]
    records = store.history(newest_first=False, file_id=before.id)
    told = [(record.operation, record.actor) for record in records]
    assert [operation for operation, _ in told] == ["created", "deleted", "restored", "deleted", "restored"]
    assert {actor for _, actor in told[1:]} == {THEIRS}
    assert list(memory.gone()) == []
    memory.close()
    memory, _ = open_folder(folder, limits=limits)
    with memory:
        assert order(memory) == [A, B, C]


def test_with_other_bytes_it_is_the_newest_write(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, _ = opened
    before = memory.snapshot().file(A)
    (fast_path / "a.md").write_bytes(b"\xff")
    eventually(lambda: sorted(texts(memory)), [B, C])
    (fast_path / "a.md").write_text("mended")
    eventually(lambda: texts(memory).get(A), "mended")
    after = memory.snapshot().file(A)
    assert before is not None
    assert after is not None
    assert after.id == before.id
    assert order(memory) == [B, C, A]


@pytest.mark.parametrize("was_blocked", [False, True])
def test_another_file_at_the_place_of_one_that_was_taken_away_is_another_memory(
    opened: tuple[Memory, DirectoryStore], fast_path: Path, was_blocked: bool
) -> None:
    memory, _ = opened
    before = memory.snapshot().file(A)
    if was_blocked:
        (fast_path / "a.md").write_bytes(b"\xff")
        eventually(lambda: (sorted(texts(memory)), memory.report()["unsafe"]), ([B, C], 1))
    (fast_path / "a.md").unlink()
    eventually(lambda: (sorted(texts(memory)), memory.report()["unsafe"]), ([B, C], 0))
    (fast_path / "a.md").write_text("another")
    eventually(lambda: texts(memory).get(A), "another")
    after = memory.snapshot().file(A)
    assert before is not None
    assert after is not None
    assert after.id != before.id


def test_one_that_was_restored_elsewhere_meanwhile_stays_there(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, _ = opened
    before = memory.snapshot().file(A)
    assert before is not None
    (fast_path / "a.md").unlink()
    eventually(lambda: sorted(texts(memory)), [B, C])
    assert memory.restore(A, to="/memories/d.md").ok
    (fast_path / "a.md").write_text(f"in {A}")
    eventually(lambda: len(texts(memory)), 4)
    there, again = memory.snapshot().file("/memories/d.md"), memory.snapshot().file(A)
    assert there is not None
    assert again is not None
    assert there.id == before.id != again.id
