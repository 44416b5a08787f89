"""Mounts from their beginning to their end: ready, refused, dead, hung, unmounted."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import SECONDS, Place, Shell, eventually

pytestmark = pytest.mark.slow

# --- beginning -------------------------------------------------------------------------------------


def test_mount_returns_when_the_directory_answers(shell: Shell, place: Place) -> None:
    printed = shell("mount", str(place.directory)).done()
    assert place.is_mounted
    assert str(place.directory) in printed
    (place.directory / "notes.md").write_text("from the shell\n")
    assert shell("view", "notes.md").done() == "from the shell\n"
    assert place.record["scope"] == "default"
    assert os.getpgid(place.daemon) == place.daemon, "a session of its own, out of reach of the terminal"
    state = shell.home / ".local/state/memfs/mounts"
    for path in [state, *state.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("name", ["events.jsonl", "events.new", "local.jsonl", "local.new", "rejected"])
def test_a_fifo_in_the_mounts_state_keeps_nobody_waiting(shell: Shell, place: Place, name: str) -> None:
    place.mount()
    shell("unmount", str(place.directory)).done()
    (state,) = (shell.home / ".local/state/memfs/mounts").glob("*/state-*")
    (state / name).unlink(missing_ok=True)
    os.mkfifo(state / name)
    place.mount()
    with pytest.raises(OSError, match="Invalid argument"):
        (place.directory / "a.html").write_text("x")
    assert "INVALID_EXTENSION" in (place.directory / ".memfs/events").read_text()
    assert "a.html" in shell("events").done()
    shell("rejected").done()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_in_place_of_the_log_is_named(
    shell: Shell, place: Place, make: Callable[[Path], None]
) -> None:
    place.mount()
    shell("unmount", str(place.directory)).done()
    (log,) = (shell.home / ".local/state/memfs/mounts").glob("*/log")
    log.unlink()
    make(log)
    sentence = shell("mount", str(place.directory)).refusal()
    assert sentence == f"{log}: it is no ordinary file; move it away."
    assert not place.is_served


def test_the_daemon_keeps_nothing_of_who_started_it(shell: Shell, place: Place) -> None:
    """A pipe kept open would keep ``$(memfs mount ...)`` waiting for as long as the mount lives."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        shell.command("mount", str(place.directory)),
        env=shell.environment,
        cwd=place.shell.home,
        stdout=writing,
        stderr=writing,
        pass_fds=[writing],
    ) as mounting:
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            stream.read()
        assert mounting.wait(SECONDS) == 0
    assert os.readlink(f"/proc/{place.daemon}/cwd") == "/"
    assert os.readlink(f"/proc/{place.daemon}/fd/0") == "/dev/null"


def test_options_reach_the_mount(shell: Shell, place: Place) -> None:
    shell("create", "a.html", "x").refusal(1)
    place.mount("--scope", "s", "--umask", "022", "--extensions", ".html", "--max-files", "2")
    (place.directory / "a.html").write_text("x")
    assert (place.directory / "a.html").stat().st_mode & 0o777 == 0o644
    with pytest.raises(OSError, match="Invalid argument"):
        (place.directory / "a.md").write_text("x")
    assert shell("policy", "show", "--scope", "s", "--json").json["max_files"] == 2
    shell("unmount", str(place.directory)).done()
    place.mount("--scope", "s", "--read-only")
    assert (place.directory / "a.html").read_text() == "x"
    with pytest.raises(OSError) as refused:
        (place.directory / "a.html").write_text("y")
    assert refused.value.errno == errno.EROFS
    assert shell("status", "--json").json["mounts"][0]["read_only"] is True


def test_a_configured_memory_knows_its_mountpoint(shell: Shell, place: Place) -> None:
    shell.configure("work", f'store = "sqlite:~/agent"\nscope = "work"\nmountpoint = "{place.directory}"\n')
    shell("mount", "--memory", "work").done()
    assert place.record["store"] == f"sqlite:{shell.home}/agent"
    assert place.record["scope"] == "work"


def test_a_missing_directory_is_made_and_a_link_is_followed(shell: Shell, place: Place) -> None:
    place.directory.rmdir()
    link = place.directory.with_name("link")
    link.symlink_to("mount")
    shell("mount", str(link)).done()
    assert place.is_mounted
    assert shell("status", str(link), "--json").json["mounts"][0]["mountpoint"] == str(place.directory)
    shell("unmount", str(link)).done()
    assert place.directory.stat().st_mode & 0o777 == 0o700


def test_a_directory_may_have_any_name(shell: Shell, place: Place) -> None:
    for name in ("two words", "line\nbreak", "back\\slash", os.fsdecode(b"caf\xe9"), "\u00e9\u4e2d"):
        directory = place.directory.with_name(name)
        subprocess.run(
            shell.command("mount", str(directory)), env=shell.environment, check=True, capture_output=True
        )
        (directory / "a.md").write_text(name.encode("utf-8", "backslashreplace").decode())
        assert shell("status", str(directory), "--json").json["mounts"][0]["mountpoint"] == str(directory)
        shell("view", cwd=directory).done()
        shown = subprocess.run(
            shell.command("unmount", str(directory)), env=shell.environment, check=True, capture_output=True
        )
        assert os.fsencode(directory) in shown.stdout


def test_a_store_that_cannot_be_opened_is_the_reason(shell: Shell, place: Place) -> None:
    place.directory.rmdir()
    (shell.home / "file").write_text("")
    assert "file" in shell("mount", str(place.directory), "--store", "sqlite:~/file").refusal(3)
    assert not place.directory.exists(), "the directory was made for this mount"
    shell("create", "a.md", "x").done()
    assert "max_files is 256" in shell("mount", str(place.directory), "--max-files", "3").refusal(2)
    assert "positive" in shell("mount", str(place.directory), "--max-files", "0", "--scope", "s").refusal(2)


@pytest.mark.parametrize(
    ("end", "how"), [("os.kill(os.getpid(), 9)", "signal 9"), ("os._exit(5)", "status 5")]
)
def test_a_daemon_that_dies_without_a_word_is_reported_with_its_log(
    shell: Shell, place: Place, end: str, how: str
) -> None:
    program = (
        "import os, sys, memfs.cli, memfs.cli.mount as mount\n"
        f"mount._Plan.serve = lambda self, ready: {end}\n"
        f"sys.exit(memfs.cli.main(['mount', {str(place.directory)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=shell.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert how in done.stderr
    (log,) = re.findall(r"/\S+/log\b", done.stderr)
    assert Path(log).exists()
    place.mount()


def test_of_several_mounts_on_one_directory_exactly_one_wins(shell: Shell, place: Place) -> None:
    racing = [shell.start("mount", str(place.directory)) for _ in range(4)]
    ended = [(one.wait(SECONDS), one.communicate()[1].decode()) for one in racing]
    assert sorted(status for status, _ in ended) == [0, 1, 1, 1], ended
    assert all("already mounted" in said for status, said in ended if status == 1), ended
    assert place.times_mounted == 1


# --- refused ---------------------------------------------------------------------------------------


def test_what_is_no_empty_directory_of_ones_own_is_refused(shell: Shell, place: Place) -> None:
    directory = place.directory
    (directory / "file.md").write_text("not to be covered")
    assert "'file.md'" in shell("mount", str(directory)).refusal(73)
    assert "not a directory" in shell("mount", str(directory / "file.md")).refusal(73)
    assert "does not exist" in shell("mount", str(directory / "a" / "b")).refusal()
    assert "another filesystem (proc)" in shell("mount", "/proc").refusal(73)
    assert "no name" in shell("mount", "").refusal(2)
    assert (directory / "file.md").read_text() == "not to be covered"
    assert list(directory.iterdir()) == [directory / "file.md"]


def test_a_mount_in_a_mount_is_refused(shell: Shell, place: Place) -> None:
    place.mount()
    (place.directory / "people").mkdir()
    assert "inside the memfs mount" in shell("mount", str(place.directory / "people")).refusal(73)
    assert "inside the memfs mount" in shell("mount", str(place.directory / "new"), "--scope", "s").refusal(
        73
    )


def test_a_directory_is_mounted_once(shell: Shell, place: Place) -> None:
    place.mount()
    assert "already mounted" in shell("mount", str(place.directory)).refusal()
    assert "another memory" in shell("mount", str(place.directory), "--scope", "s").refusal()
    shell.environment["XDG_STATE_HOME"] = str(shell.home / "other")
    assert "already a memfs mount" in shell("mount", str(place.directory)).refusal()
    assert place.times_mounted == 1


def test_a_memory_on_two_directories_is_pointed_out(shell: Shell, place: Place) -> None:
    place.mount()
    other = place.directory.with_name("other")
    assert f"is on {place.directory} too" in shell("mount", str(other)).done()
    (other / "a.md").write_text("x")
    eventually(lambda: (place.directory / "a.md").exists())
    assert (place.directory / "a.md").read_text() == "x"


def test_a_mount_neither_covers_nor_holds_its_own_data(shell: Shell, place: Place) -> None:
    directory = place.directory
    below = shell("mount", str(directory), "--store", f"sqlite:{directory}/store")
    assert "would cover the store" in below.refusal(73)
    shell.environment["XDG_STATE_HOME"] = str(directory)
    assert "would cover the state" in shell("mount", str(directory), "--scope", "s").refusal(73)
    del shell.environment["XDG_STATE_HOME"]
    assert list(directory.iterdir()) == []
    place.mount()
    other = directory.with_name("other")
    assert "inside the memfs mount" in shell("mount", str(other), "--store", f"sqlite:{directory}/s").refusal(
        73
    )
    assert "inside the memfs mount" in shell(
        "create", "a.md", "x", "--store", f"sqlite:{directory}/s"
    ).refusal(2)
    assert not other.exists()


# --- dead and hung ---------------------------------------------------------------------------------


def test_a_dead_mount_is_found_and_replaced(shell: Shell, place: Place) -> None:
    place.mount()
    (place.directory / "notes.md").write_text("kept")
    killed = place.daemon
    place.kill()
    done = shell("status", "--json")
    assert done.status == 1
    assert done.json["mounts"][0]["state"] == "dead"
    assert "mounted" in Path(done.json["mounts"][0]["log"]).read_text()
    assert shell("view", str(place.directory / "notes.md")).done() == "kept", "the memory has another door"
    place.mount()
    assert place.times_mounted == 1
    assert place.daemon != killed
    assert (place.directory / "notes.md").read_text() == "kept"


def test_a_dead_mount_is_replaced_also_under_a_program_that_is_in_it(shell: Shell, place: Place) -> None:
    place.mount()
    with subprocess.Popen(["sleep", "600"], cwd=place.directory) as inside:
        try:
            place.kill()
            place.mount()
            assert place.answers
            assert place.times_mounted == 1
        finally:
            inside.kill()


def test_a_dead_mount_can_be_taken_away(shell: Shell, place: Place) -> None:
    place.mount()
    place.kill()
    assert "dead" in shell("unmount", str(place.directory)).done()
    assert not place.is_mounted
    assert shell("status", "--json").json["mounts"] == []


@pytest.mark.slow
def test_a_hung_mount_hangs_nobody(shell: Shell, place: Place) -> None:
    place.mount()
    (place.directory / "notes.md").write_text("kept")
    os.kill(place.daemon, signal.SIGSTOP)
    try:
        assert shell("status", "--json").json["mounts"][0]["state"] == "hung"
        assert "does not answer" in shell("mount", str(place.directory)).refusal()
        assert "does not answer" in shell("mount", str(place.directory), "--first-memory").refusal()
        assert shell("view", str(place.directory / "notes.md")).done() == "kept"
        assert "inside the memfs mount" in shell("mount", str(place.directory / "x")).refusal(73)
    finally:
        os.kill(place.daemon, signal.SIGCONT)
    assert shell("status").status == 0


# --- the end ---------------------------------------------------------------------------------------


def test_unmount_returns_when_all_that_was_written_is_stored(shell: Shell, place: Place) -> None:
    place.mount()
    daemon = place.daemon
    for number in range(20):
        (place.directory / f"{number}.md").write_text("x" * number)
    assert shell("unmount", str(place.directory)).done() == f"Unmounted {place.directory}.\n"
    assert not place.is_mounted
    assert not Path(f"/proc/{daemon}").exists() or "Z" in Path(f"/proc/{daemon}/stat").read_text()
    assert len(shell("view").done().splitlines()) == 20
    assert shell("view", "19.md").done() == "x" * 19
    assert shell("status", "--json").json["mounts"] == []


def test_a_daemon_that_was_stopped_goes_on_for_its_end(shell: Shell, place: Place) -> None:
    place.mount()
    (place.directory / "a.md").write_text("kept")
    daemon = place.daemon
    os.kill(daemon, signal.SIGSTOP)
    assert shell("unmount", str(place.directory)).done() == (
        f"Unmounted {place.directory}; its daemon, process {daemon}, was stopped, "
        "and has gone on to store what was left.\n"
    )
    assert not place.is_mounted
    assert not place.is_served
    assert shell("view", "a.md").done() == "kept"


HOLD = """
import ctypes, sys
assert ctypes.CDLL(None, use_errno=True).ptrace(16, int(sys.argv[1]), None, None) == 0  # PTRACE_ATTACH
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_daemon_that_does_not_go_on_is_killed_and_its_mount_taken_away(shell: Shell, place: Place) -> None:
    place.mount()
    daemon = place.daemon
    debugger = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(daemon)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert debugger.stdout is not None
        assert debugger.stdout.readline() == b"held\n"
        sentence = shell("unmount", str(place.directory)).refusal()
    finally:
        debugger.communicate()
    assert f"process {daemon}, was stopped and did not go on, so it was killed" in sentence
    assert not place.is_mounted
    assert shell("status", "--json").json["mounts"] == []
    place.mount()
    assert place.answers


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_commits_what_is_staged(shell: Shell, place: Place, number: int) -> None:
    place.mount()
    opened = os.open(place.directory / "open.md", os.O_WRONLY | os.O_CREAT)
    os.write(opened, b"not closed yet")
    os.kill(place.daemon, number)
    eventually(lambda: not place.is_mounted)
    shell("unmount", str(place.directory))  # waits for the daemon, if it has not ended yet
    assert shell("view", "open.md").done() == "not closed yet"
    with pytest.raises(OSError):  # nobody is there any more to answer
        os.close(opened)


def test_a_second_signal_does_not_stop_the_first_from_being_obeyed(shell: Shell, place: Place) -> None:
    """A service manager unmounts, and then sends SIGTERM, to whatever the daemon is doing by then."""
    for turn in range(3):
        place.mount()
        daemon = place.daemon
        opened = os.open(place.directory / f"{turn}.md", os.O_WRONLY | os.O_CREAT)
        os.write(opened, b"not closed yet")
        while place.is_served:
            with suppress(ProcessLookupError):
                os.kill(daemon, signal.SIGTERM)
        assert not place.is_mounted
        assert shell("view", f"{turn}.md").done() == "not closed yet"
        with suppress(OSError):
            os.close(opened)


def test_a_busy_mount_is_left_with_the_names_of_who_is_in_it(shell: Shell, place: Place) -> None:
    place.mount()
    with subprocess.Popen(["sleep", "600"], cwd=place.directory) as inside:
        try:
            sentence = shell("unmount", str(place.directory)).refusal()
            assert f"sleep (process {inside.pid})" in sentence
            assert "--lazy" in sentence
            assert place.answers
            assert "Detached" in shell("unmount", str(place.directory), "--lazy").done()
            assert not place.is_mounted
        finally:
            inside.kill()
    shell("unmount", str(place.directory))
    assert shell("status", "--json").json["mounts"] == []


def test_unmount_from_inside_is_not_in_its_own_way(shell: Shell, place: Place) -> None:
    place.mount()
    shell("unmount", ".", cwd=place.directory).done()
    assert not place.is_mounted


def test_unmount_knows_what_is_no_mount(shell: Shell, place: Place) -> None:
    assert "no memfs mount" in shell("unmount", str(place.directory)).refusal()
    place.mount()
    (place.directory / "people").mkdir()
    assert "lies in the mount" in shell("unmount", str(place.directory / "people")).refusal()


def test_all_mounts_end_together(shell: Shell, place: Place) -> None:
    other = place.directory.with_name("other")
    place.mount()
    shell("mount", str(other), "--scope", "other").done()
    assert len(shell("status", "--json").json["mounts"]) == 2
    assert len(shell("unmount", "--all").done().splitlines()) == 2
    assert not place.is_mounted
    assert "Nothing is mounted" in shell("unmount", "--all").done()


def test_a_mount_in_the_foreground_ends_by_a_signal(shell: Shell, place: Place) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with shell.start("mount", str(place.directory), "--foreground") as serving:
            eventually(lambda: place.is_mounted and place.answers)
            (place.directory / "notes.md").write_text(str(number))
            serving.send_signal(number)
            assert serving.wait(SECONDS) == 0
        assert not place.is_mounted
        assert shell("view", "notes.md").done() == str(number)


def test_a_stop_at_any_moment_of_the_start_leaves_no_mount(shell: Shell, place: Place) -> None:
    for step in range(10):
        with shell.start("mount", str(place.directory), "--foreground") as serving:
            time.sleep(0.06 * step)
            serving.terminate()
            serving.wait(SECONDS)
        assert not place.is_mounted, step


def test_sigusr1_writes_the_stacks_and_harms_nothing(shell: Shell, place: Place) -> None:
    place.mount()
    os.kill(place.daemon, signal.SIGUSR1)
    eventually(lambda: "most recent call first" in place.log)
    assert place.answers


# --- which memory, and the rest --------------------------------------------------------------------


def test_commands_find_the_memory_of_the_mount_they_are_in(shell: Shell, place: Place) -> None:
    place.mount("--scope", "work")
    directory = place.directory
    (directory / "people").mkdir()
    shell("create", "ann.md", "at the port", cwd=directory / "people").done()
    assert (directory / "people" / "ann.md").read_text() == "at the port"
    assert shell("view", "people/ann.md", cwd=directory).done() == "at the port"
    assert shell("view", str(directory)).done() == "people/\n"
    assert shell("view", "mount/people", cwd=directory.parent).done() == "ann.md\n"
    assert (
        shell("rename", "ann.md", "../bob.md", cwd=directory / "people")
        .done()
        .endswith("/memories/bob.md.\n")
    )
    assert shell("policy", "show", "--json", cwd=directory).json["max_files"] == 256
    assert shell("view").done() == "", "elsewhere it is the default memory"
    line = '{"command": "view", "path": "/memories/bob.md"}\n'
    assert "at the port" in shell("port", text=line, cwd=directory).out


def test_empty_directories_survive_a_remount_and_belong_to_their_memory(shell: Shell, place: Place) -> None:
    place.mount()
    (place.directory / "people").mkdir()
    shell("unmount", str(place.directory)).done()
    place.mount("--scope", "other")
    assert list(place.directory.iterdir()) == []
    shell("unmount", str(place.directory)).done()
    place.mount()
    assert (place.directory / "people").is_dir()


def test_the_first_memory_is_one_to_read_and_its_commands_work(shell: Shell, place: Place) -> None:
    printed = shell("mount", str(place.directory), "--first-memory").done()
    commands = [line.strip() for line in printed.splitlines() if line.startswith("  ")]
    assert len(commands) == 3
    for command in commands:
        subprocess.run(["/bin/sh", "-c", command], env=shell.environment, check=True, capture_output=True)
    assert "memory" in (place.directory / "README.md").read_text()
    assert (place.directory / "notes.md").read_text() == "Prefers short answers.\n"
    again = shell("mount", str(place.directory), "--first-memory").done()
    assert commands == [line.strip() for line in again.splitlines() if line.startswith("  ")]
    assert (
        "another memory" in shell("mount", str(place.directory), "--first-memory", "--scope", "s").refusal()
    )


def test_a_memory_that_holds_something_gets_no_first_memory(shell: Shell, place: Place) -> None:
    shell("create", "a.md", "x").done()
    place.mount("--first-memory")
    assert [path.name for path in place.directory.iterdir()] == ["a.md"]


def test_status_shows_how_full_a_memory_is(shell: Shell, place: Place) -> None:
    place.mount("--max-files", "7")
    (place.directory / "a.md").write_text("12345")
    (mount,) = shell("status", "--json").json["mounts"]
    assert mount["state"] == "alive"
    assert (mount["files"], mount["max_files"], mount["bytes"]) == (1, 7, 5)
    printed = shell("status").done()
    assert str(place.directory) in printed
    assert re.search(r"^  files +\[#+\.*\] 1 of 7$", printed, re.MULTILINE)
    assert "no memfs mount" in shell("status", str(place.directory.parent)).refusal()


def test_a_memory_in_the_daemon_alone_can_be_mounted(shell: Shell, place: Place) -> None:
    place.mount("--store", "simple:")
    (place.directory / "a.md").write_text("x")
    assert shell("status", "--json").json["mounts"][0]["store"] == "simple:"
    assert "work in the directory" in shell("view", cwd=place.directory).refusal()
