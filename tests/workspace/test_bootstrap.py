"""What a workspace has afterwards, from whatever it had before."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memfs
from tests.workspace.conftest import (
    EMPTY_PAGE_INDEX,
    NOBODY,
    STUB,
    Workspace,
    as_ordinary_user,
    names,
    picture,
)

ALL = {"memory", "memory/index.md", "memory/.meta", "memory/.meta/index.json"}
CONTENTS = {
    "text": b"# What I know\n\nAda likes tea.\n",
    "empty": b"",
    "not UTF-8": b"\xff\xfe\0 latin \xe9\r\n",
    "huge": b"0123456789abcdef" * (1 << 20) + b"and three more blocks end here",
}


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_an_empty_workspace_gets_all_of_it(workspace: Workspace) -> None:
    assert workspace.ensure() == []
    assert names(workspace.path) == ALL
    assert (workspace.memory / "index.md").read_bytes() == STUB
    assert (workspace.memory / ".meta" / "index.json").read_bytes() == EMPTY_PAGE_INDEX


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_it_is_for_its_owner_alone(workspace: Workspace, mask: int) -> None:
    workspace.path.rmdir()
    with umask(mask):
        assert workspace.ensure() == []
    assert mode_of(workspace.path) == 0o700
    for name in ALL:
        path = workspace.path / name
        assert mode_of(path) == (0o700 if path.is_dir() else 0o600)


def test_the_second_time_nothing_changes(workspace: Workspace) -> None:
    (workspace.path / "MEMORY.md").write_bytes(b"old")
    workspace.ensure()
    before = picture(workspace.path.parent)
    for _ in range(3):
        assert workspace.ensure() == []
    assert picture(workspace.path.parent) == before


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_an_old_memory_is_copied_byte_for_byte_and_stays(workspace: Workspace, content: bytes) -> None:
    old = workspace.path / "MEMORY.md"
    old.write_bytes(content)
    old.chmod(0o444)
    before = old.lstat()
    assert workspace.ensure() == []
    assert (workspace.memory / "index.md").read_bytes() == content
    assert mode_of(workspace.memory / "index.md") == 0o600
    assert old.read_bytes() == content
    after = old.lstat()
    assert (after.st_ino, after.st_nlink, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino, before.st_nlink, before.st_mtime_ns, before.st_ctime_ns,
    )  # fmt: skip


@pytest.mark.parametrize(
    "missing", [{"index.md"}, {".meta"}, {".meta/index.json"}, {"index.md", ".meta/index.json"}]
)
def test_only_what_is_missing_is_made(workspace: Workspace, missing: set[str]) -> None:
    mine = {"index.md": b"mine", ".meta/index.json": b"mine, and no JSON", "page.md": b"a page"}
    for name, content in mine.items():
        if not any(name.startswith(left_out) for left_out in missing):
            (workspace.memory / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace.memory / name).write_bytes(content)
    workspace.memory.chmod(0o755)
    before = picture(workspace.memory)
    assert workspace.ensure() == []
    assert names(workspace.path) == ALL | {"memory/page.md"}
    after = picture(workspace.memory)
    for name in before.keys() - {".", ".meta"}:
        assert after[name] == before[name]
    assert mode_of(workspace.memory) == 0o755


@pytest.mark.parametrize(
    ("spelled", "returned"),
    [
        ("agent", "agent/memory"),
        ("agent/", "agent/memory"),
        ("agent//", "agent//memory"),
        ("./agent", "./agent/memory"),
        ("agent/.", "agent/./memory"),
        ("agent/sub/..", "agent/sub/../memory"),
    ],
)
def test_a_relative_path_is_one_below_the_working_directory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, spelled: str, returned: str
) -> None:
    (workspace.path / "sub").mkdir()
    monkeypatch.chdir(workspace.path.parent)
    assert memfs.ensure_memory(spelled) == returned
    assert names(workspace.path) == ALL | {"sub"}
    assert workspace.warnings == []


@pytest.mark.parametrize(("spelled", "returned"), [(".", "./memory"), ("", "memory"), ("./", "./memory")])
def test_the_working_directory_can_be_the_workspace(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, spelled: str, returned: str
) -> None:
    monkeypatch.chdir(workspace.path)
    assert memfs.ensure_memory(spelled) == returned
    assert names(workspace.path) == ALL


def test_any_kind_of_path_will_do(workspace: Workspace) -> None:
    assert memfs.ensure_memory(workspace.path) == str(workspace.memory)
    odd = workspace.path.parent / os.fsdecode(b"\xff \n'")
    assert memfs.ensure_memory(odd) == str(odd / "memory")
    assert names(odd) == ALL


def test_the_folder_that_holds_the_workspace_may_be_a_link(workspace: Workspace, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("holder", target_is_directory=True)
    assert memfs.ensure_memory(link / "agent") == str(link / "agent" / "memory")
    assert names(workspace.path) == ALL
    assert workspace.warnings == []


def test_the_folder_that_holds_the_workspace_is_not_made(workspace: Workspace) -> None:
    workspace.path.rmdir()
    workspace.path.parent.rmdir()
    (warning,) = workspace.ensure()
    assert str(workspace.path) in warning
    assert not workspace.path.parent.exists()


def test_a_filesystem_without_unnamed_files_gets_the_same(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def without_unnamed(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real(path, flags, *arguments, **named)

    monkeypatch.setattr(os, "open", without_unnamed)
    assert workspace.ensure() == []
    assert names(workspace.path) == ALL
    assert (workspace.memory / "index.md").read_bytes() == STUB
    assert (workspace.memory / "index.md").lstat().st_nlink == 1


def test_an_ordinary_user_needs_no_right_to_list_the_folder_above(public: Workspace) -> None:
    public.path.parent.chmod(0o711)
    if os.geteuid() == 0:
        os.chown(public.path.parent, 0, 0)
    assert as_ordinary_user(public.ensure) == []
    assert names(public.path) == ALL
    owner = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert {(public.path / name).lstat().st_uid for name in ALL} == {owner}


def test_no_descriptor_stays_open(workspace: Workspace) -> None:
    (workspace.path / "MEMORY.md").mkdir()
    before = os.listdir("/proc/self/fd")
    workspace.ensure()
    (workspace.path / "MEMORY.md").rmdir()
    workspace.ensure()
    assert len(os.listdir("/proc/self/fd")) == len(before)
