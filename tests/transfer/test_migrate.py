"""A scope into another store: all that was, in the same words, or nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfs import Memory, open_memory
from memfs.opening import open_store, receive
from memfs.port.errors import NotKept, OpenError, StoreError
from memfs.port.keeping import Retention
from memfs.port.plan import Joined, Plan, plan_write
from memfs.port.receiving import Receiver, kept_in
from memfs.port.scope import Scope
from memfs.port.store import Record, Store
from memfs.transfer import migrate as module
from memfs.transfer.migrate import Migrated, already_there, migrate
from tests.conftest import MEMORY_DISK
from tests.harness import must, texts
from tests.port.strategies import session_of
from tests.stores.git.harness import damage_of as git_damage_of
from tests.stores.git.harness import git
from tests.stores.harness import DURABLE

A, B, C, D = (f"/memories/{name}.md" for name in "abcd")


@contextmanager
def on_the_way(source: str, target: str, scope: str = "default") -> Iterator[tuple[Store, Receiver]]:
    """The two sides of a migration."""
    with (
        closing(open_store(source, scope)) as store,
        closing(receive(target, scope, store.load().policy)) as receiver,
    ):
        yield store, receiver


def moved(source: str, target: str, scope: str = "default") -> Migrated:
    with on_the_way(source, target, scope) as (store, receiver):
        return migrate(store, receiver)


def everything(url: str, scope: str = "default") -> tuple[Any, ...]:
    """What a scope is and was: rules, files in write order, records, and the bytes of each version."""
    with closing(open_store(url, scope)) as store:
        now = store.load()
        changes = kept_in(store, now).changes
        bytes_of = {
            (record.id, record.version): _read(store, record) for change in changes for record in change
        }
        gone = list(store.gone())
    return now.policy, now.version, list(now.in_write_order()), changes, bytes_of, gone


def _read(store: Store, record: Record) -> bytes | str | None:
    if record.operation == "redacted":
        return None
    try:
        return store.read(record.id, record.version)
    except NotKept as reason:
        return reason.message


def fill(memory: Memory) -> None:
    """A bit of everything that a history can hold."""
    must(memory, "create", path=A, text="one")
    must(memory, "create", path=A, text="a password")
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "create", path=B, text="two")
    must(memory, "create", path=C, text="gone")
    must(memory, "delete", path=C)
    memory.set_policy({"max_files": 2})
    must(memory, "create", path=A, text="three")
    must(memory, "create", path=D, text="four", reason="more")
    assert memory.restore(C).ok
    must(memory, "create", path="/memories/d/e.md", text="")


@pytest.fixture
def source(sqlite_url: str) -> str:
    with open_memory(sqlite_url) as memory:
        fill(memory)
        must(memory, "delete", path="/memories/d/e.md")

        def second_half(scope: Scope, now_ns: int) -> Plan:
            version = scope.version
            file_id = next(memory.gone("/memories/d/e.md")).id
            return plan_write(
                scope, "/memories/d/e.md", b"e", now_ns, 10**18, joined=Joined(file_id, version, "modified")
            )

        assert memory.perform("create", second_half).result.ok
        memory.redact([(B, 2)], reason="a password")
        must(memory, "create", path=D, text="five")
        memory.set_policy({"max_files": 3})
    return sqlite_url


@pytest.mark.parametrize("kind", DURABLE)
def test_all_that_was_is_there_and_goes_on(source: str, tmp_path: Path, kind: str) -> None:
    target = f"{kind}:{tmp_path / 'target'}"
    done = moved(source, target)
    assert everything(target) == everything(source)
    assert (done.copied, done.begun, done.dropped) == (done.changes, 0, 0)
    with open_memory(source) as memory, open_memory(target) as copy:
        assert list(copy.history()) == list(memory.history())
        assert copy.policy.limits.max_files == 3
        assert copy.undo().ok
        assert memory.undo().ok
        assert texts(copy) == texts(memory)
        version = copy.snapshot().version
        must(copy, "create", path=D, text="on it goes")
        assert copy.versions(D)[0].version == version + 1
    assert [path.name for path in (tmp_path / "target").rglob("*incoming*") if path.is_file()] == []
    if kind == "git":
        assert git_damage_of(tmp_path / "target") == ""


@settings(max_examples=settings().max_examples // 10)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(0, 3), st.permutations(DURABLE))
def test_any_history_comes_through_all_stores(
    seed: int, length: int, forgotten: int, kinds: tuple[str, ...]
) -> None:
    session = session_of(seed, length)
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as name:
        urls = [f"sqlite:{name}/first", *(f"{kind}:{name}/{kind}" for kind in kinds)]
        policy = session.policy
        with open_memory(
            urls[0],
            limits=policy.limits,
            extensions=policy.extensions,
            layout=policy.layout,
            eviction=policy.eviction,
            max_archive_bytes=policy.max_archive_bytes,
        ) as memory:
            for command in session.sent:
                memory.execute(command)
            if forgotten == 1:
                memory.prune(Retention(None, 2))
            for record in list(memory.history())[2 : 2 + forgotten]:
                present = memory.snapshot().file_by_id(record.id)
                if present is None or present.content > record.version:
                    with suppress(StoreError):  # it is what another memory holds now, or is gone
                        memory.redact([(record.path, record.version)])
        for one, next_one in pairwise(urls):
            moved(one, next_one)
        first, last = everything(urls[0]), everything(urls[-1])
        assert last == first


def test_a_shape_comes_along(tmp_path: Path) -> None:
    with open_memory(f"sqlite:{tmp_path}/a", layout="para") as memory:
        must(memory, "create", path="/memories/projects/atlas/plan.html", text="<p>")
        must(memory, "create", path="/memories/areas/inbox/x.html", text="<p>")
        assert memory.execute({"command": "rename", "oldPath": "/memories/areas/inbox/x.html",
                               "newPath": "/memories/archive/2026/areas/inbox/x.html"}).ok  # fmt: skip
        assert memory.restore("/memories/archive/2026/areas/inbox/x.html").ok
    moved(f"sqlite:{tmp_path}/a", f"directory:{tmp_path}/b")
    moved(f"directory:{tmp_path}/b", f"git:{tmp_path}/c")
    assert everything(f"git:{tmp_path}/c") == everything(f"sqlite:{tmp_path}/a")


@pytest.mark.parametrize("kind", DURABLE)
def test_it_goes_on_where_it_was_and_is_no_scope_before(
    source: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"{kind}:{tmp_path / 'target'}"
    monkeypatch.setattr(module, "BATCH", 3)
    with on_the_way(source, target) as (store, receiver):
        taken = 0

        def twice(*arguments: Any) -> None:
            nonlocal taken
            taken += 1
            if taken == 3:
                raise StoreError("the disk is full")
            original(*arguments)

        original = receiver.receive
        monkeypatch.setattr(receiver, "receive", twice)
        with pytest.raises(StoreError, match="disk is full"):
            migrate(store, receiver)
    with pytest.raises(OpenError, match="There is no scope"):
        open_store(target, "default")
    if kind == "directory":
        with pytest.raises(OpenError, match="run memfs store migrate again"):
            open_memory(target)
    done = moved(source, target)
    assert done.copied == done.changes - 6
    assert everything(target) == everything(source)


@pytest.mark.parametrize("kind", DURABLE)
def test_what_is_added_meanwhile_comes_too(
    source: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"{kind}:{tmp_path / 'target'}"
    with open_memory(source) as writer, on_the_way(source, target) as (store, receiver):
        rounds = 0

        def settle(*arguments: Any) -> None:
            nonlocal rounds
            rounds += 1
            if rounds <= 3:
                must(writer, "create", path=A, text=f"meanwhile {rounds}")
            original(*arguments)

        original = receiver.settle
        monkeypatch.setattr(receiver, "settle", settle)
        migrate(store, receiver)
    assert rounds == 4
    assert everything(target) == everything(source)


def test_a_writer_that_never_rests_is_kept_out_for_the_last_of_it(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROUNDS", 2)
    target = f"sqlite:{tmp_path / 'target'}"
    with open_memory(source) as writer, on_the_way(source, target) as (store, receiver):
        original: Callable[[], Store] = receiver.opened

        def opened() -> Store:
            writer.perform("create", lambda scope, now: plan_write(scope, A, b"%d" % now, now), wait=False)
            return original()

        monkeypatch.setattr(receiver, "opened", opened)
        with pytest.raises(Exception, match=r"^$"):  # Busy: it is kept out in the last round
            migrate(store, receiver)
    moved(source, target)
    assert everything(target) == everything(source)


def test_what_another_scope_left_on_its_way_is_thrown_away(tmp_path: Path, source: str) -> None:
    target = f"sqlite:{tmp_path / 'target'}"
    with open_memory(f"sqlite:{tmp_path}/other") as memory:
        must(memory, "create", path=A, text="another")
    with on_the_way(f"sqlite:{tmp_path}/other", target) as (store, receiver):
        receiver.publish = lambda: 1 / 0  # type: ignore[method-assign,assignment]
        with pytest.raises(ZeroDivisionError):
            migrate(store, receiver)
    moved(source, target)
    assert everything(target) == everything(source)


@pytest.mark.parametrize("kind", DURABLE)
def test_a_scope_that_is_there_is_left_as_it_is(source: str, tmp_path: Path, kind: str) -> None:
    target = f"{kind}:{tmp_path / 'target'}"
    moved(source, target)
    with closing(open_store(source, "default")) as store, closing(open_store(target, "default")) as there:
        assert already_there(store, there).was_there
    with open_memory(target) as memory:
        must(memory, "create", path=A, text="gone on")
    before = everything(target)
    with (
        closing(open_store(source, "default")) as store,
        closing(open_store(target, "default")) as there,
        pytest.raises(StoreError, match="is there already and is another one"),
    ):
        already_there(store, there)
    with pytest.raises((StoreError, OpenError)):
        moved(source, target)
    assert everything(target) == before


def test_files_of_others_are_in_the_way(source: str, tmp_path: Path) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "mine.md").write_text("mine")
    with pytest.raises(OpenError, match="name an empty one"):
        moved(source, f"directory:{folder}")
    assert [path.name for path in folder.iterdir() if path.name != ".meta"] == ["mine.md"]


def test_two_at_once_are_refused(source: str, tmp_path: Path) -> None:
    for kind in DURABLE:
        target = f"{kind}:{tmp_path / kind}"
        with on_the_way(source, target), pytest.raises(OpenError, match="Another process"):
            moved(source, target)
        moved(source, target)


def test_a_history_that_a_clone_does_not_have_begins_with_what_is_there(tmp_path: Path) -> None:
    with open_memory(f"git:{tmp_path}/whole") as memory:
        for path in (A, B):
            must(memory, "create", path=path, text=path)
        must(memory, "rename", oldPath=A, newPath=C)
    git(tmp_path, "init", "-q", "--bare", "part")
    whole = f"file://{tmp_path}/whole"
    git(tmp_path / "part", "fetch", "-q", "--depth=2", whole, "refs/memfs/*:refs/memfs/*")
    done = moved(f"git:{tmp_path}/part", f"sqlite:{tmp_path}/target")
    assert (done.changes, done.begun, done.dropped) == (3, 1, 0)
    with open_memory(f"sqlite:{tmp_path}/target") as copy:
        assert texts(copy) == {B: B, C: A}
        assert [(each.version, each.operation, each.path) for each in copy.versions(C)] == [
            (3, "renamed", C),
            (1, "created", A),
        ]


def test_a_copy_that_lacks_only_its_name_is_not_said_to_have_had_it(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    target = f"sqlite:{tmp_path}/target"
    with on_the_way(source, target, "default") as (store, receiver):
        monkeypatch.setattr(receiver, "publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate(store, receiver)
    done = moved(source, target)
    assert (done.copied, done.was_there) == (0, False)


KILLED = """
import os, sys
from tests.transfer import test_migrate as tests

calls, last = 0, int(sys.argv[3])

def count(frame, event, _):
    global calls
    if event == "call" and "/memfs/" in frame.f_code.co_filename:
        calls += 1
        if calls == last:
            os.kill(os.getpid(), 9)

tests.module.BATCH = 20
sys.setprofile(count)
tests.moved(sys.argv[1], sys.argv[2])
sys.setprofile(None)
print(calls)
"""
"""A migration that is killed when so many functions of memfs have been called."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", DURABLE)
def test_a_kill_at_any_point_leaves_nothing_that_looks_whole(source: str, tmp_path: Path, kind: str) -> None:
    with open_memory(source) as memory:
        for number in range(120):
            must(memory, "create", path=f"/memories/{number % 7}.md", text=f"{number}\n" * 50)

    def run(target: str, last: int) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-c", KILLED, source, target, str(last)]
        return subprocess.run(command, stdout=subprocess.PIPE, check=False)

    calls = int(run(f"{kind}:{tmp_path}/whole", 0).stdout)
    assert everything(f"{kind}:{tmp_path}/whole") == everything(source)
    seen = set()
    for point in range(1, 16):
        target = f"{kind}:{tmp_path}/{point}"
        assert run(target, calls * point // 16 + point).returncode == -9
        try:
            open_store(target, "default").close()
        except OpenError:
            seen.add("not there")
            done = moved(source, target)
            seen.add("gone on" if done.copied < done.changes else "from the beginning")
        assert everything(target) == everything(source)
        left = [path for path in (tmp_path / str(point)).rglob("*incoming*") if path.is_file()]
        assert left == [], point
    assert seen >= {"not there", "gone on"}
