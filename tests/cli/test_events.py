"""Why was I refused? What ``memfs events`` prints, of mounts that are up and of those that are down."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memfs.cli.eventlog import EventLog
from memfs.mount.events import KEPT, Events, events_file
from memfs.port.change import Actor
from tests.cli.conftest import SECONDS, Place, Shell

pytestmark = pytest.mark.slow

ACTOR = Actor("somebody", "vim", 7)


def refuse(place: Place, name: str) -> None:
    """Have a name refused: one event."""
    with suppress(OSError):
        (place.directory / name).write_text("x")


def other_place(place: Place, name: str) -> Place:
    """A second directory to mount on, cleaned up with the first one."""
    directory = place.directory.with_name(name)
    directory.mkdir(mode=0o700)
    return Place(place.shell, directory)


@contextmanager
def following(shell: Shell, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """``memfs events --follow``, ended with Ctrl-C: it must end at once and say nothing."""
    with shell.start("events", "--follow", *arguments) as running:
        try:
            yield running
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=SECONDS)
            assert said == b""
            assert running.returncode == 130
        finally:
            running.kill()


def next_line(running: subprocess.Popen[bytes]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().decode()


def test_each_event_is_one_line_for_a_person(shell: Shell, place: Place) -> None:
    place.mount()
    refuse(place, "logo.png")
    (line,) = shell("events").done().splitlines()
    when, who, operation, path, sentence = line.split("  ", 4)
    assert abs(time.mktime(time.strptime(when, "%Y-%m-%d %H:%M:%S")) - time.time()) < SECONDS
    assert re.fullmatch(rf".+\[{os.getpid()}\]", who)
    assert (operation, path) == ("create", "/memories/logo.png")
    assert "allowed are .txt" in sentence


def test_a_name_with_escapes_cannot_move_the_terminals_cursor(shell: Shell, place: Place) -> None:
    place.mount()
    refuse(place, "a\x1b[2J\nb.md")
    (line,) = shell("events").done().splitlines()
    assert "\x1b" not in line
    assert r"a\x1b[2J\nb.md" in line


def test_json_is_what_the_mount_wrote(shell: Shell, place: Place) -> None:
    place.mount()
    refuse(place, "logo.png")
    refuse(place, ".hidden.md")
    assert shell("events", "--json").done() == (place.directory / ".memfs/events").read_text()
    last = shell("events", "--json", "-n", "1").json
    assert (last["code"], last["errno"]) == ("INVALID_PATH", "EINVAL")


def test_the_events_of_a_mount_outlive_it(shell: Shell, place: Place) -> None:
    place.mount()
    refuse(place, "1.png")
    shell("unmount", str(place.directory)).done()
    assert "1.png" in shell("events", str(place.directory)).done()
    place.mount()
    refuse(place, "2.png")
    place.kill()
    assert [line.split("  ")[3] for line in shell("events").done().splitlines()] == [
        "/memories/1.png",
        "/memories/2.png",
    ]


def test_a_hung_mount_has_its_events_all_the_same(shell: Shell, place: Place) -> None:
    place.mount()
    refuse(place, "1.png")
    os.kill(place.daemon, signal.SIGSTOP)
    try:
        assert "1.png" in shell("events", str(place.directory)).done()
        assert shell("rejected", "list", str(place.directory)).done() == "No refused bytes are kept.\n"
    finally:
        os.kill(place.daemon, signal.SIGCONT)


def test_several_mounts_are_told_apart_unless_one_is_in_one(shell: Shell, place: Place) -> None:
    other = other_place(place, "other")
    place.mount()
    other.mount("--scope", "other")
    for at, name in ((place, "1.png"), (other, "2.png"), (place, "3.png")):
        refuse(at, name)
        # Times are in milliseconds: the next one is to be later, whichever mount tells it.
        while name not in shell("events", str(at.directory)).done():
            pass
    lines = shell("events").done().splitlines()
    assert [line.split("  ")[0] for line in lines] == [str(at.directory) for at in (place, other, place)]
    assert [json.loads(line)["mountpoint"] for line in shell("events", "--json").out.splitlines()] == [
        str(at.directory) for at in (place, other, place)
    ]
    assert "3.png" in shell("events", "-n", "1").done()
    assert "2.png" in shell("events", cwd=other.directory).done()
    assert "1.png" not in shell("events", cwd=other.directory).done()
    assert len(shell("events", str(place.directory)).done().splitlines()) == 2
    shell("unmount", str(other.directory)).done()
    assert "2.png" not in shell("events").done(), "of one that is up and one that is down, the one that is up"


def test_what_is_no_mount_is_refused(shell: Shell, tmp_path: Path) -> None:
    assert "nothing was mounted yet" in shell("events").refusal()
    assert "memfs status" in shell("events", str(tmp_path)).refusal()
    assert shell("events", "-n", "some").status == 2


def test_follow_goes_on_over_a_remount_and_ends_quietly(shell: Shell, place: Place) -> None:
    place.mount()
    for number in range(12):
        refuse(place, f"{number}.png")
    with following(shell) as running:
        assert [
            "/memories/2.png" in next_line(running),
            *("png" in next_line(running) for _ in range(9)),
        ] == [True] * 10
        refuse(place, "new.png")
        assert "new.png" in next_line(running)
        shell("unmount", str(place.directory)).done()
        place.mount()
        refuse(place, "newer.png")
        assert "newer.png" in next_line(running), "and nothing of what the new file took over from the old"


def test_follow_needs_no_watch_of_the_system(shell: Shell, place: Place) -> None:
    place.mount()
    program = (
        "import sys, inotify_simple, memfs.cli\n"
        "def refuse(*_): raise OSError(24, 'no more watches')\n"
        "inotify_simple.INotify.add_watch = refuse\n"
        "sys.exit(memfs.cli.main(['events', '--follow', '--json']))"
    )
    with subprocess.Popen(
        [*shell.command()[:1], "-c", program],
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        try:
            refuse(place, "1.png")
            assert "1.png" in next_line(running)
            refuse(place, "2.png")
            assert "2.png" in next_line(running)
        finally:
            running.kill()


class TestTheFile:
    """Read from outside, in pieces, while the mount writes and replaces it."""

    def record(self, events: Events, number: int, message: str = "m") -> None:
        events.record("CODE", message, operation="write", path=f"/memories/{number}.md", actor=ACTOR)

    def paths(self, log: EventLog) -> list[int]:
        return [int(json.loads(line)["path"][10:-3]) for line in log.lines()]

    def test_the_last_lines_are_found_from_the_end(self, tmp_path: Path) -> None:
        events = Events(tmp_path)
        for number in range(500):
            self.record(events, number, "long " * 100)
        for count in (0, 1, 2, 131, 132, 499, 500, 501, 10_000):
            log = EventLog(tmp_path)
            log.seek_last(count)
            assert self.paths(log) == list(range(500))[max(0, 500 - count) :]
            log.close()
        events.close()

    def test_a_line_that_is_not_whole_yet_waits_for_its_end(self, tmp_path: Path) -> None:
        events_file(tmp_path).write_bytes(b'{"path": "/memories/1.md"}\n{"path": "/mem')
        log = EventLog(tmp_path)
        log.seek_last(1)
        assert self.paths(log) == [1]
        with events_file(tmp_path).open("ab") as file:
            file.write(b'ories/2.md"}\n')
        assert self.paths(log) == [2]
        log.close()

    def test_a_file_that_comes_later_is_found(self, tmp_path: Path) -> None:
        log = EventLog(tmp_path)
        log.seek_last(5)
        assert self.paths(log) == []
        events = Events(tmp_path)
        self.record(events, 1)
        assert self.paths(log) == [1]
        events.close()
        log.close()

    def test_no_line_is_lost_or_told_twice_when_a_new_file_takes_over(self, tmp_path: Path) -> None:
        number = 0
        log = EventLog(tmp_path)
        for burst in (3, KEPT - 1, 5, 2 * KEPT, 1):
            events = Events(tmp_path)
            for _ in range(burst):
                self.record(events, number)
                number += 1
            events.close()
            if (
                burst < KEPT
            ):  # not looked at between two mounts: what the second took over is all that is left
                Events(tmp_path).close()
            assert self.paths(log) == list(range(number - burst, number))
        log.close()

    def test_equal_lines_are_told_apart_by_their_place(self, tmp_path: Path) -> None:
        line = json.dumps({"time": datetime.now(UTC).isoformat(), "path": "/memories/1.md"}).encode() + b"\n"
        events_file(tmp_path).write_bytes(3 * line)
        log = EventLog(tmp_path)
        assert len(self.paths(log)) == 3
        events_file(tmp_path).with_suffix(".new").write_bytes(5 * line)
        events_file(tmp_path).with_suffix(".new").rename(events_file(tmp_path))
        assert len(self.paths(log)) == 2
        log.close()

    def test_what_is_no_event_is_passed_over(self, shell: Shell, place: Place) -> None:
        place.mount()
        refuse(place, "1.png")
        shell("unmount", str(place.directory)).done()
        (file,) = (shell.home / ".local/state/memfs/mounts").glob("*/*/events.jsonl")
        with file.open("ab") as stream:
            stream.write(b'{"cut sho\n[]\n' + b"x" * (3 << 20) + b"\n{}\n")
        assert "1.png" in shell("events", "--json").done().splitlines()[0]
        assert len(shell("events").done().splitlines()) == 2
