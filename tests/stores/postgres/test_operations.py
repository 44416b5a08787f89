"""A store on a server, run by its operator: through the command line, on a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from memfs import open_memory
from memfs.port.errors import OpenError
from memfs.transfer.migrate import migrate
from tests.cli.conftest import Shell, eventually
from tests.harness import must, texts
from tests.stores.postgres.server import Server
from tests.transfer.test_migrate import everything, fill, moved, on_the_way

pytestmark = pytest.mark.slow

A = "/memories/a.md"
_numbers = count()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Shell(home)


@pytest.fixture
def url(postgres: Server, own_store: str) -> str:
    """A store without scopes."""
    return postgres.url(own_store)


@pytest.fixture
def role(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"role{next(_numbers)}"
    postgres.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'sesame'")
    yield name
    postgres.execute(f"DROP ROLE {name}")


def test_init_makes_the_tables_once(postgres: Server, empty_database: str, shell: Shell) -> None:
    url = postgres.url(empty_database)
    assert "run memfs store init" in shell("scopes", "--store", url).refusal(3)
    assert "Made the tables" in shell("store", "init", url).done()
    assert "is up to date" in shell("store", "init", url).done()
    shell("create", "a.md", "x", "--store", url).done()
    assert "needs nothing" in shell("store", "init", f"sqlite:{shell.home}/s").done()


def test_scopes_are_listed_a_page_at_a_time(url: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from memfs.opening import scopes_of
    from memfs.stores.postgres import operating

    for number in range(5):
        with open_memory(url, scope=f"scope {number}", actor="ann") as memory:
            for version in range(number):
                must(memory, "create", path=A, text="x" * version)
    monkeypatch.setattr(operating, "PAGE", 2)
    found = list(scopes_of(url))
    assert [(each.name, each.version) for each in found] == [(f"scope {n}", n) for n in range(5)]  # type: ignore[union-attr]
    lines = shell("scopes", "--store", url, "--json", "--after", "scope 2", "--limit", "1").done()
    last = json.loads(lines)
    assert (last["scope"], last["files"], last["bytes"], last["version"]) == ("scope 3", 1, 2, 3)
    assert last["lastChange"]["program"] == "ann"
    assert shell("scopes", "--store", url, "--like", "4").done().splitlines()[1].endswith("scope 4")


def test_a_role_uses_what_is_granted(
    postgres: Server, url: str, own_store: str, role: str, shell: Shell
) -> None:
    shell.environment["PGPASSWORD"] = "sesame"
    own = postgres.url(own_store, role)
    shell("create", "a.md", "x", "--store", url, "--scope", "work").done()
    shell("create", "a.md", "x", "--store", url, "--scope", "other").done()
    assert shell("store", "grant", url, role, "--scope", "work").done() == f"{role} may use 'work'.\n"
    assert shell("store", "grant", url).done().split() == [role, "work"]
    assert shell("view", "a.md", "--store", own, "--scope", "work").done() == "x"
    assert [
        json.loads(line)["scope"] for line in shell("scopes", "--store", own, "--json").done().splitlines()
    ] == ["work"]
    assert "memfs store grant" in shell("view", "a.md", "--store", own, "--scope", "other").refusal(3)
    assert "Only who owns the store" in shell("store", "grant", own, role, "--all").refusal(3)
    shell("store", "grant", url, role, "--create").done()
    shell("create", "a.md", "mine", "--store", own, "--scope", "mine").done()
    shell("store", "grant", url, role, "--all", "--create", "--revoke").done()
    assert shell("store", "grant", url, "--json").done() == ""
    assert "memfs store grant" in shell("view", "a.md", "--store", own, "--scope", "mine").refusal(3)
    assert shell("store", "grant", url, "--all").status == 2
    assert shell("store", "grant", url, role, "--revoke").status == 2
    assert "no role" in shell("store", "grant", url, "nobody", "--all").refusal(1)


def test_any_history_comes_in_and_out_again(url: str, tmp_path: Path) -> None:
    first = f"sqlite:{tmp_path}/first"
    with open_memory(first) as memory:
        fill(memory)
        memory.redact([("/memories/b.md", 2)], reason="a password")
        memory.set_policy({"max_files": 7})
    moved(first, url)
    assert everything(url) == everything(first)
    moved(url, f"git:{tmp_path}/last")
    assert everything(f"git:{tmp_path}/last") == everything(first)
    with open_memory(url) as memory, open_memory(first) as other:
        for each in (memory, other):
            assert each.undo().ok
            must(each, "create", path=A, text="on it goes")
        assert texts(memory) == texts(other)
        assert [record.version for record in memory.history()] == [
            record.version for record in other.history()
        ]


def test_a_role_may_bring_in_what_it_may_make(
    postgres: Server,
    url: str,
    own_store: str,
    role: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shell: Shell,
) -> None:
    monkeypatch.setenv("PGPASSWORD", "sesame")
    own, first = postgres.url(own_store, role), f"sqlite:{tmp_path}/first"
    with open_memory(first) as memory:
        must(memory, "create", path=A, text="x")
    with pytest.raises(OpenError, match="memfs store grant"):
        moved(first, own)
    shell("store", "grant", url, role, "--create").done()
    moved(first, own)
    assert everything(own) == everything(first)
    with pytest.raises(OpenError, match="There is no scope"):
        everything(own, "other")


def test_a_kill_in_the_middle_is_gone_on_from(url: str, tmp_path: Path, shell: Shell) -> None:
    first = f"sqlite:{tmp_path}/first"
    with open_memory(first) as memory:
        for number in range(200):
            must(memory, "create", path=f"/memories/{number % 7}.md", text=f"{number}\n" * 50)
    code = (
        "import os, sys\n"
        "from tests.transfer import test_migrate as tests\n"
        "tests.module.BATCH = 20\n"
        "with tests.on_the_way(sys.argv[1], sys.argv[2]) as (store, receiver):\n"
        "    original, taken = receiver.receive, []\n"
        "    def receive(*arguments):\n"
        "        original(*arguments)\n"
        "        taken.append(1)\n"
        "        if len(taken) == 3:\n"
        "            os.kill(os.getpid(), 9)\n"
        "    receiver.receive = receive\n"
        "    tests.migrate(store, receiver)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, first, url], check=False)
    assert killed.returncode == -9
    assert "There is no scope" in shell("scopes", "--store", url).refusal(1)

    def reached() -> bool:  # the server notices in its own time that the process is gone
        try:
            with on_the_way(first, url) as (_, receiver):
                assert receiver.reached == 60
        except OpenError:
            return False
        return True

    eventually(reached)
    done = moved(first, url)
    assert (done.changes, done.copied) == (200, 140)
    assert everything(url) == everything(first)


def test_status_counts_nothing_of_a_scope_that_is_on_its_way(
    url: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"sqlite:{shell.home}/source"
    with open_memory(source) as memory:
        must(memory, "create", path=A, text="four")
    with on_the_way(source, url) as (store, receiver):
        monkeypatch.setattr(receiver, "publish", lambda: None)
        migrate(store, receiver)
    found = json.loads(shell("store", "status", url, "--json").done())
    assert (found["scopes"], found["files"], found["bytes"]) == (0, 0, 0)


def test_status_tells_of_the_server(url: str, shell: Shell) -> None:
    shell("create", "a.md", "four", "--store", url).done()
    found = json.loads(shell("store", "status", url, "--json").done())
    assert (found["scopes"], found["files"], found["bytes"], found["format"]) == (1, 1, 4, 1)
    assert found["server"].startswith("PostgreSQL 1")
    assert found["replication"] == "none"
    assert "since" in found
    assert "connections" in shell("store", "status", url).done()


def test_check_says_what_does_not_add_up(postgres: Server, url: str, own_store: str, shell: Shell) -> None:
    with open_memory(url, scope="work") as memory:
        fill(memory)
    assert shell("store", "check", url).done() == "work: all adds up.\n"
    for damage, sentence in (
        ("UPDATE memfs.file SET size = size + 1", "bytes, and not"),
        (
            "UPDATE memfs.history SET content = 'other' WHERE octet_length(content) = 5",
            "other bytes than were written",
        ),
        ("UPDATE memfs.scope SET version = version + 1", "its history ends at"),
        ("UPDATE memfs.file SET written = 1 << 24", "wrong memory may leave first"),
        ("DELETE FROM memfs.history WHERE record = (SELECT max(record) FROM memfs.file)", "newest change of"),
        ("DELETE FROM memfs.directory", "have rows and no name"),
    ):
        before = everything_of(postgres, own_store)
        postgres.execute(damage, database=own_store)
        done = shell("store", "check", url)
        assert done.status == 1, (damage, done)
        assert sentence in done.out, (damage, done)
        restore(postgres, own_store, before)
    assert shell("store", "check", url, "--scope", "work").done() == "work: all adds up.\n"


TABLES = ("directory", "scope", "history", "file", "gone")


def everything_of(postgres: Server, database: str) -> dict[str, bytes]:
    """The rows of each table, as COPY writes them."""
    found = {}
    with postgres.connect(database) as connection:
        for table in TABLES:
            with connection.cursor().copy(f"COPY (SELECT * FROM memfs.{table}) TO STDOUT".encode()) as copy:
                found[table] = b"".join(bytes(part) for part in copy)
    return found


def restore(postgres: Server, database: str, rows: dict[str, bytes]) -> None:
    with postgres.connect(database) as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM memfs.{table}".encode())
            with connection.cursor().copy(f"COPY memfs.{table} FROM STDIN".encode()) as copy:
                copy.write(rows[table])


def test_a_watch_waits_for_a_server_that_is_away(postgres: Server, url: str, shell: Shell) -> None:
    shell("create", "a.md", "one", "--store", url).done()
    process = shell.start("watch", "--store", url, "--since", "0", "--json")
    assert process.stdout is not None
    with process:
        assert json.loads(process.stdout.readline())["version"] == 1
        postgres.stop()
        postgres.start()
        for version in (2, 3):
            eventually(lambda: shell("create", "a.md", os.urandom(4).hex(), "--store", url).status == 0)
            assert json.loads(process.stdout.readline())["version"] == version
        process.kill()
