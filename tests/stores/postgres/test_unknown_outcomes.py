"""A connection that is lost around a commit: what became of it is found out, and told as it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from memfs import Memory, open_memory
from tests.harness import failure, must, texts
from tests.mount.harness import eventually
from tests.stores.postgres.conftest import STORE
from tests.stores.postgres.link import Link, Moment, link_to
from tests.stores.postgres.server import ADMINISTRATOR, LOOPBACK, Server

pytestmark = pytest.mark.slow
PATH = "/memories/a.md"
COMMANDS: dict[str, dict[str, Any]] = {
    "create": {"path": PATH, "text": "trapword\n"},
    "str_replace": {"path": PATH, "oldText": "one", "newText": "trapword"},
    "insert": {"path": PATH, "insertLine": 0, "text": "trapword"},
    "rename": {"oldPath": PATH, "newPath": "/memories/trapword.md"},
    "delete": {"path": PATH, "reason": "trapword"},
}
"""Each with a word that the server is sent."""


@pytest.fixture
def link(postgres: Server) -> Iterator[Link]:
    with link_to(postgres) as link:
        yield link


@pytest.fixture
def far(link: Link, endless: str, scope: str) -> Iterator[Memory]:
    """The scope, opened over the link."""
    url = link.url(STORE, ADMINISTRATOR, memfs_patience="3")
    with open_memory(url, scope=scope) as memory:
        must(memory, "create", path="/memories/first.md", text="warm")
        yield memory


@pytest.fixture
def near(endless: str, scope: str) -> Iterator[Memory]:
    """The scope, opened beside the link."""
    with open_memory(endless, scope=scope) as memory:
        yield memory


def operations(memory: Memory, path: str = PATH) -> list[str]:
    return [record.operation for record in memory.history(path)]


@pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.name.lower())
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_whose_connection_is_lost_is_done_once(
    far: Memory, near: Memory, link: Link, moment: Moment, command: str
) -> None:
    must(far, "create", path=PATH, text="one\n")
    link.set_trap("trapword", moment)
    must(far, command, **COMMANDS[command])
    assert link.trapped.is_set()
    path = "/memories/trapword.md" if command == "rename" else PATH
    assert len(operations(near, path)) == 2
    assert operations(far, path) == operations(near, path)


@pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.name.lower())
def test_one_that_another_writer_has_overtaken_since_is_still_told_right(
    far: Memory, near: Memory, link: Link, moment: Moment
) -> None:
    link.set_trap("trapword", moment)
    answers: list[bool] = []
    writer = threading.Thread(
        target=lambda: answers.append(far.execute({"command": "create", "path": PATH, "text": "trapword"}).ok)
    )
    writer.start()
    assert link.trapped.wait(20)
    for number in range(20):
        must(near, "create", path=f"/memories/other{number}.md", text="x")
    writer.join()
    assert answers == [True]
    assert operations(near) == ["created"]


def test_a_commit_that_the_server_makes_only_after_the_question_for_it_is_made_once(
    postgres: Server, far: Memory, near: Memory, link: Link
) -> None:
    with postgres.connect(STORE) as holder:
        holder.execute("BEGIN")
        holder.execute("SELECT * FROM memfs.scope FOR UPDATE")
        link.set_trap("trapword", Moment.DURING)
        answers: list[bool] = []
        writer = threading.Thread(
            target=lambda: answers.append(
                far.execute({"command": "create", "path": PATH, "text": "trapword"}).ok
            )
        )
        writer.start()
        assert link.trapped.wait(20)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        eventually(lambda: postgres.execute(waiting), [(2,)])
        holder.execute("COMMIT")
        writer.join()
    assert answers == [True]
    assert operations(near) == ["created"]


@pytest.mark.parametrize(("moment", "made"), [(Moment.BEFORE, 0), (Moment.AFTER, 1)], ids=["before", "after"])
def test_what_cannot_be_found_out_in_time_is_told_as_not_known(
    far: Memory, near: Memory, link: Link, moment: Moment, made: int
) -> None:
    link.set_trap("trapword", moment)
    link.cut_when_trapped()
    error = failure(far, "create", path=PATH, text="trapword")
    assert error.code == "STORAGE_ERROR"
    assert "not known" in error.message
    assert len(operations(near)) == made
    link.mend()
    assert len(operations(far)) == made
    must(far, "create", path=PATH, text="afterwards")
    eventually(lambda: texts(near).get(PATH), "afterwards")


def test_no_connection_at_all_is_told_as_nothing_changed(far: Memory, near: Memory, link: Link) -> None:
    link.cut()
    error = failure(far, "create", path=PATH, text="x")
    assert error.code == "STORAGE_ERROR"
    link.mend()
    assert operations(near) == []
    must(far, "create", path=PATH, text="x")


def test_a_connection_that_says_nothing_any_more_is_given_up_in_time_for_another_host(
    postgres: Server, near: Memory, link: Link, scope: str
) -> None:
    """As where a server's machine has lost its power, and another one has taken over."""
    both = f"{LOOPBACK}:{link.port},{LOOPBACK}:{postgres.port}"
    with open_memory(f"postgresql://{ADMINISTRATOR}@{both}/{STORE}", scope=scope) as memory:
        must(memory, "create", path="/memories/first.md", text="warm")
        link.clog()
        must(memory, "create", path=PATH, text="x")
        assert operations(memory) == ["created"]
        link.mend()
