"""``memfs store``: a whole store, from a shell."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memfs import open_memory
from tests.cli.conftest import Shell, Terminal
from tests.harness import must

KINDS = ["sqlite", "git", "directory"]


@pytest.fixture
def url(shell: Shell) -> str:
    """A store with two scopes."""
    url = f"sqlite:{shell.home}/store"
    for scope in ("work", "home"):
        with open_memory(url, scope=scope) as memory:
            must(memory, "create", path="/memories/a.md", text=scope)
            must(memory, "create", path="/memories/a.md", text="four")
    return url


def test_scopes_go_over_with_their_log_and_are_known_again(shell: Shell, url: str) -> None:
    target = f"git:{shell.home}/target"
    first = shell("store", "migrate", url, target).done().splitlines()
    assert [line.split(",")[0] for line in first] == ["home is there: version 2", "work is there: version 2"]
    again = json.loads(shell("store", "migrate", url, target, "--scope", "work", "--json").done())
    assert (again["scope"], again["changes"], again["copied"]) == ("work", 2, 0)
    logs = [shell("log", "--store", store, "--scope", "work").done() for store in (url, target)]
    assert logs[0] == logs[1]
    assert shell("show", "a.md@1", "--store", target, "--scope", "work").done() == "work"


def test_one_may_be_called_otherwise_there(shell: Shell, url: str) -> None:
    target = f"directory:{shell.home}/d"
    shell("store", "migrate", url, target, "--scope", "work", "--to-scope", "default").done()
    assert shell("view", "a.md", "--store", target).done() == "four"


def test_another_scope_of_the_name_is_left_alone_and_the_others_come(shell: Shell, url: str) -> None:
    target = f"sqlite:{shell.home}/target"
    shell("create", "b.md", "mine", "--store", target, "--scope", "home").done()
    done = shell("store", "migrate", url, target)
    assert done.out.startswith("work is there")
    assert "home: The scope 'home' is there already and is another one" in done.refusal(1)
    assert shell("view", "--store", target, "--scope", "home").done() == "b.md\n"


def test_what_makes_no_sense_is_refused(shell: Shell, url: str) -> None:
    other = f"sqlite:{shell.home}/other"
    assert "two stores" in shell("store", "migrate", url).refusal(2)
    assert "one and the same" in shell("store", "migrate", url, url).refusal(2)
    assert "--to-scope names one" in shell("store", "migrate", url, other, "--to-scope", "x").refusal(2)
    assert "There is no scope 'none'" in shell("store", "migrate", url, other, "--scope", "none").refusal(2)
    assert "no scope in" in shell("store", "migrate", other, url).refusal(1)
    assert "simple:" in shell("store", "migrate", url, "simple:", "--scope", "work").refusal(2)
    assert "for migrate and grant" in shell("store", "check", url, other).refusal(2)
    assert "permissions of its files" in shell("store", "grant", url, "ada", "--all").refusal(2)
    assert "needs nothing" in shell("store", "init", other).done()


def test_what_cannot_be_read_is_named_and_the_others_come(shell: Shell, url: str) -> None:
    """One is no database any more, another has lost a page that only a load looks at."""
    store = shell.home / "store"
    (store / ("f" * 32 + ".db")).write_text("something else")
    with closing(apsw.Connection(str(_database_of(store, "home")))) as connection:
        connection.execute("UPDATE file SET path = '/elsewhere'")
    done = shell("store", "migrate", url, f"sqlite:{shell.home}/other")
    assert done.status == 3
    assert done.out.startswith("work is there: ")
    unread, damaged = done.err.splitlines()
    assert "is damaged or no database of memfs" in unread
    assert damaged.startswith("memfs: home: ")


def test_a_scope_that_is_named_twice_comes_once(shell: Shell, url: str) -> None:
    done = shell("store", "migrate", url, f"sqlite:{shell.home}/o", "--scope", "work", "--scope", "work")
    assert len(done.done().splitlines()) == 1


def test_a_name_that_no_scope_can_have_is_refused(shell: Shell, url: str) -> None:
    other = f"sqlite:{shell.home}/other"
    blank = shell("store", "migrate", url, other, "--scope", "work", "--to-scope", "")
    assert "must not be blank" in blank.refusal(2)
    for action in (["migrate", url, other], ["check", url]):
        assert "complete Unicode" in shell("store", *action, "--scope", "\udcff").refusal(2)


def test_a_place_that_is_no_store_is_not_taken_for_an_empty_one(shell: Shell, url: str) -> None:
    (shell.home / "file").write_text("")
    for kind in ("sqlite", "directory"):
        file = f"{kind}:{shell.home}/file"
        asked = ["status", file], ["check", file], ["migrate", file, url], ["migrate", url, file]
        for arguments in asked:
            assert "file is no directory; name one" in shell("store", *arguments).refusal(3)
    for kind in KINDS:
        assert "no scope in" in shell("store", "check", f"{kind}:{shell.home}/nothing").refusal(1)


def _database_of(store: Path, scope: str) -> Path:
    return store / (hashlib.sha256(scope.encode()).hexdigest()[:32] + ".db")


def test_a_migration_shows_a_bar_on_a_terminal_only(shell: Shell, url: str) -> None:
    code = (
        "import sys\n"
        "from memfs import progress\n"
        "progress.QUICK_SECONDS = 0\n"
        "from memfs.cli import main\n"
        "sys.exit(main(['store', 'migrate', *sys.argv[1:]]))\n"
    )
    command = [sys.executable, "-c", code, url]
    piped = subprocess.run(
        [*command, f"sqlite:{shell.home}/a"], capture_output=True, env=shell.environment, check=True
    )
    assert piped.stderr == b""
    with Terminal(shell, *command, f"sqlite:{shell.home}/b") as terminal:
        terminal.until(b"work is there")
    assert b"copying 'home' [" in terminal.shown


@pytest.mark.parametrize("kind", KINDS)
def test_status_and_check_of_every_kind(shell: Shell, kind: str) -> None:
    url = f"{kind}:{shell.home}/store"
    with open_memory(url) as memory:
        must(memory, "create", path="/memories/a.md", text="four")
    found = json.loads(shell("store", "status", url, "--json").done())
    assert (found["kind"], found["store"], found["scopes"], found["bytes"]) == (kind, url, 1, 4)
    assert found["disk_bytes"] > 4
    assert shell("store", "status", url).done().startswith(f"store        {url}\n")
    assert shell("store", "check", url).done() == "default: all adds up.\n"


def test_check_says_what_is_wrong_in_one_sentence_each(shell: Shell, url: str) -> None:
    database = min((shell.home / "store").glob("*.db"))
    content = bytearray(database.read_bytes())
    at = content.index(b"four")
    content[at : at + 4] = b"FOUR"
    database.write_bytes(content)
    (shell.home / "store" / ("f" * 32 + ".db")).write_text("something else")
    done = shell("store", "check", url)
    assert done.status == 1
    lines = done.out.splitlines()
    assert sum("has other bytes than were written" in line for line in lines) == 1
    assert sum("is damaged or no database of memfs" in line for line in lines) == 1
    assert sum("all adds up" in line for line in lines) == 1
    assert shell("store", "status", url).status == 1
    assert "There is no scope 'none'" in shell("store", "check", url, "--scope", "none").refusal(1)
