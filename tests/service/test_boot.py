"""Lingering: a memory is there from boot on, before anybody has logged in, on a systemd that really boots."""

from __future__ import annotations

import pytest

from tests.service.manager import PLACE, USER, boot, new_home, running_manager

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STORY = f"""
import os, subprocess, sys, time

home = "{PLACE}/home"

def run(*command, check=True):
    return subprocess.run(command, capture_output=True, text=True, check=check).stdout

def as_user(*command):
    become = ["setpriv", "--reuid={USER}", "--regid={USER}", "--clear-groups", "env", "-i", "--chdir=" + home]
    become += ["HOME=" + home, "PATH=" + home + "/.local/bin:/usr/bin:/bin"]
    become += ["XDG_RUNTIME_DIR=/run/user/{USER}"]
    done = subprocess.run([*become, *command], capture_output=True, text=True)
    return done.stdout + done.stderr

def mounts():
    with open("/proc/self/mounts") as lines:
        return sum(line.split(" ")[1] == home + "/memories" for line in lines)

def wait(holds):
    while not holds():
        time.sleep(0.05)

wait(lambda: as_user("cat", "memories/a.md") == "kept")
assert run("loginctl", "list-sessions", "--no-legend") == "", "nobody has logged in"
assert mounts() == 1
assert "active" in as_user("systemctl", "--user", "is-active", "memfs@default")
print("mounted from boot on")

run("loginctl", "disable-linger", "memfs-tester")
wait(lambda: mounts() == 0)
wait(lambda: "memfs" not in run("ps", "-u", "{USER}", "-o", "args=", check=False))
assert as_user("memfs", "view", "a.md") == "kept"
print("unmounted without lingering")

run("loginctl", "enable-linger", "memfs-tester")
wait(lambda: as_user("cat", "memories/a.md") == "kept")
said = as_user("memfs", "service", "install", "second", "--scope", "second", "--linger")
assert "Lingering is enabled already" in said, said
assert "memfs@second" in as_user("memfs", "service", "remove", "second")
assert os.path.exists("/var/lib/systemd/linger/memfs-tester"), "it was not this service that asked for it"
print("mounted again")
"""


def test_a_lingering_users_memory_is_there_before_anybody_logs_in() -> None:
    with new_home() as home:
        with running_manager(home) as manager:
            manager.memfs("service", "install").done()
            manager("sh", "-c", "printf kept >memories/a.md").done()
        done = boot(home, STORY)
    assert done.out == "mounted from boot on\nunmounted without lingering\nmounted again\n", done
    assert done.status == 0
