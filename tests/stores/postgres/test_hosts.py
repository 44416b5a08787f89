"""Mounts on several hosts, and cables that are pulled out: reads go on, writes wait, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memfs import Memory, open_memory
from tests.harness import texts
from tests.mount.harness import Mounted, content, errno_of, eventually, write
from tests.stores.harness import ENDLESS, SCOPE
from tests.stores.postgres.conftest import STORE, initialise
from tests.stores.postgres.link import link_to
from tests.stores.postgres.network import Host, hosts
from tests.stores.postgres.server import ADMINISTRATOR, Server, running

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watchdog"), pytest.mark.timeout(400)]
PATIENCE = 8
RECOVERY = 60.0
"""Seconds within which everything goes on by itself once a cable is in again."""


class Office(NamedTuple):
    """Two hosts with a mount each of one scope, whose server is a third one."""

    hosts: list[Host]
    mounts: list[Mounted]
    memory: Memory
    """The scope, on the server's own host."""

    @property
    def roots(self) -> list[Path]:
        return [mounted.path for mounted in self.mounts]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    directory = tmp_path_factory.mktemp("office")
    with (
        hosts("server", "a", "b") as (there, *here),
        running(address=there.address, prefix=there.prefix) as server,
    ):
        server.execute(f"CREATE DATABASE {STORE}")
        initialise(server, STORE)
        local = f"postgresql://{ADMINISTRATOR}@/{STORE}?host={server.directory}&port={server.port}"
        url = server.url(STORE, memfs_patience=str(PATIENCE))
        with open_memory(local, scope=SCOPE, limits=ENDLESS) as memory:
            mounts = [Mounted(directory / host.port, host.prefix, url=url) for host in here]
            try:
                for mounted in mounts:
                    mounted.start()
                yield Office(here, mounts, memory)
            finally:
                for mounted in mounts:
                    mounted.close()


@contextmanager
def pulled_out(host: Host) -> Iterator[None]:
    host.cut()
    try:
        yield
    finally:
        host.mend()


class Typist(threading.Thread):
    """Saves one new file after the other, and keeps what it was told of each."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__()
        self._root = root
        self._name = name
        self._stopped = threading.Event()
        self.saved: dict[str, int] = {}

    def run(self) -> None:
        number = 0
        while not self._stopped.is_set():
            path = self._root / f"{self._name}{number}.md"
            self.saved[path.name] = errno_of(lambda path=path: write(path, path.name))  # type: ignore[misc]
            number += 1

    def stop(self) -> dict[str, int]:
        self._stopped.set()
        self.join()
        return self.saved


def status_of(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / ".memfs" / "status").read_text())
    return found


def changes_of(memory: Memory, name: str) -> list[str]:
    return [record.operation for record in memory.history(f"/memories/{name}")]


def test_what_one_host_writes_others_read(office: Office) -> None:
    one, other = office.roots
    (one / "plans").mkdir()
    write(one / "plans" / "a.md", "from one")
    eventually(lambda: content(other / "plans" / "a.md"), "from one")
    os.rename(other / "plans", other / "done")
    eventually(lambda: content(one / "done" / "a.md"), "from one")
    assert not (one / "plans").exists()


def test_a_host_that_was_cut_off_while_idle_catches_up_by_itself(office: Office) -> None:
    one, other = office.roots
    write(one / "idle.md", "before")
    eventually(lambda: content(other / "idle.md"), "before")
    with pulled_out(office.hosts[1]):
        write(one / "idle.md", "meanwhile")
        assert content(other / "idle.md") == "before"
    eventually(lambda: content(other / "idle.md"), "meanwhile", RECOVERY)


@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_writers_wait_for_a_cable_that_is_out_for_less_than_their_patience(
    office: Office, seconds: float
) -> None:
    name = f"waits{int(seconds * 10)}-"
    typist = Typist(office.roots[0], name)
    typist.start()
    for _ in range(2):
        time.sleep(0.5)
        with pulled_out(office.hosts[0]):
            time.sleep(seconds)
        eventually(lambda: office.memory.execute({"command": "view", "path": "/memories"}).ok)
    eventually(lambda: status_of(office.roots[0])["store"]["state"], "ok", RECOVERY)
    saved = typist.stop()
    assert set(saved.values()) == {0}
    assert all(changes_of(office.memory, name) == ["created"] for name in saved)
    eventually(lambda: saved.keys() <= set(os.listdir(office.roots[1])), within=RECOVERY)


def test_past_its_patience_a_write_fails_its_bytes_are_kept_and_reads_go_on(office: Office) -> None:
    one, other = office.roots
    write(one / "kept.md", "before")
    assert content(one / "kept.md") == "before"
    with pulled_out(office.hosts[0]):
        begun = time.monotonic()
        assert errno_of(lambda: write(one / "kept.md", "precious bytes")) == errno.EIO
        assert time.monotonic() - begun >= PATIENCE - 2
        assert content(one / "kept.md") == "before"
        assert "kept.md" in os.listdir(one)
        assert status_of(one)["store"]["state"] == "away"
        kept = [path.read_text() for path in (one / ".memfs" / "rejected").iterdir()]
        assert "precious bytes" in kept
    eventually(lambda: status_of(one)["store"]["state"], "ok", RECOVERY)
    write(one / "kept.md", "after")
    eventually(lambda: content(other / "kept.md"), "after", RECOVERY)
    assert changes_of(office.memory, "kept.md") == ["modified", "created"]


def test_both_sides_of_a_cut_end_up_with_the_same(office: Office) -> None:
    typists = [Typist(root, f"both{number}-") for number, root in enumerate(office.roots)]
    for typist in typists:
        typist.start()
    time.sleep(0.5)
    with pulled_out(office.hosts[1]):
        time.sleep(PATIENCE + 2)
    eventually(lambda: status_of(office.roots[1])["store"]["state"], "ok", RECOVERY)
    saved = {name: error for typist in typists for name, error in typist.stop().items()}
    assert set(saved.values()) <= {0, errno.EIO}
    write(office.roots[0] / "last.md", "x")
    eventually(lambda: content(office.roots[1] / "last.md"), "x", RECOVERY)
    stored = texts(office.memory)
    for name, error in saved.items():
        assert stored.get(f"/memories/{name}") == name or error == errno.EIO
        assert changes_of(office.memory, name) in (["created"], [] if error else ["created"])
    assert sorted(os.listdir(office.roots[0])) == sorted(os.listdir(office.roots[1]))


def test_a_slow_link_that_loses_packets_is_slow_and_nothing_else(
    postgres: Server, endless: str, scope: str, tmp_path: Path
) -> None:
    with link_to(postgres, delay=0.05, loss=0.02) as link:
        near = Mounted(tmp_path / "near", url=endless, scope=scope)
        far = Mounted(tmp_path / "far", url=link.url(STORE, ADMINISTRATOR), scope=scope)
        try:
            near.start()
            far.start()
            for number in range(20):
                place, other = (near.path, far.path) if number % 2 else (far.path, near.path)
                write(place / "a.md", str(number))
                eventually(lambda other=other, number=number: content(other / "a.md"), str(number))  # type: ignore[misc]
            assert [operation for operation, _ in near.records()] == ["created"] + ["modified"] * 19
        finally:
            near.close()
            far.close()
