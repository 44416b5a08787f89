"""A server that has lost commits: a standby was promoted that had not all, or a backup was restored.

What is there is the truth: versions are given anew, and nothing that was known of the first is shown.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memfs import Memory, open_memory
from tests.harness import must, texts
from tests.mount.harness import Mounted, content, eventually, write
from tests.stores.postgres.conftest import STORE
from tests.stores.postgres.server import Server
from tests.stores.postgres.test_store import store_of

A, B = "/memories/a.md", "/memories/b.md"
TABLES = ("scope", "history", "file", "gone")


def backed_up(server: Server, memory: Memory) -> Callable[[], None]:
    """The scope as it is now, which a call brings back."""
    scope = store_of(memory)._scope
    saved = {table: f"memfs_saved_{table}_{scope}" for table in TABLES}
    for table, copy in saved.items():
        server.execute(
            f"CREATE TABLE {copy} AS SELECT * FROM memfs.{table} WHERE scope = {scope}", database=STORE
        )

    def restore() -> None:
        with server.connect(STORE) as connection, connection.transaction():
            for table, copy in saved.items():
                connection.execute(f"DELETE FROM memfs.{table} WHERE scope = {scope}".encode())
                connection.execute(f"INSERT INTO memfs.{table} SELECT * FROM {copy}".encode())
                connection.execute(f"DROP TABLE {copy}".encode())

    return restore


@pytest.mark.slow  # as the next look at the versions is
def test_it_is_followed_back(postgres: Server, postgres_url: str, scope: str) -> None:
    with open_memory(postgres_url, scope=scope) as memory, open_memory(postgres_url, scope=scope) as beside:
        watches = [each.watch(lambda: None) for each in (memory, beside)]
        must(memory, "create", path=A, text="kept")
        restore = backed_up(postgres, memory)
        must(memory, "create", path=B, text="lost")
        assert texts(beside) == {A: "kept", B: "lost"}
        restore()
        for each in (memory, beside):
            eventually(lambda each=each: texts(each), {A: "kept"})  # type: ignore[misc]
        must(memory, "create", path=B, text="again")
        assert texts(memory) == texts(beside) == {A: "kept", B: "again"}
        for watch in watches:
            watch.close()


@pytest.mark.slow  # as the next look at the versions is
@pytest.mark.parametrize("others", [1, 3], ids=["the same version", "later versions"])
@pytest.mark.parametrize("watches", [True, False], ids=["watched", "alone"])
def test_bytes_that_were_lost_are_not_shown_for_others_of_their_version(
    postgres: Server, postgres_url: str, scope: str, watches: bool, others: int
) -> None:
    elsewhere = f"{postgres_url}?memfs_connections=3"  # as in another process: it shares nothing
    with open_memory(postgres_url, scope=scope) as memory:
        watch = memory.watch(lambda: None) if watches else None
        must(memory, "create", path=A, text="kept")
        restore = backed_up(postgres, memory)
        must(memory, "create", path=A, text="lost")
        must(memory, "create", path=B, text="lost")
        assert texts(memory) == {A: "lost", B: "lost"}
        restore()
        with open_memory(elsewhere, scope=scope) as other:
            must(other, "create", path=B, text="true")
            must(other, "create", path=A, text="true")
            for number in range(1, others):
                must(other, "create", path=f"/memories/{number}.md", text="true")
            eventually(lambda: texts(memory), texts(other))
        if watch is not None:
            watch.close()


def test_a_command_is_not_carried_out_on_what_was_lost(
    postgres: Server, postgres_url: str, scope: str
) -> None:
    elsewhere = f"{postgres_url}?memfs_connections=3"
    with open_memory(postgres_url, scope=scope) as memory, open_memory(elsewhere, scope=scope) as other:
        must(memory, "create", path=A, text="one")
        eventually(lambda: texts(other), {A: "one"})
        restore = backed_up(postgres, memory)
        must(memory, "create", path=A, text="one lost")
        restore()
        must(other, "create", path=A, text="one true")
        must(memory, "str_replace", path=A, oldText="one", newText="two")
        assert texts(memory) == {A: "two true"}
        eventually(lambda: texts(other), {A: "two true"})


def test_who_listens_finds_out_by_itself(postgres: Server, postgres_url: str, scope: str) -> None:
    elsewhere = f"{postgres_url}?memfs_connections=3"
    with open_memory(postgres_url, scope=scope) as memory, open_memory(elsewhere, scope=scope) as other:
        must(memory, "create", path=A, text="kept")
        eventually(lambda: texts(other), {A: "kept"})
        restore = backed_up(postgres, memory)
        must(memory, "create", path=A, text="lost")
        seen: list[dict[str, str]] = []
        watch = memory.watch(lambda: seen.append(texts(memory)))
        eventually(lambda: store_of(memory)._database.hears(store_of(memory)._channel), True)
        restore()
        must(other, "create", path=A, text="true")
        eventually(lambda: seen[-1:], [{A: "true"}])
        watch.close()


def shown(path: Path) -> str | None:
    """What is in a file; None where its bytes were lost, and the mount does not know yet."""
    try:
        return content(path)
    except OSError:
        return None


@pytest.mark.slow
def test_programs_on_a_mount_see_the_bytes_that_are_there(
    postgres: Server, postgres_url: str, scope: str, tmp_path: Path, watchdog: None
) -> None:
    with open_memory(postgres_url, scope=scope) as memory:
        must(memory, "create", path=A, text="kept")
        restore = backed_up(postgres, memory)
        mounted = Mounted(tmp_path / "m", url=postgres_url, scope=scope)
        try:
            mounted.start()
            write(mounted.path / "a.md", "lost")
            write(mounted.path / "b.md", "lost")
            assert content(mounted.path / "a.md") == "lost"
            restore()
            with open_memory(f"{postgres_url}?memfs_connections=3", scope=scope) as other:
                must(other, "create", path=A, text="true")
                must(other, "create", path="/memories/c.md", text="true")
            eventually(lambda: shown(mounted.path / "a.md"), "true")
            eventually(lambda: sorted(os.listdir(mounted.path)), ["a.md", "c.md"])
        finally:
            mounted.close()
