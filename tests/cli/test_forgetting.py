"""``memfs redact`` and ``memfs prune`` from a shell, also beside a mount."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from memfs.search import Index
from tests.cli.conftest import SECONDS, Place, Shell, Terminal, eventually

SECRET = "the password is correct-horse\n"


def test_a_version_is_redacted_and_says_so(shell: Shell) -> None:
    for text in ("first\n", SECRET, "third\n", SECRET, "fifth\n"):
        shell("create", "a.md", text).done()
    done = shell("redact", "a.md@2", "--reason", "a password", "--actor", "ann")
    assert (done.status, done.out) == (0, "Redacted /memories/a.md@2.\n")
    assert "/memories/a.md@4 holds the same bytes" in done.err
    assert shell("redact", "a.md@4", "--json").json == {
        "redacted": [{"path": "/memories/a.md", "version": 4}], "pending": False, "same": [], "dropped": [],
        "left": [],
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


KEY = "sk-4242424242"


def test_a_text_is_taken_out_of_every_version_that_has_it(shell: Shell) -> None:
    for text in ("clean\n", f"a: 1\nkey: {KEY}\n", f"more\nkey: {KEY}\n", "clean again\n"):
        shell("create", "a.md", text).done()
    shell("rename", "a.md", "b.md").done()
    shell("create", "a.md", f"{KEY} in one that leaves").done()
    shell("delete", "a.md").done()
    shell("create", "a.md", "in its place").done()
    would = shell("redact", "--text-from", "-", "--dry-run", text=f"{KEY}\n").done()
    assert would.splitlines() == [f"Would redact /memories/a.md@{version}." for version in (2, 3, 6)]
    assert files_with(shell, KEY.encode())
    done = shell("redact", "--text-from", "-", "--reason", "a key", text=f"{KEY}\n").done()
    assert done == would.replace("Would redact", "Redacted")
    assert not files_with(shell, KEY.encode())
    assert shell("show", "b.md@1").done() == "clean\n"
    assert [shell("view", name).done() for name in ("a.md", "b.md")] == ["in its place", "clean again\n"]
    again = shell("redact", "--text-from", "-", text=KEY).done()
    assert again == "Nothing that memfs keeps of this memory has it.\n"


def test_where_a_text_has_to_stay_is_told(shell: Shell, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(f"-- begin --\n{KEY} of ada\n{KEY} of bob\n-- end --\n")
    shell("create", "a.md", key.read_text()).done()
    shell("create", "a.md", f"my {KEY} of bob").done()
    shell("create", "a.md", key.read_text(), "--reason", "as ada has it").done()
    done = shell("redact", "--text-from", str(key))
    assert (done.status, done.out) == (1, "Redacted /memories/a.md@1.\n")
    assert done.err.splitlines() == [
        "memfs: /memories/a.md has it now; take it out of there, and run this again.",
        "memfs: /memories/a.md@2 has a line of it, and not all; memfs redact /memories/a.md@2 takes it out.",
    ]
    shell("create", "a.md", "clean", "--reason", f"{KEY} was in it").done()
    done = shell("redact", "--text-from", "-", "--json", text=KEY)
    assert (done.status, done.json["left"]) == (1, ["The reason of version 5 has it, and reasons stay."])
    assert {each["version"] for each in done.json["redacted"]} == {2, 3}


def test_what_is_too_short_or_unclear_takes_nothing_out(shell: Shell) -> None:
    shell("create", "a.md", "short\n").done()
    shell("create", "a.md", "clean\n").done()
    assert "fewer than 8" in shell("redact", "--text-from", "-", text="short\n").refusal(2)
    assert "one of them" in shell("redact", "a.md@1", "--text-from", "-", text=KEY).refusal(2)
    assert "one of them" in shell("redact").refusal(2)
    assert shell("show", "a.md@1").done() == "short\n"


def test_a_text_that_a_person_types_is_not_shown(shell: Shell) -> None:
    for text in (KEY, "clean"):
        shell("create", "a.md", text).done()
    with Terminal(shell, *shell.command("redact", "--text-from", "-")) as terminal:
        terminal.until(b"it is not shown")
        os.write(terminal.master, f"{KEY}\n".encode())
        terminal.until(b"Redacted /memories/a.md@1.")
        assert KEY.encode() not in terminal.shown


@pytest.mark.parametrize("command", ["prune --keep-versions 1", "redact a.md@1"])
def test_what_takes_long_says_for_how_long(shell: Shell, command: str) -> None:
    for text in "12":
        shell("create", "a.md", text).done()
    code = (
        "import sys, time\n"
        "from memfs import progress\n"
        "from memfs.cli import main\n"
        "from memfs.port.memory import Memory\n"
        "progress.QUICK_SECONDS = 0.1\n"
        "def slowly(name):\n"
        "    quick = getattr(Memory, name)\n"
        "    setattr(Memory, name, lambda *a, **k: (time.sleep(1.5), quick(*a, **k))[1])\n"
        "slowly('prune')\n"
        "slowly('redact_records')\n"
        f"sys.exit(main({command.split()}))\n"
    )
    with Terminal(shell, *shell.command()[:1], "-c", code) as terminal:
        terminal.until(b"  1 s\x1b[K")
        terminal.until(b"\r\x1b[K" + (b"Forgot 1" if command.startswith("prune") else b"Redacted"))


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


@pytest.mark.slow
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
    assert "Nothing that was redacted is left in the files." in shell("doctor").out


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
def test_a_file_with_some_lines_only_is_named_with_what_removes_it(shell: Shell, place: Place) -> None:
    place.mount("--max-file-bytes", "100")
    kept = "a line that stays for ever\n"
    (place.directory / "a.md").write_text(kept)
    (place.directory / "a.md").write_text(f"{kept}the first secret line\nthe second secret line\n")
    (place.directory / ".a.md.swp").write_bytes(b"vim\0the second secret line\0a line that stays for ever")
    (place.directory / "b.md~").write_text(kept)
    with suppress(OSError):
        (place.directory / "big.md").write_text("the first secret line\n" + "x" * 200)
    (place.directory / "a.md").write_text(kept)
    log = [json.loads(line) for line in shell("log", "/memories/a.md", "--json").out.splitlines()]
    (version,) = (record["version"] for record in log if record["byteLength"] > 50)
    done = shell("redact", f"/memories/a.md@{version}")
    assert (done.status, done.out) == (1, f"Redacted /memories/a.md@{version}.\n")
    swap, refused = sorted(done.err.splitlines())
    assert swap == (
        f"memfs: {place.directory}/.a.md.swp has a line of it, and was left; "
        f"rm {place.directory}/.a.md.swp removes it."
    )
    assert refused.startswith("memfs: the refused save ")
    command = refused[refused.index("; memfs ") + len("; memfs ") :].removesuffix(" removes it.")
    shell(*shlex.split(command)).done()
    (place.directory / ".a.md.swp").unlink()
    shell("unmount", str(place.directory)).done()
    assert not files_with(shell, b"secret line")


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
