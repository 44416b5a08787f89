"""Every refusal has an event: who was refused what, with which errno, and the port's sentence."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from errno import errorcode
from pathlib import Path
from typing import NamedTuple

import pytest

from memfs.mount.events import KEPT, LARGEST_BYTES, Events, events_file
from memfs.port.change import Actor
from tests.editors.conftest import MakeEditing
from tests.editors.harness import Editing
from tests.mount.harness import errno_of, eventually, open_fd

OLD = "the old line\n"


class Refusal(NamedTuple):
    """What a program tries, and what it and the events say."""

    action: Callable[[Path], object]
    number: int
    operation: str
    path: str
    code: str


def replaced_by(data: bytes) -> Callable[[Path], object]:
    def action(root: Path) -> None:
        (root / "notes.md.tmp").write_bytes(data)
        (root / "notes.md.tmp").rename(root / "notes.md")

    return action


REFUSALS = {
    "a bad name": Refusal(
        lambda root: (root / "photo.png").touch(), errno.EINVAL, "create", "photo.png", "INVALID_EXTENSION"
    ),
    "a bad segment": Refusal(
        lambda root: (root / "a b.md").touch(), errno.EINVAL, "create", "a b.md", "INVALID_PATH"
    ),
    "a bad directory": Refusal(
        lambda root: (root / "a b").mkdir(), errno.EINVAL, "mkdir", "a b", "INVALID_PATH"
    ),
    "a repository": Refusal(
        lambda root: (root / ".git").mkdir(), errno.EPERM, "mkdir", ".git", "INVALID_PATH"
    ),
    "a long name": Refusal(
        lambda root: (root / ("n" * 130 + ".md")).touch(),
        errno.ENAMETOOLONG,
        "create",
        "n" * 130 + ".md",
        "INVALID_PATH",
    ),
    "a link": Refusal(
        lambda root: os.symlink("x", root / "link.md"), errno.EPERM, "symlink", "link.md", "INVALID_ARGUMENT"
    ),
    "a hard link": Refusal(
        lambda root: os.link(root / "notes.md", root / "link.md"),
        errno.EPERM,
        "link",
        "link.md",
        "INVALID_ARGUMENT",
    ),
    "a pipe": Refusal(
        lambda root: os.mkfifo(root / "pipe.md"), errno.EPERM, "mknod", "pipe.md", "INVALID_ARGUMENT"
    ),
    "an existing target": Refusal(
        lambda root: (root / "other.md").rename(root / "notes.md"),
        errno.EEXIST,
        "rename",
        "notes.md",
        "ALREADY_EXISTS",
    ),
    "an existing directory": Refusal(
        lambda root: (root / "a").rename(root / "b"), errno.EEXIST, "rename", "b", "ALREADY_EXISTS"
    ),
    "a bad target": Refusal(
        lambda root: (root / "notes.md").rename(root / "notes.doc"),
        errno.EINVAL,
        "rename",
        "notes.doc",
        "INVALID_EXTENSION",
    ),
    "a large write": Refusal(
        lambda root: (root / "notes.md").write_bytes(bytes(70_000)),
        errno.EFBIG,
        "write",
        "notes.md",
        "LIMIT_EXCEEDED",
    ),
    "a large truncation": Refusal(
        lambda root: os.truncate(root / "notes.md", 70_000),
        errno.EFBIG,
        "truncate",
        "notes.md",
        "LIMIT_EXCEEDED",
    ),
    "no text": Refusal(
        lambda root: (root / "notes.md").write_bytes(b"\xff\xff"),
        errno.EILSEQ,
        "write",
        "notes.md",
        "INVALID_ARGUMENT",
    ),
    "a cut character": Refusal(
        lambda root: (root / "notes.md").write_bytes(b"\xc3"),
        errno.EILSEQ,
        "write",
        "notes.md",
        "INVALID_ARGUMENT",
    ),
    "a large replacement": Refusal(
        replaced_by(b"x" * 70_000), errno.EFBIG, "rename", "notes.md", "LIMIT_EXCEEDED"
    ),
    "a replacement that is no text": Refusal(
        replaced_by(b"\xff"), errno.EILSEQ, "rename", "notes.md", "INVALID_ARGUMENT"
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_says_why(refusal: Refusal, shared: Editing, here: Path) -> None:
    for name in ("notes.md", "other.md"):
        (here / name).write_text(OLD)
    for name in ("a", "b"):
        (here / name).mkdir()
    assert errno_of(lambda: refusal.action(here)) == refusal.number
    events = [event for event in shared.events() if event["path"] == shared.port_path(here / refusal.path)]
    event = next((event for event in events if event["code"] != "REJECTED"), None)
    assert event is not None
    assert event["program"].startswith("py")
    assert event["pid"] == os.getpid()
    assert (event["operation"], event["code"]) == (refusal.operation, refusal.code)
    assert event["errno"] == errorcode[refusal.number]
    assert event["message"].endswith(".")
    assert len(event["message"]) > 20
    assert event["time"].startswith("20")


def test_an_eviction_names_what_left_and_for_what(editing: MakeEditing) -> None:
    mount = editing(files={"first.md": "1\n", "second.md": "2\n"}, max_files=2)
    (mount.path / "third.md").write_text("3\n")
    eventually(mount.listing, {"second.md", "third.md"})
    (event,) = [event for event in mount.events() if event["code"] == "EVICTED"]
    assert event["path"] == "/memories/first.md"
    assert "third.md" in event["message"]
    assert event["pid"] == os.getpid()


def test_a_failing_store_is_an_event(editing: MakeEditing) -> None:
    mount = editing(files={"notes.md": OLD})
    with mount.failing_store():
        assert errno_of(lambda: (mount.path / "notes.md").write_text("new\n")) == errno.EIO
        assert errno_of(lambda: (mount.path / "notes.md").unlink()) == errno.EIO
        events = [(event["operation"], event["path"], event["errno"]) for event in mount.events()]
    assert ("write", "/memories/notes.md", "EIO") in events
    assert ("unlink", "/memories/notes.md", "EIO") in events
    assert mount.stored() == {"notes.md": OLD}


def test_they_are_in_the_log_too(editing: MakeEditing) -> None:
    mount = editing()
    errno_of(lambda: (mount.path / "photo.png").touch())
    message = mount.events()[-1]["message"]
    eventually(lambda: message in mount.log())


@pytest.mark.slow
def test_the_file_grows_while_mounted_and_begins_anew_with_the_last(editing: MakeEditing) -> None:
    mount = editing()
    with open_fd(mount.path / ".memfs/events", os.O_RDONLY) as fd:
        for number in range(KEPT + 100):
            errno_of(lambda number=number: (mount.path / f"{number}.png").touch())  # type: ignore[misc]
        assert len((mount.path / ".memfs/events").read_bytes().splitlines()) == KEPT + 100
        assert json.loads(os.pread(fd, 1000, 0).splitlines()[0])["path"] == "/memories/0.png"
    mount.remount()
    lines = (mount.path / ".memfs/events").read_bytes().splitlines()
    assert len(lines) == KEPT
    assert json.loads(lines[-1])["path"] == f"/memories/{KEPT + 99}.png"


def test_what_refuses_in_a_loop_does_not_fill_the_disk(tmp_path: Path) -> None:
    events = Events(tmp_path)
    most = 0
    for _ in range(2 * LARGEST_BYTES // 10_000):
        events.record("X", "x" * 10_000, operation="write", path="/memories/a.md", actor=Actor())
        most = max(most, events_file(tmp_path).stat().st_size)
    assert most <= LARGEST_BYTES
    assert json.loads(events.last(1)[0])["code"] == "X"
    assert events.size == events_file(tmp_path).stat().st_size
    events.close()


def test_events_that_cannot_begin_anew_keep_what_they_have(tmp_path: Path) -> None:
    events = Events(tmp_path)
    in_the_way = events_file(tmp_path).with_suffix(".new")
    in_the_way.mkdir()
    for _ in range(LARGEST_BYTES // 10_000 + 5):
        events.record("X", "x" * 10_000, operation="write", path="/memories/a.md", actor=Actor())
    assert events.read(0, events.size) == events_file(tmp_path).read_bytes()
    in_the_way.rmdir()
    events.record("Y", "It can again.", operation="write", path="/memories/a.md", actor=Actor())
    assert json.loads(events.last(1)[0])["code"] == "Y"
    events.close()


def test_odd_names_are_json_all_the_same(editing: MakeEditing) -> None:
    mount = editing()
    odd = ('quote".png', "new\nline.md", os.fsdecode(b"caf\xe9.md"), "ü" * 40 + ".md", "\u2028.md")
    for name in odd:
        assert errno_of(lambda name=name: (mount.path / name).touch()) in (errno.EINVAL, errno.EILSEQ)  # type: ignore[misc]
    assert len(mount.events()) == len(odd)
