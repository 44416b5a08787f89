"""Any repository will do, and nothing of it is touched but the scope's own reference."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memfs import Limits, OpenError, open_memory
from memfs.port.errors import ErrorCode, StoreError, UnsafeStorage
from memfs.stores.git import store as git_store
from memfs.stores.git.index import ref_of
from tests.harness import must, texts
from tests.stores.git.harness import REF, damage_of, git, open_pair

A, B = "/memories/a.md", "/memories/b.md"


def work_tree(path: Path) -> Path:
    """A repository in use: a commit, a branch, a staged and an unstaged change, hooks that would show."""
    git(path.parent, "init", "-q", "-b", "main", path.name)
    (path / "code.py").write_text("print(1)\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "code")
    git(path, "branch", "other")
    (path / "staged.py").write_text("x\n")
    git(path, "add", "staged.py")
    (path / "code.py").write_text("print(2)\n")
    for hook in ("post-commit", "reference-transaction", "pre-auto-gc", "update", "post-update"):
        script = path / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\necho {hook} >> '{path}/hooked'\n")
        script.chmod(0o755)
    return path


def everything_but_ours(path: Path) -> dict[str, bytes]:
    """Each file of a repository and its bytes: without objects, our reference and our sidecar."""
    found = {}
    for directory, _, names in os.walk(path):
        for name in names:
            file = Path(directory) / name
            relative = str(file.relative_to(path))
            if not any(part in f"/{relative}" for part in ("/objects/", "/refs/memfs/", "/.git/memfs/")):
                found[relative] = file.read_bytes()
    return found


def test_nothing_else_of_a_repository_is_touched(place: Path) -> None:
    path = work_tree(place / "project")
    status = git(path, "status", "--porcelain")  # which refreshes the index itself
    before = everything_but_ours(path)
    with open_pair(path)[0] as memory:
        must(memory, "create", path=A, text="x")
        must(memory, "rename", oldPath=A, newPath=B)
        memory.maintain()
    assert everything_but_ours(path) == before
    assert git(path, "status", "--porcelain") == status
    assert git(path, "branch", "--all", "--format=%(refname)").splitlines() == [
        "refs/heads/main",
        "refs/heads/other",
    ]
    with open_pair(path / ".git")[0] as memory:
        assert texts(memory) == {B: "x"}
    assert damage_of(path) == ""


def test_a_linked_work_tree_leads_to_the_same_scope(place: Path) -> None:
    path = work_tree(place / "project")
    git(path, "worktree", "add", "-q", str(place / "linked"), "other")
    with open_pair(path)[0] as one, open_pair(place / "linked")[0] as two:
        must(one, "create", path=A, text="one")
        must(two, "create", path=B, text="two")
        assert texts(one) == {A: "one", B: "two"}
    with pytest.raises(OpenError, match="checked out"):
        open_pair(path, ref="refs/heads/other")


def test_a_branch_can_hold_the_scope_if_nobody_has_it_checked_out(place: Path) -> None:
    path = work_tree(place / "project")
    with open_pair(path, ref="refs/heads/memory")[0] as memory:
        must(memory, "create", path=A, text="x")
    assert git(path, "show", "memory:memories/a.md") == "x"
    with pytest.raises(OpenError, match="checked out"):
        open_pair(path, ref="refs/heads/main")
    with pytest.raises(UnsafeStorage, match="no memory of memfs"):
        open_pair(path, ref="refs/heads/other")
    with pytest.raises(StoreError, match="'work'"):
        open_pair(path, ref="refs/heads/memory", scope="another")


def test_a_symbolic_reference_is_not_followed(place: Path) -> None:
    path = work_tree(place / "project")
    git(path, "symbolic-ref", REF, "refs/heads/main")
    with pytest.raises(StoreError, match="symbolic"):
        open_pair(path)


@pytest.mark.parametrize("kind", ["file", "directory", "sha256"])
def test_what_is_no_repository_is_refused_and_left(place: Path, kind: str) -> None:
    path = place / "thing"
    if kind == "file":
        path.write_text("x")
    elif kind == "directory":
        path.mkdir()
        (path / "mine").write_text("x")
    else:
        git(place, "init", "-q", "--object-format=sha256", "thing")
    before = everything_but_ours(place)
    with pytest.raises(
        StoreError, match="SHA-256" if kind == "sha256" else "no git repository|cannot be made"
    ):
        open_pair(path)
    assert everything_but_ours(place) == before


def test_a_directory_inside_a_work_tree_is_not_its_repository(place: Path) -> None:
    path = work_tree(place / "project")
    (path / "sub").mkdir()
    with open_pair(path / "sub")[0] as memory:
        must(memory, "create", path=A, text="x")
    assert git(path, "for-each-ref", "--format=%(refname)", "refs/memfs") == ""
    assert git(path / "sub", "for-each-ref", "--format=%(refname)") == REF


def test_scopes_lie_on_references_of_their_own(repository: Path) -> None:
    with open_pair(repository, scope="one")[0] as one, open_pair(repository, scope="two")[0] as two:
        must(one, "create", path=A, text="x")
        assert texts(two) == {}
    assert set(git(repository, "for-each-ref", "--format=%(refname)").splitlines()) == {
        ref_of("one"),
        ref_of("two"),
    }


@pytest.mark.slow
def test_a_commit_costs_the_same_with_many_files(repository: Path) -> None:
    def objects_of_one_commit() -> int:
        before = sum(len(names) for _, _, names in os.walk(repository / "objects"))
        must(memory, "create", path="/memories/d/e/f.md", text=os.urandom(8).hex())
        return sum(len(names) for _, _, names in os.walk(repository / "objects")) - before

    with open_pair(repository, Limits(max_files=5_000))[0] as memory:
        must(memory, "create", path="/memories/d/e/f.md", text="first")
        few = objects_of_one_commit()
        for number in range(300):
            must(memory, "create", path=f"/memories/d{number % 17}/{number}.md", text="x")
        assert objects_of_one_commit() == few
        head = git(repository, "cat-file", "-s", f"{REF}:.memfs.json")
        assert int(head) < 2_000


def test_housekeeping_packs_a_repository_of_memfs_and_no_other(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_store, "COLLECT_EVERY", 3)
    theirs = work_tree(place / "project")
    for path in (repository, theirs):
        open_pair(path)[0].close()
        git(path, "config", "gc.auto", "1")
        with open_pair(path)[0] as memory:
            for number in range(60):
                must(memory, "create", path=A, text=f"{number}")
            memory.maintain()
            must(memory, "create", path=B, text="after")
            assert len(texts(memory)) == 2
        assert damage_of(path) == ""
    assert list(repository.glob("objects/pack/*.pack"))
    assert not list(theirs.glob(".git/objects/pack/*.pack"))


@pytest.mark.slow
def test_gc_beside_a_writer_loses_nothing(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        for number in range(3):
            with subprocess.Popen(["git", "-C", str(repository), "gc", "-q"]) as collecting:
                while collecting.poll() is None:
                    must(memory, "create", path=f"/memories/{number}.md", text=os.urandom(4).hex())
                    must(memory, "create", path=A, text="again and again the same")
            assert collecting.returncode == 0
        assert len(texts(memory)) == 4
    assert damage_of(repository) == ""


def test_without_pygit2_the_error_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pygit2'] = None\n"
        "import memfs\n"
        "try: memfs.open_memory(sys.argv[1])\n"
        "except memfs.OpenError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"git:{tmp_path / 'r'}"], capture_output=True, text=True, check=True
    )
    assert "pip install 'memfs-mount[git]'" in done.stdout


def test_a_store_that_is_gone_says_so(repository: Path) -> None:
    with open_memory(f"git:{repository}") as memory:
        must(memory, "create", path=A, text="x")
        shutil.rmtree(repository)
        result = memory.execute({"command": "create", "path": B, "text": "x"})
        assert result.error is not None
        assert result.error.code in (ErrorCode.UNSAFE_STORAGE, ErrorCode.STORAGE_ERROR)
