"""``memfs redact`` and ``memfs prune`` from a shell, also beside a mount."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from memfs.search import Index
from tests.cli.conftest import SECONDS, Place, Shell, eventually

SECRET = "the password is correct-horse\n"


def test_a_version_is_redacted_and_says_so(shell: Shell) -> None:
    for text in ("first\n", SECRET, "third\n", SECRET, "fifth\n"):
        shell("create", "a.md", text).done()
    done = shell("redact", "a.md@2", "--reason", "a password", "--actor", "ann")
    assert (done.status, done.out) == (0, "Redacted /memories/a.md@2.\n")
    assert "/memories/a.md@4 holds the same bytes" in done.err
    assert shell("redact", "a.md@4", "--json").json == {
        "redacted": [{"path": "/memories/a.md", "version": 4}], "pending": False, "same": [], "dropped": [],
    }  # fmt: skip
    assert "was redacted by" in shell("show", "a.md@2").refusal(1)
    assert shell("show", "a.md@1").done() == "first\n"
    log = shell("log").done()
    assert "took out the content of version 2" in log
    assert "a password" in log
    assert shell("log", "a.md").done().count("its content was redacted") == 2
    raw = b"".join(path.read_bytes() for path in shell.home.rglob("*") if path.is_file())
    assert b"correct-horse" not in raw


def test_the_index_of_searches_goes_with_what_is_redacted(shell: Shell) -> None:
    for text in (SECRET, "second\n"):
        shell("create", "a.md", text).done()
    store = f"sqlite:{shell.home}/.local/share/memfs/store"
    index = shell.home / ".cache" / "memfs" / "search" / Index(store, "default").file.name
    index.parent.mkdir(parents=True)
    index.write_bytes(SECRET.encode())  # as one made while the memory held it
    shell("redact", "a.md@1").done()
    assert not index.exists()


def test_what_cannot_be_redacted(shell: Shell) -> None:
    shell("create", "a.md", SECRET).done()
    assert "holds now" in shell("redact", "a.md@1").refusal(1)
    assert "no version 7" in shell("redact", "a.md@7").refusal(1)
    assert "Name each version" in shell("redact", "a.md").refusal(2)
    assert shell("view", "a.md").done() == SECRET


def test_old_versions_are_forgotten(shell: Shell) -> None:
    for number in range(5):
        shell("create", "a.md", str(number)).done()
    assert shell("prune", "--keep-versions", "2").done().startswith("Forgot 3 versions; the history takes ")
    assert shell("prune", "--keep-days", "1", "--json").json["forgotten"] == 0
    assert "Say what to keep" in shell("prune").refusal(2)
    assert "no version 1" in shell("show", "a.md@1").refusal(1)


def test_a_version_in_a_repository_is_redacted(shell: Shell) -> None:
    store = ("--store", f"git:{shell.home}/repository")
    for text in ("first\n", SECRET, "third\n"):
        shell("create", "a.md", text, *store).done()
    done = shell("redact", "a.md@2", *store, "--actor", "ann")
    assert (done.status, done.out, done.err) == (0, "Redacted /memories/a.md@2.\n", "")
    assert "was redacted by" in shell("show", "a.md@2", *store).refusal(1)
    assert shell("show", "a.md@1", *store).done() == "first\n"
    assert "took out the content of version 2" in shell("log", *store).done()
    assert "keeps every version" in shell("prune", "--keep-days", "1", *store).refusal(3)


@contextmanager
def reader(shell: Shell) -> Iterator[None]:
    """A program that reads the database, and takes its time."""
    (database,) = (shell.home / ".local/share/memfs/store").glob("*.db")
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.execute("BEGIN; SELECT count(*) FROM history")
        yield
    finally:
        connection.close()


def files_with(shell: Shell, part: bytes) -> list[Path]:
    return [path for path in shell.home.rglob("*") if path.is_file() and part in path.read_bytes()]


def test_a_redaction_that_is_held_back_is_told_until_it_is_done(shell: Shell) -> None:
    for text in (SECRET, "second\n"):
        shell("create", "a.md", text).done()
    with reader(shell):
        assert "memfs: pending: " in shell("redact", "a.md@1").err
        assert "pending  redaction pending since 20" in shell("status").done()
        (down,) = shell("status", "--json").json["down"]
        assert down["redaction_pending_since"] == pytest.approx(time.time(), abs=SECONDS)
        (told,) = (line for line in shell("doctor").out.splitlines() if " redactions " in line)
        assert "a program has been reading the database" in told
        assert files_with(shell, b"correct-horse")
    assert "pending" not in shell("status").done()
    assert not files_with(shell, b"correct-horse")
    assert "redactions" not in shell("doctor").out


@pytest.mark.slow
def test_a_mount_ends_what_was_held_back_while_nobody_writes(shell: Shell, place: Place) -> None:
    for text in (SECRET, "second\n"):
        shell("create", "a.md", text).done()
    place.mount()
    with reader(shell):
        assert "pending" in shell("redact", "/memories/a.md@1").err
        assert files_with(shell, b"correct-horse")
    eventually(lambda: not files_with(shell, b"correct-horse"))


@pytest.mark.slow
@pytest.mark.parametrize("mounted", [True, False], ids=["while mounted", "after the unmount"])
def test_refused_saves_and_scratch_are_searched(shell: Shell, place: Place, mounted: bool) -> None:
    place.mount("--max-file-bytes", "40")
    (place.directory / "a.md").write_text(SECRET)
    (place.directory / "a.md~").write_text(SECRET)
    (place.directory / ".a.md.swp").write_text(f"header {SECRET} trailer")
    (place.directory / "b.md~").write_text("nothing to hide\n")
    with suppress(OSError):
        (place.directory / "big.md").write_text(SECRET * 3)
    (place.directory / "a.md").write_text("clean\n")
    if not mounted:
        shell("unmount", str(place.directory)).done()
    done = shell("redact", "--json", "/memories/a.md@1")
    assert done.status == 0, done
    assert len(done.json["dropped"]) == 3
    if not mounted:
        place.mount()
    assert sorted(path.name for path in place.directory.iterdir()) == ["a.md", "b.md~"]
    assert shell("rejected", "list").out.count("big.md") == 0
    shell("unmount", str(place.directory)).done()
    deadline = time.monotonic() + 60
    while any(b"correct-horse" in path.read_bytes() for path in shell.home.rglob("*") if path.is_file()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
