"""``memfs status``: what a mount that is up says about itself, to people and to programs."""

from __future__ import annotations

import os
import signal
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
        "scratch  100 of 16777216 bytes",
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
    assert "1 of 7 files" in shell("status").done()


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
