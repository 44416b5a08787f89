"""What a power cut leaves: the order of writes and syncs, as the kernel sees it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness import must
from tests.stores.harness import open_pair

SCRIPT = """
import os, sys
from pathlib import Path
from tests.harness import must
from tests.stores.harness import open_pair

memory, _ = open_pair(Path(sys.argv[1]), relaxed=sys.argv[2] == "relaxed")
must(memory, "create", path="/memories/warm.md", text="up")
os.write(2, b"MARK started")
must(memory, "create", path="/memories/a.md", text="x")
os.write(2, b"MARK acknowledged")
memory.sync()
os.write(2, b"MARK synced")
memory.close()
"""


class Call(NamedTuple):
    """One system call of the traced process: what it did to which file."""

    name: str
    target: str


class Trace(NamedTuple):
    """All calls of one run, and the directory it ran in."""

    directory: Path
    calls: list[Call]


@pytest.fixture(scope="module")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return trace(tmp_path_factory.mktemp("durable"), "durable")


@pytest.fixture(scope="module")
def relaxed(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return trace(tmp_path_factory.mktemp("relaxed"), "relaxed")


def trace(directory: Path, mode: str) -> Trace:
    """The writes and syncs of the script, in order; its marks are calls named ``mark``."""
    if shutil.which("strace") is None:
        pytest.skip("machine: no strace")
    log = directory / "trace"
    traced = "trace=pwrite64,write,fsync,fdatasync,rename,mkdir"
    command = ["strace", "-f", "-y", "-e", traced, "-o", str(log)]
    command += [sys.executable, "-c", SCRIPT, str(directory / "new" / "store"), mode]
    finished = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if "ptrace" in finished.stderr:
        pytest.skip("machine: strace may not trace here")
    assert finished.returncode == 0, finished.stderr
    calls = []
    for line in log.read_text().splitlines():
        mark = re.search(r'"MARK (\w+)"', line)
        call = re.match(r"\d+ +(\w+)\((?:\d+<([^>]*)>|\"([^\"]*)\")", line)
        if mark:
            calls.append(Call("mark", mark[1]))
        elif call:
            calls.append(Call(call[1], call[2] or call[3]))
    return Trace(directory, calls)


def between(trace: Trace, start: str, end: str) -> list[Call]:
    calls = trace.calls
    return calls[calls.index(Call("mark", start)) + 1 : calls.index(Call("mark", end))]


def is_synced(calls: list[Call], suffix: str) -> bool:
    """Whether the last thing that happened to the file was a sync."""
    of_file = [call.name for call in calls if call.target.endswith(suffix)]
    return bool(of_file) and of_file[-1] in ("fsync", "fdatasync")


def test_an_acknowledged_write_is_on_the_disk(durable: Trace) -> None:
    calls = between(durable, "started", "acknowledged")
    assert any(call.name == "pwrite64" and call.target.endswith("-wal") for call in calls)
    assert is_synced(calls, "-wal")


def test_a_durable_write_takes_one_sync(durable: Trace) -> None:
    calls = between(durable, "started", "acknowledged")
    assert sum(call.name in ("fsync", "fdatasync") for call in calls) == 1


def test_a_relaxed_write_waits_for_no_disk_and_sync_brings_it_there(relaxed: Trace) -> None:
    write = between(relaxed, "started", "acknowledged")
    assert any(call.name == "pwrite64" and call.target.endswith("-wal") for call in write)
    assert not any(call.name in ("fsync", "fdatasync") for call in write)
    assert is_synced(between(relaxed, "started", "synced"), "-wal")


def test_the_directories_of_a_new_store_are_synced_with_their_names(durable: Trace) -> None:
    outer = durable.directory / "new"
    for made in (outer, outer / "store"):
        after = durable.calls[durable.calls.index(Call("mkdir", str(made))) :]
        assert Call("fsync", str(made.parent)) in after
    after = durable.calls[naming(durable) :]
    assert Call("fsync", str(outer / "store")) in after


def test_a_new_database_is_whole_on_the_disk_before_it_gets_its_name(durable: Trace) -> None:
    assert is_synced(durable.calls[: naming(durable)], ".new")


def naming(trace: Trace) -> int:
    """Where in the trace the new database gets its name."""
    return next(number for number, call in enumerate(trace.calls) if call.name == "rename")


@pytest.mark.parametrize("is_relaxed", [False, True], ids=["durable", "relaxed"])
def test_a_store_is_its_owners_alone(tmp_path: Path, is_relaxed: bool) -> None:
    before = os.umask(0)
    try:
        memory, _ = open_pair(tmp_path / "store", is_relaxed)
        with memory:
            must(memory, "create", path="/memories/a.md", text="x")
            memory.maintain()
            found = [tmp_path / "store", *(tmp_path / "store").rglob("*")]
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
            assert len(found) >= 6
            assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
    finally:
        os.umask(before)
