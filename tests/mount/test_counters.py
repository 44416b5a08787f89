"""The counters: what the kernel's cache did not answer, how long it took, who asked."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memfs.mount.counters import TIMED_NS, Programs, Requests, bucket_of, percentile, upper_bound
from memfs.mount.prometheus import BOUNDS
from memfs.mount.sockets import METRICS, SOCKET, ask, short_name
from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, errno_of, eventually, in_another_process, open_fd, write

ANSWERED_FROM_THE_CACHE = 500


def stats(mount: Mounted) -> Any:
    return json.loads(ask(state_of(mount)))


def state_of(mount: Mounted) -> Path:
    return mount.path.parent / "state"


def count(mount: Mounted, kind: str) -> int:
    return int(stats(mount)["requests"].get(kind, {"count": 0})["count"])


class TestRequests:
    def test_each_request_is_counted_under_its_kind(self, mount: Mounted, here: Path) -> None:
        kinds = ("create", "write", "rename", "unlink", "link")
        before = [count(mount, kind) for kind in kinds]
        write(here / "a.md", "one")
        write(here / "b.md", "two")
        os.rename(here / "a.md", here / "c.md")
        os.unlink(here / "b.md")
        after = [count(mount, kind) for kind in kinds]
        assert [new - old for new, old in zip(after, before, strict=True)] == [2, 2, 1, 1, 0]

    def test_what_the_kernels_cache_answers_is_no_request(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "one")
        os.stat(here / "a.md")
        before = count(mount, "getattr")
        for _ in range(ANSWERED_FROM_THE_CACHE):
            os.stat(here / "a.md")
        assert count(mount, "getattr") - before < ANSWERED_FROM_THE_CACHE // 10

    def test_a_look_at_the_counters_is_no_request(self, mount: Mounted) -> None:
        os.statvfs(mount.path)
        eventually(lambda: errno_of(lambda: stats(mount)), 0)
        before = count(mount, "statfs"), count(mount, "read")
        for _ in range(10):
            stats(mount)
        assert (count(mount, "statfs"), count(mount, "read")) == before

    def test_a_refusal_is_counted(self, mount: Mounted, here: Path) -> None:
        before = count(mount, "mknod")
        assert errno_of(lambda: os.mknod(here / "a.md", stat.S_IFIFO | 0o600)) != 0
        refused = stats(mount)["requests"]["mknod"]
        assert refused["count"] == refused["refused"] == before + 1

    def test_how_long_a_commit_took_is_known(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "one")
        flush = stats(mount)["requests"]["flush"]
        assert sum(flush["timed"].values()) >= 1
        assert flush["nanoseconds"] > 1_000
        assert (percentile(flush["timed"], 1.0) or 0) > 1_000

    def test_open_files_are_those_that_are_open_now(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "one")
        eventually(lambda: stats(mount)["openFiles"], 0)
        with open_fd(here / "a.md", os.O_RDONLY), open_fd(here / "a.md", os.O_RDONLY):
            assert stats(mount)["openFiles"] == 2
        eventually(lambda: stats(mount)["openFiles"], 0)

    def test_the_use_of_the_scope_is_told(self, mount: Mounted, here: Path) -> None:
        before = stats(mount)
        write(here / "a.md", "12345")
        after = stats(mount)
        assert [after[name] - before[name] for name in ("files", "bytes", "version")] == [1, 5, 1]
        assert after["maxFiles"] == 100_000

    def test_the_program_that_asks_is_named(self, mount: Mounted, here: Path) -> None:
        code = """
import os, sys, time
open("/proc/self/comm", "w").write("asks-a-lot")
end = time.monotonic() + 0.3
while time.monotonic() < end:
    open(sys.argv[1] + "/a.md", "w").close()
"""
        in_another_process(code, str(here))
        assert stats(mount)["programs"]["asks-a-lot"] >= 1


class TestSocket:
    def test_the_private_socket_is_the_users_alone_and_gone_after_the_unmount(
        self, mounting: Mounting
    ) -> None:
        mount = mounting()
        assert stat.S_IMODE((state_of(mount) / SOCKET).stat().st_mode) == 0o600
        mount.stop()
        assert not (state_of(mount) / SOCKET).exists()

    @pytest.mark.slow
    def test_the_socket_of_a_killed_mount_is_replaced(self, mounting: Mounting) -> None:
        mount = mounting()
        mount.kill()
        assert (state_of(mount) / SOCKET).exists()
        mount.start()
        assert stats(mount)["pid"] == mount.pid

    @pytest.mark.slow
    def test_a_hung_mount_is_waited_for_in_bounded_time(self, mount: Mounted) -> None:
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError):
                ask(state_of(mount))
        finally:
            os.kill(mount.pid, signal.SIGCONT)

    @pytest.mark.parametrize("said", [b"", b"\0" * 9000, b"POST /stats HTTP/1.0\r\n\r\n", b"GET\r\n\r\n"])
    def test_whoever_speaks_otherwise_gets_no_counters_and_does_no_harm(
        self, mount: Mounted, said: bytes
    ) -> None:
        with socket.socket(socket.AF_UNIX) as other, short_name(state_of(mount) / SOCKET) as name:
            other.settimeout(20)
            other.connect(name)
            with suppress(BrokenPipeError, ConnectionResetError):
                other.sendall(said)
                other.shutdown(socket.SHUT_WR)
                assert b" 200 " not in other.recv(1000)
        assert stats(mount)["pid"] == mount.pid

    def test_many_who_connect_and_say_nothing_do_not_keep_the_mount_from_its_work(
        self, mount: Mounted, here: Path
    ) -> None:
        silent = []
        with short_name(state_of(mount) / SOCKET) as name:
            for _ in range(40):
                each = socket.socket(socket.AF_UNIX)
                each.settimeout(20)
                each.connect(name)
                silent.append(each)
        write(here / "a.md", "one")
        assert mount.text(here / "a.md") == "one"
        for each in silent:
            each.close()
        eventually(lambda: errno_of(lambda: stats(mount)), 0)


class TestPrometheus:
    def test_every_kind_has_its_count_and_a_histogram_that_adds_up(self, mount: Mounted, here: Path) -> None:
        write(here / "a.md", "one")
        seen = stats(mount)
        lines = ask(state_of(mount), METRICS).decode().splitlines()
        told = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        assert told['memfs_requests_total{kind="create"}'] == str(seen["requests"]["create"]["count"])
        assert told["memfs_files"] == str(seen["files"])
        name = 'memfs_request_seconds_bucket{kind="create",le="%s"}'
        below = [int(told[name % f"{bound / 1e9:.9g}"]) for bound in BOUNDS] + [int(told[name % "+Inf"])]
        assert below == sorted(below)
        assert below[-1] == int(told['memfs_request_seconds_count{kind="create"}']) > 0
        assert float(told['memfs_request_seconds_sum{kind="create"}']) > 0
        for line in lines:
            assert line.startswith(("# HELP memfs_", "# TYPE memfs_", "memfs_"))


def test_a_time_lies_in_its_bucket_and_a_bucket_is_narrow() -> None:
    for nanoseconds in [*range(1, 5_000), *(random.Random(7).randrange(1 << 40) for _ in range(5_000))]:
        bucket = bucket_of(nanoseconds)
        above = upper_bound(bucket)
        assert nanoseconds < above
        assert bucket == 0 or upper_bound(bucket - 1) <= nanoseconds
        assert above <= max(nanoseconds * 1.26, 5)


def test_a_percentile_is_that_of_the_times() -> None:
    requests = Requests("read")
    for microseconds in range(1, 1001):
        requests.timed(0, microseconds * 1_000)
    timed = requests.to_json()["timed"]
    assert 480_000 <= (percentile(timed, 0.5) or 0) <= 640_000
    assert 980_000 <= (percentile(timed, 0.99) or 0) <= 1_250_000
    assert percentile({}, 0.5) is None


def test_requests_that_come_seldom_are_all_timed_and_others_seldom() -> None:
    seldom, often = Requests("fsync"), Requests("read")
    for at in range(1, 2_001):
        for requests, apart_ns in ((seldom, 10 * TIMED_NS), (often, 1_000)):
            requests.count += 1
            if requests.count >= requests.next_timed:
                requests.timed(at * apart_ns, at * apart_ns + 500)
    assert sum(seldom.to_json()["timed"].values()) == 2_000
    assert sum(often.to_json()["timed"].values()) < 100


def test_a_glance_is_taken_now_and_then_only() -> None:
    programs = Programs()
    begun = time.perf_counter_ns()
    for step in range(1_000):
        programs.glance(os.getpid(), begun + step * 1_000_000)
    (seen,) = programs.to_json().values()
    assert 40 <= seen <= 51
