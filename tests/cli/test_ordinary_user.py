"""Mounts of a user who is not root: through fusermount3, which has rules and messages of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, SECONDS, Shell, require_fuse

pytestmark = pytest.mark.slow

NOBODY = 65534
# In a mount namespace of its own: /dev/fuse is for everybody there, as systemd has it on real machines,
# and whatever stays mounted goes with it.
AS_NOBODY = """
set -e
[ -e "$1/fuse" ] || mknod "$1/fuse" c 10 229
chmod 666 "$1/fuse"
mount --bind "$1/fuse" /dev/fuse
cd "$1/home"
exec setpriv --reuid 65534 --regid 65534 --clear-groups "${@:2}"
"""
STORY = """
import json, os, signal, subprocess, sys, time

def memfs(*arguments, status=0):
    done = subprocess.run([sys.executable, "-m", "memfs", *arguments], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    return done.stdout + done.stderr

def wait(holds):
    while not holds():
        time.sleep(0.01)

def mount():
    status = [sys.executable, "-m", "memfs", "status", "--json"]
    return json.loads(subprocess.run(status, capture_output=True).stdout)["mounts"][0]

home = os.path.expanduser("~/memories")
assert home in memfs("mount"), "the default is ~/memories, for /memories cannot be made"
with open(home + "/a.md", "w") as stream:
    stream.write("kept")
assert os.stat(home).st_mode & 0o777 == 0o700
assert "already mounted" in memfs("mount", status=1)
assert "belongs to another user" in memfs("mount", "/etc", status=73)
assert "user_allow_other" in memfs("mount", "other", "--allow-other", "--scope", "s", status=1)
assert not os.path.exists("other")

os.kill(mount()["pid"], signal.SIGKILL)
wait(lambda: mount()["state"] == "dead")
memfs("mount")
assert open(home + "/a.md").read() == "kept"
assert mount()["state"] == "alive"

inside = subprocess.Popen(["sleep", "600"], cwd=home)
try:
    assert "sleep" in memfs("unmount", home, status=1)
    os.kill(mount()["pid"], signal.SIGKILL)
    memfs("mount")
    assert open(home + "/a.md").read() == "kept"
finally:
    inside.kill()
memfs("unmount", home)
assert "Nothing is mounted" in memfs("status")
assert memfs("view", "a.md") == "kept"
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that others can reach: pytest's own are closed to them."""
    path = Path(tempfile.mkdtemp(prefix="memfs-user-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="machine: only root can become another user")
def test_an_ordinary_user_can_do_all_of_it(directory: Path) -> None:
    require_fuse()
    shell = Shell(directory / "home")
    shell.home.mkdir()
    os.chown(shell.home, NOBODY, NOBODY)
    environment = shell.environment | {"PYTHONDONTWRITEBYTECODE": "1"}
    become = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "bash",
        "-c",
        AS_NOBODY,
        "bash",
        str(directory),
    ]

    def run(program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*become, sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            timeout=2 * SECONDS,
            check=False,
        )

    usable = run("import os, memfs.cli, pyfuse3, apsw; os.open('/dev/fuse', os.O_RDWR)")
    if usable.returncode != 0:
        reason = usable.stderr.strip().splitlines()[-1:]
        pytest.skip(f"machine: another user cannot run this Python, read {ROOT} or open /dev/fuse: {reason}")
    done = run(STORY)
    assert done.returncode == 0, done.stderr
