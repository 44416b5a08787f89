"""What is stored is not what memfs wrote: it is refused, and left exactly as it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memfs import OpenError
from memfs.opening import open_with
from memfs.port.errors import ErrorCode
from memfs.stores.sqlite.database import FORMAT
from tests.harness import failure, must
from tests.stores.harness import SCOPE, files_of, open_pair

A, B = "/memories/a.md", "/memories/b.md"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A closed store of two files."""
    memory, _ = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="first\n" * 2_000)
        must(memory, "create", path=B, text="second")
    return tmp_path


def alter(statement: str) -> Callable[[Path], None]:
    """A damage done by SQL, as another program with the database open might."""

    def damage(database: Path) -> None:
        connection = apsw.Connection(str(database))
        connection.execute(statement)
        connection.close()

    return damage


def overwrite(at: int, data: bytes) -> Callable[[Path], None]:
    def damage(database: Path) -> None:
        with database.open("r+b") as file:
            file.seek(at)
            file.write(data)

    return damage


def replace_by(content: bytes) -> Callable[[Path], None]:
    def damage(database: Path) -> None:
        database.write_bytes(content)

    return damage


def foreign(database: Path) -> None:
    database.unlink()
    alter("CREATE TABLE theirs (x); INSERT INTO theirs VALUES ('precious')")(database)


def cut_off(database: Path) -> None:
    os.truncate(database, 4096 * 2 + 100)


def link(database: Path) -> None:
    database.rename(database.with_suffix(".elsewhere"))
    database.symlink_to(database.with_suffix(".elsewhere"))


def fifo(database: Path) -> None:
    database.unlink()
    os.mkfifo(database)


def directory(database: Path) -> None:
    database.unlink()
    database.mkdir()


DAMAGES = {
    "a text": replace_by(b"Dear diary"),
    "a long text": replace_by(b"Dear diary\n" * 1_000),
    "a database of another program": foreign,
    "a damaged header": overwrite(0, b"\0" * 16),
    "a damaged schema": overwrite(100, b"\xff" * 1_000),
    "damaged pages": overwrite(4096, b"\xff" * 4096 * 2),
    "a database that was cut off": cut_off,
    "a newer format": alter(f"PRAGMA user_version = {FORMAT + 1}"),
    "a link": link,
    "a pipe": fifo,
    "a directory": directory,
    "another scope": alter("UPDATE scope SET name = 'theirs'"),
    "no scope": alter("DELETE FROM scope"),
    "a policy that is no JSON": alter("UPDATE scope SET policy = '{'"),
    "a policy that is no object": alter("UPDATE scope SET policy = '5'"),
    "a policy with an unknown rule": alter("UPDATE scope SET policy = '{\"max_dreams\": 1}'"),
    "a policy with an impossible limit": alter("UPDATE scope SET policy = '{\"max_files\": 0}'"),
    "a missing table": alter("DROP TABLE file"),
    "a missing column": alter("ALTER TABLE file DROP COLUMN mtime_ns"),
    "a path outside of the memories": alter("UPDATE file SET path = '/etc/passwd'  WHERE id = 1"),
    "a path that climbs": alter("UPDATE file SET path = '/memories/../x.md' WHERE id = 1"),
    "a file in the place of the root": alter("UPDATE file SET path = '/memories' WHERE id = 1"),
    "a file below a file": alter(f"UPDATE file SET path = '{B}/c.md' WHERE id = 1"),
    "two files at one path": alter(f"UPDATE file SET path = '{B}' WHERE id = 1"),
    "a negative size": alter("UPDATE file SET size = -1 WHERE id = 1"),
    "a path that is no UTF-8": alter("UPDATE file SET path = CAST(x'2f6d656dff' AS TEXT) WHERE id = 1"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_memfs_did_not_write_is_refused_and_stays_as_it_is(
    damage: Callable[[Path], None], written: Path
) -> None:
    damage(files_of(written).database)
    before = fingerprint(written)
    with pytest.raises(OpenError) as refused:
        open_with(f"sqlite:{written}", SCOPE, {})
    assert refused.value.error.code is ErrorCode.UNSAFE_STORAGE
    assert fingerprint(written) == before


def test_a_log_that_lost_its_database_is_not_played_into_a_new_one(tmp_path: Path) -> None:
    memory, _ = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="first")
        log = files_of(tmp_path).wal.read_bytes()
    files_of(tmp_path).database.unlink()
    files_of(tmp_path).wal.write_bytes(log)
    with pytest.raises(OpenError) as refused:
        open_with(f"sqlite:{tmp_path}", SCOPE, {})
    assert refused.value.error.code is ErrorCode.UNSAFE_STORAGE
    assert files_of(tmp_path).wal.read_bytes() == log


def test_an_empty_file_in_the_place_of_the_database_is_as_good_as_none(tmp_path: Path) -> None:
    files_of(tmp_path).database.touch()
    memory, _ = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="first")


def test_a_half_made_database_of_a_killed_process_is_made_anew(tmp_path: Path) -> None:
    for suffix in (".new", ".new-journal", ".new-wal"):
        files_of(tmp_path).database.with_suffix(suffix).write_bytes(b"half")
    memory, _ = open_pair(tmp_path)
    with memory:
        must(memory, "create", path=A, text="first")
    assert not files_of(tmp_path).database.with_suffix(".new").exists()


CONTENT_DAMAGES = {
    "bytes that are no UTF-8": f"UPDATE history SET content = x'{'ff' * 12_000}' WHERE id = 1",
    "fewer bytes than were written": "UPDATE history SET content = x'61' WHERE id = 1",
    "no bytes": "UPDATE history SET content = NULL WHERE id = 1",
    "no record": "DELETE FROM history WHERE id = 1",
    "a delta against nothing": "UPDATE history SET base = 77 WHERE id = 1",
    "a delta against itself": "UPDATE history SET base = record WHERE id = 1",
    "a delta that cannot be unpacked": "UPDATE history SET base = (SELECT max(record) FROM history) "
    "WHERE id = 1",
}


@pytest.mark.parametrize("statement", CONTENT_DAMAGES.values(), ids=CONTENT_DAMAGES.keys())
def test_a_damaged_file_is_refused_and_the_others_can_be_read(statement: str, written: Path) -> None:
    alter(statement)(files_of(written).database)
    with open_with(f"sqlite:{written}", SCOPE, {}) as memory:
        for command, fields in (
            ("view", {}),
            ("str_replace", {"oldText": "x", "newText": "y"}),
            ("insert", {"insertLine": 0, "text": "x"}),
        ):
            error = failure(memory, command, path=A, **fields)
            assert error.code is ErrorCode.UNSAFE_STORAGE
        assert must(memory, "view", path=B).text == "second"


def fingerprint(store: Path) -> dict[str, str]:
    """What the database and its log hold, byte for byte; the lock file and notices are ours."""
    found = {}
    for path in sorted(store.iterdir()):
        if path.suffix in (".lock", ".notices") or path.is_dir() or path.is_fifo():
            continue
        found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
