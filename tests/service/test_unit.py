"""The unit under a real user manager: from its start to its end, and what may go wrong in between."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.cli.conftest import eventually
from tests.service.kills import kill_again_and_again
from tests.service.manager import Manager

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def install(manager: Manager, name: str, *arguments: str) -> str:
    """Install the service of a memory; its unit."""
    manager.memfs("service", "install", name, *arguments).done()
    return f"memfs@{name}.service"


def write(manager: Manager, path: str, text: str) -> None:
    manager("sh", "-c", 'cat >"$1"', "sh", path, text=text).done()


def read(manager: Manager, path: str) -> str:
    return manager("cat", path).done()


def process_of(manager: Manager, unit: str) -> str:
    return manager.property("MainPID", unit)


def state_of(manager: Manager, unit: str) -> str:
    return manager.property("ActiveState", unit)


def settled(manager: Manager, unit: str) -> bool:
    """Whether it has ended, and is not about to start again."""
    return state_of(manager, unit) in ("failed", "inactive")


# --- a start ---------------------------------------------------------------------------------------


def test_when_the_start_returns_the_directory_answers(manager: Manager) -> None:
    unit = install(manager, "start", "--scope", "start", "--max-files", "7")
    write(manager, "memories-start/a.md", "kept")
    assert read(manager, "memories-start/a.md") == "kept"
    assert manager.property("StatusText", unit) == (
        f"Serving {manager.inside}/memories-start: 0 of 7 files, 0 of 1048576 bytes"
    )
    assert manager("stat", "-c", "%a", "memories-start").done() == "700\n"


def test_the_daemon_can_gain_no_right(manager: Manager) -> None:
    unit = install(manager, "hard", "--scope", "hard")
    shown = manager("sh", "-c", 'cat /proc/"$1"/task/*/status', "sh", process_of(manager, unit)).done()
    assert re.findall(r"NoNewPrivs:\t(.)", shown) == ["1"] * shown.count("NoNewPrivs")
    assert shown.count("NoNewPrivs") > 1, "threads that were started later, too"


def test_the_unit_is_without_a_fault(manager: Manager) -> None:
    install(manager, "lint", "--scope", "lint")
    units = manager.inside / ".config/systemd/user"
    command = ["systemd-analyze", "--user", "--man=no", "--recursive-errors=yes", "verify"]
    checked = manager(*command, f"{units}/memfs@lint.service")
    assert (checked.status, checked.err) == (0, "")


# --- crashes ---------------------------------------------------------------------------------------


def test_after_kill_9_it_answers_again_and_nothing_acknowledged_is_missing(manager: Manager) -> None:
    install(manager, "kills", "--scope", "kills")
    rounds = kill_again_and_again(manager, "kills", 4)
    assert [each.missing for each in rounds if each.missing > 0] == []
    assert [each.mounts for each in rounds] == [1] * 4
    print("until it answered:", *(f"{each.seconds:.2f} s" for each in rounds))
    assert max(each.seconds for each in rounds) < 60


def test_a_daemon_that_is_stuck_is_replaced(manager: Manager) -> None:
    unit = install(manager, "stuck", "--scope", "stuck")
    write(manager, "memories-stuck/a.md", "kept")
    drop_in = f".config/systemd/user/{unit}.d"
    manager("mkdir", "-p", drop_in).done()
    write(manager, f"{drop_in}/soon.conf", "[Service]\nWatchdogSec=3\n")
    manager.systemctl("daemon-reload").done()
    manager.memfs("service", "restart", "stuck").done()
    stuck = process_of(manager, unit)
    beat = manager.property("WatchdogTimestampMonotonic", unit)
    eventually(lambda: manager.property("WatchdogTimestampMonotonic", unit) != beat)
    assert process_of(manager, unit) == stuck, "as long as it answers, it is left alone"
    manager("kill", "-STOP", stuck).done()
    eventually(lambda: process_of(manager, unit) not in (stuck, "0"))
    eventually(lambda: state_of(manager, unit) == "active")
    assert read(manager, "memories-stuck/a.md") == "kept"
    assert manager.is_mounted("memories-stuck") == 1
    assert "watchdog" in manager.journal(unit).lower()
    manager.memfs("service", "stop", "stuck").done()


# --- a stop ----------------------------------------------------------------------------------------

BUSY = """
import os, subprocess, sys
directory, unit, verb = sys.argv[1:]
os.chdir(directory)
with open("open.md", "w") as stream:
    stream.write("not closed yet")
    stream.flush()
    subprocess.run(["systemctl", "--user", verb, unit], check=True)
    os.chdir("/")
    os.dup2(os.open("/dev/null", os.O_WRONLY), stream.fileno())
"""


@pytest.mark.parametrize("verb", ["stop", "restart"])
def test_a_program_in_it_neither_stops_a_stop_nor_loses_its_save(manager: Manager, verb: str) -> None:
    """Its working directory is the mount, and a file is open and written, and not closed."""
    name = f"busy-{verb}"
    unit = install(manager, name, "--scope", name)
    manager.python(BUSY, str(manager.inside / f"memories-{name}"), unit, verb).done()
    assert manager.property("Result", unit) == "success"
    assert state_of(manager, unit) == ("inactive" if verb == "stop" else "active")
    assert manager.is_mounted(f"memories-{name}") == (verb == "restart")
    assert manager.memfs("view", "--memory", name, "/memories/open.md").done() == "not closed yet"


def test_stops_leave_no_mount_whenever_they_come(manager: Manager) -> None:
    unit = install(manager, "short", "--scope", "short")
    for pause in (0.0, 0.1, 0.3, 0.6):
        manager.systemctl("start", "--no-block", unit).done()
        time.sleep(pause)
        manager.systemctl("stop", unit).done()
        assert manager.is_mounted("memories-short") == 0
        assert state_of(manager, unit) == "inactive"


def test_an_unmount_by_hand_ends_the_service_for_now(manager: Manager) -> None:
    unit = install(manager, "hand", "--scope", "hand")
    manager.memfs("unmount", "--memory", "hand").done()
    eventually(lambda: settled(manager, unit))
    assert (state_of(manager, unit), manager.property("Result", unit)) == ("inactive", "success")
    assert manager.property("NRestarts", unit) == "0"


# --- what is wrong from the beginning ---------------------------------------------------------------


def test_a_wrong_configuration_is_named_and_not_tried_again(manager: Manager) -> None:
    unit = install(manager, "wrong", "--scope", "wrong")
    manager.memfs("service", "stop", "wrong").done()
    file = f"{manager.inside}/.config/memfs/wrong.toml"
    write(manager, file, 'scope = "wrong"\nmax_file = 3\n')
    sentence = manager.memfs("service", "start", "wrong").refusal()
    assert f"{file}, line 2, has the unknown key 'max_file'" in sentence
    eventually(lambda: settled(manager, unit))
    assert manager.property("ExecMainStatus", unit) == "78"
    assert manager.property("NRestarts", unit) == "0"
    assert "line 2" in manager.journal(unit, "--priority=err")
    write(manager, file, f'scope = "wrong"\nmountpoint = "{manager.inside}/memories-wrong"\n')
    manager.memfs("service", "start", "wrong").done()


def test_a_directory_that_is_not_empty_is_named_and_not_tried_again(manager: Manager) -> None:
    unit = install(manager, "full", "--scope", "full")
    manager.memfs("service", "stop", "full").done()
    write(manager, "memories-full/stray.txt", "somebody's")
    sentence = f"{manager.inside}/memories-full is not empty (it holds 'stray.txt'); name an empty directory."
    assert sentence.rstrip(".") in manager.memfs("service", "start", "full").refusal()
    eventually(lambda: settled(manager, unit))
    assert state_of(manager, unit) == "failed"
    assert manager.property("ExecMainStatus", unit) == "73"
    assert manager.property("NRestarts", unit) == "0"
    shown = manager.memfs("status").out
    assert f"  service  failed: {sentence}" in shown
    assert "`memfs service start full`" in shown
    (memory,) = (each for each in manager.memfs("status", "--json").json["down"] if each["name"] == "full")
    assert memory["service"] == {"state": "failed", "status": sentence}
    assert read(manager, "memories-full/stray.txt") == "somebody's"
    manager("rm", "memories-full/stray.txt").done()
    manager.memfs("service", "start", "full").done()
    assert manager.is_mounted("memories-full") == 1


def test_what_fails_again_and_again_is_given_up(manager: Manager) -> None:
    unit = install(manager, "fails", "--scope", "fails", "--store", "sqlite:fails-store")
    manager.memfs("service", "stop", "fails").done()
    manager("sh", "-c", "mv fails-store kept-store && touch fails-store").done()
    assert "fails-store" in manager.memfs("service", "start", "fails").refusal()
    eventually(lambda: settled(manager, unit))
    assert state_of(manager, unit) == "failed"
    assert int(manager.property("NRestarts", unit)) >= 1
    manager("sh", "-c", "rm fails-store && mv kept-store fails-store").done()
    manager.memfs("service", "start", "fails").done()
    assert manager.is_mounted("memories-fails") == 1


# --- the journal -----------------------------------------------------------------------------------


def test_the_journal_has_an_events_parts_as_fields(manager: Manager) -> None:
    unit = install(manager, "tell", "--scope", "tell", "--max-files", "1")
    write(manager, "memories-tell/a.md", "1")
    write(manager, "memories-tell/b.md", "2")
    eventually(lambda: "MEMFS_CODE" in manager.journal(unit, "--output=json"))
    found = manager.journal(unit, "--output=json", "MEMFS_CODE=EVICTED").splitlines()
    (event,) = map(json.loads, found)
    assert event["MEMFS_PATH"] == "/memories/a.md"
    assert event["SYSLOG_IDENTIFIER"] == "memfs"
    assert event["PRIORITY"] == "6"
    assert "/memories/a.md" in event["MESSAGE"]
    shown = manager.memfs("service", "logs", "tell").done()
    assert "EVICTED" in shown
    assert f"mounted {manager.inside}/memories-tell" in shown


# --- several, and another version -------------------------------------------------------------------


def test_two_memories_are_served_at_once_and_end_apart(manager: Manager) -> None:
    one, other = install(manager, "one", "--scope", "one"), install(manager, "other", "--scope", "other")
    write(manager, "memories-one/a.md", "one's")
    write(manager, "memories-other/a.md", "the other's")
    manager.systemctl("kill", "--kill-whom=main", "--signal=KILL", one).done()
    assert read(manager, "memories-other/a.md") == "the other's"
    eventually(lambda: state_of(manager, one) == "active" and manager("cat", "memories-one/a.md").status == 0)
    assert read(manager, "memories-one/a.md") == "one's"
    manager.memfs("service", "stop", "one").done()
    assert state_of(manager, other) == "active"
    assert read(manager, "memories-other/a.md") == "the other's"


def test_an_upgrade_brings_its_unit_and_keeps_the_memory(manager: Manager) -> None:
    unit = install(manager, "old", "--scope", "old")
    write(manager, "memories-old/a.md", "kept")
    file = f"{manager.inside}/.config/systemd/user/memfs@.service"
    record = f"{manager.inside}/.local/state/memfs/services/memfs@.service"
    for each in (file, record):
        write(manager, each, read(manager, file).replace("--hardened", ""))
    manager.systemctl("daemon-reload").done()
    manager.memfs("service", "restart", "old").done()
    before = process_of(manager, unit)
    printed = manager.memfs("service", "install", "old").done()
    assert f"Wrote {file}." in printed
    assert "--hardened" in read(manager, file)
    assert process_of(manager, unit) not in (before, "0")
    assert read(manager, "memories-old/a.md") == "kept"


# --- what is configured changes meanwhile -----------------------------------------------------------


@pytest.mark.parametrize("line", ["max_file = 3", 'mountpoint = "~/moved"'])
def test_a_stop_ends_the_mount_there_is_whatever_is_configured_now(manager: Manager, line: str) -> None:
    unit = install(manager, "turned", "--scope", "turned")
    write(manager, "memories-turned/a.md", "kept")
    file = f"{manager.inside}/.config/memfs/turned.toml"
    before = read(manager, file)
    write(manager, file, f'scope = "turned"\n{line}\n')
    manager.systemctl("stop", unit).done()
    assert manager.is_mounted("memories-turned") == 0
    assert manager.property("Result", unit) == "success"
    write(manager, file, before)
    manager.memfs("service", "remove", "turned").done()
