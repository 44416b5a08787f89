"""What goes out of the history of a SQLite store: by age and number, and for good."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memfs import Actor, Limits, Memory, NotKept, StoreError
from memfs.port.keeping import Retention
from memfs.port.policy import Policy
from memfs.stores import recorded
from memfs.stores.simple import SimpleStore
from memfs.stores.sqlite import SqliteStore, retention, rows
from tests.harness import must, texts
from tests.stores.harness import damage_of, files_of, open_pair

A, B = "/memories/a.md", "/memories/b.md"
DAY_NS = 24 * 3600 * 10**9
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Memory, SqliteStore]]:
    memory, store = open_pair(tmp_path, limits=Limits(max_files=1_000, max_total_bytes=1 << 24))
    assert isinstance(store, SqliteStore)
    with memory:
        yield memory, store


def age(directory: Path, days: int, upto: int) -> None:
    """Have the versions up to *upto* be so many days older than they are."""
    connection = apsw.Connection(str(files_of(directory).database))
    connection.execute(
        "UPDATE history SET time_ns = time_ns - ? WHERE record < ?",
        (days * DAY_NS, recorded.key_of(upto + 1, 0)),
    )
    connection.close()


def versions(memory: Memory, path: str) -> list[int]:
    return [record.version for record in memory.versions(path)]


# --- prune -----------------------------------------------------------------------------------------


def test_the_last_versions_of_each_memory_stay(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    for number in range(6):
        must(memory, "create", path=A, text=f"a{number}")
        must(memory, "create", path=B, text=f"b{number}")
    assert memory.prune(Retention(None, 2)) == 8
    assert (versions(memory, A), versions(memory, B)) == ([11, 9], [12, 10])
    assert memory.read_version(A, 9) == b"a4"
    with pytest.raises(NotKept):
        memory.read_version(A, 7)
    assert texts(memory) == {A: "a5", B: "b5"}


def test_what_is_young_stays_and_either_reason_is_enough(
    pair: tuple[Memory, SqliteStore], tmp_path: Path
) -> None:
    memory, _ = pair
    for number in range(6):
        must(memory, "create", path=A, text=str(number))
    age(tmp_path, 10, upto=4)
    assert memory.prune(Retention(11, None)) == 0
    assert memory.prune(Retention(9, 3)) == 3
    assert versions(memory, A) == [6, 5, 4]
    assert memory.prune(Retention(9, None)) == 1


def test_the_present_stays_whatever_is_to_be_kept(pair: tuple[Memory, SqliteStore], tmp_path: Path) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    must(memory, "rename", oldPath=A, newPath=B)
    for path in ("/memories/c.md", "/memories/d.md"):
        must(memory, "create", path=path, text="gone")
        must(memory, "delete", path=path)
    age(tmp_path, 10, upto=7)
    memory.prune(Retention(0, None))
    assert texts(memory) == {B: "2"}
    assert versions(memory, B) == [3, 2]
    assert [left.path for left in memory.gone()] == ["/memories/d.md"], "the scope's version is its record's"
    memory.close()
    with open_pair(tmp_path)[0] as again:
        assert texts(again) == {B: "2"}
        must(again, "create", path=B, text="3")
        assert versions(again, B) == [8, 3, 2]


def test_of_one_that_has_left_the_last_content_stays_with_its_record(
    pair: tuple[Memory, SqliteStore],
) -> None:
    memory, _ = pair
    for text in "123":
        must(memory, "create", path=A, text=text)
    must(memory, "delete", path=A)
    memory.prune(Retention(None, 1))
    assert versions(memory, A) == [4, 3]
    assert memory.restore(A).ok
    assert texts(memory) == {A: "3"}


def test_what_is_pruned_cannot_be_undone(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    memory.prune(Retention(None, 1))
    result = memory.undo()
    assert result.error is not None
    assert "pruned" in result.error.message
    assert texts(memory) == {A: "2"}


def test_another_process_goes_on_after_a_pruning(pair: tuple[Memory, SqliteStore], tmp_path: Path) -> None:
    memory, _ = pair
    with open_pair(tmp_path)[0] as other:
        for number in range(4):
            must(memory, "create", path=A, text=str(number))
        memory.prune(Retention(None, 1))
        assert texts(other) == {A: "3"}
        assert versions(other, A) == [4]


def test_deltas_are_read_as_before(pair: tuple[Memory, SqliteStore], tmp_path: Path) -> None:
    memory, _ = pair
    contents = {}
    lines = [f"line {number} of a text that grows" for number in range(40)]
    for version in range(1, 61):
        lines[version % 40] += f" {version}"
        contents[version] = "\n".join(lines)
        must(memory, "create", path=A, text=contents[version])
    memory.maintain()
    memory.prune(Retention(None, 30))
    assert {version: memory.read_version(A, version).decode() for version in versions(memory, A)} == {
        version: contents[version] for version in range(31, 61)
    }
    assert damage_of(files_of(tmp_path).database) == []


def test_the_upkeep_keeps_ninety_days_and_then_the_last_twenty(
    pair: tuple[Memory, SqliteStore], tmp_path: Path
) -> None:
    memory, _ = pair
    for number in range(30):
        must(memory, "create", path=A, text=str(number))
    memory.maintain()
    assert len(versions(memory, A)) == 30
    age(tmp_path, 100, upto=25)
    memory.maintain()
    assert len(versions(memory, A)) == 30, "once a day is enough"
    connection = apsw.Connection(str(files_of(tmp_path).database))
    connection.execute("UPDATE scope SET retained_ns = 0")
    connection.close()
    memory.maintain()
    assert versions(memory, A) == list(range(30, 10, -1))


def test_the_size_is_bounded(pair: tuple[Memory, SqliteStore], monkeypatch: pytest.MonkeyPatch) -> None:
    memory, _ = pair
    monkeypatch.setattr(retention, "MAX_HISTORY_BYTES", 200_000)
    dice = random.Random(1)
    for _ in range(100):
        must(memory, "create", path=A, text=dice.randbytes(4_000).hex())
    use = memory.history_use()
    assert use is not None
    assert use.size > 200_000
    memory.maintain()
    use = memory.history_use()
    assert use is not None
    assert use.size < 200_000
    assert versions(memory, A)[0] == 100


# --- redact ----------------------------------------------------------------------------------------


def everything(directory: Path) -> bytes:
    """All that the files hold: raw, and whatever unpacks as a content or as a delta against one."""
    files = files_of(directory)
    raw = b"".join(path.read_bytes() for path in (files.database, files.wal) if path.exists())
    connection = apsw.Connection(str(files.database), flags=apsw.SQLITE_OPEN_READONLY)
    kept = rows.select(connection, "SELECT record, content FROM history WHERE content NOT NULL")
    blobs = [content for _, content in kept]
    wholes = [rows.read_content(connection, record) or b"" for record, _ in kept]
    connection.close()
    unpacked = []
    for blob in blobs:
        for dictionary in [b"", *wholes]:
            unpacker = zlib.decompressobj(wbits=-15, zdict=dictionary[-rows.WINDOW :])
            try:
                unpacked.append(unpacker.decompress(blob))
            except zlib.error:
                continue
    return b"\0".join([raw, *blobs, *wholes, *unpacked])


def write_with_secret(memory: Memory, versions_around: int = 6) -> int:
    """Versions of one memory, one of which has the secret; its version."""
    lines = [f"line {number}: {'x' * 40}" for number in range(60)]
    for number in range(versions_around):
        lines[number] = f"changed {number}"
        must(memory, "create", path=A, text="\n".join(lines))
    must(memory, "create", path=A, text="\n".join([*lines[:30], f"password: {SECRET}", *lines[30:]]))
    version = memory.snapshot().version
    for number in range(versions_around):
        lines[-number] = f"changed again {number}"
        must(memory, "create", path=A, text="\n".join(lines))
    return version


@pytest.mark.parametrize("compacted", [False, True], ids=["whole contents", "deltas"])
def test_a_redacted_content_is_nowhere_in_the_files(
    pair: tuple[Memory, SqliteStore], tmp_path: Path, compacted: bool
) -> None:
    memory, _ = pair
    version = write_with_secret(memory)
    for number in range(20):
        must(memory, "create", path=B, text=f"{number} " * 500)
    if compacted:
        memory.maintain()
    digest = next(record.digest for record in memory.history(A) if record.version == version)
    assert digest is not None
    before = {each: memory.read_version(A, each) for each in versions(memory, A) if each != version}
    assert SECRET.encode() in everything(tmp_path)
    redaction = memory.redact([(A, version)], reason="a password")
    assert not redaction.pending
    assert redaction.same == ()
    found = everything(tmp_path)
    assert SECRET.encode() not in found
    assert bytes.fromhex(digest) not in found, "a digest tells a short secret"
    assert {each: memory.read_version(A, each) for each in before} == before
    assert damage_of(files_of(tmp_path).database) == []
    memory.maintain()
    assert {each: memory.read_version(A, each) for each in before} == before


def test_the_record_and_who_redacted_stay(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    version = write_with_secret(memory, 2)
    redaction = memory.redact([(A, version)], reason="a password")
    assert not redaction.pending
    record = next(record for record in memory.history(A) if record.version == version)
    assert (record.redacted, record.digest) == (True, None)
    newest = next(memory.history())
    assert (newest.operation, newest.joins, newest.reason) == ("redacted", version, "a password")
    assert newest.actor == memory.actor
    with pytest.raises(NotKept, match="redacted by tester with pytest"):
        memory.read_version(A, version)
    with pytest.raises(NotKept, match="already"):
        memory.redact([(A, version)])
    must(memory, "create", path=A, text="the scope goes on")
    assert memory.snapshot().version == newest.version + 1


def test_renames_and_the_deletion_that_show_the_bytes_are_redacted_with_them(
    pair: tuple[Memory, SqliteStore],
) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="before")
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "delete", path=B)
    memory.redact([(B, 3)])
    assert [record.redacted for record in memory.history(B)] == [True, True, True, False]
    assert memory.read_version(B, 1) == b"before"
    result = memory.restore(B)
    assert result.error is not None
    assert "redacted" in result.error.message
    assert memory.restore(B, 1).ok


def test_what_stands_in_the_way_of_an_undo_is_named_by_its_own_version(
    pair: tuple[Memory, SqliteStore],
) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="before")
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "create", path=B, text="after")
    memory.redact([(B, 3)])
    result = memory.undo()
    assert result.error is not None
    assert result.error.message.startswith("Version 2 was redacted by tester with pytest")
    must(memory, "delete", path=B)
    memory.redact([(B, 4)])
    for answer in (memory.undo(), memory.restore(B)):
        assert answer.error is not None
        assert answer.error.message.startswith("Version 4 was redacted by tester with pytest")
        assert answer.error.message.endswith(f"`memfs restore {B}@1` brings back the last kept.")


def test_the_present_cannot_be_redacted(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=B)
    for version in (1, 2):
        with pytest.raises(StoreError, match="holds now"):
            memory.redact([(B, version)])
    assert texts(memory) == {B: SECRET}


def test_all_or_none_of_several_are_redacted(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    for text in ("1", "2", "3"):
        must(memory, "create", path=A, text=text)
    with pytest.raises(StoreError):
        memory.redact([(A, 1), (A, 3)])
    assert memory.read_version(A, 1) == b"1"
    memory.redact([(A, 1), (A, 2), (A, 1)])
    assert [record.redacted for record in memory.history(A)] == [False, True, True]


def test_other_versions_with_the_same_bytes_are_named(pair: tuple[Memory, SqliteStore]) -> None:
    memory, _ = pair
    for text in (SECRET, "x", SECRET, "y"):
        must(memory, "create", path=A, text=text)
    redaction = memory.redact([(A, 1)])
    assert [record.version for record in redaction.same] == [3]


def test_an_open_reader_holds_the_last_step_back(pair: tuple[Memory, SqliteStore], tmp_path: Path) -> None:
    memory, _ = pair
    version = write_with_secret(memory, 2)
    reader = apsw.Connection(str(files_of(tmp_path).database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    rows.select(reader, "SELECT count(*) FROM history")
    assert memory.redact([(A, version)]).pending
    must(memory, "create", path=B, text="writers go on")
    memory.maintain()
    (redaction,) = (record for record in memory.history() if record.operation == "redacted")
    assert memory.unfinished_redaction_ns() == redaction.time_ns
    reader.close()
    memory.maintain()
    assert memory.unfinished_redaction_ns() is None
    assert SECRET.encode() not in everything(tmp_path)


@pytest.mark.slow
def test_what_a_reader_held_back_is_done_by_whoever_closes_the_store_next(
    pair: tuple[Memory, SqliteStore], tmp_path: Path
) -> None:
    memory, _ = pair
    version = write_with_secret(memory, 2)
    reader = apsw.Connection(str(files_of(tmp_path).database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    rows.select(reader, "SELECT count(*) FROM history")
    assert memory.redact([(A, version)]).pending
    open_pair(tmp_path)[0].close()
    assert SECRET.encode() in everything(tmp_path), "the reader is there still, and nobody waits for it"
    reader.close()
    open_pair(tmp_path)[0].close()
    assert SECRET.encode() not in everything(tmp_path)


def test_another_process_learns_of_it(pair: tuple[Memory, SqliteStore], tmp_path: Path) -> None:
    memory, _ = pair
    with open_pair(tmp_path)[0] as other:
        version = write_with_secret(memory, 2)
        before = texts(other)
        memory.redact([(A, version)])
        must(other, "create", path=B, text="on the newest version")
        assert texts(other) == before | {B: "on the newest version"}


def test_a_process_store_keeps_nothing_to_forget() -> None:
    with Memory(SimpleStore("work", Policy()), Actor("ann")) as memory:
        must(memory, "create", path=A, text="1")
        must(memory, "create", path=A, text="2")
        assert memory.history_use() is None
        with pytest.raises(StoreError, match="nothing can be forgotten"):
            memory.redact([(A, 1)])
        with pytest.raises(StoreError, match="nothing can be forgotten"):
            memory.prune(Retention(1, 1))
