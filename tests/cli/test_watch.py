"""``memfs watch``: what others do to a scope, printed as they do it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memfs import open_memory
from memfs.port.keeping import Retention
from tests.cli.conftest import Place, Shell, eventually
from tests.harness import must


@contextmanager
def watching(shell: Shell, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A watch that has begun when this does."""
    process = shell.start("watch", "--json", *arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def records(process: subprocess.Popen[bytes], count: int) -> list[dict[str, Any]]:
    """The next *count* records."""
    assert process.stdout is not None
    return [json.loads(process.stdout.readline()) for _ in range(count)]


def told(records: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    return [(each["version"], each["operation"], each["path"].removeprefix("/memories/")) for each in records]


@pytest.mark.parametrize("kind", ["sqlite", "directory", "git"])
def test_changes_of_another_process_are_printed_as_they_come(shell: Shell, kind: str) -> None:
    url = f"{kind}:{shell.home}/store"
    with open_memory(url) as memory, watching(shell, "--store", url, "--since", "0") as process:
        must(memory, "create", path="/memories/a.md", text="one")
        assert told(records(process, 1)) == [(1, "created", "a.md")], "it has begun"
        must(memory, "rename", oldPath="/memories/a.md", newPath="/memories/b.md")
        must(memory, "delete", path="/memories/b.md")
        assert told(records(process, 2)) == [(2, "renamed", "b.md"), (3, "deleted", "b.md")]


def test_each_change_comes_once_and_in_order_however_fast_they_are(shell: Shell) -> None:
    url, each = f"sqlite:{shell.home}/store", 150

    def write(name: str) -> None:
        with open_memory(url) as memory:
            for number in range(each):
                must(memory, "create", path=f"/memories/{name}.md", text=str(number))

    write("before")
    with watching(shell, "--store", url, "--since", "0") as process:
        assert [record["version"] for record in records(process, each)] == [*range(1, each + 1)]
        writers = [Thread(target=write, args=(name,)) for name in ("one", "other")]
        for writer in writers:
            writer.start()
        found = [record["version"] for record in records(process, 2 * each)]
        for writer in writers:
            writer.join()
        assert found == [*range(each + 1, 3 * each + 1)]


def test_only_what_happens_at_a_path_or_below_it(shell: Shell) -> None:
    with open_memory(f"sqlite:{shell.home}/.local/share/memfs/store") as memory:
        must(memory, "create", path="/memories/d/a.md", text="")
        must(memory, "create", path="/memories/dd.md", text="")
        must(memory, "rename", oldPath="/memories/d/a.md", newPath="/memories/b.md")
        must(memory, "create", path="/memories/d/c.md", text="")
    with watching(shell, "d", "--since", "0") as process:
        assert told(records(process, 3)) == [
            (1, "created", "d/a.md"),
            (3, "renamed", "b.md"),
            (4, "created", "d/c.md"),
        ]
    with watching(shell, "d/c.md", "--since", "1h") as process:
        assert told(records(process, 1)) == [(4, "created", "d/c.md")]


def test_lines_are_those_of_the_log(shell: Shell) -> None:
    shell("create", "a.md", "one", "--actor", "ann", "--reason", "asked for").done()
    process = shell.start("watch", "--since", "0")
    assert process.stdout is not None
    lines = process.stdout.readline() + process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, complaints = process.communicate()
    assert lines.decode() == shell("log").done()
    assert (process.returncode, rest, complaints) == (130, b"", b""), "Ctrl-C ends it without a word"


def test_it_ends_when_nobody_reads_it_any_more_also_while_nothing_happens(shell: Shell) -> None:
    shell("create", "a.md", "one").done()
    process = shell.start("watch", "--since", "0")
    assert process.stdout is not None
    with process:
        process.stdout.readline()
        process.stdout.close()
    assert process.returncode == 141


def test_it_costs_nothing_while_nothing_happens(shell: Shell) -> None:
    shell("create", "a.md", "one").done()
    with watching(shell, "--since", "0") as process:
        records(process, 1)
        eventually(lambda: _rested(process.pid))


def test_what_is_pruned_is_said_to_be_missing(shell: Shell) -> None:
    with open_memory(f"sqlite:{shell.home}/.local/share/memfs/store") as memory:
        for number in range(5):
            must(memory, "create", path="/memories/a.md", text=str(number))
        memory.prune(Retention(days=None, versions=2))
    process = shell.start("watch", "--since", "1", "--json")
    assert told(records(process, 2)) == [(4, "modified", "a.md"), (5, "modified", "a.md")]
    process.kill()
    _, complaints = process.communicate()
    assert complaints.decode() == (
        "memfs: 2 of the versions 2 to 5 are not in the history: they were pruned, or changed no file.\n"
    )


def test_what_cannot_be_watched_is_refused(shell: Shell) -> None:
    shell("create", "a.md", "one").done()
    assert "at version 1" in shell("watch", "--since", "2").refusal(1)
    assert "simple:" in shell("watch", "--store", "simple:").refusal(1)
    assert shell("watch", "--since", "someday").status == 2
    assert "'..'" in shell("watch", "/memories/../a").refusal(1)


@pytest.mark.slow
def test_the_memory_is_the_one_of_the_mount_one_is_in(shell: Shell, place: Place) -> None:
    place.mount("--store", f"sqlite:{shell.home}/other")
    with watching(shell, str(place.directory / "a.md"), "--since", "0") as process:
        (place.directory / "b.md").write_text("not this one")
        (place.directory / "a.md").write_text("this one")
        (record,) = records(process, 1)
    assert (record["path"], record["operation"]) == ("/memories/a.md", "created")


def _rested(pid: int) -> bool:
    """Whether no thread of a process has run for a while."""
    before = _switches(pid)
    time.sleep(0.3)
    return _switches(pid) == before


def _switches(pid: int) -> list[str]:
    """How often each thread of a process has run, as the kernel counts it."""
    return [
        line
        for status in sorted(Path(f"/proc/{pid}/task").glob("*/status"))
        for line in status.read_text().splitlines()
        if "ctxt_switches" in line
    ]


@pytest.mark.slow
def test_it_ends_when_the_store_is_removed(shell: Shell) -> None:
    url = f"sqlite:{shell.home}/store"
    with open_memory(url) as memory:
        must(memory, "create", path="/memories/a.md", text="one")
    with watching(shell, "--store", url, "--since", "0") as process:
        assert told(records(process, 1)) == [(1, "created", "a.md")], "it has begun"
        shutil.rmtree(shell.home / "store")
        _, error = process.communicate(timeout=120)
    assert process.returncode == 3
    assert b"is no longer in" in error
    assert not (shell.home / "store").exists()
