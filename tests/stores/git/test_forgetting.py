"""What is redacted is in no object of the repository any more, and everybody goes on from there."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs import Memory, NotKept, StoreError
from memfs.port.keeping import Retention
from memfs.stores.git import history, redaction, usage
from memfs.stores.git.recorded import MARKER
from memfs.stores.git.reference import swap
from memfs.stores.git.store import GitStore
from tests.harness import must, texts
from tests.stores.git.harness import ACTOR, REF, Clone, damage_of, git, git_bytes, open_pair

A, B, C = "/memories/a.md", "/memories/b.md", "/memories/deep/er/c.md"
SECRET = "correct-horse-battery-staple"


@pytest.fixture
def pair(repository: Path) -> Iterator[tuple[Memory, GitStore]]:
    memory, store = open_pair(repository)
    with memory:
        yield memory, store


def everything(repository: Path) -> bytes:
    """Every file of a repository, raw and unpacked, and every object that git finds in its packs."""
    found = []
    for path in repository.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found.append(data)
            try:
                found.append(zlib.decompress(data))
            except zlib.error:
                continue
    packed = git_bytes(repository, "cat-file", "--batch-all-objects", "--batch", "--unordered")
    return b"\0".join([*found, packed])


def holds(repository: Path, text: str) -> bool:
    return text.encode() in everything(repository)


def write_with_secret(memory: Memory, path: str = A) -> int:
    """Versions of a memory, one of which has the secret, among those of others; its version."""
    must(memory, "create", path=B, text="another")
    for number in range(3):
        must(memory, "create", path=path, text=f"before {number}")
    must(memory, "create", path=path, text=f"password: {SECRET}\n")
    version = memory.snapshot().version
    must(memory, "create", path=B, text="meanwhile")
    for number in range(3):
        must(memory, "create", path=path, text=f"after {number}")
    return version


@pytest.mark.slow
@pytest.mark.parametrize("path", [A, C])
@pytest.mark.parametrize("form", ["loose", "packed", "both"])
def test_a_redacted_content_is_in_no_object(
    pair: tuple[Memory, GitStore], repository: Path, path: str, form: str
) -> None:
    memory, _ = pair
    version = write_with_secret(memory, path)
    if form != "loose":
        git(repository, "gc", "-q")
        git(repository, "commit-graph", "write", "--reachable")
        git(repository, "multi-pack-index", "write")
    if form == "both":
        must(memory, "create", path="/memories/copy.md", text=f"password: {SECRET}\n")
        must(memory, "create", path="/memories/copy.md", text="changed")
        copies = [(path, version), ("/memories/copy.md", memory.snapshot().version - 1)]
    else:
        copies = [(path, version)]
    before = list(memory.history())
    digest = next(record.digest for record in before if record.version == version)
    blob = git(repository, "rev-parse", f"{REF}~{memory.snapshot().version - version}:{path[1:]}")
    assert digest is not None
    assert holds(repository, SECRET)
    kept = {
        (each.id, each.version): memory.read_record(each)
        for each in before
        if (each.path, each.version) not in copies
    }
    done = memory.redact(copies, reason="a password")
    assert (done.pending, done.same) == (False, ())
    assert not holds(repository, SECRET)
    assert not holds(repository, digest), "a digest tells a short secret"
    assert not holds(repository, blob)
    assert damage_of(repository) == ""
    after = list(memory.history())[len(copies) :]
    assert [(each.version, each.time_ns, each.path) for each in after] == [
        (each.version, each.time_ns, each.path) for each in before
    ]
    assert {(each.id, each.version): memory.read_record(each) for each in after if not each.redacted} == kept


def test_the_record_and_who_redacted_stay_and_the_scope_goes_on(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    version = write_with_secret(memory)
    before = texts(memory)
    memory.redact([(A, version)], reason="a password")
    record = next(record for record in memory.history(A) if record.version == version)
    assert (record.redacted, record.digest) == (True, None)
    newest = next(memory.history())
    assert (newest.operation, newest.joins, newest.reason) == ("redacted", version, "a password")
    assert newest.actor == ACTOR
    with pytest.raises(NotKept, match="redacted by ada with vim"):
        memory.read_version(A, version)
    with pytest.raises(NotKept, match="already"):
        memory.redact([(A, version)])
    assert texts(memory) == before
    must(memory, "create", path=A, text="the scope goes on")
    assert memory.snapshot().version == newest.version + 1
    assert git(repository, "show", f"{REF}~{memory.snapshot().version - version}:memories/a.md") == (
        MARKER.decode().strip()
    )
    assert f"redacted version {version} of memories/a.md" in git(repository, "log", "--format=%s", REF)
    memory.close()
    with open_pair(repository)[0] as again:
        assert texts(again) == before | {A: "the scope goes on"}
        assert "rescued" not in again.report()


def test_renames_and_the_deletion_that_show_the_bytes_are_redacted_with_them(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="before")
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=C)
    must(memory, "delete", path=C)
    memory.redact([(C, 3)])
    assert [record.redacted for record in memory.history(C)] == [True, True, True, False]
    with pytest.raises(NotKept, match="redacted by ada"):
        memory.read_version(C, 4)
    assert memory.read_version(C, 1) == b"before"
    assert not holds(repository, SECRET)
    assert "R100" in git(repository, "log", "-M", "--name-status", "--format=", REF)
    assert memory.restore(C, 1).ok


def test_the_present_cannot_be_redacted_and_all_or_none_are(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text=SECRET)
    must(memory, "rename", oldPath=A, newPath=B)
    tip = git(repository, "rev-parse", REF)
    for version in (2, 3):
        with pytest.raises(StoreError, match="holds now"):
            memory.redact([(B, 1), (B, version)])
    assert git(repository, "rev-parse", REF) == tip
    assert memory.read_version(B, 1) == b"1"
    assert texts(memory) == {B: SECRET}


def test_other_versions_with_the_same_bytes_are_named_and_stay(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    for text in (SECRET, "x", SECRET, "y"):
        must(memory, "create", path=A, text=text)
    done = memory.redact([(A, 1)])
    assert (done.pending, [record.version for record in done.same]) == (False, [3])
    assert memory.read_version(A, 3) == SECRET.encode()
    assert damage_of(repository) == ""
    memory.redact([(A, 3)])
    assert not holds(repository, SECRET)


def test_another_process_goes_on_from_the_rewritten_line(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    with open_pair(repository)[0] as other, open_pair(repository)[0] as late:
        must(late, "create", path=B, text="as it was long ago")
        version = write_with_secret(memory)
        before = texts(other)
        memory.redact([(A, version)])
        assert [record.redacted for record in other.history(A)].count(True) == 1
        must(other, "create", path=C, text="on the newest version")
        assert texts(other) == texts(memory) == before | {C: "on the newest version"}
        memory.redact([(A, version - 1)])  # the second redaction that *late* has missed
        assert texts(late) == texts(memory)
        assert late.snapshot().version == memory.snapshot().version
    assert "rescued" not in memory.report()
    assert not holds(repository, SECRET)


def test_what_somebody_elses_reference_reaches_is_pending(
    pair: tuple[Memory, GitStore], repository: Path
) -> None:
    memory, _ = pair
    version = write_with_secret(memory)
    git(repository, "update-ref", "refs/heads/mine", REF)
    mine = git(repository, "rev-parse", "refs/heads/mine")
    assert memory.redact([(A, version)]).pending
    assert git(repository, "rev-parse", "refs/heads/mine") == mine
    assert damage_of(repository) == ""
    memory.maintain()
    assert holds(repository, SECRET)
    git(repository, "update-ref", "-d", "refs/heads/mine")
    memory.maintain()
    assert not holds(repository, SECRET)


def test_rescued_commits_and_the_reflog_are_rewritten_too(place: Path) -> None:
    git(place, "init", "-q", "project")
    repository, ref = place / "project", "refs/heads/memory"
    with open_pair(repository, ref=ref)[0] as memory:
        must(memory, "create", path=A, text="before")
        tip = git(repository, "rev-parse", ref)
        must(memory, "create", path=A, text=SECRET)
        must(memory, "create", path=A, text="after")
        version = memory.snapshot().version - 1
        git(repository, "update-ref", ref, tip)
        assert texts(memory) == {A: "before"}
        assert "rescued" in memory.report()
        assert git(repository, "reflog", "show", ref)
        assert not memory.redact([(A, version)]).pending
        assert [record.version for record in memory.versions(A)][-2:] == [version, version - 1]
        assert "rescued" in memory.report()
        assert not holds(repository / ".git", SECRET)
        assert damage_of(repository) == ""
        assert texts(memory) == {A: "before"}


def test_what_others_committed_with_plain_git_is_redacted(
    pair: tuple[Memory, GitStore], repository: Path, place: Path
) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="before")
    clone = Clone(repository, place / "clone")
    clone.write("memories/a.md", SECRET)
    clone.commit("the secret")
    clone.write("memories/a.md", "after")
    clone.commit("without it")
    clone.write("memories/n.md", "a note")
    clone.commit("a note")
    clone.push()
    assert texts(memory) == {A: "after", "/memories/n.md": "a note"}
    assert not memory.redact([(A, 2)]).pending
    assert not holds(repository, SECRET)
    assert damage_of(repository) == ""
    must(memory, "create", path=B, text="on")
    assert [record.actor.user for record in memory.versions(A)] == ["Bo", "Bo", "ada"]
    assert git(repository, "log", "--format=%s", REF).splitlines()[2:5] == [
        "a note",
        "without it",
        "the secret",
    ]


def test_a_redaction_that_was_killed_before_the_reference_moved_did_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    memory, _ = open_pair(repository)
    version = write_with_secret(memory)
    with monkeypatch.context() as patch:
        patch.setattr(redaction, swap.__name__, die)
        with pytest.raises(Killed):
            memory.redact([(A, version)])
    assert memory.read_version(A, version) == f"password: {SECRET}\n".encode()
    memory.maintain()
    must(memory, "create", path=B, text="on")
    memory.close()
    with open_pair(repository)[0] as again:
        assert "rescued" not in again.report()
        assert again.read_version(A, version) == f"password: {SECRET}\n".encode()
        assert damage_of(repository) == ""
        assert not again.redact([(A, version)]).pending
        assert not holds(repository, SECRET)


def test_nothing_is_pruned_and_the_size_is_told(pair: tuple[Memory, GitStore]) -> None:
    memory, _ = pair
    must(memory, "create", path=A, text="1")
    must(memory, "create", path=A, text="2")
    with pytest.raises(StoreError, match="keeps every version"):
        memory.prune(Retention(None, 1))
    use = memory.history_use()
    assert use is not None
    assert 100 < use.size < 10_000
    assert use.since_ns == list(memory.history())[-1].time_ns


@pytest.mark.parametrize("bitmaps", ["true", "false"])
def test_the_size_is_counted_anew_after_a_gc_where_that_takes_no_time(
    pair: tuple[Memory, GitStore], repository: Path, monkeypatch: pytest.MonkeyPatch, bitmaps: str
) -> None:
    memory, _ = pair

    def size() -> int:
        use = memory.history_use()
        assert use is not None
        return use.size

    for number in range(30):
        must(memory, "create", path=A, text=f"{number}\n" + "a line of some length, as they are\n" * 50)
    loose = size()
    git(repository, "-c", f"repack.writeBitmaps={bitmaps}", "gc", "-q")
    packed = size()
    assert (packed < loose) == (bitmaps == "true")
    must(memory, "create", path=A, text="the newest\n")
    more = size()
    assert more > packed, "what came since is added"
    monkeypatch.setattr(usage, "ANEW_SECONDS", 0)
    assert size() <= more
    assert size() < loose


@pytest.mark.slow
def test_writers_go_on_while_a_version_is_redacted(pair: tuple[Memory, GitStore], repository: Path) -> None:
    memory, _ = pair
    version = write_with_secret(memory)
    with open_pair(repository)[0] as other:
        before = other.snapshot().version

        def write() -> None:
            for number in range(20):
                must(other, "create", path=C, text=f"written {number}")

        writer = threading.Thread(target=write)
        writer.start()
        assert not memory.redact([(A, version)]).pending
        writer.join()
        assert texts(memory) == texts(other)
        assert texts(memory)[C] == "written 19"
        assert memory.snapshot().version == before + 21
        assert [each.version for each in memory.history()] == list(range(before + 21, 0, -1))
    assert not holds(repository, SECRET)
    assert damage_of(repository) == ""


def test_the_log_of_another_process_does_not_keep_what_was_redacted(
    pair: tuple[Memory, GitStore], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SAVE_EVERY", 1)
    memory, _ = pair
    version = write_with_secret(memory)
    digest = next(record.digest for record in memory.history(A) if record.version == version)
    assert digest is not None
    with open_pair(repository)[0] as other:
        assert digest in {record.digest for record in other.history(A)}
        (log,) = (repository / "memfs").glob("*.log")
        assert digest in log.read_text()
        memory.redact([(A, version)])
        assert list(other.history(A)) == list(memory.history(A))
        must(other, "create", path=B, text="on")
        assert list(other.history()) == list(memory.history())
    assert not holds(repository, digest)
