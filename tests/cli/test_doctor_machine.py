"""What ``memfs doctor`` finds wrong with a machine: here one that lacks something, in a mount namespace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memfs.cli.checks.finding import Level
from memfs.cli.checks.machine import MACHINE, Machine, confines_fusermount
from tests.cli.conftest import ROOT, Shell, in_namespace, require_fuse

PATIENCE_SECONDS = 60
"""Far more than any time limit of the doctor's: what takes longer hangs."""


class TestMachine:
    def test_mtab_is_missing_or_leads_nowhere(self, tmp_path: Path) -> None:
        (mtab,) = [check for check in MACHINE if check.name == "mtab"]
        assert [each.level for each in mtab.look(Machine())] == [Level.OK]
        assert [each.level for each in mtab.look(Machine(tmp_path))] == [Level.BROKEN]
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/mtab").symlink_to("../nowhere")
        assert [each.level for each in mtab.look(Machine(tmp_path))] == [Level.BROKEN]

    def test_fuse_conf_says_who_may_let_others_in(self, tmp_path: Path) -> None:
        (allow,) = [check for check in MACHINE if check.name == "allow-other"]
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/fuse.conf").write_text("#user_allow_other\n")
        assert "only the superuser" in next(allow.look(Machine(tmp_path))).sentence
        (tmp_path / "etc/fuse.conf").write_text("mount_max = 1000\nuser_allow_other\n")
        assert "is possible" in next(allow.look(Machine(tmp_path))).sentence

    def test_apparmor_counts_where_it_is_on_and_has_rules(self, tmp_path: Path) -> None:
        profile = tmp_path / "etc/apparmor.d/fusermount3"
        switch = tmp_path / "sys/module/apparmor/parameters/enabled"
        for file, text in ((profile, "profile fusermount3 {}"), (switch, "N\n")):
            file.parent.mkdir(parents=True)
            file.write_text(text)
        assert not confines_fusermount(Machine(tmp_path))
        switch.write_text("Y\n")
        assert confines_fusermount(Machine(tmp_path))
        (tmp_path / "etc/apparmor.d/disable").mkdir()
        (tmp_path / "etc/apparmor.d/disable/fusermount3").touch()
        assert not confines_fusermount(Machine(tmp_path))


def machine_faults(shell: Shell, *command: str, **environment: str) -> list[tuple[str, str, str]]:
    """What is not well with the machine as *command*, with the doctor's words behind it, sees it."""
    done = subprocess.run(
        [*command, *shell.command("doctor", "--json")],
        capture_output=True,
        env=shell.environment | environment,
        cwd=shell.home,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.stdout, done
    return [
        (each["check"], each["level"], each["sentence"])
        for each in json.loads(done.stdout)["machine"]
        if each["level"] != "ok" and each["check"] != "mounts"  # other tests' mounts are seen too
    ]


@pytest.mark.slow
class TestMachineInTrouble:
    def test_all_is_well_with_this_one(self, shell: Shell) -> None:
        require_fuse()
        assert machine_faults(shell) == []

    def test_without_fusermount(self, shell: Shell) -> None:
        ((check, level, sentence),) = machine_faults(shell, PATH="/nowhere")
        assert (check, level) == ("fusermount", "warning" if os.geteuid() == 0 else "broken")
        assert "fuse3" in sentence

    def test_a_fusermount_that_does_not_run(self, shell: Shell) -> None:
        fake = shell.home / "fusermount3"
        fake.write_text("#!/bin/sh\nexit 1\n")
        fake.chmod(0o755)
        ((check, level, _),) = machine_faults(shell, PATH=str(shell.home))
        assert (check, level) == ("fusermount", "broken")

    def test_a_fusermount_that_hangs(self, shell: Shell) -> None:
        fake = shell.home / "fusermount3"
        fake.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
        fake.chmod(0o755)
        ((check, level, _),) = machine_faults(shell, PATH=str(shell.home))
        assert (check, level) == ("fusermount", "broken")

    def test_without_the_device(self, shell: Shell) -> None:
        empty = shell.home / "dev"
        empty.mkdir()
        faults = machine_faults(
            shell,
            *in_namespace(
                f"touch {empty}/null {empty}/urandom",
                f"mount --bind /dev/null {empty}/null",
                f"mount --bind /dev/urandom {empty}/urandom",
                f"mount --rbind {empty} /dev",
            ),
        )
        assert [fault[:2] for fault in faults] == [("fuse-device", "broken")]

    def test_another_device_in_its_place(self, shell: Shell) -> None:
        require_fuse()
        faults = machine_faults(shell, *in_namespace("mount --bind /dev/null /dev/fuse"))
        assert faults == [("fuse-device", "broken", "/dev/fuse is not the FUSE device.")]

    @pytest.mark.skipif(os.geteuid() != 0, reason="machine: only the superuser becomes another user")
    def test_a_device_and_a_helper_that_an_ordinary_user_may_not_use(self, shell: Shell) -> None:
        """A copy of fusermount3 is not setuid, and a sandbox takes from the real one what setuid gives."""
        require_fuse()
        as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        tools = shell.home / "tools"
        steps = [
            f"install -d {tools} && install -m 755 $(command -v fusermount3) {tools}/fusermount3",
            f"touch {shell.home}/fuse && mount --bind {shell.home}/fuse {shell.home}/fuse",
            "mount -t tmpfs -o mode=0755 tmpfs /mnt && mkdir -m 777 /mnt/home && mkdir /mnt/tools",
            f"cp {tools}/fusermount3 /mnt/tools/ && mknod -m 600 /mnt/fuse c 10 229",
            f"cp -r {ROOT}/memfs /mnt/memfs && mount --bind /mnt/fuse /dev/fuse",
        ]
        if not os.access(sys.executable, os.X_OK) or _is_closed_to_others(Path(sys.executable)):
            pytest.skip("machine: this Python is closed to other users")
        closed = machine_faults(
            shell,
            *in_namespace(*steps, "cd /mnt/home"),
            *as_nobody,
            HOME="/mnt/home",
            PYTHONPATH="/mnt",
            PATH=f"/mnt/tools:{os.environ['PATH']}",
        )
        found = {check: sentence for check, _, sentence in closed}
        assert "cannot be opened by you" in found["fuse-device"]
        assert "not setuid root" in found["fusermount"]
        sandboxed = machine_faults(
            shell,
            *in_namespace(*steps, "chmod 666 /mnt/fuse", "cd /mnt/home"),
            *as_nobody,
            "--no-new-privs",
            HOME="/mnt/home",
            PYTHONPATH="/mnt",
        )
        assert ("fusermount", "broken") in {fault[:2] for fault in sandboxed}
        assert "no_new_privs" in {check: sentence for check, _, sentence in sandboxed}["fusermount"]

    def test_an_old_kernel(self, shell: Shell) -> None:
        if subprocess.run(["setarch", "--uname-2.6", "true"], check=False).returncode:
            pytest.skip("machine: no setarch")
        ((check, level, sentence),) = machine_faults(shell, "setarch", "--uname-2.6")
        assert (check, level) == ("kernel", "warning")
        assert "Linux 2.6." in sentence

    def test_an_sqlite_that_loses_writes(self, shell: Shell) -> None:
        planted = self._planted(
            shell, "sitecustomize.py", "import apsw; apsw.sqlite_lib_version = lambda: '3.51.0'"
        )
        ((check, level, sentence),) = machine_faults(shell, PYTHONPATH=planted)
        assert (check, level) == ("sqlite", "broken")
        assert "3.51.0" in sentence

    def test_a_library_that_cannot_be_loaded(self, shell: Shell) -> None:
        planted = self._planted(shell, "trio.py", "raise ImportError('planted')")
        faults = machine_faults(shell, PYTHONPATH=planted)
        assert ("libraries", "broken", "trio cannot be loaded: planted.") in faults

    def test_another_version_of_pyfuse3(self, shell: Shell) -> None:
        text = "Metadata-Version: 2.1\nName: pyfuse3\nVersion: 3.4.0\n"
        planted = self._planted(shell, "pyfuse3-3.4.0.dist-info/METADATA", text)
        ((check, level, sentence),) = machine_faults(shell, PYTHONPATH=planted)
        assert (check, level) == ("libraries", "warning")
        assert "3.4.0" in sentence

    def test_no_inotify_to_be_had(self, shell: Shell) -> None:
        own = ["unshare", "--user", "--map-root-user", "sh", "-c"]
        none_left = "echo 0 > /proc/sys/user/max_inotify_instances"
        if subprocess.run([*own, none_left], check=False, capture_output=True).returncode:
            pytest.skip("machine: no user namespaces")
        faults = machine_faults(shell, *own, f'{none_left} && exec "$@"', "sh")
        assert ("inotify", "warning") in {fault[:2] for fault in faults}

    def test_few_open_files(self, shell: Shell) -> None:
        ((check, level, sentence),) = machine_faults(shell, "sh", "-c", 'ulimit -n 100 && exec "$@"', "sh")
        assert (check, level) == ("descriptors", "warning")
        assert "100" in sentence

    @pytest.mark.parametrize(
        ("options", "part"), [("size=2m", "bytes left"), ("size=100k", "bytes left"), ("ro", "read-only")]
    )
    def test_a_disk_that_is_full_or_cannot_be_written_to(self, shell: Shell, options: str, part: str) -> None:
        data = shell.home / ".local/share/memfs"
        data.mkdir(parents=True)
        done = subprocess.run(
            [*in_namespace(f"mount -t tmpfs -o {options} tmpfs {data}"), *shell.command("doctor", "--json")],
            capture_output=True,
            env=shell.environment,
            cwd=shell.home,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        (memory,) = json.loads(done.stdout)["memories"]
        (found,) = [each for each in memory["findings"] if each["level"] != "ok"]
        assert found["check"] == "room"
        assert part in found["sentence"]

    @staticmethod
    def _planted(shell: Shell, name: str, text: str) -> str:
        """A search path for Python with a file of ours before everything else."""
        file = shell.home / "planted" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return f"{shell.home / 'planted'}:{ROOT}"


def _is_closed_to_others(path: Path) -> bool:
    return any(not each.stat().st_mode & 0o001 for each in path.resolve().parents)
