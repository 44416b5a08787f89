"""Several hosts on one machine: a network namespace each, with a cable to one switch.

Only root can make them. What a host runs is this machine's in all but its network: files, users, mounts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

SUBNET = "10.83.0"


class Host(NamedTuple):
    """One namespace, and where others reach it."""

    namespace: str
    address: str
    port: str
    """Its end of the cable at the switch."""
    switch: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """The command that runs another one on this host."""
        # Not `ip netns exec`, which hides what is mounted there from everybody else.
        return ("nsenter", f"--net=/run/netns/{self.namespace}", "--")

    def cut(self) -> None:
        """Pull the cable out."""
        _ip("-n", self.switch, "link", "set", self.port, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _ip("-n", self.switch, "link", "set", self.port, "up")


@contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    """A host for each name, connected; gone at the end, with the switch between them."""
    if os.geteuid() != 0:
        pytest.skip("machine: only root can make network namespaces")
    stem = f"memfs-{os.getpid()}"
    switch = f"{stem}-switch"
    made: list[str] = []
    try:
        _make(switch, made)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        found = [
            Host(f"{stem}-{name}", f"{SUBNET}.{number}", f"port{number}", switch)
            for number, name in enumerate(names, 1)
        ]
        for host in found:
            _make(host.namespace, made)
            cable = ("type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            _ip("-n", switch, "link", "add", host.port, *cable)
            _ip("-n", switch, "link", "set", host.port, "master", "bridge", "up")
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", host.namespace, "link", "set", device, "up")
        yield found
    finally:
        for namespace in made:
            _ip("netns", "delete", namespace)


def _make(namespace: str, made: list[str]) -> None:
    done = subprocess.run(["ip", "netns", "add", namespace], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"machine: no network namespace can be made here: {done.stderr.strip()}")
    made.append(namespace)


def _ip(*arguments: str) -> None:
    subprocess.run([shutil.which("ip") or "ip", *arguments], check=True, capture_output=True)
