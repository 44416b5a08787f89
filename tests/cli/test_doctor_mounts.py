"""What ``memfs doctor`` finds wrong with mounts that are up, dead, stopped, or deaf."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from memfs.cli import main
from memfs.cli.running import Mount, record, strike
from memfs.opening import open_memory
from tests.cli.conftest import Place, Shell, Terminal, in_namespace, require_fuse
from tests.harness import must
from tests.mount.harness import Mounted

PATIENCE_SECONDS = 60
"""Far more than any time limit of the doctor's: what takes longer hangs."""


class Examined:
    """A mount, and what the doctor says of it."""

    def __init__(self, shell: Shell, place: Place) -> None:
        self.shell = shell
        self.place = place

    def __call__(self, *arguments: str) -> list[dict[str, Any]]:
        """What is not well."""
        before = time.monotonic()
        done = self.shell("doctor", str(self.place.directory), "--json", *arguments)
        assert time.monotonic() - before < PATIENCE_SECONDS
        assert done.err == ""
        return [each for one in done.json["memories"] for each in one["findings"] if each["level"] != "ok"]

    def finding(self, check: str, level: str) -> dict[str, Any]:
        found = self()
        assert [(each["check"], each["level"]) for each in found] == [(check, level)], found
        return found[0]


@pytest.fixture
def examined(shell: Shell, place: Place) -> Examined:
    place.mount()
    (place.directory / "a.md").write_text("one")
    return Examined(shell, place)


@pytest.mark.slow
class TestMount:
    def test_one_that_is_well(self, examined: Examined) -> None:
        assert examined() == []

    def test_one_whose_memory_is_in_its_daemon_only(self, shell: Shell, place: Place) -> None:
        place.mount("--store", "simple:")
        assert Examined(shell, place)() == []

    def test_on_a_terminal_sentences_are_as_wide_as_it_is(self, examined: Examined) -> None:
        examined.place.kill()
        command = examined.shell.command("doctor", str(examined.place.directory))
        with Terminal(examined.shell, *command, NO_COLOR="1", COLUMNS="80", LINES="24") as shown:
            shown.until(b" broken; ")
            assert shown.process.wait(PATIENCE_SECONDS) == 1
        lines = shown.shown.decode().replace("\r\x1b[K", "").splitlines()
        assert any(line.startswith("  broken   mount ") for line in lines)
        long = [line for line in lines if len(line) > 80 and str(examined.place.directory)[:20] not in line]
        assert not [line for line in long if not line.startswith(" " * 26)]

    def test_one_whose_daemon_was_killed_is_taken_away_on_request(self, examined: Examined) -> None:
        examined.place.kill()
        found = examined()
        assert ("mount", "broken", True) in {
            (each["check"], each["level"], each["fixable"]) for each in found
        }
        assert examined("--fix") == []
        assert not examined.place.is_mounted

    def test_one_whose_daemon_is_stopped(self, examined: Examined) -> None:
        daemon = examined.place.daemon
        os.kill(daemon, signal.SIGSTOP)
        try:
            found = examined.finding("mount", "broken")
            assert found["mend"] == f"kill -CONT {daemon}"
        finally:
            os.kill(daemon, signal.SIGCONT)

    def test_one_that_does_not_tell_its_counters(self, examined: Examined) -> None:
        (file,) = (examined.shell.home / ".local/state/memfs/mounts").glob("*/state-*/stats.sock")
        file.unlink()
        examined.finding("answers", "warning")

    def test_one_that_is_on_two_directories(self, examined: Examined) -> None:
        other = examined.place.directory.with_name("other")
        examined.shell("mount", str(other)).done()
        assert str(other) in examined.finding("once", "warning")["sentence"]

    def test_one_that_is_not_on_the_list(self, examined: Examined) -> None:
        (file,) = (examined.shell.home / ".local/state/memfs/mounts").glob("*/mount.json")
        kept = file.read_bytes()
        file.unlink()
        said = examined.shell("doctor", "--json").json["machine"]
        file.write_bytes(kept)
        where = str(examined.place.directory)
        assert [each["check"] for each in said if where in each["sentence"]] == ["mounts"]

    def test_one_whose_daemon_goes_on_without_it(self, examined: Examined) -> None:
        with (examined.place.directory / "a.md").open() as held:
            examined.shell("unmount", "--lazy", str(examined.place.directory)).done()
            assert examined.place.is_served
            found = examined.finding("mount", "broken")
            assert "nothing is mounted there" in found["sentence"]
            assert held.read() == "one"

    def test_one_that_lies_below_another(self, examined: Examined) -> None:
        where = examined.place.directory
        own = in_namespace(f"mount --bind {where} {where}")
        done = subprocess.run(
            [*own, *examined.shell.command("doctor", str(where), "--json")],
            capture_output=True,
            env=examined.shell.environment,
            cwd=examined.shell.home,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        found = [each for one in json.loads(done.stdout)["memories"] for each in one["findings"]]
        assert any("2 mounts lie one above the other" in each["sentence"] for each in found)

    def test_a_directory_in_another_mount(self, examined: Examined) -> None:
        inside = examined.place.directory / "inside"
        inside.mkdir()
        examined.shell.configure("inner", f'scope = "inner"\nmountpoint = "{inside}"\n')
        found = self._of(examined.shell, "inner")
        assert ("mountpoint", "broken") in {(each["check"], each["level"]) for each in found}

    def test_one_that_sees_nothing_of_what_others_write(
        self, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        require_fuse()
        flag = home / "broken"
        mounted = Mounted(tmp_path / "deaf", faults={"memfs.mount.saves:Saves.catch_up": str(flag)})
        store = f"sqlite:{tmp_path / 'deaf/store'}"
        mounted.start()
        try:
            record(Mount(str(mounted.path), store, "work", mounted.pid, time.time(), False))
            flag.touch()
            with open_memory(store, scope="work") as memory:
                must(memory, "create", path="/memories/a.md", text="one")
            main(["doctor", str(mounted.path), "--json"])
            found = json.loads(capsys.readouterr().out)["memories"][0]["findings"]
            (follows,) = [each for each in found if each["check"] == "follows"]
            assert follows["level"] == "broken"
            assert "does not see what others write" in follows["sentence"]
        finally:
            strike(str(mounted.path))
            mounted.close()

    @staticmethod
    def _of(shell: Shell, name: str) -> list[dict[str, Any]]:
        said = shell("doctor", name, "--json").json
        return [each for one in said["memories"] for each in one["findings"]]
