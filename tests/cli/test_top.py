"""``memfs top``, and the counters for Prometheus: seen from outside, of mounts in any health."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Place, Shell, Terminal

VIEW = ("top", "--once", "--interval", "0.3")


def stopped(place: Place) -> None:
    os.kill(place.daemon, signal.SIGSTOP)


def view(shell: Shell, *arguments: str) -> Any:
    return shell(*VIEW, "--json", *arguments).json


def test_a_view_shows_what_happened_meanwhile(shell: Shell, place: Place) -> None:
    place.mount("--max-files", "100")
    busy = subprocess.Popen(["sh", "-c", f"while :; do : > {place.directory}/a.md; done"])
    try:
        seen = view(shell)
        printed = shell(*VIEW).done()
    finally:
        busy.kill()
        busy.wait()
    assert seen["mountpoint"] == str(place.directory)
    assert seen["kinds"]["release"]["per_second"] > 0
    assert seen["kinds"]["release"]["p50_us"] <= seen["kinds"]["release"]["p99_us"]
    assert seen["requests_per_second"] >= seen["kinds"]["release"]["per_second"]
    assert "sh" in seen["programs"]
    assert (seen["files"], seen["max_files"]) == (1, 100)
    for part in ("requests/s", "release", "p99", "sh", "1 of 100 files"):
        assert part in printed
    assert all(len(line) <= 80 for line in printed.splitlines() if str(place.directory)[:8] not in line)
    assert "\x1b" not in printed


@pytest.mark.slow
def test_a_quiet_mount_shows_nothing_of_the_look_itself(shell: Shell, place: Place) -> None:
    place.mount()
    view(shell)
    quiet = view(shell)
    assert (quiet["requests_per_second"], quiet["kinds"], quiet["programs"]) == (0, {}, {})


@pytest.mark.slow
def test_several_mounts_are_shown_one_below_the_other(shell: Shell, place: Place, tmp_path: Path) -> None:
    place.mount()
    other = tmp_path / "other"
    shell("mount", str(other), "--scope", "other").done()
    lines = shell(*VIEW, "--json").done().splitlines()
    assert {json.loads(line)["mountpoint"] for line in lines} == {str(place.directory), str(other)}
    assert view(shell, str(other))["mountpoint"] == str(other)


@pytest.mark.slow
def test_a_mount_that_hangs_or_is_dead_is_said_to_be(shell: Shell, place: Place) -> None:
    place.mount()
    stopped(place)
    try:
        before = time.monotonic()
        hung = shell(*VIEW)
        assert time.monotonic() - before < 20
        assert hung.status == 1
        assert "does not answer" in hung.out
    finally:
        os.kill(place.daemon, signal.SIGCONT)
    place.kill()
    dead = shell(*VIEW, "--json")
    assert dead.status == 1
    assert "is not served" in dead.json["fault"]


def test_without_a_mount_there_is_nothing_to_show(shell: Shell, tmp_path: Path) -> None:
    assert "Nothing is mounted" in shell(*VIEW).refusal()
    assert "is no memfs mount of yours" in shell(*VIEW, str(tmp_path)).refusal()


@pytest.mark.slow
def test_on_a_terminal_it_goes_on_until_q_and_leaves_the_terminal_as_it_was(
    shell: Shell, place: Place
) -> None:
    place.mount()
    with Terminal(shell, *shell.command("top", "--interval", "0.1")) as terminal:
        terminal.until(b"requests/s")
        terminal.until(b"\x1b[H")
        os.write(terminal.master, b"q")
        assert terminal.process.wait(60) == 0
        terminal.until(b"\x1b[?1049l")
        assert b"\x1b[?25h" in terminal.shown


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    shell: Shell, place: Place, number: signal.Signals
) -> None:
    place.mount()
    with Terminal(shell, *shell.command("top", "--interval", "60")) as terminal:
        terminal.until(b"requests/s")
        terminal.process.send_signal(number)
        assert terminal.process.wait(60) == 0
        terminal.until(b"\x1b[?1049l")


@pytest.mark.slow
def test_prometheus_finds_the_counters_where_they_were_asked_for(
    shell: Shell, place: Place, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place.mount("--metrics", f"127.0.0.1:{port}")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as asking:
        asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = asking.makefile("rb").read()
    assert said.startswith(b"HTTP/1.0 200 OK\r\n")
    assert b'memfs_requests_total{kind="statfs"} ' in said
    other = tmp_path / "other"
    taken = shell("mount", str(other), "--scope", "o", "--metrics", f"127.0.0.1:{port}").refusal()
    assert f"127.0.0.1:{port}" in taken
    assert not other.exists()
    path = tmp_path / "metrics.sock"
    shell("mount", str(other), "--scope", "o", "--metrics", f"unix:{path}").done()
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(60)
        asking.connect(str(path))
        asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"memfs_open_files 0" in asking.makefile("rb").read()
    shell("unmount", str(other)).done()
    assert not path.exists()


@pytest.mark.parametrize(
    "address", ["0.0.0.0:9000", "127.0.0.1:0", "127.0.0.1:65536", "unix:relative", "9000", "unix:"]
)
def test_counters_are_told_to_this_machine_only(shell: Shell, tmp_path: Path, address: str) -> None:
    said = shell("mount", str(tmp_path / "mount"), "--metrics", address)
    assert said.status == 2
    assert "127.0.0.1:PORT" in said.err
