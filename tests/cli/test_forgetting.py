"""``memfs redact`` and ``memfs prune`` from a shell, also beside a mount."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from memfs.search import Index
from tests.cli.conftest import Place, Shell

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
