"""Links, devices, FIFOs and the like in the folder: they stay as they are, are named, and the rest works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memfs import Memory, OpenError
from memfs.opening import open_with
from memfs.port.errors import ErrorCode, StoreError
from tests.harness import failure, must, texts
from tests.stores.directory.harness import SCOPE, eventually, files_in, open_folder, told
from tests.workspace.conftest import picture
from tests.workspace.test_in_the_way import OBSTACLES, Obstacle

A, B = "/memories/a.md", "/memories/b.md"
COMMANDS: list[tuple[str, dict[str, object]]] = [
    ("view", {"path": B}),
    ("create", {"path": B, "text": "ours"}),
    ("str_replace", {"path": B, "oldText": "k", "newText": "x"}),
    ("insert", {"path": B, "insertLine": 0, "text": "x"}),
    ("delete", {"path": B}),
    ("rename", {"oldPath": B, "newPath": "/memories/c.md"}),
    ("rename", {"oldPath": A, "newPath": B}),
]


def hard_link(place: Path, outside: Path) -> None:
    # Beside the folder and not in `outside`, which must stay as it is to the last bit.
    other = place.parent.parent / "linked elsewhere"
    other.write_text("kept")
    os.link(other, place)


def no_utf8(place: Path, outside: Path) -> None:
    place.write_bytes(b"caf\xe9")


def too_large(place: Path, outside: Path) -> None:
    place.write_bytes(b"x" * (5 << 20))


FOR_FILES = OBSTACLES | {
    "a file with two names": hard_link,
    "a file that is no UTF-8": no_utf8,
    "a file that is too large": too_large,
}
for_files = pytest.mark.parametrize("obstacle", FOR_FILES.values(), ids=FOR_FILES.keys())


@pytest.fixture
def outside(fast_path: Path) -> Path:
    path = fast_path / "outside"
    path.mkdir()
    (path / "kept.md").write_text("kept")
    return path


@pytest.fixture
def folder(fast_path: Path) -> Path:
    path = fast_path / "folder"
    path.mkdir()
    (path / "a.md").write_text("first")
    return path


def refuses_all(memory: Memory, place: Path, outside: Path) -> None:
    """Everything that names *place*, which is that of ``B``, is refused, and it stays; the rest works."""
    before, outside_before = place.lstat(), picture(outside)
    for command, fields in COMMANDS:
        error = failure(memory, command, **fields)
        assert error.code is ErrorCode.UNSAFE_STORAGE, (command, error)
        assert str(place) in error.message
    must(memory, "str_replace", path=A, oldText="first", newText="second")
    assert texts(memory) == {A: "second"}
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns, after.st_size) == (
        before.st_ino, before.st_mode, before.st_mtime_ns, before.st_size,
    )  # fmt: skip
    assert picture(outside) == outside_before


@for_files
def test_what_is_no_file_of_its_own_is_left_alone(obstacle: Obstacle, folder: Path, outside: Path) -> None:
    place = folder / "b.md"
    obstacle(place, outside)
    memory, store = open_folder(folder)
    with memory:
        assert store.report() == {"unnamed": 0, "unsafe": 1}
        refuses_all(memory, place, outside)


@for_files
def test_what_comes_while_the_folder_is_open_is_left_alone(
    obstacle: Obstacle, folder: Path, outside: Path
) -> None:
    memory, store = open_folder(folder)
    with memory:
        texts(memory)
        obstacle(folder / "b.md", outside)
        eventually(lambda: texts(memory) and store.report()["unsafe"], 1)
        refuses_all(memory, folder / "b.md", outside)
        (folder / "b.md").unlink()
        must(memory, "create", path=B, text="ours")
        eventually(lambda: texts(memory) and store.report()["unsafe"], 0)


@for_files
def test_a_memory_whose_place_is_taken_leaves_and_its_versions_stay(
    obstacle: Obstacle, folder: Path, outside: Path
) -> None:
    memory, store = open_folder(folder)
    with memory:
        must(memory, "create", path=B, text="precious")
        file = memory.snapshot().file(B)
        assert file is not None
        (folder / "b.md").unlink()
        obstacle(folder / "b.md", outside)
        error = failure(memory, "create", path=B, text="ours")
        assert error.code is ErrorCode.UNSAFE_STORAGE
        assert told(store)[-1][:2] == ("deleted", B)
        assert store.read(file.id, file.content) == b"precious"
        refuses_all(memory, folder / "b.md", outside)


DIRECTORY_COMMANDS: list[tuple[str, dict[str, object]]] = [
    ("view", {"path": "/memories/d"}),
    ("view", {"path": "/memories/d/kept.md"}),
    ("create", {"path": "/memories/d/x.md", "text": "ours"}),
    ("create", {"path": "/memories/d/e/f/x.md", "text": "ours"}),
    ("delete", {"path": "/memories/d"}),
    ("delete", {"path": "/memories/d/kept.md"}),
    ("rename", {"oldPath": A, "newPath": "/memories/d/x.md"}),
    ("rename", {"oldPath": "/memories/n", "newPath": "/memories/d"}),
]


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES.keys())
def test_what_is_no_directory_is_not_entered(obstacle: Obstacle, folder: Path, outside: Path) -> None:
    obstacle(folder / "d", outside)
    before = picture(outside)
    memory, _ = open_folder(folder)
    with memory:
        must(memory, "create", path="/memories/n/x.md", text="x")
        for command, fields in DIRECTORY_COMMANDS:
            error = failure(memory, command, **fields)
            assert error.code is ErrorCode.UNSAFE_STORAGE, (command, fields, error)
        assert texts(memory) == {A: "first", "/memories/n/x.md": "x"}
    assert picture(outside) == before


def test_a_directory_of_other_things_is_in_the_way_of_a_file(folder: Path) -> None:
    (folder / "b.md").mkdir()
    (folder / "b.md" / "picture.png").write_text("x")
    memory, _ = open_folder(folder)
    with memory:
        assert failure(memory, "create", path=B, text="x").code is ErrorCode.UNSAFE_STORAGE
        assert failure(memory, "rename", oldPath=A, newPath=B).code is ErrorCode.UNSAFE_STORAGE
        assert files_in(folder) == {"a.md": "first", "b.md/picture.png": "x"}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES.keys())
@pytest.mark.parametrize("name", [".meta", ".meta/staged", ".meta/memfs.db", ".meta/memfs.lock"])
def test_what_is_in_the_way_of_our_own_files_is_no_store(
    name: str, obstacle: Obstacle, folder: Path, outside: Path
) -> None:
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    obstacle(place, outside)
    before, outside_before = place.lstat(), picture(outside)
    with pytest.raises(OpenError) as refused:
        open_with(f"directory:{folder}", SCOPE, {})
    assert refused.value.error.code in (ErrorCode.UNSAFE_STORAGE, ErrorCode.STORAGE_ERROR)
    assert f"{folder}/.meta" in refused.value.error.message
    assert "/proc/" not in refused.value.error.message
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert picture(outside) == outside_before
    assert (folder / "a.md").read_text() == "first"


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES.keys())
@pytest.mark.parametrize("name", [".meta/index.json", ".meta/memfs.notices"])
def test_what_is_in_the_way_of_what_can_be_done_without_is_left_as_it_is(
    name: str, obstacle: Obstacle, folder: Path, outside: Path
) -> None:
    (folder / ".meta").mkdir()
    obstacle(folder / name, outside)
    before, outside_before = (folder / name).lstat(), picture(outside)
    memory, _ = open_folder(folder)
    with memory:
        must(memory, "create", path=A, text="second")
        memory.maintain()
    assert (folder / name).lstat().st_ino == before.st_ino
    assert picture(outside) == outside_before
    assert (folder / "a.md").read_text() == "second"


def test_a_link_in_the_place_of_the_folder_is_followed_by_who_opens_it_by_url_only(
    folder: Path, outside: Path
) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    with pytest.raises(StoreError):
        open_folder(link)
    with open_with(f"directory:{link}", SCOPE, {}) as memory:  # a person's own link: resolved once
        assert texts(memory) == {A: "first"}
