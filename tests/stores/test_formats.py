"""Databases as earlier releases wrote them, one dump of each kind, and what opening them makes of them.

In each the same was done: memories were made, edited, renamed and deleted, and one left to make room.
"""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memfs import ErrorCode, OpenError, open_memory
from memfs.opening import open_with
from memfs.port.store import Record
from memfs.stores.sqlite.database import FORMAT, SCHEMA, ScopeFiles
from memfs.stores.sqlite.formats import bring_up_to_date
from memfs.stores.sqlite.inspection import SqliteInspection
from tests.harness import must, texts

SCOPE = "default"
DUMPS = sorted(Path(__file__).with_name("formats").glob("*.sql"))
LIVE = {
    "/memories/b.md": "b\n",
    "/memories/c.md": "c\n",
    "/memories/d.md": "d\n",
    "/memories/friends/ann.md": "ann\ntwo\n",
}
HISTORY = [
    (1, "created", "/memories/a.md", b"first of a\n"),
    (2, "modified", "/memories/a.md", b"second of a\n"),
    (3, "created", "/memories/people/ann.md", b"ann\n"),
    (4, "created", "/memories/gone.md", b"gone\n"),
    (5, "deleted", "/memories/gone.md", None),
    (6, "renamed", "/memories/friends/ann.md", b"ann\n"),
    (7, "modified", "/memories/friends/ann.md", b"ann\ntwo\n"),
    (8, "created", "/memories/b.md", b"b\n"),
    (9, "created", "/memories/c.md", b"c\n"),
    (10, "evicted", "/memories/a.md", None),
    (10, "created", "/memories/d.md", b"d\n"),
]


@pytest.fixture(params=DUMPS, ids=lambda dump: dump.stem)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store with the database of one dump."""
    directory = tmp_path / "store"
    directory.mkdir(mode=0o700)
    with closing(apsw.Connection(str(ScopeFiles(directory, SCOPE).database))) as connection:
        connection.execute(request.param.read_text())
        connection.execute("PRAGMA journal_mode = WAL")
    return directory


def everything(directory: Path) -> list[str]:
    """The database, as SQL."""
    with closing(apsw.Connection(str(ScopeFiles(directory, SCOPE).database))) as connection:
        shell: list[str] = []
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall():
            shell.append(f"{name}: {sql}")
            if str(sql).startswith("CREATE TABLE"):
                shell += map(str, connection.execute(f"SELECT * FROM {name}").fetchall())
        return [*shell, f"format {connection.pragma('user_version')}"]


def columns(directory: Path) -> dict[str, set[str]]:
    with closing(apsw.Connection(str(ScopeFiles(directory, SCOPE).database))) as connection:
        query = "SELECT m.name, t.name FROM sqlite_schema m JOIN pragma_table_info(m.name) t"
        found: dict[str, set[str]] = {}
        for table, column in connection.execute(query).fetchall():
            found.setdefault(str(table), set()).add(str(column))
        return found


def test_it_opens_with_all_its_memories_and_their_history(store: Path) -> None:
    with open_memory(f"sqlite:{store}") as memory:
        assert texts(memory) == LIVE
        records: list[Record] = [*memory.history()][::-1]
        assert [(r.version, r.operation, r.path) for r in records] == [row[:3] for row in HISTORY]
        assert {record.actor.user for record in records} == {"ada"}
        for record, (_, _, _, content) in zip(records, HISTORY, strict=True):
            if content is not None:
                assert memory.read_record(record) == content


def test_it_is_then_as_one_that_was_made_now_and_is_worked_on_as_such(store: Path, tmp_path: Path) -> None:
    with open_memory(f"sqlite:{store}") as memory:
        must(memory, "create", path="/memories/e.md", text="e\n")
        must(memory, "rename", oldPath="/memories/b.md", newPath="/memories/c/b.md")
        must(memory, "delete", path="/memories/c")
    open_memory(f"sqlite:{tmp_path / 'new'}").close()
    assert columns(store) == columns(tmp_path / "new")
    assert everything(store)[-1] == f"format {FORMAT}"
    inspection = SqliteInspection(store, SCOPE)
    found = inspection.damage() + inspection.contents(lambda _: None) + inspection.chain()
    assert found + inspection.write_order() == []


def test_a_failure_in_between_leaves_it_as_it_was(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(store)

    def fail_at_the_end(connection: apsw.Connection) -> None:
        bring_up_to_date(connection)
        raise apsw.FullError

    monkeypatch.setattr("memfs.stores.sqlite.database.bring_up_to_date", fail_at_the_end)
    with pytest.raises(OpenError, match="nothing was changed"):
        open_memory(f"sqlite:{store}")
    assert everything(store) == before
    monkeypatch.undo()
    with open_memory(f"sqlite:{store}") as memory:
        assert texts(memory) == LIVE


def test_several_may_come_at_once(store: Path) -> None:
    def read(_: int) -> dict[str, str]:
        with open_memory(f"sqlite:{store}") as memory:
            return texts(memory)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(4))) == [LIVE] * 4


def test_a_newer_one_is_refused_with_what_to_do(store: Path) -> None:
    file = ScopeFiles(store, SCOPE).database
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = everything(store)
    with pytest.raises(OpenError) as refused:
        open_with(f"sqlite:{store}", SCOPE, {})
    assert refused.value.error.code is ErrorCode.UNSAFE_STORAGE
    assert refused.value.error.message == (
        f"{file} was written by a newer memfs (format {FORMAT + 1}, this one knows {FORMAT}); "
        "upgrade memfs to open it."
    )
    assert everything(store) == before


def test_whoever_changes_the_schema_gives_it_a_number_of_its_own() -> None:
    """... and ``formats`` a way from the last one to it, and this module a dump of the last."""
    bare = " ".join(re.sub(r"--[^\n]*", "", SCHEMA.rpartition("PRAGMA user_version")[0]).split())
    known = {2: "3af1ba7ee462c545"}
    assert hashlib.sha256(bare.encode()).hexdigest()[:16] == known[FORMAT]
