"""A power cut at any moment, played on a file system in an image: what was promised is on the disk.

The writer is stopped and the image is copied: what its file system had not written yet is lost, as with
a cut. Not modelled: a disk that reorders or tears what it was told to write.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from memfs.opening import open_with
from tests.harness import must, texts
from tests.stores.git.harness import damage_of as git_damage_of
from tests.stores.harness import DURABLE, ENDLESS, SCOPE, damage_of, files_of, rest_of, start_python

ROUNDS = 12
MEBIBYTES = 48

WRITER = """
import sys
from pathlib import Path
from memfs.opening import open_with
from memfs.stores.directory import store as directory_store
from memfs.stores.sqlite import store as sqlite_store, upkeep
from tests.harness import must
from tests.stores.harness import SCOPE

sqlite_store.UPKEEP_EVERY = directory_store.UPKEEP_EVERY = 7
upkeep.CHECKPOINT_BYTES = 100_000
relaxed = sys.argv[2] == "relaxed"
memory = open_with(sys.argv[1], SCOPE, {}, relaxed=relaxed)
for number in range(10_000):
    path = f"/memories/{sys.argv[3]}/{number}.md"
    must(memory, "create", path=path, text=path)
    must(memory, "create", path="/memories/long.md", text=f"{number}\\n" + "a line\\n" * 300)
    moving, moved = f"/memories/m{number % 2}", f"/memories/m{(number + 1) % 2}"
    if number == 0:
        memory.execute({"command": "delete", "path": moving})
        memory.execute({"command": "delete", "path": moved})
        for name in "xyz":
            must(memory, "create", path=f"{moving}/{name}.md", text=name)
    must(memory, "rename", oldPath=moving, newPath=moved)
    if relaxed:
        memory.sync()
        if number % 7 == 0:
            memory.maintain()
    print(path, flush=True)
"""


@contextmanager
def mounted(image: Path, mount_point: Path) -> Iterator[None]:
    mount_point.mkdir(exist_ok=True)
    if subprocess.run(
        ["mount", "-o", "loop", image, mount_point], check=False, capture_output=True
    ).returncode:
        pytest.skip("machine: a loop device cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", mount_point], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("machine: only root with mkfs.ext4 can make a disk to cut the power of")
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(MEBIBYTES << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", path], check=True)
    return path


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", DURABLE)
@pytest.mark.parametrize("mode", ["durable", "relaxed"])
def test_what_was_promised_survives_a_power_cut(image: Path, tmp_path: Path, kind: str, mode: str) -> None:
    dice = random.Random(5)
    expected: list[str] = []
    for number in range(ROUNDS):
        after = tmp_path / "after"
        with mounted(image, tmp_path / "before"):
            url = f"{kind}:{tmp_path / 'before' / 'store'}"
            open_with(url, SCOPE, asdict(ENDLESS)).close()
            with start_python(WRITER, url, mode, f"round{number}") as writer:
                assert writer.stdout is not None
                expected.append(writer.stdout.readline().strip())
                time.sleep(dice.random() * 0.2)
                writer.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, writer.pid, os.WSTOPPED)
                subprocess.run(["cp", "--sparse=always", image, after], check=True)
                writer.kill()
                expected += rest_of(writer)
        with mounted(after, tmp_path / "found"):
            directory = tmp_path / "found" / "store"
            assert not damage_in(kind, directory)
            with open_with(f"{kind}:{directory}", SCOPE, {}) as memory:
                must(memory, "create", path="/memories/after.md", text=str(number))
                found = texts(memory)
            assert [path for path in expected if found.get(path) != path] == []
            # Renamed as a whole, again and again: never in two halves.
            assert sorted(path[-4:] for path in found if path.startswith("/memories/m")) == [
                "x.md",
                "y.md",
                "z.md",
            ]
            assert len({path[:12] for path in found if path.startswith("/memories/m")}) == 1
        after.replace(image)


def damage_in(kind: str, directory: Path) -> object:
    """What the engine of a store finds wrong with it."""
    return git_damage_of(directory) if kind == "git" else damage_of(files_of(directory, kind).database)
