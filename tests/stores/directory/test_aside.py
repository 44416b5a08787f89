"""Programs that write into a file which has lost its place: whatever the instant, nothing of it is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memfs import Limits
from memfs.stores.directory import aside
from memfs.stores.directory.placement import Placement
from tests.harness import must, texts
from tests.stores.directory.harness import files_in, open_folder, staged

A = "/memories/a.md"
LATE = "theirs, late"


def kept(folder: Path) -> list[str]:
    """The texts of what lies in ``.meta/staged``."""
    return sorted((folder / ".meta/staged" / name).read_text() for name in staged(folder))


@pytest.mark.parametrize("same_look", [False, True])
@pytest.mark.parametrize("way", ["while it is open", "at the next opening"])
def test_what_is_written_into_a_file_after_the_change_is_kept_and_told(
    fast_path: Path,
    way: str,
    same_look: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="ours, first.")
        must(memory, "create", path=A, text="second")
        (name,) = staged(fast_path)
        replaced = fast_path / ".meta/staged" / name
        before = replaced.stat()
        replaced.write_text(LATE)
        if same_look:  # size and time, as after a copy that keeps both
            os.utime(replaced, ns=(before.st_atime_ns, before.st_mtime_ns))
        monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
        if way == "while it is open":
            memory.maintain()
            assert name in caplog.text
        else:
            monkeypatch.setattr(aside, "LINGER_SECONDS", 1000.0)
    caplog.clear()
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    open_folder(fast_path)[0].close()
    assert name in caplog.text
    assert kept(fast_path) == [LATE]
    assert files_in(fast_path) == {"a.md": "second"}


def test_a_file_that_somebody_has_open_for_writing_waits_for_them(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    memory, _ = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        with (fast_path / "a.md").open("a") as idle, (fast_path / "a.md").open("a") as late:
            must(memory, "create", path=A, text="second")
            memory.maintain()
            assert kept(fast_path) == ["first"]
            open_folder(fast_path)[0].close()
            assert kept(fast_path) == ["first"]
            late.write(" and theirs")
            late.flush()
            memory.maintain()
            assert kept(fast_path) == ["first and theirs"]
            assert not idle.closed
        memory.maintain()
        assert kept(fast_path) == ["first and theirs"]
        with (fast_path / "a.md").open("a"):
            must(memory, "create", path=A, text="third")
        memory.maintain()
        assert kept(fast_path) == ["first and theirs"]


def test_what_had_no_place_for_a_moment_is_a_version_though_its_program_goes_on(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor closes its file while ours has the place, reads ours, and saves over its own, put back."""
    memory, store = open_folder(fast_path)
    with memory:
        must(memory, "create", path=A, text="first")
        check, undo = Placement.check, Placement.undo

        def checked(self: Placement) -> None:
            (replaced,) = (fast_path / ".meta/staged").glob("new-*")
            replaced.write_text("theirs")
            check(self)

        def undone(self: Placement) -> object:
            monkeypatch.undo()
            came_out = undo(self)
            assert files_in(fast_path) == {"a.md": "theirs"}
            (fast_path / "a.md").write_text("theirs, of ours")
            return came_out

        monkeypatch.setattr(Placement, "check", checked)
        monkeypatch.setattr(Placement, "undo", undone)
        must(memory, "create", path=A, text="second")
        contents = [store.read(record.id, record.version).decode() for record in store.history()]
    assert contents == ["second", "theirs, of ours", "theirs", "first"]


def test_what_is_written_into_ours_after_a_crash_is_kept_when_the_change_is_taken_back(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(max_total_bytes=100, max_file_bytes=100, max_files=50)
    memory, _ = open_folder(fast_path, limits=limits)
    with memory:
        must(memory, "create", path="/memories/b.md", text="b" * 40)
        must(memory, "create", path=A, text="first")
    before = files_in(fast_path)
    child = os.fork()
    if child == 0:
        Placement.check = lambda self: os._exit(9)  # type: ignore[method-assign]
        memory, _ = open_folder(fast_path, limits=limits)
        must(memory, "create", path=A, text="a" * 90)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert files_in(fast_path) == {"a.md": "a" * 90}
    (fast_path / "a.md").write_text(LATE)
    monkeypatch.setattr(aside, "LINGER_SECONDS", 0.0)
    memory, _ = open_folder(fast_path, limits=limits)
    with memory:
        assert files_in(fast_path) == before
        assert texts(memory) == {f"/memories/{name}": text for name, text in before.items()}
        assert kept(fast_path) == [LATE]
