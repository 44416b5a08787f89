"""Joining: a deletion or an emptying, and what the same program writes there next, are one save."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.looks import text_of
from tests.mount.harness import errno_of, eventually, in_another_process, open_fd, run

OLD, NEW = "the old line\n", "the new line\n"


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount with one memory; what belongs together does so for as long as a machine may take."""
    return editing(files={"notes.md": OLD}, constants={"memfs.mount.saves:JOIN_SECONDS": 600.0})


@pytest.fixture
def memory(mount: Editing) -> Path:
    return mount.path / "notes.md"


def changes(mount: Editing) -> list[tuple[str, int]]:
    return [(change.operation, change.id) for change in mount.changes()]


def test_unlink_and_create_are_one_change(mount: Editing, memory: Path) -> None:
    """openai/codex#34515: Delete and Add of one path; docker/for-win#12775: git checkout."""
    before = mount.id_of("notes.md")
    memory.unlink()
    assert mount.stored() == {}, "the port sees at once what rm did"
    memory.write_text(NEW)
    assert changes(mount) == [("modified", before)]
    assert mount.stored() == {"notes.md": NEW}


@pytest.mark.slow
@pytest.mark.parametrize("create", ["O_EXCL", "replacement"])
def test_however_the_new_file_comes(create: str, mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    temporary = mount.path / "notes.md.tmp"
    temporary.write_text(NEW)
    memory.unlink()
    if create == "replacement":
        temporary.rename(memory)
    else:
        with open_fd(memory, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as fd:
            os.write(fd, NEW.encode())
    assert changes(mount) == [("modified", before)]


def test_two_programs_make_two_changes(mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    run("rm", memory)
    memory.write_text(NEW)
    (first, deleted), (second, created) = changes(mount)
    assert (first, second, deleted) == ("deleted", "created", before)
    assert created != before


@pytest.mark.slow
def test_two_runs_of_one_program_make_two_changes(mount: Editing, memory: Path) -> None:
    remove = "import os, sys; os.unlink(sys.argv[1])"
    create = "import sys; open(sys.argv[1], 'w').write('the new line\\n')"
    in_another_process(remove, str(memory))
    in_another_process(create, str(memory))
    assert [operation for operation, _ in changes(mount)] == ["deleted", "created"]


def test_the_threads_of_a_program_are_one_program(mount: Editing, memory: Path) -> None:
    """node, Java and trio remove with one thread and write with another."""
    code = """
import os, sys, threading
def step(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()
step(os.unlink, sys.argv[1])
step(lambda: open(sys.argv[1], 'w').write('the new line\\n'))
"""
    before = mount.id_of("notes.md")
    in_another_process(code, str(memory))
    assert changes(mount) == [("modified", before)]


@pytest.mark.slow
def test_after_two_seconds_it_is_another_memory(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD}, constants={"memfs.mount.saves:JOIN_SECONDS": 0.0})
    (mount.path / "notes.md").unlink()
    (mount.path / "notes.md").write_text(NEW)
    assert [operation for operation, _ in changes(mount)] == ["deleted", "created"]


def test_an_emptying_and_the_content_are_one_change(mount: Editing, memory: Path) -> None:
    """As l3afpad saves, and ``: >notes.md; echo … >>notes.md`` in one shell."""
    before = mount.id_of("notes.md")
    os.close(os.open(memory, os.O_WRONLY | os.O_TRUNC))
    eventually(mount.stored, {"notes.md": ""})
    with open_fd(memory, os.O_WRONLY | os.O_APPEND) as fd:
        os.write(fd, NEW.encode())
    assert changes(mount) == [("modified", before)]
    assert mount.versions_of("notes.md") == [OLD, "", NEW]


@pytest.mark.slow
def test_a_touch_and_the_content_are_one_creation(mount: Editing) -> None:
    os.close(os.open(mount.path / "new.md", os.O_WRONLY | os.O_CREAT))
    eventually(lambda: mount.stored().get("new.md"), "")
    (mount.path / "new.md").write_text(NEW)
    eventually(lambda: mount.stored().get("new.md"), NEW)
    assert [operation for operation, _ in changes(mount)] == ["created"]


@pytest.mark.slow
def test_an_empty_file_that_stays_empty_is_one_change(mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    os.truncate(memory, 0)
    eventually(mount.stored, {"notes.md": ""})
    assert changes(mount) == [("modified", before)]


@pytest.mark.parametrize("fault", ["too large", "no text"])
def test_a_refused_second_half_brings_the_old_memory_back(fault: str, mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    memory.unlink()
    data = b"x" * 70_000 if fault == "too large" else b"\xff\xfe"
    assert errno_of(lambda: memory.write_bytes(data)) == (errno.EFBIG if len(data) > 9 else errno.EILSEQ)
    eventually(lambda: text_of(memory), OLD)
    assert mount.stored() == {"notes.md": OLD}
    assert changes(mount) == [("restored", before)]
    assert len(mount.rejected()) == 1


@pytest.mark.slow
def test_a_program_that_cleans_up_after_a_refusal_does_not_remove_the_memory(
    mount: Editing, memory: Path
) -> None:
    """libuv's copy, and so fs-extra's move: it removes what it could not write as a whole."""
    before = mount.id_of("notes.md")
    memory.unlink()
    fd = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
    memory.unlink()
    assert errno_of(lambda: os.close(fd)) == errno.EILSEQ
    eventually(lambda: text_of(memory), OLD)
    assert changes(mount) == [("restored", before)]


def test_a_removal_of_what_the_kernel_has_not_seen_finds_nothing(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD}, slow_notices=1.0)
    memory = mount.path / "notes.md"
    memory.unlink()
    fd = os.open(memory, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert errno_of(lambda: os.write(fd, b"\xff")) == errno.EILSEQ
    assert errno_of(lambda: os.close(fd)) == errno.EILSEQ
    eventually(mount.stored, {"notes.md": OLD})
    assert errno_of(memory.unlink) == errno.ENOENT
    eventually(lambda: text_of(memory), OLD)
    memory.unlink()
    assert mount.stored() == {}


@pytest.mark.slow
def test_the_refused_second_half_of_another_program_brings_nothing_back(mount: Editing, memory: Path) -> None:
    run("rm", memory)
    assert errno_of(lambda: memory.write_bytes(b"x" * 70_000)) == errno.EFBIG
    eventually(memory.exists, False)
    assert mount.stored() == {}
    assert [operation for operation, _ in changes(mount)] == ["deleted"]


@pytest.mark.slow
def test_a_save_after_the_one_that_was_refused_carries_the_memory_on(mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    memory.unlink()
    assert errno_of(lambda: memory.write_bytes(b"x" * 70_000)) == errno.EFBIG
    eventually(mount.stored, {"notes.md": OLD})
    eventually(memory.exists)
    memory.unlink()
    memory.write_text(NEW)
    assert {key for _, key in changes(mount)} == {before}
    assert mount.stored() == {"notes.md": NEW}


@pytest.mark.slow
def test_a_third_partys_write_in_between_is_not_joined_over(mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    memory.unlink()
    mount.execute("create", path="/memories/notes.md", text="by another\n")
    eventually(memory.exists)
    memory.write_text(NEW)
    eventually(mount.stored, {"notes.md": NEW})
    (first, deleted), (second, created), (third, modified) = changes(mount)
    assert (first, second, third) == ("deleted", "created", "modified")
    assert deleted == before
    assert modified == created != before


@pytest.mark.slow
def test_a_third_partys_write_to_what_was_emptied_is_kept(mount: Editing, memory: Path) -> None:
    os.truncate(memory, 0)
    eventually(mount.stored, {"notes.md": ""})
    mount.execute("create", path="/memories/notes.md", text="by another\n")
    eventually(memory.read_text, "by another\n")
    memory.write_text(NEW)
    eventually(mount.stored, {"notes.md": NEW})
    assert [operation for operation, _ in changes(mount)] == ["modified"] * 3
    assert mount.versions_of("notes.md") == [OLD, "", "by another\n", NEW]


@pytest.mark.slow
def test_another_name_is_another_memory(mount: Editing, memory: Path) -> None:
    memory.unlink()
    (mount.path / "other.md").write_text(NEW)
    assert [operation for operation, _ in changes(mount)] == ["deleted", "created"]


@pytest.mark.slow
def test_a_loop_of_saves_stays_one_memory(mount: Editing, memory: Path) -> None:
    before = mount.id_of("notes.md")
    for number in range(5):
        memory.unlink()
        memory.write_text(f"{number}\n")
    assert changes(mount) == [("modified", before)] * 5
    memory.unlink()
    assert changes(mount) == [("modified", before)] * 5 + [("deleted", before)]


def test_a_shells_redirection_never_stores_the_empty_version(mount: Editing, memory: Path) -> None:
    """libfuse#625 and s3fs-fuse#427: FLUSH comes before WRITE."""
    run("sh", "-c", f"echo one >{memory}; echo two >>{memory}")
    assert mount.versions_of("notes.md") == [OLD, "one\n", "one\ntwo\n"]


@pytest.mark.slow
def test_what_a_crash_leaves_in_between_is_in_the_history(mount: Editing, memory: Path) -> None:
    memory.unlink()
    mount.kill()
    assert mount.stored() == {}
    assert mount.versions_of("notes.md") == [OLD]
    mount.start()
    run(sys.executable, "-c", f"open({str(memory)!r}, 'w').write('x')")
    assert mount.stored() == {"notes.md": "x"}
