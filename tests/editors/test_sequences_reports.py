"""Failures that people have reported of other filesystems, each as the calls that led to it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.editors.looks import text_of
from tests.editors.tools import Tool, prepare
from tests.editors.tools import run as run_tool
from tests.mount.harness import errno_of, eventually, open_fd, run

pytestmark = pytest.mark.slow

OLD, NEW = "the old line\n", "new\n"
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@pytest.fixture
def memory(shared: Editing, here: Path) -> Path:
    """A memory in the test's directory."""
    (here / "notes.md").write_text(OLD)
    shared.mark()
    return here / "notes.md"


def stored(shared: Editing, memory: Path) -> str | None:
    return shared.text(memory)


def operations(shared: Editing) -> list[str]:
    return [change.operation for change in shared.changes()]


@pytest.mark.parametrize("name", [".goutputstream-AB3DE6", "tmpaB3dE6", "notes.md.aB3dE6"])
def test_a_temporary_file_is_renamed_over_a_memory_while_it_is_open(
    name: str, shared: Editing, memory: Path
) -> None:
    """fuse-nio-adapter#8, geany#2577, rclone#2130 and #2079, gcsfuse#2570, azure-storage-fuse#1060,
    archivemount (geany#1774), cryfs#272, borg#3315."""
    with open_fd(memory.parent / name, CREATE) as fd:
        os.write(fd, b"new")
        os.rename(memory.parent / name, memory)
        assert memory.read_text() == "new"
        os.write(fd, b"\n")
    assert memory.read_text() == stored(shared, memory) == NEW
    assert set(operations(shared)) == {"modified"}


def test_a_file_that_was_just_touched_is_replaced(shared: Editing, memory: Path) -> None:
    """seaweedfs#2561: GLib's edit of a touched file lost data."""
    os.utime(memory)
    with open_fd(memory, os.O_RDONLY) as reader:
        (memory.parent / "notes.md.aB3dE6").write_text(NEW)
        (memory.parent / "notes.md.aB3dE6").rename(memory)
        assert os.pread(reader, 100, 0) == OLD.encode()
    assert memory.read_text() == stored(shared, memory) == NEW


def test_what_was_renamed_in_can_be_opened_at_once(memory: Path) -> None:
    """jingkaihe/matchlock#81: ENOENT for a file just renamed."""
    for number in range(20):
        (memory.parent / "notes.md.tmp").write_text(f"{number}\n")
        (memory.parent / "notes.md.tmp").rename(memory)
        assert memory.read_text() == f"{number}\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_new_file_has_the_mode_that_was_asked_for(mode: int, here: Path) -> None:
    """vim#5237 and #5309: E212 where the mode differs."""
    mask = os.umask(0)
    try:
        with open_fd(here / "notes.md", CREATE, mode) as fd:
            assert stat.S_IMODE(os.fstat(fd).st_mode) == mode
            os.write(fd, b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((here / "notes.md").stat().st_mode) == mode


def test_syncs_and_free_space_are_real(memory: Path) -> None:
    """gocryptfs#656, cluefs#5, ouichefs#28 (E667), internxt/drive-desktop-linux#327 (E207, E342)."""
    with open_fd(memory, os.O_WRONLY) as fd:
        os.fsync(fd)
        os.fdatasync(fd)
    with open_fd(memory.parent, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.fsync(fd)
    found = os.statvfs(memory)
    assert found.f_bavail > 0
    assert found.f_ffree > 0
    assert found.f_namemax == 128


def test_swap_files_never_reach_the_store(shared: Editing, memory: Path) -> None:
    """mountpoint-s3#478: vi left swap files of no bytes; neovim#29305: E506 without them."""
    for name in (".notes.md.swp", ".notes.md.swx"):
        with open_fd(memory.parent / name, CREATE):
            pass
    (memory.parent / ".notes.md.swx").unlink()
    assert operations(shared) == []


def test_dangling_locks_are_never_in_the_store(shared: Editing, memory: Path) -> None:
    """ember-cli#6527, flysystem#747: a dangling link broke every scanner."""
    os.symlink("me@here.1", memory.parent / ".#notes.md")
    assert [name for name in shared.stored() if name.startswith(memory.parent.name)] == [
        f"{memory.parent.name}/notes.md"
    ]


def test_a_full_filesystem_does_not_empty_the_file(editing: MakeEditing) -> None:
    """MidnightCommander/mc#4166, vscode#34915 and #36507: ENOSPC left an empty file."""
    mount = editing(files={"notes.md": OLD}, max_total_bytes=1000)
    assert errno_of(lambda: (mount.path / "notes.md").write_bytes(b"x" * 2000)) == errno.EFBIG
    eventually(lambda: text_of(mount.path / "notes.md"), OLD)
    assert mount.versions_of("notes.md") == [OLD]


def test_what_an_editor_reads_first_is_there(memory: Path) -> None:
    """yadayada/acd_cli#175: nano read nothing at first."""
    with open_fd(memory, os.O_RDWR) as fd:
        os.pwrite(fd, b"THE", 0)
        assert memory.read_bytes() == b"THE old line\n"


def test_a_short_overwrite_keeps_no_tail(shared: Editing, memory: Path) -> None:
    """strukto-ai/mirage#1032; s3fs-fuse#2107: extra characters; libfuse/sshfs#81: truncation failed."""
    memory.write_text("x")
    assert memory.read_text() == stored(shared, memory) == "x"
    with open_fd(memory, os.O_RDWR) as fd:
        os.write(fd, b"a long line")
        os.ftruncate(fd, 1)
        os.pwrite(fd, b"bc", 1)
    assert memory.read_text() == stored(shared, memory) == "abc"


def test_a_save_is_no_empty_version_first(shared: Editing, memory: Path) -> None:
    """s3fs-fuse#427 and #2210, libfuse#625."""
    run("sh", "-c", 'printf new >"$0"', memory)
    assert operations(shared) == ["modified"]


def test_a_longer_edit_is_not_cut_at_the_old_size(shared: Editing, memory: Path) -> None:
    """claude-code#52581: an edit was clamped to the size of before, on a FUSE mount."""
    memory.read_text()
    long = OLD * 100
    memory.write_text(long)
    assert memory.read_text() == stored(shared, memory) == long
    shared.execute("create", path=shared.port_path(memory), text=long * 2)
    eventually(lambda: memory.read_text() == long * 2)


def test_modes_owners_and_times_do_not_stop_a_save(memory: Path) -> None:
    """claude-code#73386 (fchmod), adbfs-rootless#20 (rsync), vim#2815 (fchown of its probe)."""
    with open_fd(memory, os.O_WRONLY | os.O_TRUNC) as fd:
        os.fchmod(fd, 0o644)
        os.fchown(fd, os.getuid(), os.getgid())
        os.write(fd, NEW.encode())
        os.utime(fd, (1, 1))
    assert memory.stat().st_mtime == 1
    assert errno_of(lambda: os.setxattr(memory, "user.x", b"1")) == errno.EOPNOTSUPP
    assert errno_of(lambda: os.listxattr(memory)) in (0, errno.EOPNOTSUPP)


def test_a_creation_never_half_succeeds(shared: Editing, here: Path) -> None:
    """claude-code#3182: EPERM, and the file was there all the same; encfs#272: EIO for a full quota."""
    assert errno_of(lambda: (here / "photo.png").write_bytes(b"x")) == errno.EINVAL
    assert errno_of(lambda: (here / "notes.md").write_bytes(b"x" * 70_000)) == errno.EFBIG
    eventually(lambda: list(here.iterdir()), [])
    assert operations(shared) == []


def test_a_bad_name_is_called_so(here: Path) -> None:
    """linuxmint/nemo#2708: "No such file" for a name that is not allowed."""
    with pytest.raises(AssertionError, match="Invalid argument"):
        run("touch", here / "a?.md")


@pytest.mark.parametrize("options", [[], ["--inplace"], ["-a"], ["--delay-updates"]])
def test_rsync_saves_whole_directories(
    options: list[str], shared: Editing, here: Path, tmp_path: Path
) -> None:
    """MegaFuse#63, mountpoint-s3#1095, adbfs-rootless#20: litter, empty files, ENOSYS."""
    if shutil.which("rsync") is None:
        pytest.skip("machine: there is no rsync")
    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"{number}\n")
    for again in ("", "again"):
        (tmp_path / "0.md").write_text(f"{again}\n")
        run("rsync", "-r", "-I", *options, f"{tmp_path}/", f"{here}/")
    assert sorted(path.name for path in here.iterdir()) == [f"{number}.md" for number in range(5)]
    assert stored(shared, here / "0.md") == "again\n"


def test_junk_of_a_mac_is_copied_and_never_stored(shared: Editing, here: Path, tmp_path: Path) -> None:
    """macfuse#519: hiding .DS_Store broke cp -r; hf-mount#15."""
    for name in (".DS_Store", "._notes.md", "notes.md"):
        (tmp_path / name).write_bytes(b"x")
    run("cp", "-r", f"{tmp_path}/.", here)
    assert {path.name for path in here.iterdir()} == {".DS_Store", "._notes.md", "notes.md"}
    assert operations(shared) == ["created"]


def test_a_program_that_is_killed_leaves_its_temporary_file_and_the_memory(memory: Path) -> None:
    """claude-code#60146 and #89565, sublime_text#152: litter is scratch, and swept."""
    (memory.parent / "notes.md.tmp.42.ab12cd").write_text(NEW)
    assert memory.read_text() == OLD


def test_locks_work(memory: Path) -> None:
    """nvi locks what it edits."""
    with open_fd(memory, os.O_RDWR) as first, open_fd(memory, os.O_RDWR) as second:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert errno_of(lambda: fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)) == errno.EAGAIN


def test_emptiness_by_name_and_then_content(shared: Editing, memory: Path) -> None:
    """mediafire-fuse#8: truncate(0) was ENOSYS under nano."""
    os.truncate(memory, 0)
    with open_fd(memory, os.O_WRONLY | os.O_APPEND) as fd:
        os.write(fd, NEW.encode())
    eventually(lambda: stored(shared, memory), NEW)
    assert operations(shared) == ["modified"]


def test_dos2unix_converts(shared: Editing, memory: Path, tmp_path: Path) -> None:
    memory.write_bytes(b"one\r\ntwo\r\n")
    shared.mark()
    done = run_tool(
        Tool("dos2unix", 'dos2unix -q "$N"'), memory.parent, "notes.md", prepare(tmp_path, b"", b"")
    )
    assert done.returncode == 0, done.stderr
    assert stored(shared, memory) == "one\ntwo\n"
    assert operations(shared) == ["modified"]


def test_a_conversion_that_makes_it_too_large_is_refused(
    shared: Editing, memory: Path, tmp_path: Path
) -> None:
    memory.write_bytes(b"\n" * 40_000)
    done = run_tool(Tool("unix2dos", 'unix2dos "$N"'), memory.parent, "notes.md", prepare(tmp_path, b"", b""))
    assert "too large" in done.stderr
    assert memory.read_bytes() == b"\n" * 40_000


def test_patch_keeps_what_it_could_not_apply(shared: Editing, memory: Path) -> None:
    if shutil.which("patch") is None:
        pytest.skip("machine: there is no patch")
    (memory.parent / "p.txt").write_text("--- a\n+++ b\n@@ -1,2 +1,2 @@\n nothing\n-like\n+that\n")
    with pytest.raises(AssertionError, match="saving rejects"):
        run("patch", "notes.md", "p.txt", cwd=memory.parent)
    assert memory.read_text() == OLD
    assert (memory.parent / "notes.md.rej").exists()
