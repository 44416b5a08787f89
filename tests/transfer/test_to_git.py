"""Export to git: the whole history, once, and a store of the same scope at its end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from memfs import Limits, Memory, open_memory
from memfs.port.change import Actor
from memfs.port.errors import NotKept, StoreError
from memfs.port.plan import Joined, Plan, plan_write
from memfs.port.receiving import kept
from memfs.port.scope import Scope
from memfs.port.store import Record
from memfs.stores.git.index import ref_of
from memfs.stores.simple import SimpleStore
from memfs.transfer.to_git import Exported, export_to_git
from tests.conftest import MEMORY_DISK
from tests.harness import must, texts
from tests.port.strategies import Session, sessions
from tests.stores.git.harness import damage_of, git

A, B, C = (f"/memories/{name}.md" for name in "abc")
REF = ref_of("default")


def export(memory: Memory, repository: Path) -> int:
    return export_to_git(memory, repository, REF).changes


def exported(repository: Path, commit: str = REF) -> dict[str, str]:
    """The memories in a commit, as their blobs' texts."""
    names = git(repository, "ls-tree", "-r", "--name-only", commit, "--", "memories").splitlines()
    return {f"/{name}": git(repository, "show", f"{commit}:{name}") for name in names}


def changes_of(memory: Memory) -> list[tuple[Record, ...]]:
    """The whole history."""
    return kept(memory.records_after(0), memory.snapshot(), memory.read_at).changes


def subjects(repository: Path) -> list[str]:
    return git(repository, "log", "--reverse", "--format=%s", REF).splitlines()


def test_every_change_is_a_commit_with_its_author_time_and_content(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="one")
    must(memory, "create", path=A, text="two")
    must(memory, "create", path="/memories/d/b.md", text="b")
    must(memory, "rename", oldPath="/memories/d", newPath="/memories/e")
    must(memory, "delete", path=A)
    assert export_to_git(memory, place / "r", REF) == Exported(5, REF)
    assert subjects(place / "r") == [
        "created memories/a.md",
        "modified memories/a.md",
        "created memories/d/b.md",
        "renamed memories/d/b.md to memories/e/b.md",
        "deleted memories/a.md",
    ]
    assert exported(place / "r", f"{REF}~3") == {A: "two"}
    assert exported(place / "r") == {"/memories/e/b.md": "b"}
    first = next(record for record in memory.history() if record.version == 1)
    when, author = git(place / "r", "log", "-1", "--format=%at %an", f"{REF}~4").split(" ", 1)
    assert int(when) == first.time_ns // 10**9
    assert author == f"{memory.actor.user} ({memory.actor.program})"
    assert damage_of(place / "r") == ""


def test_a_second_export_adds_only_what_is_new(memory: Memory, place: Path) -> None:
    for number in range(5):
        must(memory, "create", path=A, text=f"{number}")
    assert export(memory, place / "r") == 5
    before = git(place / "r", "rev-parse", REF)
    assert export(memory, place / "r") == 0
    assert git(place / "r", "rev-parse", REF) == before
    must(memory, "create", path=B, text="new")
    must(memory, "rename", oldPath=A, newPath=C)
    assert export(memory, place / "r") == 2
    assert git(place / "r", "rev-parse", f"{REF}~2") == before
    assert exported(place / "r") == {B: "new", C: "4"}


@settings(max_examples=settings().max_examples // 10)  # each starts git some times
@given(sessions)
def test_what_was_exported_in_parts_is_the_memory(session: Session) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as name:
        place = Path(name)
        with Memory(SimpleStore("default", session.policy), Actor("someone", "test")) as memory:
            for number, command in enumerate(session.sent):
                memory.execute(command)
                if number % 25 == 12:
                    export(memory, place / "r")
            export(memory, place / "r")
            with open_memory(f"git:{place / 'r'}") as found:
                mine, theirs = memory.snapshot(), found.snapshot()
                assert list(theirs.in_write_order()) == list(mine.in_write_order())
                assert changes_of(found) == changes_of(memory)
                assert found.policy == memory.policy
                assert texts(found) == texts(memory)
        assert damage_of(place / "r") == ""


def test_an_export_has_the_whole_history_for_every_command(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="one")
    must(memory, "create", path=A, text="two")
    must(memory, "rename", oldPath=A, newPath=B)
    must(memory, "create", path=C, text="gone")
    must(memory, "delete", path=C)
    memory.redact([(B, 1)], reason="a password")
    export(memory, place / "r")
    with open_memory(f"git:{place / 'r'}") as found:
        assert list(found.history()) == list(memory.history())
        assert found.read_version(B, 2) == b"two"
        with pytest.raises(NotKept, match="was redacted by"):
            found.read_version(B, 1)
        assert found.undo().ok
        assert texts(found) == {B: "two", C: "gone"}
    assert "taken out of the history" in git(place / "r", "show", f"{REF}~6:memories/a.md")
    assert damage_of(place / "r") == ""


def test_what_was_exported_can_be_redacted_there(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="a password")
    must(memory, "rename", oldPath=A, newPath="/memories/d/a.md")
    must(memory, "create", path=B, text="between")
    must(memory, "create", path="/memories/d/a.md", text="plain")
    export(memory, place / "r")
    with open_memory(f"git:{place / 'r'}") as found:
        assert not found.redact([("/memories/d/a.md", 1)]).pending
        assert found.read_version(B, 3) == b"between"
        assert [record.redacted for record in found.versions("/memories/d/a.md")] == [False, True, True]
    objects = git(place / "r", "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    contents = [git(place / "r", "cat-file", "-p", line.split()[0]) for line in objects]
    assert not any("a password" in content for content in contents)
    assert damage_of(place / "r") == ""


def test_a_reference_that_was_moved_back_to_the_middle_of_an_export_is_a_state(
    memory: Memory, place: Path
) -> None:
    must(memory, "create", path=A, text="one")
    must(memory, "create", path="/memories/d/b.md", text="b")
    must(memory, "create", path=A, text="two")
    must(memory, "rename", oldPath="/memories/d", newPath="/memories/e")
    export(memory, place / "r")
    git(place / "r", "update-ref", REF, f"{REF}~1")
    with open_memory(f"git:{place / 'r'}") as found:
        assert texts(found) == {A: "two", "/memories/d/b.md": "b"}
        assert [file.path for file in found.snapshot().in_write_order()] == ["/memories/d/b.md", A]
        must(found, "create", path=C, text="on it goes")
        assert found.versions(A) == memory.versions(A)
    with open_memory(f"git:{place / 'r'}") as found:
        assert texts(found) == {A: "two", "/memories/d/b.md": "b", C: "on it goes"}
    assert damage_of(place / "r") == ""


def test_an_export_needs_no_library(place: Path) -> None:
    code = (
        "import sys; sys.modules['pygit2'] = None\n"
        "from pathlib import Path\n"
        "from memfs import open_memory\n"
        "from memfs.transfer.to_git import export_to_git\n"
        "with open_memory(f'sqlite:{sys.argv[1]}/store') as memory:\n"
        "    memory.execute({'command': 'create', 'path': '/memories/a.md', 'text': 'x'})\n"
        "    export_to_git(memory, Path(sys.argv[1], 'r'), sys.argv[2])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(place), REF], check=True)
    assert subjects(place / "r") == ["created memories/a.md"]


def test_an_export_is_a_store_that_goes_on(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="x")
    export(memory, place / "r")
    with open_memory(f"git:{place / 'r'}") as other:
        must(other, "create", path=B, text="y")
        assert texts(other) == {A: "x", B: "y"}
    with pytest.raises(StoreError, match="name another ref"):
        export(memory, place / "r")


def test_the_export_of_another_memory_is_not_continued(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="x")
    with open_memory(f"sqlite:{place / 'other'}") as other:
        must(other, "create", path=A, text="x")
        export(other, place / "r")
    before = git(place / "r", "rev-parse", REF)
    with pytest.raises(StoreError, match="name another ref"):
        export(memory, place / "r")
    assert git(place / "r", "rev-parse", REF) == before


def test_rules_alone_are_exported_too(memory: Memory, place: Path) -> None:
    must(memory, "create", path=A, text="x")
    export(memory, place / "r")
    memory.set_policy({"max_files": 7})
    export(memory, place / "r")
    with open_memory(f"git:{place / 'r'}") as found:
        assert found.policy.limits == Limits(max_files=7)


def test_an_empty_memory_can_be_exported(memory: Memory, place: Path) -> None:
    assert export(memory, place / "r") == 0
    with open_memory(f"git:{place / 'r'}") as found:
        assert texts(found) == {}


def test_two_halves_of_a_save_are_two_commits_and_one_version_in_the_log(memory: Memory, place: Path) -> None:
    def second_half(scope: Scope, now_ns: int) -> Plan:
        return plan_write(scope, A, b"second", now_ns, joined=Joined(1, 2, "modified"))

    must(memory, "create", path=A, text="first")
    must(memory, "delete", path=A)
    assert memory.perform("create", second_half).result.ok
    export(memory, place / "r")
    operations = ["created", "deleted", "modified"]
    assert subjects(place / "r") == [f"{operation} memories/a.md" for operation in operations]
    with open_memory(f"git:{place / 'r'}") as found:
        assert found.versions(A) == memory.versions(A)
        assert [record.operation for record in found.versions(A)] == ["modified", "created"]


def test_a_history_that_is_no_longer_whole_still_ends_in_what_is_there(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memfs.stores import simple

    monkeypatch.setattr(simple, "KEPT_COMMITS", 3)
    from memfs import Policy

    with Memory(SimpleStore("default", Policy()), Actor("someone", "test")) as memory:
        for path in (A, B, C):
            must(memory, "create", path=path, text=path)
        must(memory, "rename", oldPath=A, newPath="/memories/z.md")
        must(memory, "delete", path=B)
        export(memory, place / "r")
        assert exported(place / "r") == texts(memory)


def test_nothing_else_of_the_repository_changes(memory: Memory, place: Path) -> None:
    git(place, "init", "-q", "-b", "main", "r")
    git(place / "r", "commit", "-q", "--allow-empty", "-m", "theirs")
    main = git(place / "r", "rev-parse", "main")
    must(memory, "create", path=A, text="x")
    export(memory, place / "r")
    assert git(place / "r", "rev-parse", "main", "HEAD").split() == [main, main]
    assert git(place / "r", "status", "--porcelain") == ""
    with pytest.raises(StoreError, match="checked out"):
        export_to_git(memory, place / "r", "refs/heads/main")


def test_a_directory_that_is_no_repository_is_refused(memory: Memory, place: Path) -> None:
    (place / "r").mkdir()
    (place / "r" / "mine").write_text("x")
    with pytest.raises(StoreError, match="not a git repository"):
        export(memory, place / "r")
    assert [path.name for path in (place / "r").iterdir()] == ["mine"]
