"""Other programs at work in the folder: what they did is seen, kept by content, and named as theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inotify_simple import INotify

from memfs import Memory
from memfs.port.errors import ErrorCode
from memfs.stores.directory import DirectoryStore, aside, dirt
from memfs.stores.directory.placement import Placement
from tests.harness import must, texts
from tests.stores.directory.harness import GENEROUS, OURS, THEIRS, eventually, files_in, open_folder, told
from tests.stores.harness import start_python

A, B, C = (f"/memories/{name}.md" for name in "abc")


@pytest.fixture
def opened(fast_path: Path) -> Iterator[tuple[Memory, DirectoryStore]]:
    """A memory of a.md and b.md, both written through it."""
    memory, store = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        must(memory, "create", path=B, text="second")
        yield memory, store


def save_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def save_by_replacement(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text)
    temporary.rename(path)


def save_with_backup(path: Path, text: str) -> None:
    """As vim does."""
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)
    path.with_name(f"{path.name}~").unlink()


def save_by_deletion(path: Path, text: str) -> None:
    """As git does."""
    path.unlink()
    path.write_text(text)


SAVES = [save_in_place, save_by_replacement, save_with_backup, save_by_deletion]


@pytest.mark.parametrize("save", SAVES)
def test_a_save_is_one_modified_version_of_the_same_memory(
    save: Any, opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    before = memory.snapshot().file(A)
    texts(memory)
    save(fast_path / "a.md", "theirs")
    eventually(lambda: texts(memory), {A: "theirs", B: "second"})
    assert told(store)[2:] == [("modified", A, THEIRS)]
    after = memory.snapshot().file(A)
    assert before is not None
    assert after is not None
    assert after.id == before.id
    assert store.read(before.id, before.content) == b"first"


@pytest.mark.parametrize("save", SAVES)
def test_a_save_while_nobody_looked_is_found_when_the_folder_is_opened(save: Any, fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
    save(fast_path / "a.md", "other")  # of the same length
    memory, store = open_folder(fast_path)
    with memory:
        assert texts(memory) == {A: "other"}
        assert told(store) == [("created", A, OURS), ("modified", A, THEIRS)]


def test_an_edit_that_no_clock_can_tell_is_found_by_content(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        time_ns = (fast_path / "a.md").stat().st_mtime_ns
        descriptor = os.open(fast_path / "a.md", os.O_WRONLY)
        os.write(descriptor, b"theirs"[:5])
        os.utime(descriptor, ns=(time_ns, time_ns))
        os.close(descriptor)
    memory, _ = open_folder(fast_path)
    with memory:
        assert texts(memory) == {A: "their"}


def test_new_files_gone_files_and_renamed_ones_are_seen(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    texts(memory)
    (fast_path / "c.md").write_text("third")
    eventually(lambda: sorted(texts(memory)), [A, B, C])
    (fast_path / "a.md").unlink()
    eventually(lambda: sorted(texts(memory)), [B, C])
    (fast_path / "b.md").rename(fast_path / "d.md")
    eventually(lambda: sorted(texts(memory)), [C, "/memories/d.md"])
    assert told(store)[2:] == [
        ("created", C, THEIRS),
        ("deleted", A, THEIRS),
        ("renamed", "/memories/d.md", THEIRS),
    ]


def test_a_directory_that_was_renamed_or_made_is_seen_with_all_in_it(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    must(memory, "create", path="/memories/d/e/x.md", text="x")
    texts(memory)
    (fast_path / "d").rename(fast_path / "f")
    eventually(lambda: sorted(texts(memory)), [A, B, "/memories/f/e/x.md"])
    assert told(store)[-1] == ("renamed", "/memories/f/e/x.md", THEIRS)
    (fast_path / "f/e/y.md").write_text("in a directory that was renamed")
    eventually(lambda: len(texts(memory)), 4)
    (fast_path / "g/h").mkdir(parents=True)
    (fast_path / "g/h/z.md").write_text("z")
    eventually(lambda: len(texts(memory)), 5)
    shutil.rmtree(fast_path / "f")
    eventually(lambda: sorted(texts(memory)), [A, B, "/memories/g/h/z.md"])


def test_a_file_and_a_directory_may_change_places(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, _ = opened
    texts(memory)
    (fast_path / "a.md").unlink()
    (fast_path / "a.md").mkdir()
    (fast_path / "a.md/x.md").write_text("below")
    eventually(lambda: texts(memory), {"/memories/a.md/x.md": "below", B: "second"})
    shutil.rmtree(fast_path / "a.md")
    (fast_path / "a.md").write_text("again")
    eventually(lambda: texts(memory), {A: "again", B: "second"})


def test_a_command_keeps_the_version_that_somebody_put_there_first(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    (fast_path / "a.md").write_text("theirs, first")
    must(memory, "create", path=A, text="ours")
    contents = [
        store.read(record.id, record.version)
        for record in store.history(newest_first=False)
        if record.path == A
    ]
    assert contents == [b"first", b"theirs, first", b"ours"]
    (fast_path / "a.md").write_text("line one\n")
    must(memory, "insert", path=A, insertLine=1, text="line two")
    assert files_in(fast_path)["a.md"] == "line one\nline two\n"
    (fast_path / "b.md").unlink()
    (fast_path / "a.md").rename(fast_path / "c.md")
    must(memory, "create", path=B, text="new")
    eventually(lambda: texts(memory), {B: "new", C: "line one\nline two\n"})


def test_a_file_with_another_extension_that_comes_and_goes_is_no_memory(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    texts(memory)
    (fast_path / "a.md.tmp").write_text("theirs")
    (fast_path / "b.md").write_text("theirs too")
    eventually(lambda: texts(memory), {A: "first", B: "theirs too"})
    eventually(lambda: texts(memory) and store.report()["unnamed"], 1)
    (fast_path / "a.md.tmp").unlink()
    eventually(lambda: texts(memory) and store.report()["unnamed"], 0)
    assert told(store)[2:] == [("modified", B, THEIRS)]


def test_a_touch_makes_no_version(opened: tuple[Memory, DirectoryStore], fast_path: Path) -> None:
    memory, store = opened
    texts(memory)
    os.utime(fast_path / "a.md")
    (fast_path / "a.md").chmod(0o640)
    time.sleep(2 * dirt.SETTLE)
    assert texts(memory) == {A: "first", B: "second"}
    assert len(told(store)) == 2


def test_changes_of_our_own_make_no_versions_of_theirs(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, store = opened
    for number in range(20):
        must(memory, "create", path=A, text=str(number))
        must(memory, "rename", oldPath=A, newPath=f"/memories/n/{number}.md")
        must(memory, "rename", oldPath=f"/memories/n/{number}.md", newPath=A)
    time.sleep(2 * dirt.SETTLE)
    texts(memory)
    assert {actor for _, _, actor in told(store)} == {OURS}


def test_a_watch_tells_of_an_edit(opened: tuple[Memory, DirectoryStore], fast_path: Path) -> None:
    memory, _ = opened
    seen = threading.Event()

    def notify() -> None:
        memory.catch_up()
        if memory.snapshot().file(C) is not None:
            seen.set()

    watch = memory.watch(notify)
    try:
        (fast_path / "c.md").write_text("third")
        assert seen.wait(GENEROUS)
    finally:
        watch.close()


@pytest.mark.parametrize("name", ["b.md", ".elsewhere"])
def test_a_file_that_loses_its_further_names_is_seen_again(fast_path: Path, name: str) -> None:
    memory, _ = open_folder(fast_path)

    def notify() -> None:
        memory.catch_up()

    with memory:
        watch = memory.watch(notify)
        try:
            for text in ("first", "second"):
                (fast_path / "c.md").write_text(text)
                (fast_path / name).hardlink_to(fast_path / "c.md")
                (fast_path / "c.md").rename(fast_path / "a.md")  # a new name, so that it is looked at
                eventually(lambda: memory.report()["unsafe"], 2 if name == "b.md" else 1)
                assert memory.snapshot().file(A) is None
                (fast_path / name).unlink()
                eventually(lambda: memory.snapshot().file(A) is not None)
                assert texts(memory) == {A: text}
                (fast_path / "a.md").unlink()
                eventually(lambda: memory.snapshot().file(A) is None)
        finally:
            watch.close()


def test_a_log_that_is_held_open_is_seen_as_it_grows(
    opened: tuple[Memory, DirectoryStore], fast_path: Path
) -> None:
    memory, _ = opened
    texts(memory)
    with (fast_path / "log.md").open("w") as log:
        for number in range(3):
            log.write(f"line {number}\n")
            log.flush()
            eventually(lambda: texts(memory).get("/memories/log.md"), (fast_path / "log.md").read_text())


def test_without_inotify_the_folder_is_compared(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "no watches left")

    monkeypatch.setattr(INotify, "add_watch", refuse)
    monkeypatch.setattr(dirt, "POLL_SECONDS", 0.05)
    memory, _ = open_folder(fast_path)
    with memory:

        def notify() -> None:
            memory.catch_up()

        watch = memory.watch(notify)
        (fast_path / "c.md").write_text("third")
        eventually(lambda: memory.snapshot().file(C) is not None)
        watch.close()
    assert "max_user_watches" in caplog.text


EDITOR = """
import sys, time
print("begun", flush=True)
for number in range(int(sys.argv[2])):
    with open(sys.argv[1]) as file:
        text = file.read()
    with open(sys.argv[1], "w") as file:
        file.write(text + f"theirs {number}\\n")
    time.sleep(0.002)
"""


def test_every_state_that_an_editor_left_is_a_version_or_is_still_there(fast_path: Path) -> None:
    """Somebody appends by rewriting in place, we by command: no line of theirs or of ours is lost.

    Each state of theirs has the lines of the one before, unless we replaced that in between; so each line
    is in a version, in the file, or in what was put aside because a writer came too late.
    """
    memory, store = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="")
        with start_python(EDITOR, str(fast_path / "a.md"), "200") as editor:
            assert editor.stdout is not None
            editor.stdout.readline()
            ours: list[str] = []
            number = 0
            while editor.poll() is None:
                line = f"ours {number}"
                result = memory.execute({"command": "insert", "path": A, "insertLine": 0, "text": line})
                if result.error is None:
                    ours.append(line)
                else:  # an editor that is always quicker
                    assert result.error.code is ErrorCode.CONFLICT, result.error
                number += 1
        eventually(lambda: texts(memory)[A], (fast_path / "a.md").read_text())
        seen = [store.read(record.id, record.version).decode() for record in store.history()]
        seen += [path.read_text() for path in (fast_path / ".meta/staged").iterdir()]
        lines = {line for text in seen for line in text.splitlines()}
        assert number > 0
        assert [line for line in ours if line not in lines] == []
        assert [line for line in (f"theirs {number}" for number in range(200)) if line not in lines] == []


def test_what_a_program_writes_into_a_file_that_was_replaced_meanwhile_is_kept(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        with (fast_path / "a.md").open("a") as held:
            must(memory, "create", path=A, text="ours")
            held.write(" and theirs, late")
        assert files_in(fast_path) == {"a.md": "ours"}
    memory, _ = open_folder(fast_path)
    with memory:
        assert texts(memory) == {A: "ours"}
        (kept,) = (fast_path / ".meta/staged").iterdir()
        assert kept.read_text() == "first and theirs, late"


@pytest.mark.slow
def test_two_processes_and_an_editor_agree_in_the_end(fast_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.harness import must
from tests.stores.directory.harness import open_folder
memory, _ = open_folder(Path(sys.argv[1]))
for number in range(30):
    must(memory, "create", path=f"/memories/{sys.argv[2]}/{number}.md", text=sys.argv[2])
memory.close()
"""
    memory, store = open_folder(fast_path)
    with memory:
        writers = [start_python(code, str(fast_path), name) for name in ("one", "two")]
        (fast_path / "three").mkdir()
        for number in range(30):
            (fast_path / f"three/{number}.md").write_text("three")
        assert [writer.wait(60) for writer in writers] == [0, 0]
        for writer in writers:
            writer.communicate()
        eventually(lambda: len(texts(memory)), 90)
        assert files_in(fast_path) == {path[10:]: text for path, text in texts(memory).items()}
        theirs = {path for _, path, actor in told(store) if actor == THEIRS}
        assert theirs == {f"/memories/three/{number}.md" for number in range(30)}


def test_a_tree_that_git_checks_out_is_taken_in(fast_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("machine: no git")

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=fast_path, check=True, capture_output=True)

    (fast_path / "a.md").write_text("first")
    git("init", "-q")
    git("add", "a.md")
    git("commit", "-qm", "one")
    (fast_path / "a.md").write_text("second")
    (fast_path / "b.md").write_text("new")
    git("add", "a.md", "b.md")
    git("commit", "-qm", "two")
    memory, _ = open_folder(fast_path)
    with memory:
        assert texts(memory) == {A: "second", B: "new"}
        git("checkout", "-q", "HEAD~1")
        eventually(lambda: texts(memory), {A: "first"})
        git("checkout", "-q", "-")
        eventually(lambda: texts(memory), {A: "second", B: "new"})


def test_the_topmost_directories_that_are_gone_are_told(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        for name in ("d/e/a.md", "d/b.md", "f/g/a.md", "f/b.md", "h/a.md", "i/a.md"):
            must(memory, "create", path=f"/memories/{name}", text=name)
        since = memory.snapshot().version
    shutil.rmtree(fast_path / "d")
    (fast_path / "f/g").rename(fast_path / "j")
    (fast_path / "h").rename(fast_path / "k")
    (fast_path / "i/a.md").unlink()
    memory, store = open_folder(fast_path)
    with memory:
        commits = store.changes(since)
        assert commits is not None
        [directories] = [commit.change.directories for commit in commits]
    assert sorted(directories) == ["/memories/d", "/memories/f/g", "/memories/h"]


def test_a_directory_that_goes_after_its_files_were_seen_to_go_is_told(fast_path: Path) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        for name in ("d/e/a.md", "f/g/b.md", "h/c.md"):
            must(memory, "create", path=f"/memories/{name}", text=name)
        (fast_path / "kept").mkdir()
        for name in ("d/e/a.md", "f/g/b.md"):
            (fast_path / name).unlink()
        seen: list[str] = []

        def look() -> list[str]:
            seen.extend(path for commit in memory.catch_up() for path in commit.change.directories)
            return sorted(seen)

        eventually(lambda: (look(), sorted(texts(memory))), ([], ["/memories/h/c.md"]))
        (fast_path / "d/e").rmdir()
        (fast_path / "f/g").rmdir()
        (fast_path / "f").rmdir()
        eventually(look, ["/memories/d/e", "/memories/f"])
        (fast_path / "d").rmdir()
        eventually(look, ["/memories/d", "/memories/d/e", "/memories/f"])
        must(memory, "delete", path="/memories/h/c.md")
        assert not (fast_path / "h").exists()
        texts(memory)
        assert look() == ["/memories/d", "/memories/d/e", "/memories/f"], "ours are the doors' own to show"
        assert next(memory.history()).version == memory.snapshot().version


@pytest.mark.parametrize("same_size", [False, True])
def test_what_is_written_into_a_file_that_has_just_got_its_place_is_taken_in(
    fast_path: Path, same_size: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the change takes long after that, because somebody has what it replaced open."""
    memory, store = open_folder(fast_path)
    theirs = "hidden" if same_size else "theirs, longer"
    with memory:
        must(memory, "create", path=A, text="first")
        check = Placement.check

        def checked(self: Placement) -> None:
            monkeypatch.undo()
            (fast_path / "a.md").write_text(theirs)
            time.sleep(0.05)
            check(self)

        monkeypatch.setattr(Placement, "check", checked)
        must(memory, "create", path=A, text="second")
        must(memory, "create", path=A, text="third")
        contents = [store.read(record.id, record.version).decode() for record in store.history()]
    assert contents == ["third", theirs, "second", "first"]


def test_what_is_written_into_a_file_whose_change_is_taken_back_is_kept(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        check = Placement.check

        def checked(self: Placement) -> None:
            monkeypatch.undo()
            (replaced,) = (fast_path / ".meta/staged").glob("new-*")
            replaced.write_text("theirs, into what was there")
            (fast_path / "a.md").write_text("theirs, into what is there")
            check(self)

        monkeypatch.setattr(Placement, "check", checked)
        must(memory, "create", path=A, text="second")
        must(memory, "create", path=A, text="third")
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    memory, store = open_folder(fast_path)
    with memory:
        contents = [store.read(record.id, record.version).decode() for record in store.history()]
        assert contents == ["third", "second", "theirs, into what was there", "first"]
        (kept,) = (fast_path / ".meta/staged").iterdir()
        assert kept.read_text() == "theirs, into what is there"
