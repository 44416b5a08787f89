"""Scratch files are files like any other, within their limits; they are never stored, and they persist."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path

import pytest

from memfs.mount.scratch_area import MAX_FILE_BYTES, MAX_TOTAL_BYTES
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import errno_of, open_fd

SWAP = ".notes.md.swp"


def test_an_exclusive_creation_fails_while_the_name_is_taken(here: Path) -> None:
    """TritonDataCenter/manta-nfs#14: vim found a phantom swap file at every open."""
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    for _ in range(3):
        with open_fd(here / SWAP, flags):
            assert errno_of(lambda: os.open(here / SWAP, flags)) == errno.EEXIST
        os.unlink(here / SWAP)


def test_it_is_written_and_read_at_any_place(here: Path) -> None:
    """GDriveFS#194: vim could not close its swap file, which it writes block by block in any order."""
    with open_fd(here / SWAP, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600) as fd:
        os.pwrite(fd, b"last", 8192)
        os.pwrite(fd, b"first", 0)
        os.pwrite(fd, b"mid", 4096)
        assert os.pread(fd, 5, 0) + os.pread(fd, 4, 4096) + os.pread(fd, 4, 8192) == b"firstmid\0last"
        os.fsync(fd)
        os.ftruncate(fd, 4098)
        assert os.fstat(fd).st_size == 4098
    assert (here / SWAP).read_bytes()[4090:] == bytes(6) + b"mi"


def test_it_has_the_mode_that_was_asked_for(here: Path) -> None:
    with open_fd(here / SWAP, os.O_CREAT | os.O_WRONLY, 0o600) as fd:
        assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o600
        os.fchmod(fd, 0o640)
    assert stat.S_IMODE((here / SWAP).stat().st_mode) == 0o640


def test_it_is_renamed_while_it_is_open(here: Path) -> None:
    with open_fd(here / "tmpaaaaaaaa", os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, b"one ")
        (here / "tmpaaaaaaaa").rename(here / "notes.md~")
        os.write(fd, b"two")
        assert (here / "notes.md~").read_bytes() == b"one two"
    assert [path.name for path in here.iterdir()] == ["notes.md~"]


def test_it_is_readable_after_its_name_has_gone(here: Path) -> None:
    with open_fd(here / "tmpaaaaaaaa", os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, b"still here")
        os.unlink(here / "tmpaaaaaaaa")
        os.pwrite(fd, b"S", 0)
        assert os.pread(fd, 20, 0) == b"Still here"
    assert list(here.iterdir()) == []


def test_it_can_be_mapped(here: Path) -> None:
    with open_fd(here / SWAP, os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, bytes(8192))
        with mmap.mmap(fd, 8192) as mapped:
            mapped[4096:4101] = b"hello"
            mapped.flush()
        assert os.pread(fd, 5, 4096) == b"hello"
    assert (here / SWAP).read_bytes()[4096:4101] == b"hello"


def test_a_replacement_keeps_nothing_of_the_replaced(here: Path) -> None:
    (here / "notes.md~").write_bytes(b"a long backup of yesterday")
    (here / "tmpaaaaaaaa").write_bytes(b"short")
    (here / "tmpaaaaaaaa").rename(here / "notes.md~")
    assert (here / "notes.md~").read_bytes() == b"short"


@pytest.mark.parametrize("target", ["somebody@machine.4242:1234567890", "../../outside", "notes.md"])
def test_a_links_target_is_opaque(target: str, here: Path) -> None:
    """Emacs' locks lead nowhere (keybase/client#2056: an error for them kept emacs from saving)."""
    os.symlink(target, here / ".#notes.md")
    assert os.readlink(here / ".#notes.md") == target
    assert errno_of(lambda: os.symlink(target, here / ".#notes.md")) == errno.EEXIST
    os.rename(here / ".#notes.md", here / ".#other.md")
    assert os.readlink(here / ".#other.md") == target


@pytest.mark.parametrize("name", ["notes.md", "photo.png", "link"])
def test_nothing_but_scratch_is_a_link(name: str, here: Path) -> None:
    assert errno_of(lambda: os.symlink("anywhere", here / name)) == errno.EPERM


def test_a_link_never_becomes_a_memory(here: Path) -> None:
    os.symlink("anywhere", here / ".#notes.md")
    assert errno_of(lambda: os.rename(here / ".#notes.md", here / "notes.md")) == errno.EPERM


@pytest.mark.parametrize("name", [".~tmp~", ".sb-1a2b3c4d-AbCdEf", ".obsidian", ".vscode", ".idea"])
def test_everything_in_a_scratch_directory_is_scratch(name: str, shared: Editing, here: Path) -> None:
    place = here / name
    (place / "deeper").mkdir(parents=True)
    for inside in ("notes.md", "photo.png", "no name at all", "deeper/settings.json"):
        (place / inside).write_bytes(b"\xff")
    os.symlink("notes.md", place / "a link")
    assert shared.changes() == []
    (place / "deeper/settings.json").unlink()
    (place / "deeper").rmdir()
    assert errno_of(place.rmdir) == errno.ENOTEMPTY


def test_a_scratch_directorys_file_becomes_a_memory_where_it_is_moved_to(shared: Editing, here: Path) -> None:
    (here / ".~tmp~").mkdir()
    (here / ".~tmp~/notes.md").write_text("delayed\n")
    (here / ".~tmp~/notes.md").rename(here / "notes.md")
    assert shared.stored()[f"{here.name}/notes.md"] == "delayed\n"


def test_one_file_has_a_limit(here: Path) -> None:
    with open_fd(here / SWAP, os.O_CREAT | os.O_WRONLY) as fd:
        assert os.pwrite(fd, b"x", MAX_FILE_BYTES - 1) == 1
        assert errno_of(lambda: os.pwrite(fd, b"x", MAX_FILE_BYTES)) == errno.ENOSPC
        assert errno_of(lambda: os.ftruncate(fd, MAX_FILE_BYTES + 1)) == errno.ENOSPC
        assert os.fstat(fd).st_size == MAX_FILE_BYTES


@pytest.mark.slow
def test_all_together_have_a_limit_which_what_goes_leaves_room_in(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": "old\n"})
    for number in range(MAX_TOTAL_BYTES // MAX_FILE_BYTES):
        (mount.path / f"{number}.tmp").write_bytes(bytes(MAX_FILE_BYTES))
    assert errno_of(lambda: (mount.path / "more.tmp").write_bytes(b"x")) == errno.ENOSPC
    assert errno_of(lambda: (mount.path / "notes.md").rename(mount.path / "notes.md~")) == errno.ENOSPC
    assert (mount.path / "notes.md").read_text() == "old\n"
    (mount.path / "notes.md").write_text("memories have their own room\n")
    (mount.path / "3.tmp").unlink()
    (mount.path / "4.tmp").write_bytes(b"")
    (mount.path / "more.tmp").write_bytes(bytes(MAX_FILE_BYTES))
    mount.remount()
    (mount.path / "last.tmp").write_bytes(bytes(MAX_FILE_BYTES))
    assert errno_of(lambda: (mount.path / "over.tmp").write_bytes(b"x")) == errno.ENOSPC


@pytest.mark.slow
@pytest.mark.parametrize("end", ["unmount", "crash"])
def test_it_is_there_again_after(end: str, editing: MakeEditing) -> None:
    mount = editing()
    fd = os.open(mount.path / SWAP, os.O_CREAT | os.O_RDWR, 0o600)
    os.pwrite(fd, b"b0VIM", 0)
    os.pwrite(fd, b"block", 4096)
    if end == "crash":
        mount.kill()
        assert errno_of(lambda: os.close(fd)) == errno.ENOTCONN
        mount.start()
    else:
        os.close(fd)
        mount.remount()
    swap = mount.path / SWAP
    assert swap.read_bytes() == b"b0VIM" + bytes(4091) + b"block"
    assert stat.S_IMODE(swap.stat().st_mode) == 0o600
    swap.unlink()
    mount.remount()
    assert mount.listing() == set()
    assert mount.scratch() == []


@pytest.mark.slow
def test_directories_links_and_odd_names_are_there_again(editing: MakeEditing) -> None:
    mount = editing()
    (mount.path / "below").mkdir()
    (mount.path / ".obsidian/plugins").mkdir(parents=True)
    (mount.path / ".obsidian/plugins/data.json").write_bytes(b"{}")
    (mount.path / "below/notes.md~").write_bytes(b"a backup")
    Path(os.fsdecode(bytes(mount.path) + b"/caf\xe9.md~")).write_bytes(b"odd")
    os.symlink("caf\udce9", mount.path / ".obsidian/link")
    before = mount.listing()
    mount.remount()
    assert mount.listing() == before
    assert (mount.path / ".obsidian/plugins/data.json").read_bytes() == b"{}"
    assert (mount.path / "below/notes.md~").read_bytes() == b"a backup"
    assert os.readlink(mount.path / ".obsidian/link") == "caf\udce9"
    assert mount.stored() == {}


@pytest.mark.slow
def test_the_bytes_are_private(editing: MakeEditing) -> None:
    mount = editing()
    (mount.path / "notes.md~").write_bytes(b"secret")
    for path in (mount.state / "scratch", *(mount.state / "scratch").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
