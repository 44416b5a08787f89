"""Rejected: the bytes that a refusal would have lost can be found again."""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from pathlib import Path

import pytest

from memfs.mount.rejected import MAX_BYTES, MAX_SECONDS, Rejected
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import errno_of, eventually, open_fd, run

OLD = "the old line\n"
BIG = b"a line of a file that is too large\n" * 2000


@pytest.fixture
def mount(editing: MakeEditing) -> Editing:
    """A mount with one memory."""
    return editing(files={"notes.md": OLD})


def listed(mount: Editing) -> list[Path]:
    return sorted((mount.path / ".memfs/rejected").iterdir())


@pytest.mark.slow
def test_a_refused_copy_is_found_again(mount: Editing, tmp_path: Path) -> None:
    """It is what arrived: cp gave up with the first write that was refused."""
    (tmp_path / "big.md").write_bytes(BIG)
    with pytest.raises(AssertionError, match="File too large"):
        run("cp", tmp_path / "big.md", mount.path)
    eventually(lambda: len(listed(mount)), 1)
    (kept,) = Rejected(mount.state)
    assert (kept.path, kept.program, kept.complete) == ("/memories/big.md", "cp", False)
    assert (kept.code, kept.size) == ("LIMIT_EXCEEDED", len(kept_bytes := listed(mount)[0].read_bytes()))
    assert len(kept_bytes) > 65_536
    assert BIG.startswith(kept_bytes)


def test_a_refused_replacement_is_kept_as_a_whole(mount: Editing) -> None:
    (mount.path / "notes.md.tmp").write_bytes(BIG)
    assert errno_of(lambda: (mount.path / "notes.md.tmp").rename(mount.path / "notes.md")) == errno.EFBIG
    (kept,) = Rejected(mount.state)
    assert (kept.path, kept.complete, kept.size) == ("/memories/notes.md", True, len(BIG))
    assert listed(mount)[0].read_bytes() == BIG


def test_a_save_refused_at_its_end_is_kept_as_a_whole(mount: Editing) -> None:
    """A cut character is known for certain only at the close."""
    assert errno_of(lambda: (mount.path / "notes.md").write_bytes(b"caf\xc3")) == errno.EILSEQ
    eventually(lambda: len(listed(mount)), 1)
    (kept,) = Rejected(mount.state)
    assert (kept.complete, mount.rejected()) == (True, [b"caf\xc3"])
    assert (mount.path / "notes.md").read_text() == OLD


@pytest.mark.slow
def test_what_a_program_writes_after_the_refusal_is_kept_too(mount: Editing) -> None:
    """FeatherPad, l3afpad and Python's collector do not look at what write(2) says.

    rstudio PR#17844, zig#11582: an error that came only with the close was passed over.
    """
    fd = os.open(mount.path / "notes.md", os.O_WRONLY | os.O_TRUNC)
    for offset in range(0, len(BIG), 10_000):
        errno_of(lambda offset=offset: os.pwrite(fd, BIG[offset : offset + 10_000], offset))  # type: ignore[misc]
    assert errno_of(lambda: os.close(fd)) == errno.EFBIG
    eventually(mount.rejected, [BIG])
    assert (mount.path / "notes.md").read_text() == OLD


@pytest.mark.slow
def test_a_program_that_begins_again_is_not_refused_for_what_it_gave_up(mount: Editing) -> None:
    with open_fd(mount.path / "notes.md", os.O_WRONLY) as fd:
        assert errno_of(lambda: os.ftruncate(fd, 70_000)) == errno.EFBIG
        assert errno_of(lambda: os.pwrite(fd, b"\xff", 0)) == errno.EILSEQ
        assert errno_of(lambda: os.pwrite(fd, b"text", 0)) == errno.EILSEQ
        os.ftruncate(fd, 0)
        os.pwrite(fd, b"text\n", 0)
    assert mount.stored() == {"notes.md": "text\n"}
    assert mount.rejected() == []


@pytest.mark.slow
def test_it_comes_back_by_a_copy(mount: Editing) -> None:
    (mount.path / "notes.md.tmp").write_bytes(b"caf\xe9\n")
    assert errno_of(lambda: (mount.path / "notes.md.tmp").rename(mount.path / "notes.md")) == errno.EILSEQ
    (kept,) = listed(mount)
    assert kept.name.endswith("notes.md"), "an editor knows what it is"
    run("sh", "-c", 'iconv -f latin1 -t utf-8 "$0" >"$1"', kept, mount.path / "notes.md")
    eventually(mount.stored, {"notes.md": "café\n"})


def test_it_is_private_and_read_only(mount: Editing) -> None:
    errno_of(lambda: (mount.path / "notes.md").write_bytes(b"\xff"))
    eventually(lambda: len(listed(mount)), 1)
    directory = mount.state / "rejected"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    (kept,) = listed(mount)
    assert errno_of(kept.unlink) == errno.EROFS
    assert errno_of(lambda: kept.write_bytes(b"")) == errno.EROFS
    assert errno_of(lambda: kept.rename(mount.path / "back.md")) in (errno.EROFS, errno.EXDEV)


@pytest.mark.slow
def test_it_stays_over_a_restart_and_is_said_in_the_events(mount: Editing) -> None:
    errno_of(lambda: (mount.path / "notes.md").write_bytes(b"\xff"))
    eventually(lambda: len(listed(mount)), 1)
    mount.kill()
    mount.start()
    (kept,) = listed(mount)
    assert kept.read_bytes() == b"\xff"
    (event,) = [event for event in mount.events() if event["code"] == "REJECTED"]
    assert event["rejected"] == kept.name
    assert kept.name in event["message"]
    Rejected(mount.state).drop(kept.name)
    assert listed(mount) == []


@pytest.mark.slow
def test_what_nobody_wrote_is_not_kept(mount: Editing) -> None:
    assert errno_of(lambda: os.truncate(mount.path / "notes.md", 70_000)) == errno.EFBIG
    assert errno_of(lambda: (mount.path / "photo.png").write_bytes(b"x")) == errno.EINVAL
    assert mount.rejected() == []


def keep(state: Path, data: bytes, path: str = "/memories/notes.md") -> str:
    kept = Rejected(state).keep(path, data, complete=True, code="X", message="m", program="p", pid=1)
    return kept.name


def test_the_oldest_leave_where_it_is_too_much(tmp_path: Path) -> None:
    names = [keep(tmp_path, bytes(MAX_BYTES // 4)) for _ in range(5)]
    assert [kept.name for kept in Rejected(tmp_path)] == names[1:]
    newest = keep(tmp_path, bytes(MAX_BYTES + 1))
    assert [kept.name for kept in Rejected(tmp_path)] == [newest]
    assert len(list((tmp_path / "rejected").iterdir())) == 2


def test_what_is_older_than_a_month_leaves(tmp_path: Path) -> None:
    old, young = keep(tmp_path, b"old"), keep(tmp_path, b"young")
    facts = tmp_path / "rejected" / f"{old}.json"
    told = json.loads(facts.read_text()) | {"time_ns": time.time_ns() - (MAX_SECONDS + 1) * 10**9}
    facts.write_text(json.dumps(told))
    Rejected(tmp_path).sweep()
    assert [kept.name for kept in Rejected(tmp_path)] == [young]
    assert sorted(path.name for path in (tmp_path / "rejected").iterdir()) == [young, f"{young}.json"]


@pytest.mark.parametrize("path", ["/memories/a/b/c.md", "/memories/" + "x" * 128 + "/" + "y" * 124 + ".md"])
def test_names_are_of_time_and_path_and_sort_by_time(path: str, tmp_path: Path) -> None:
    names = [keep(tmp_path, b"x", path) for _ in range(20)]
    assert names == sorted(set(names))
    assert all(len(name) <= 200 and name.endswith(path.rpartition("/")[2][-100:]) for name in names)


def test_a_cut_short_one_is_passed_over_and_swept(tmp_path: Path) -> None:
    name = keep(tmp_path, b"whole")
    (tmp_path / "rejected" / "2026-01-01T00.00.00.000000Z+a.md.json").write_text('{"name"')
    (tmp_path / "rejected" / "2026-01-01T00.00.00.000000Z+b.md.json").write_text("{}")
    (tmp_path / "rejected" / "2026-01-01T00.00.00.000000Z+c.md").write_bytes(b"without its facts")
    assert [kept.name for kept in Rejected(tmp_path)] == [name]
    Rejected(tmp_path).sweep()
    assert sorted(path.name for path in (tmp_path / "rejected").iterdir()) == [name, f"{name}.json"]
