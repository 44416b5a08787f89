"""What keeps the tests here from hanging, tried out."""

from __future__ import annotations

import errno
import os
import signal
import threading

from tests.mount.conftest import Mounting
from tests.mount.harness import errno_of, eventually
from tests.mount.watchdog import free, minor_of


def test_whoever_waits_for_a_daemon_that_is_stuck_is_freed(mounting: Mounting) -> None:
    mounted = mounting()
    os.kill(mounted.pid, signal.SIGSTOP)
    timer = threading.Timer(0.3, free, (str(mounted.path), mounted.pid))
    timer.start()
    assert errno_of((mounted.path / "new.md").stat) in (errno.ECONNABORTED, errno.ENOTCONN)
    timer.join()
    assert minor_of(str(mounted.path)) is None


def test_a_daemon_whose_test_has_died_takes_its_mount_away(mounting: Mounting) -> None:
    mounted = mounting()
    mounted.let_go()
    eventually(lambda: minor_of(str(mounted.path)), None)
