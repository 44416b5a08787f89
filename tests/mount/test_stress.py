"""Everybody at once, on the same few files: nobody hangs, and in the end all doors agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = 20.0

# Each program works until its time is over; errors that a race explains are expected.
PROGRAM = """
import errno, mmap, os, random, sys, time
root, kind, seed, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
choose = random.Random(seed)
end = time.monotonic() + seconds
files = [os.path.join(root, d, n) for d in ("d", "e") for n in ("a.md", "b.md", "c.md")]
def save(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try: os.write(fd, f"{kind} {seed} {choose.random()} ".encode() * choose.randrange(1, 300))
    finally: os.close(fd)
def replace(path):
    temporary = f"{path}.tmp.{os.getpid()}"
    save(temporary)
    os.rename(temporary, path)
def edit(path):
    fd = os.open(path, os.O_RDWR)
    try:
        os.pwrite(fd, b"edited", choose.randrange(50))
        os.fsync(fd)
        os.ftruncate(fd, 40)
    finally: os.close(fd)
def look(path):
    os.stat(path); os.listdir(os.path.dirname(path)); open(path, "rb").read()
    fd = os.open(path, os.O_RDONLY)
    try:
        if os.fstat(fd).st_size:
            mapping = mmap.mmap(fd, 0, prot=mmap.PROT_READ); mapping.close()
    finally: os.close(fd)
def rename(path): os.rename(os.path.dirname(path), os.path.join(root, choose.choice("def")))
def unlink(path): os.unlink(path)
def park(path): os.rename(path, path + "~")
def mkdir(path): os.mkdir(os.path.dirname(path))
ACTIONS = {
    "reader": [look], "writer": [save, replace, edit, look], "mover": [rename, unlink, park, mkdir]
}
# ESTALE: a name that was taken away, and again between the kernel's second look and its open.
EXPECTED = "ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "EINVAL", "ENOTEMPTY", "EXDEV", "ESTALE"
done = 0
while time.monotonic() < end:
    try: choose.choice(ACTIONS[kind])(choose.choice(files)); done += 1
    except OSError as error:
        assert errno.errorcode[error.errno] in EXPECTED, repr(error)
    except ValueError: pass  # the file was emptied between its size and its mapping
    if kind == "mover": time.sleep(0.01)
print(done)
"""

AT_THE_PORT = """
import logging, memfs, random, sys, time
logging.disable()  # an upkeep that finds the scope busy says so, and is tried again
url, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
choose = random.Random(seed)
end = time.monotonic() + seconds
done = 0
with memfs.open_memory(url, scope="work") as memory:
    while time.monotonic() < end:
        path = "/memories/" + choose.choice("def") + "/" + choose.choice(["a.md", "b.md", "c.md"])
        command = choose.choice([
            memfs.Create(path, f"port {choose.random()} " * choose.randrange(300)),
            memfs.Create(path, "short"), memfs.Delete(path), memfs.Insert(path, 0, "line"),
            memfs.Rename(path[:11], "/memories/" + choose.choice("def")), memfs.Delete(path[:11]),
        ])
        result = memory.execute(command)
        assert result.ok or str(result.error.code) in (
            "NOT_FOUND", "ALREADY_EXISTS", "INVALID_RANGE", "LIMIT_EXCEEDED", "PATH_CONFLICT"
        ), result.to_wire()
        done += result.ok
print(done)
"""


def work(mounted: Mounted, url: str, others: list[Path]) -> None:
    orders: list[list[str]] = []
    for number, root in enumerate([mounted.path, *others]):
        for kind in ("reader", "writer", "writer", "mover"):
            orders.append([PROGRAM, str(root), kind, str(len(orders) + number), str(SECONDS)])
    orders += [[AT_THE_PORT, url, str(seed), str(SECONDS)] for seed in range(2)]
    programs = [start(*order) for order in orders]
    try:
        for program in programs:
            output, errors = program.communicate(timeout=SECONDS * 4 + 60)
            assert (program.returncode, errors) == (0, "")
            assert int(output) > 0
    finally:
        for program in programs:
            program.kill()
            program.communicate()


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def shown(root: Path) -> dict[str, str | None]:
    return {str(path.relative_to(root)): content(path) for path in root.rglob("*.md") if path.is_file()}


def stored(mounted: Mounted) -> dict[str, str | None]:
    memory = mounted.memory
    memory.catch_up()
    files = list(memory.snapshot().in_write_order())
    return {file.path.removeprefix("/memories/"): memory.read(file).decode() for file in files}


def check(mounted: Mounted, others: list[Path]) -> None:
    (mounted.path / "last.md").write_text("the end")
    for root in (mounted.path, *others):
        eventually(lambda root=root: shown(root) == stored(mounted))  # type: ignore[misc]
    assert mounted.log().count("Traceback") == 0, mounted.log()


def test_everybody_at_once(mounting: Mounting, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'store'}"
    mounted = mounting(url=url, constants={"memfs.mount.renames:PARKED_SECONDS": 0.05})
    work(mounted, url, [])
    check(mounted, [])
    assert os.listdir(mounted.path)
    assert mounted.stop() == "ENDED"


def test_everybody_at_once_on_two_mounts(mounting: Mounting, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'store'}"
    quick = {"memfs.mount.renames:PARKED_SECONDS": 0.05}
    one, two = mounting(url=url, constants=quick), mounting(url=url, constants=quick)
    work(one, url, [two.path])
    check(one, [two.path])
    assert two.log().count("Traceback") == 0, two.log()
