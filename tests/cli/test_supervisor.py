"""What a service manager is told, at a socket such as its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs.cli.supervisor import Supervisor


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(tmp_path / "notify"))
        receiving.settimeout(20)
        yield receiving


def test_a_name_with_a_line_end_gives_no_order(manager: socket.socket) -> None:
    supervisor = Supervisor(manager.getsockname())
    supervisor.ready(lambda seconds: True, lambda: "Serving /home/ada/a\nMAINPID=1")
    assert manager.recv(1000) == rb"READY=1%cSTATUS=Serving /home/ada/a\nMAINPID=1" % 10
    supervisor.failed("/home/ada/a\nERRNO=0 is not empty.")
    assert manager.recv(1000) == rb"STATUS=/home/ada/a\nERRNO=0 is not empty."


def test_nobody_is_told_where_there_is_no_service_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Supervisor.from_environment().ending()
