"""What a person sees and does with plain git: log, diff, clone, edit and push, while a memory is open."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from memfs import Memory
from memfs.port.change import Actor
from memfs.port.errors import ErrorCode
from memfs.stores.git.store import GitStore
from tests.harness import failure, must, texts
from tests.stores.git.harness import REF, Clone, damage_of, git, open_pair

A, B, C = (f"/memories/{name}.md" for name in "abc")
NOTE = "a line\n" * 40


def brief(store: GitStore) -> list[tuple[int, str, str]]:
    records = store.history(newest_first=False)
    return [(record.version, record.operation, record.path) for record in records]


def test_a_change_is_a_commit_with_its_author_and_what_it_did(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path="/memories/d/a.md", text="x")
        must(memory, "create", path="/memories/d/a.md", text="y")
        must(memory, "rename", oldPath="/memories/d", newPath="/memories/e")
        must(memory, "delete", path="/memories/e")
    log = git(repository, "log", "--format=%an <%ae> %s", REF).splitlines()
    assert log[:4] == [
        "ada (vim) <ada@memfs.invalid> deleted memories/e/a.md",
        "ada (vim) <ada@memfs.invalid> renamed memories/d/a.md to memories/e/a.md",
        "ada (vim) <ada@memfs.invalid> modified memories/d/a.md",
        "ada (vim) <ada@memfs.invalid> created memories/d/a.md",
    ]
    assert len(log) == 5
    assert git(repository, "log", "-1", "--format=%(trailers:key=Memfs-Version,valueonly)", REF) == "4"
    assert damage_of(repository) == ""


def test_git_follows_a_memory_through_a_move(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text=NOTE)
        must(memory, "insert", path=A, insertLine=0, text="new")
        must(memory, "rename", oldPath=A, newPath="/memories/archive/2026/a.md")
    status = git(repository, "diff", "-M", "--name-status", f"{REF}~1", REF, "--", "memories")
    assert status == "R100\tmemories/a.md\tmemories/archive/2026/a.md"
    followed = git(repository, "log", "--follow", "--format=%s", REF, "--", "memories/archive/2026/a.md")
    assert len(followed.splitlines()) == 3


def test_a_clone_is_a_store_of_the_same_scope(repository: Path, place: Path) -> None:
    with open_pair(repository)[0] as memory:
        for path in (A, B, C):
            must(memory, "create", path=path, text=path)
        must(memory, "rename", oldPath=A, newPath="/memories/z.md")
        before = [tuple(file) for file in memory.snapshot().in_write_order()]
    git(place, "clone", "-q", "--mirror", str(repository), "mirror")
    memory, store = open_pair(place / "mirror")
    with memory:
        assert [tuple(file) for file in memory.snapshot().in_write_order()] == before
        assert len(brief(store)) == 4
        assert store.read(1, 1) == A.encode()


def test_what_is_pushed_is_taken_in_with_its_author(repository: Path, place: Path) -> None:
    memory, store = open_pair(repository)
    with memory:
        must(memory, "create", path=A, text=NOTE)
        must(memory, "create", path=B, text="stays\n")
        clone = Clone(repository, place / "clone")
        clone.write("memories/a.md", NOTE + "edited\n")
        clone.write("memories/d/new.md", "new\n")
        clone.commit("Two things\n\nat once")
        clone.push()
        assert texts(memory) == {A: NOTE + "edited\n", B: "stays\n", "/memories/d/new.md": "new\n"}
        must(memory, "create", path=C, text="mine")
        records = [record for record in store.history(newest_first=False) if record.version == 3]
        assert [(record.operation, record.path) for record in records] == [
            ("modified", A),
            ("created", "/memories/d/new.md"),
        ]
        assert {record.actor for record in records} == {Actor("Bo", "git")}
        assert {record.reason for record in records} == {"Two things"}
        assert records[0].id == 1
        assert store.read(1, 3) == (NOTE + "edited\n").encode()
    memory, store = open_pair(repository)
    with memory:
        assert [version for version, _, _ in brief(store)] == [1, 2, 3, 3, 4]
    assert damage_of(repository) == ""


def test_each_pushed_commit_is_a_change_of_its_own(repository: Path, place: Path) -> None:
    memory, store = open_pair(repository)
    with memory:
        must(memory, "create", path=A, text=NOTE)
        clone = Clone(repository, place / "clone")
        git(clone.path, "mv", "memories/a.md", "memories/moved.md")
        clone.commit()
        clone.write("README", "Not a memory, and no concern of memfs.\n")
        clone.commit()
        git(clone.path, "rm", "-q", "memories/moved.md")
        clone.commit()
        clone.push()
        assert texts(memory) == {}
        assert brief(store) == [
            (1, "created", A),
            (2, "renamed", "/memories/moved.md"),
            (3, "deleted", "/memories/moved.md"),
        ]
        must(memory, "create", path=B, text="x")
    assert git(repository, "show", f"{REF}:README").startswith("Not a memory")
    assert brief(store)[-1] == (4, "created", B)


def test_every_door_counts_the_commits_of_others_alike(repository: Path, place: Path) -> None:
    one, _ = open_pair(repository)
    with one:
        must(one, "create", path=A, text=NOTE)
        clone = Clone(repository, place / "clone")
        for number in range(3):
            clone.write(f"memories/n{number}.md", str(number))
            clone.write(f"memories/m{number}.md", str(number))
            clone.commit()
            clone.push()
            one.catch_up()
        two, _ = open_pair(repository)
        with two:

            def state(memory: Memory) -> list[tuple[object, ...]]:
                return [tuple(file) for file in memory.snapshot().in_write_order()]

            assert state(one) == state(two)
            must(two, "create", path=B, text="x")
            one.catch_up()
            assert state(one) == state(two)
            assert len({file.id for file in one.snapshot().in_write_order()}) == 8


def test_a_merge_of_both_sides_is_taken_in(repository: Path, place: Path) -> None:
    memory, store = open_pair(repository)
    with memory:
        must(memory, "create", path=A, text=NOTE)
        clone = Clone(repository, place / "clone")
        clone.write("memories/theirs.md", "theirs")
        clone.commit()
        must(memory, "create", path=B, text="mine, meanwhile")
        clone.push(fails=True)
        clone.pull()
        clone.push()
        assert texts(memory) == {A: NOTE, B: "mine, meanwhile", "/memories/theirs.md": "theirs"}
        must(memory, "create", path=C, text="after")
        assert [version for version, _, _ in brief(store)] == [1, 2, 3, 4]
    memory, _ = open_pair(repository)
    with memory:
        assert len(texts(memory)) == 4


def test_a_push_that_lost_the_race_is_refused_by_git(repository: Path, place: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="x")
        clone = Clone(repository, place / "clone")
        must(memory, "create", path=A, text="y")
        clone.write("memories/a.md", "theirs")
        clone.commit()
        clone.push(fails=True)
        assert texts(memory) == {A: "y"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memories/My Notes.md", "x"),
        ("memories/.gitkeep", ""),
        ("memories/logo.png", "x"),
        ("memories/caf\u00e9.md", "x"),
        (".memfs/0/00", "{}"),
        (".memfs.json", "{}"),
        (".memfs.json", "[" * 100_000),
        (".memfs.json", json.dumps({"format": 99})),
    ],
)
def test_what_no_memory_can_be_is_refused_until_it_is_taken_back(
    repository: Path, place: Path, name: str, text: str
) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="x")
        clone = Clone(repository, place / "clone")
        clone.write(name, text)
        clone.commit()
        clone.push()
        for _ in range(2):
            assert failure(memory, "create", path=B, text="x").code is ErrorCode.UNSAFE_STORAGE
            assert failure(memory, "view", path=A).code is ErrorCode.UNSAFE_STORAGE
        git(clone.path, "revert", "--no-edit", "HEAD")
        clone.push()
        assert texts(memory) == {A: "x"}
        must(memory, "create", path=B, text="x")
    with open_pair(repository)[0] as memory:
        assert texts(memory) == {A: "x", B: "x"}


def test_links_and_submodules_are_refused_by_name(repository: Path, place: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="x")
        clone = Clone(repository, place / "clone")
        (clone.path / "memories" / "passwd.md").symlink_to("/etc/passwd")
        clone.commit()
        clone.push()
        error = failure(memory, "view", path="/memories")
        assert error.code is ErrorCode.UNSAFE_STORAGE
        assert "memories/passwd.md is a symbolic link" in error.message
        git(clone.path, "rm", "-q", "memories/passwd.md")
        head = git(clone.path, "rev-parse", "HEAD")
        git(clone.path, "update-index", "--add", "--cacheinfo", f"160000,{head},memories/sub.md")
        git(clone.path, "commit", "-q", "-m", "a submodule")
        clone.push()
        assert "submodule" in failure(memory, "view", path="/memories").message


def test_a_reference_that_was_moved_back_is_noticed_and_nothing_is_lost(
    repository: Path, place: Path
) -> None:
    memory, store = open_pair(repository)
    other, _ = open_pair(repository)
    with memory, other:
        for text in ("one", "two", "three"):
            must(memory, "create", path=A, text=text)
        other.catch_up()
        lost = git(repository, "rev-parse", REF)
        git(repository, "update-ref", REF, f"{REF}~2")
        assert texts(memory) == {A: "one"}
        assert texts(other) == {A: "one"}
        must(memory, "create", path=B, text="after")
        assert texts(other) == {A: "one", B: "after"}
        assert [version for version, _, _ in brief(store)] == [1, 2, 3, 4, 5]
        assert store.read(1, 3) == b"three"
        assert store.read(1, 4) == b"one"
        rescued = git(repository, "for-each-ref", "--format=%(objectname)", "refs/memfs-rescue")
        assert rescued == lost
        assert "refs/memfs-rescue" in store.report()["rescued"]
    assert damage_of(repository) == ""


def test_a_reference_moved_while_no_memory_was_open_is_noticed_at_the_next_opening(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="one")
        must(memory, "create", path=A, text="two")
    lost = git(repository, "rev-parse", REF)
    git(repository, "update-ref", REF, f"{REF}~1")
    memory, store = open_pair(repository)
    with memory:
        assert texts(memory) == {A: "one"}
        assert git(repository, "for-each-ref", "--format=%(objectname)", "refs/memfs-rescue") == lost
        assert [version for version, _, _ in brief(store)] == [1, 2, 3]


def test_a_reference_moved_to_another_line_gives_no_stale_bytes(repository: Path, place: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="one")
        git(place, "clone", "-q", "--mirror", str(repository), "mirror")
        must(memory, "create", path=A, text="this line")
        with open_pair(place / "mirror")[0] as elsewhere:
            must(elsewhere, "create", path=A, text="that line")
        git(place / "mirror", "push", "-q", "--force", str(repository), f"{REF}:{REF}")
        assert texts(memory) == {A: "that line"}
        must(memory, "create", path=B, text="x")


def test_a_change_that_git_reverts_is_a_further_change(repository: Path, place: Path) -> None:
    memory, store = open_pair(repository)
    with memory:
        must(memory, "create", path=A, text="one")
        must(memory, "create", path=A, text="two")
        clone = Clone(repository, place / "clone")
        git(clone.path, "revert", "--no-edit", "HEAD")
        clone.push()
        assert texts(memory) == {A: "one"}
        assert git(repository, "for-each-ref", "refs/memfs-rescue") == ""
        must(memory, "create", path=B, text="x")
        assert brief(store)[-2:] == [(3, "modified", A), (4, "created", B)]


def test_a_reference_that_is_deleted_stops_the_memory_and_its_commits_are_kept(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="x")
        lost = git(repository, "rev-parse", REF)
        git(repository, "update-ref", "-d", REF)
        assert failure(memory, "create", path=B, text="x").code is ErrorCode.UNSAFE_STORAGE
    with open_pair(repository)[0] as memory:
        assert texts(memory) == {}
        must(memory, "create", path=B, text="x")
        assert memory.snapshot().version > 1
    assert git(repository, "for-each-ref", "--format=%(objectname)", "refs/memfs-rescue") == lost


def test_a_push_is_seen_by_who_watches(repository: Path, place: Path) -> None:
    memory, _ = open_pair(repository)
    with memory:
        must(memory, "create", path=A, text="x")
        called = threading.Event()
        watch = memory.watch(called.set)
        try:
            assert called.wait(20)
            for number in range(3):
                git(repository, "pack-refs", "--all", "--prune")
                time.sleep(0.05)
                called.clear()
                clone = Clone(repository, place / f"clone{number}")
                clone.write("memories/a.md", f"{number}")
                clone.commit()
                clone.push()
                assert called.wait(20)
                assert texts(memory) == {A: f"{number}"}
        finally:
            watch.close()
