"""``memfs status``: what a mount that is up says about itself, to people and to programs."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memfs.mount import lifecycle
from memfs.mount.lifecycle import own_report
from tests.cli.conftest import Place, Shell

pytestmark = pytest.mark.slow


def status(shell: Shell) -> Any:
    (mount,) = shell("status", "--json").json["mounts"]
    return mount


def test_a_mount_that_is_up_says_what_goes_on_in_it(shell: Shell, place: Place) -> None:
    place.mount("--max-file-bytes", "10")
    first = status(shell)
    assert (first["scope_version"], first["leaves_next"], first["last_event"]) == (0, None, None)
    (place.directory / "old.md").write_text("1")
    (place.directory / "new.md").write_text("2")
    (place.directory / ".notes.md.swp").write_bytes(b"x" * 100)
    with suppress(OSError):
        (place.directory / "big.md").write_text("x" * 20)
    with (place.directory / "held.md").open("w") as held:
        held.write("x")
        held.flush()
        now = status(shell)
        printed = shell("status").done()
    assert now["leaves_next"] == "/memories/old.md"
    assert (now["open_files"], now["being_written"]) == (1, ["/memories/held.md"])
    assert (now["scratch_bytes"], now["rejected"], now["parked"]) == (100, 1, [])
    assert now["scope_version"] >= 2
    assert now["last_event"]["code"] == "REJECTED"
    for part in (
        "next     /memories/old.md leaves first",
        "open     1, /memories/held.md being written",
        "100 bytes",
        "refused  1 with",
        f"version  {now['scope_version']}",
        now["last_event"]["message"],
    ):
        assert part in printed


def test_a_memory_in_its_daemon_only_shows_how_full_it_is(shell: Shell, place: Place) -> None:
    place.mount("--store", "simple:", "--max-files", "7")
    (place.directory / "a.md").write_text("12345")
    now = status(shell)
    assert (now["files"], now["max_files"], now["bytes"]) == (1, 7, 5)
    assert "files    [###.................] 1 of 7" in shell("status").done()


def test_the_last_writers_are_named(shell: Shell, place: Place) -> None:
    place.mount()
    subprocess.run(["sh", "-c", f"echo one > {place.directory}/a.md"], check=True)
    shell("create", "b.md", "two").done()
    writers = status(shell)["last_writers"]
    assert [(writer["operation"], writer["path"]) for writer in writers] == [
        ("created", "/memories/b.md"),
        ("created", "/memories/a.md"),
    ]
    assert writers[1]["program"] == "sh"
    assert "sh created /memories/a.md" in shell("status").done()


def test_a_memory_that_is_not_mounted_is_shown_with_what_it_holds(shell: Shell, place: Place) -> None:
    shell.configure("work", f'scope = "work"\nmountpoint = "{place.directory}"\n')
    (before,) = [memory for memory in shell("status", "--json").json["down"] if memory["name"] == "work"]
    assert "files" not in before
    shell("create", "a.md", "12345", "--memory", "work").done()
    printed = shell("status").done()
    assert f"work  {place.directory}  not mounted" in printed
    assert "1 of 256" in printed
    assert "`memfs mount --memory work`" in printed
    shell("mount", "--memory", "work").done()
    shown = shell("status", "--json").json
    assert [(mount["name"], mount["state"]) for mount in shown["mounts"]] == [("work", "alive")]
    assert not [memory for memory in shown["down"] if memory["name"] == "work"]


def test_a_server_that_is_away_holds_nobody_up_for_long(shell: Shell, place: Place) -> None:
    store = "postgresql://127.0.0.1:1/notes?memfs_patience=50"
    shell.configure("work", f'store = "{store}"\nmountpoint = "{place.directory}"\n')
    started = time.monotonic()
    (down,) = [memory for memory in shell("status", "--json").json["down"] if memory["name"] == "work"]
    assert time.monotonic() - started < 40
    assert "has been away for 2 s (it refuses connections)" in down["fault"]


def test_a_look_makes_nothing(shell: Shell) -> None:
    shell.configure("work", 'store = "sqlite:~/store"\n')
    shell("status").done()
    assert sorted(path.name for path in shell.home.iterdir()) == [".config"]


def test_a_configuration_that_is_wrong_is_shown_as_such(shell: Shell) -> None:
    file = shell.configure("work", "stoer = 1\n")
    os.mkfifo(file.with_name("pipe.toml"))
    printed = shell("status").done()
    assert printed.count("wrong configuration") == 2
    assert "stoer" in printed
    assert "no ordinary file" in printed


def test_a_name_that_would_move_the_cursor_is_spelled_out(shell: Shell, place: Place) -> None:
    odd = place.directory.with_name("m\x1b[2Jnt")
    shell("mount", str(odd)).done()
    assert "\x1b" not in shell("status").done()


def test_watching_shows_one_screen_after_another(shell: Shell, place: Place) -> None:
    place.mount()
    with shell.start("status", "--watch") as watching:
        assert watching.stdout is not None
        seen = b""
        while seen.count(b"alive") < 2:
            seen += os.read(watching.stdout.fileno(), 1 << 16)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0
    assert b"\x1b" not in seen


def test_a_hung_mount_is_asked_nothing_more(shell: Shell, place: Place) -> None:
    place.mount()
    os.kill(place.daemon, signal.SIGSTOP)
    try:
        before = time.monotonic()
        (mount,) = shell("status", "--json").json["mounts"]
        assert time.monotonic() - before < 3 * lifecycle.PROBE_SECONDS
        assert mount["state"] == "hung"
        assert "scope_version" not in mount
    finally:
        os.kill(place.daemon, signal.SIGCONT)


def test_a_report_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount may stop between the question whether it lives and the one how it is."""
    monkeypatch.setattr(lifecycle, "PROBE_SECONDS", 0.1)
    (tmp_path / ".memfs").mkdir()
    assert own_report(str(tmp_path)) is None
    os.mkfifo(tmp_path / ".memfs/status")
    assert own_report(str(tmp_path)) is None
    (tmp_path / ".memfs/status").open("wb").close()  # lets go of the thread that was left behind
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(10)
