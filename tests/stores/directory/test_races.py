"""Somebody who swaps what is in the folder for links to elsewhere, as fast as they can, while we work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode, OpenError, StoreError
from tests.harness import must
from tests.stores.directory.harness import OURS, eventually, open_folder, told
from tests.workspace.test_races import swapping, unseen

A, D = "/memories/a.md", "/memories/d/x.md"
ROUNDS = 150


@pytest.fixture
def outside(fast_path: Path) -> Path:
    path = fast_path / "outside"
    path.mkdir()
    for name in ("a.md", "x.md", "memfs.db", "memfs.lock", "index.json"):
        (path / name).write_text("kept")
    (path / "staged").mkdir()
    return path


@pytest.mark.slow
def test_a_directory_swapped_for_a_link_leads_nowhere(fast_path: Path, outside: Path) -> None:
    folder = fast_path / "folder"
    memory, _ = open_folder(folder)
    with memory:
        must(memory, "create", path=D, text="first")
        decoy = fast_path / "decoy"
        decoy.symlink_to(outside)
        answers = set()
        with unseen(outside), swapping(folder / "d", decoy):
            for number in range(ROUNDS):
                for command in (
                    {"command": "create", "path": D, "text": str(number)},
                    {"command": "create", "path": f"/memories/d/{number}.md", "text": "x"},
                    {"command": "rename", "oldPath": D, "newPath": "/memories/d/y.md"},
                    {"command": "rename", "oldPath": "/memories/d/y.md", "newPath": D},
                    {"command": "view", "path": D},
                    {"command": "delete", "path": f"/memories/d/{number}.md"},
                ):
                    result = memory.execute(command)
                    answers.add("ok" if result.error is None else result.error.code)
        assert "ok" in answers
        assert answers <= {
            "ok",
            ErrorCode.UNSAFE_STORAGE,
            ErrorCode.NOT_FOUND,
            ErrorCode.ALREADY_EXISTS,
            ErrorCode.CONFLICT,
        }


def test_a_file_swapped_for_a_link_is_not_written_through(fast_path: Path, outside: Path) -> None:
    folder = fast_path / "folder"
    memory, _ = open_folder(folder)
    with memory:
        must(memory, "create", path=A, text="first")
        decoy = fast_path / "decoy"
        decoy.symlink_to(outside / "a.md")
        with unseen(outside), swapping(folder / "a.md", decoy):
            for number in range(ROUNDS):
                memory.execute({"command": "create", "path": A, "text": str(number)})


@pytest.mark.parametrize("place", [".meta", ".meta/staged"])
def test_our_own_directory_swapped_for_a_link_leads_nowhere(
    fast_path: Path, outside: Path, place: str
) -> None:
    folder = fast_path / "folder"
    open_folder(folder)[0].close()
    decoy = fast_path / "decoy"
    decoy.symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.iterdir() if path.is_file()}
    with swapping(folder / place, decoy):
        for number in range(ROUNDS // 3):
            try:
                memory, _ = open_folder(folder)
            except (StoreError, OpenError):
                continue
            with memory:
                memory.execute({"command": "create", "path": A, "text": str(number)})
    assert {path: path.read_bytes() for path in outside.iterdir() if path.is_file()} == before
    assert os.listdir(outside / "staged") == []


# Replaces a file by rename as fast as it can, each time with another text.
REPLACER = """
import os, sys
place, count, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print("begun", flush=True)
for number in range(count):
    with open(place + ".tmp", "w") as file:
        file.write(f"theirs {name} {number:06d}")
    os.rename(place + ".tmp", place)
"""


def test_a_version_that_somebody_puts_there_in_the_same_instant_is_kept(fast_path: Path) -> None:
    """Whatever the two of us do at once: what they saved last is in the folder, or in the history."""
    from tests.stores.harness import start_python

    folder = fast_path / "folder"
    memory, store = open_folder(folder)
    with memory:
        must(memory, "create", path=A, text="ours")
        for again in range(15):
            with start_python(REPLACER, str(folder / "a.md"), "40", str(again)) as replacer:
                assert replacer.stdout is not None
                replacer.stdout.readline()
                number = 0
                while replacer.poll() is None:
                    must(memory, "create", path=A, text=f"ours {number}")
                    number += 1
            last = f"theirs {again} 000039"
            eventually(lambda: must(memory, "view", path=A).text, (folder / "a.md").read_text())
            newest = []
            for record in store.history():
                newest.append(store.read(record.id, record.version).decode())
                if newest[-1] == last:
                    break
            # After the last of theirs only ours may come.
            assert newest[-1] == last
            assert all(text.startswith("ours") for text in newest[:-1])
        assert {actor for _, _, actor in told(store)} > {OURS}
