"""The log of a line: what it says is what the commits say, however old, cut off or spoilt its file is."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs import Memory
from memfs.port.store import Record
from memfs.stores.git import history
from memfs.stores.git.repository import Repository
from tests.harness import must
from tests.stores.git.harness import REF, git, open_pair

A, B = "/memories/a.md", "/memories/d/b.md"


@pytest.fixture
def memory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory in which some have moved and left, whose log is in its file."""
    monkeypatch.setattr(history, "SAVE_EVERY", 1)
    with open_pair(repository)[0] as memory:
        for number in range(5):
            must(memory, "create", path=A, text=str(number))
            must(memory, "create", path=B, text=str(number))
        must(memory, "rename", oldPath=A, newPath="/memories/c.md")
        must(memory, "delete", path=B)
        must(memory, "create", path=B, text="another memory")
        must(memory, "create", path=A, text="and left")
        must(memory, "delete", path=A)
        told_by(memory)
        yield memory


def told_by(memory: Memory) -> tuple[list[list[Record]], list[Record], dict[str, bool]]:
    """All that is asked of a history."""
    chains = [list(memory.history(path)) for path in ("/memories", "/memories/c.md", A, B)]
    return chains, list(memory.gone()), memory.gone_children("/memories")


def log_of(repository: Path) -> Path:
    (path,) = (repository / "memfs").glob("*.log")
    return path


@pytest.mark.parametrize("file", ["as it is", "missing", "older", "cut off", "of another line", "no log"])
def test_it_says_what_the_commits_say(memory: Memory, repository: Path, file: str) -> None:
    expected, log = told_by(memory), log_of(repository)
    text = log.read_text()
    if file == "missing":
        log.unlink()
    else:
        body = {
            "as it is": text.partition("\n")[2],
            "older": "".join(text.splitlines(keepends=True)[1:6]),
            "cut off": text.partition("\n")[2],
            "of another line": text.partition("\n")[2].replace(git(repository, "rev-parse", REF), "0" * 40),
            "no log": "\0\n",
        }[file]
        log.write_text(f"{zlib.crc32(body.encode())}\n{body[: -9 if file == 'cut off' else None]}")
    with open_pair(repository)[0] as again:
        assert told_by(again) == expected
        must(again, "create", path=A, text="on")
        newest = [record.version for record in again.history()][:2]
        assert newest == [again.snapshot().version, expected[0][0][0].version]


def test_a_reference_that_was_moved_back_leaves_nothing_of_it(memory: Memory, repository: Path) -> None:
    git(repository, "update-ref", REF, f"{REF}~3")
    must(memory, "create", path=A, text="on another line")
    expected = told_by(memory)
    log_of(repository).unlink()
    with open_pair(repository)[0] as again:
        assert told_by(again) == expected


def test_one_memory_and_those_that_left_are_told_without_reading_a_commit(
    memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = Repository.read

    def counted(self: Repository, oid: str, kind: str) -> bytes:
        read.append(kind)
        return real(self, oid, kind)

    with open_pair(repository)[0] as again:
        monkeypatch.setattr(Repository, "read", counted)
        for path in ("/memories/c.md", A, B):
            assert list(again.history(path))
        assert [record.path for record in again.gone()] == [A, B]
        assert again.gone_children("/memories") == {"a.md": False, "d": True}
    assert read == []
