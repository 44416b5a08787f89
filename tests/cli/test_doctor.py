"""``memfs doctor``: every fault that is planted here is found, and nothing is found where none is.

What is planted is real: a file that is not what it should be, a database that was changed, a process
that is stopped, a machine (in a mount namespace) that lacks something.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memfs.cli import main
from memfs.cli.checks import files, mounts, stores
from memfs.cli.checks.finding import Finding, Level, Subject
from memfs.cli.checks.machine import MACHINE
from memfs.cli.known import Known
from memfs.cli.running import Mount, record, state_of
from memfs.mount.sockets import SOCKET, short_name
from memfs.opening import open_memory
from memfs.stores.sqlite.database import ScopeFiles
from tests.harness import must

IN_2101_NS = 4_133_980_800 * 10**9
NEWEST = "record = (SELECT max(record) FROM history)"


class Patient:
    """The memory ``work``, with a few files, configured to be mounted on ``mnt``."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._capsys = capsys
        self.store = home / "store"
        self.mountpoint = home / "mnt"
        self.files = ScopeFiles(self.store, "work")
        self.config = home / ".config/memfs/work.toml"
        self.config.parent.mkdir(parents=True, mode=0o700)
        self.configure()
        with self.memory() as memory:
            for name in "abc":
                for text in ("first", "second", "third"):
                    must(memory, "create", path=f"/memories/{name}.md", text=f"{text} {name}\n" * 100)

    def configure(self, more: str = "") -> None:
        text = f'store = "sqlite:{self.store}"\nscope = "work"\nmountpoint = "{self.mountpoint}"\n{more}'
        self.config.write_text(text)
        self.config.chmod(0o600)

    def memory(self) -> Any:
        return open_memory(f"sqlite:{self.store}", scope="work")

    @property
    def record(self) -> Path:
        """The record of its mount."""
        return self.state.parent / "mount.json"

    @property
    def state(self) -> Path:
        """The state directory of its mount, made as a mount makes it."""
        directory = state_of(str(self.mountpoint), f"sqlite:{self.store}", "work")
        directory.mkdir(parents=True, exist_ok=True)
        for each in (directory, *directory.parents[:3]):
            each.chmod(0o700)
        return directory

    def run(self, *arguments: str) -> tuple[int, Any]:
        """``memfs doctor work``: its status, and what it says in JSON."""
        status = main(["doctor", "work", "--json", *arguments])
        return status, json.loads(self._capsys.readouterr().out)

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """What is not well with the memory."""
        _, said = self.run(*arguments)
        return [each for one in said["memories"] for each in one["findings"] if each["level"] != "ok"]

    def finding(self, check: str, level: str, *arguments: str) -> dict[str, Any]:
        """The one thing that is not well, which is what *check* looks for."""
        found = self.findings(*arguments)
        assert [(each["check"], each["level"]) for each in found] == [(check, level)], found
        return found[0]

    def is_mended(self, check: str) -> None:
        """``--fix`` mends what *check* finds, and then all is well."""
        assert any(each["check"] == check and each["fixable"] for each in self.findings())
        status, said = self.run("--fix")
        assert said["mended"]
        assert not [each for each in self.findings() if each["check"] == check]
        assert status == 0

    def change(self, *statements: str) -> None:
        """Change the database behind memfs' back."""
        with closing(apsw.Connection(str(self.files.database))) as connection:
            for statement in statements:
                connection.execute(statement)


@pytest.fixture
def patient(home: Path, capsys: pytest.CaptureFixture[str]) -> Patient:
    return Patient(home, capsys)


def test_where_nothing_is_wrong_nothing_is_found(patient: Patient) -> None:
    assert patient.findings() == []
    status, said = patient.run()
    assert status == 0
    assert {check["check"] for check in said["machine"]} == {check.name for check in MACHINE}
    seen = {each["check"] for each in said["memories"][0]["findings"]}
    assert seen >= {
        "configuration",
        "mountpoint",
        "mount",
        "owners",
        "room",
        *(c.name for c in stores.STORE),
    } - {"inbox"}


def test_a_look_changes_and_makes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert list(home.iterdir()) == []
    assert "Nothing is stored yet" in capsys.readouterr().out


def test_each_finding_is_one_line_with_what_mends_it(
    patient: Patient, capsys: pytest.CaptureFixture[str]
) -> None:
    patient.config.chmod(0o622)
    assert main(["doctor", "work"]) == 1
    printed = capsys.readouterr().out
    assert f"  broken   configuration  Others may write to {patient.config} (its mode is 622).\n" in printed
    assert f"chmod go-w {patient.config}\n" in printed
    assert "`memfs doctor --fix` mends 1 of them." in printed
    assert "\x1b" not in printed


def test_a_memory_that_nobody_knows_is_no_memory(
    patient: Patient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "wrok"]) == 2
    assert "there are default, work" in capsys.readouterr().err


class TestConfiguration:
    def test_an_unknown_key(self, patient: Patient) -> None:
        patient.configure("stoer = 1\n")
        assert "stoer" in patient.finding("configuration", "broken")["sentence"]

    def test_what_is_no_toml(self, patient: Patient) -> None:
        patient.configure("= =\n")
        patient.finding("configuration", "broken")

    def test_a_fifo(self, patient: Patient) -> None:
        patient.config.unlink()
        os.mkfifo(patient.config)
        assert "no ordinary file" in patient.finding("configuration", "broken")["sentence"]

    def test_a_file_that_others_may_write_to(self, patient: Patient) -> None:
        patient.config.chmod(0o666)
        patient.is_mended("configuration")
        assert patient.config.stat().st_mode & 0o777 == 0o644


class TestMountpoint:
    def test_a_directory_that_is_not_empty(self, patient: Patient) -> None:
        patient.mountpoint.mkdir()
        (patient.mountpoint / "hidden.md").touch()
        assert "not empty" in patient.finding("mountpoint", "broken")["sentence"]

    def test_a_file(self, patient: Patient) -> None:
        patient.mountpoint.touch()
        assert "not a directory" in patient.finding("mountpoint", "broken")["sentence"]

    def test_a_place_whose_parent_is_missing(self, patient: Patient) -> None:
        patient.mountpoint = patient.home / "no/mnt"
        patient.configure()
        assert "cannot be made" in patient.finding("mountpoint", "broken")["sentence"]

    def test_a_place_that_would_cover_the_store(self, patient: Patient) -> None:
        patient.mountpoint = patient.store.parent
        patient.configure()
        assert "would cover" in " ".join(each["sentence"] for each in patient.findings())

    def test_a_place_that_apparmor_does_not_allow(
        self, patient: Patient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mounts, "confines_fusermount", lambda _: True)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        there = Subject(Known(None, str(patient.mountpoint), "simple:", "s"))
        elsewhere = Subject(Known(None, "/memories/of/mine", "simple:", "s"))
        (apparmor,) = [check for check in mounts.MOUNT if check.name == "place"]
        assert [each.level for each in apparmor.look(there)] == [Level.OK]
        assert [each.level for each in apparmor.look(elsewhere)] == [Level.WARNING]


class TestFiles:
    def test_state_that_others_may_look_into(self, patient: Patient) -> None:
        patient.state.chmod(0o755)
        patient.is_mended("owners")

    def test_a_database_that_others_may_read(self, patient: Patient) -> None:
        patient.files.database.chmod(0o644)
        patient.is_mended("owners")
        assert patient.files.database.stat().st_mode & 0o777 == 0o600

    def test_a_store_that_others_may_write_to(self, patient: Patient) -> None:
        patient.store.chmod(0o777)
        patient.is_mended("owners")

    @pytest.mark.skipif(os.geteuid() != 0, reason="machine: only the superuser gives files away")
    def test_a_database_of_another_user(self, patient: Patient) -> None:
        os.chown(patient.files.database, 12345, 12345)
        assert "another user" in patient.finding("owners", "broken")["sentence"]

    @pytest.mark.parametrize("name", ["events.jsonl", "local.jsonl", "memory.json"])
    def test_a_fifo_where_the_mount_opens_a_file(self, patient: Patient, name: str) -> None:
        os.mkfifo(patient.state / name, 0o600)
        assert patient.finding("ordinary", "warning")["sentence"] == (
            f"{patient.state / name} is a FIFO; the next mount puts a file in its place."
        )

    def test_a_fifo_in_the_place_of_the_log(self, patient: Patient) -> None:
        os.mkfifo(patient.record.with_name("log"), 0o600)
        assert patient.finding("ordinary", "broken")["sentence"].endswith(
            "log is no ordinary file, so no mount in the background starts."
        )

    def test_events_that_cannot_be_read(self, patient: Patient) -> None:
        _private(patient.state / "events.jsonl", b'{"time": "2026-01-01T00:00:00+00:00"}\n{"cut sho\n')
        assert "1 lines" in patient.finding("events", "warning")["sentence"]

    def test_an_event_from_the_future(self, patient: Patient) -> None:
        _private(patient.state / "events.jsonl", b'{"time": "2101-01-01T00:00:00+00:00"}\n')
        assert "2101" in patient.finding("events", "warning")["sentence"]

    def test_scratch_that_is_nearly_full(self, patient: Patient) -> None:
        (patient.state / "scratch").mkdir(mode=0o700)
        for name in ("1", "2"):
            with (patient.state / "scratch" / name).open("wb") as file:
                file.truncate(7 << 20)
        assert "14,680,064" in patient.finding("scratch", "warning")["sentence"]

    def test_a_journal_with_a_torn_line(self, patient: Patient) -> None:
        (patient.state / "scratch").mkdir(mode=0o700)
        _private(patient.state / "local.jsonl", b'["/memories/a", "direc\n')
        patient.finding("scratch", "warning")

    def test_refused_saves_that_nobody_has_come_for(self, patient: Patient) -> None:
        from memfs.mount.rejected import Rejected

        kept = Rejected(patient.state)
        kept.keep("/memories/a.md", b"x", complete=True, code="X", message="m", program="p", pid=1)
        found = patient.finding("rejected", "warning")
        assert "/memories/a.md" in found["sentence"]
        assert found["mend"] == "memfs rejected list"

    def test_bytes_that_belong_to_no_refused_save(self, patient: Patient) -> None:
        (patient.state / "rejected").mkdir(mode=0o700)
        (patient.state / "rejected" / "stray").touch()
        assert "belong to no refused save" in patient.finding("rejected", "warning")["sentence"]

    def test_what_a_killed_mount_has_left(self, patient: Patient) -> None:
        with socket.socket(socket.AF_UNIX) as left, short_name(patient.state / SOCKET) as name:
            left.bind(name)
        (patient.state / "events.new").touch(mode=0o600)
        assert len(patient.findings()) == 2
        patient.is_mended("left-over")

    def test_a_log_that_names_a_fault_of_memfs(self, patient: Patient) -> None:
        lines = b"12:00 ERROR memfs: internal fault in write; answered EIO\n12:01 INFO memfs: fine\n"
        _private(patient.state.with_name("log"), lines)
        assert "internal fault in write" in patient.finding("log", "warning")["sentence"]

    def test_a_record_of_a_mount_that_has_ended(self, patient: Patient) -> None:
        record(Mount(str(patient.mountpoint), f"sqlite:{patient.store}", "work", 1, time.time(), False))
        _, said = patient.run()
        (found,) = [each for each in said["machine"] if str(patient.mountpoint) in each["sentence"]]
        assert (found["check"], found["level"], found["fixable"]) == ("mounts", "warning", True)
        _, said = patient.run("--fix")
        assert said["mended"] == [f"took {patient.mountpoint} off the list of mounts"]
        assert not [each for each in said["machine"] if str(patient.mountpoint) in each["sentence"]]

    def test_a_fifo_where_the_record_should_be(self, patient: Patient) -> None:
        os.mkfifo(patient.record, 0o600)
        _, said = patient.run()
        (found,) = (each for each in said["machine"] if str(patient.record) in each["sentence"])
        assert (found["check"], found["level"]) == ("mounts", "warning")
        assert main(["status"]) == 0


class TestStore:
    def test_what_is_no_database(self, patient: Patient) -> None:
        patient.files.database.write_bytes(b"not a database" * 100)
        patient.finding("store", "broken")

    def test_a_database_of_another_program(self, patient: Patient) -> None:
        patient.change("PRAGMA application_id = 7")
        assert "not written by memfs" in patient.finding("store", "broken")["sentence"]

    def test_a_database_of_a_newer_memfs(self, patient: Patient) -> None:
        patient.change("PRAGMA user_version = 99")
        assert "newer memfs" in patient.finding("store", "broken")["sentence"]

    def test_a_link_where_the_database_should_be(self, patient: Patient) -> None:
        aside = patient.files.database.rename(patient.home / "aside.db")
        patient.files.database.symlink_to(aside)
        patient.finding("store", "broken")

    def test_a_fifo_where_the_database_should_be(self, patient: Patient) -> None:
        patient.files.database.unlink()
        os.mkfifo(patient.files.database, 0o600)
        patient.finding("store", "broken")

    def test_a_file_where_the_store_should_be(self, patient: Patient) -> None:
        patient.store.rename(patient.home / "aside")
        patient.store.touch(mode=0o600)
        patient.finding("store", "broken")

    def test_two_files_at_one_path(self, patient: Patient) -> None:
        patient.change("UPDATE file SET path = '/memories/a.md'")
        assert "two files at one path" in patient.finding("store", "broken")["sentence"]

    def test_damaged_pages(self, patient: Patient) -> None:
        with patient.memory() as memory:
            for number in range(200):
                must(memory, "create", path="/memories/d.md", text=f"{number}\n" * 1_000)
        patient.change("PRAGMA wal_checkpoint(TRUNCATE)")
        patient.files.wal.unlink(missing_ok=True)
        with patient.files.database.open("r+b") as database:
            page_bytes, pages = 4096, patient.files.database.stat().st_size // 4096
            for page in range(pages // 3, pages // 2):  # history, and neither the newest nor the state
                database.seek(page * page_bytes)
                database.write(b"\xff" * 64)
        assert "pages" in {each["check"] for each in patient.findings() if each["level"] == "broken"}

    def test_bytes_that_were_changed(self, patient: Patient) -> None:
        patient.change(
            "UPDATE history SET content = CAST(replace(CAST(content AS TEXT), 'third', 'THIRD') AS BLOB) "
            "WHERE record = (SELECT content FROM file WHERE path = '/memories/b.md')"
        )
        sentence = patient.finding("contents", "broken")["sentence"]
        assert sentence == "Stored bytes are wrong: /memories/b.md has other bytes than were written."

    def test_a_size_that_does_not_add_up(self, patient: Patient) -> None:
        patient.change("UPDATE file SET size = size + 1 WHERE path = '/memories/b.md'")
        assert "/memories/b.md" in patient.finding("contents", "broken")["sentence"]

    def test_bytes_that_are_missing(self, patient: Patient) -> None:
        patient.change(
            "UPDATE history SET content = NULL "
            "WHERE record = (SELECT content FROM file WHERE path = '/memories/c.md')"
        )
        assert "/memories/c.md" in patient.finding("contents", "broken")["sentence"]

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE file SET written = written + 1 WHERE path = '/memories/b.md'",
            "UPDATE file SET written = (SELECT min(record) FROM history WHERE history.id = file.id)",
        ],
    )
    def test_a_wrong_place_in_write_order(self, patient: Patient, statement: str) -> None:
        patient.change(statement)
        assert "in write order" in patient.finding("write-order", "broken")["sentence"]

    def test_a_version_that_others_are_kept_against_is_missing(self, patient: Patient) -> None:
        with patient.memory() as memory:
            memory.maintain()
        patient.change(
            "UPDATE history SET content = NULL WHERE record IN (SELECT base FROM history) "
            "AND record NOT IN (SELECT content FROM file)"
        )
        assert "kept against one that is missing" in patient.finding("history", "broken")["sentence"]

    def test_a_change_from_the_future(self, patient: Patient) -> None:
        patient.change(f"UPDATE history SET time_ns = {IN_2101_NS} WHERE {NEWEST}")
        assert "2101" in patient.finding("clock", "warning")["sentence"]

    def test_a_memory_whose_time_is_yet_to_come(self, patient: Patient) -> None:
        patient.change(f"UPDATE file SET mtime_ns = {IN_2101_NS} WHERE path = '/memories/a.md'")
        assert "/memories/a.md" in patient.finding("clock", "warning")["sentence"]

    def test_a_clock_that_went_back(self, patient: Patient) -> None:
        patient.change(f"UPDATE history SET time_ns = 1000 WHERE {NEWEST}")
        assert "went back 1 times" in patient.finding("clock", "warning")["sentence"]

    def test_more_than_the_rules_allow(self, patient: Patient) -> None:
        with patient.memory() as memory:
            memory.set_policy({"max_files": 2})
        assert "3 files" in patient.finding("limits", "warning")["sentence"]

    def test_an_inbox_that_nobody_empties(self, patient: Patient) -> None:
        with open_memory(f"sqlite:{patient.home / 'para'}", scope="work", layout="para") as memory:
            for number in range(stores.DEEP_INBOX + 1):
                must(memory, "create", path=f"/memories/areas/inbox/n{number}.html", text="x")
        patient.store = patient.home / "para"
        patient.configure()
        assert "21 memories lie in the inbox" in patient.finding("inbox", "warning")["sentence"]

    def test_a_file_larger_than_the_rules_allow(self, patient: Patient) -> None:
        with patient.memory() as memory:
            memory.set_policy({"max_file_bytes": 10})
        assert "larger than one file may be" in patient.finding("limits", "warning")["sentence"]

    @pytest.mark.slow
    def test_a_writer_that_is_stopped(self, patient: Patient) -> None:
        with patient.files.lock.open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = patient.finding("writable", "broken")
        assert f"process {os.getpid()} " in found["sentence"]

    @pytest.mark.slow
    def test_another_program_that_keeps_the_database_locked(self, patient: Patient) -> None:
        with closing(apsw.Connection(str(patient.files.database))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            assert "other than memfs" in patient.finding("writable", "broken")["sentence"]

    def test_a_log_that_nobody_folds_in(self, patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stores, "LARGE_LOG_BYTES", 0)
        with closing(apsw.Connection(str(patient.files.database))) as reader:
            reader.execute("SELECT count(*) FROM history").fetchall()
            with patient.memory() as memory:
                must(memory, "create", path="/memories/e.md", text="one")
            found = patient.finding("history", "warning")
            assert found["fixable"]
            assert "folded the log into the database" in patient.run("--fix")[1]["mended"]

    def test_a_history_that_has_grown_large(self, patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stores, "LARGE_HISTORY_BYTES", 1000)
        assert "The history is large" in patient.finding("history", "warning")["sentence"]


def test_what_does_not_end_is_given_up_and_said_to_be(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that does not answer, say; here it is a pipe that nobody writes to."""
    reading, writing = os.pipe()
    stuck = files.FILES[0]._replace(look=lambda _: iter([os.read(reading, 1)]), seconds=0.2)  # type: ignore[list-item]
    monkeypatch.setattr("memfs.cli.doctor.FILES", (stuck,))
    assert "could not be tested within" in patient.finding("ordinary", "broken")["sentence"]
    os.write(writing, b"x")


def test_a_check_that_fails_is_said_to_and_keeps_no_other_from_being_made(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Subject) -> Iterator[Finding]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("memfs.cli.doctor.FILES", (files.FILES[0]._replace(look=fails), *files.FILES[1:]))
    patient.state.chmod(0o755)
    assert {each["check"] for each in patient.findings()} == {"ordinary", "owners"}


def _private(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    file.chmod(0o600)


@pytest.mark.parametrize("kind", ["directory", "git"])
def test_other_stores_are_examined_too_and_not_made(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    config = home / ".config/memfs/work.toml"
    config.parent.mkdir(parents=True, mode=0o700)
    config.write_text(f'store = "{kind}:{home / "place"}"\nscope = "work"\nmountpoint = "{home / "mnt"}"\n')
    config.chmod(0o600)

    def findings() -> list[tuple[str, str, str]]:
        main(["doctor", "work", "--json"])
        (memory,) = json.loads(capsys.readouterr().out)["memories"]
        return [(each["check"], each["level"], each["sentence"]) for each in memory["findings"]]

    assert ("store", "ok", "Nothing is stored yet.") in findings()
    assert not (home / "place").exists()
    with open_memory(f"{kind}:{home / 'place'}", scope="work") as memory:
        must(memory, "create", path="/memories/a.md", text="one")
    found = findings()
    assert [each for each in found if each[1] != "ok"] == []
    assert ("contents", "ok", "All 1 files are as they were written.") in found
