"""The public API, as its users write it; mypy checks this module together with the package."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, assert_type

import pytest

import memfs


def test_a_memory_is_opened_used_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    memory = memfs.open_memory("sqlite:notes", scope="work", limits=memfs.Limits(max_files=32))
    assert_type(memory, memfs.Memory)

    result = memory.execute({"command": "create", "path": "/memories/notes.md", "text": "Keep it small.\n"})
    assert result.ok
    assert result.value.to_wire() == {
        "path": "/memories/notes.md",
        "byteLength": 15,
        "evicted": [],
        "overwritten": False,
    }
    assert result.to_wire() == {"ok": True, "command": "create", "value": result.value.to_wire()}

    result = memory.execute({"command": "view", "path": "/memories/none.md"})
    assert not result.ok
    assert result.error.code == "NOT_FOUND"
    assert result.error.code is memfs.ErrorCode.NOT_FOUND
    assert result.to_wire() == {
        "ok": False,
        "command": "view",
        "error": {"code": "NOT_FOUND", "message": result.error.message, "path": "/memories/none.md"},
    }
    memory.close()
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_memory_is_a_context_manager(sqlite_url: str) -> None:
    with memfs.open_memory(sqlite_url) as memory:
        assert memory.execute(memfs.Create("/memories/a.md", "x")).ok
    closed = memory.execute(memfs.View("/memories/a.md"))
    assert closed.error is not None
    assert closed.error.code is memfs.ErrorCode.STORAGE_ERROR
    with memfs.open_memory(sqlite_url) as memory:
        assert memory.execute(memfs.View("/memories/a.md")).ok


def test_a_memory_may_be_used_from_several_threads(sqlite_url: str) -> None:
    with memfs.open_memory(sqlite_url) as memory:
        results: list[memfs.Result] = []
        threads = [
            threading.Thread(
                target=lambda number=number: results.append(
                    memory.execute(memfs.Create(f"/memories/{number}.md", "x"))
                )
            )
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [result.ok for result in results] == [True] * 8
        listing = memory.execute(memfs.View("/memories")).value
        assert isinstance(listing, memfs.DirectoryView)
        assert len(listing.entries) == 8


def test_the_history_is_read_and_what_was_comes_back(sqlite_url: str) -> None:
    path = "/memories/a.md"
    with memfs.open_memory(sqlite_url, actor="ada") as memory:
        memory.execute(memfs.Create(path, "one"), reason="asked for")
        refused = memory.execute(memfs.Create(path, "two", expected=memfs.ABSENT))
        assert refused.error is not None
        assert refused.error.code is memfs.ErrorCode.CONFLICT
        assert memory.execute(memfs.Create(path, "two", expected=memfs.Expected(version=1))).ok
        newest, oldest = memory.versions(path)
        assert_type(newest, memfs.Record)
        assert (oldest.version, oldest.actor.program, oldest.reason) == (1, "ada", "asked for")
        assert memory.read_version(path, 1) == b"one"
        with pytest.raises(memfs.NotKept):
            memory.read_version(path, 9)
        assert memory.restore(path, 1).ok
        undone = memory.undo().value
        assert isinstance(undone, memfs.Undone)
        assert undone.restored == (path,)
        assert memory.execute(memfs.Delete(path)).ok
        assert [record.path for record in memory.gone()] == [path]


def test_a_typed_command_has_a_typed_receipt() -> None:
    with memfs.open_memory("simple:") as memory:
        created = memory.execute(memfs.Create(path="/memories/a.md", text="one\ntwo\n")).value
        assert created == memfs.Created("/memories/a.md", 8, (), overwritten=False)
        view = memory.execute(memfs.View("/memories/a.md", view_range=(2, -1))).value
        assert view == memfs.FileView("/memories/a.md", "two\n", 4, memfs.Lines(2, 2, 2))
        edited = memory.execute(memfs.StrReplace("/memories/a.md", old_text="two", new_text="2")).value
        assert edited == memfs.Edited("/memories/a.md", 6, ())
        assert memory.execute(memfs.Insert("/memories/a.md", insert_line=0, text="0")).ok
        renamed = memory.execute(memfs.Rename("/memories/a.md", "/memories/d/b.md")).value
        assert renamed == memfs.Renamed("/memories/a.md", "/memories/d/b.md", "file", 1)
        listing = memory.execute(memfs.View("/memories")).value
        assert listing == memfs.DirectoryView("/memories", (memfs.Entry("d", "/memories/d", "directory"),))
        deleted = memory.execute(memfs.Delete("/memories/d")).value
        assert deleted == memfs.Deleted("/memories/d", "directory", 1, 8)


def test_a_result_is_told_apart_by_ok() -> None:
    with memfs.open_memory("simple:") as memory:
        result = memory.execute(memfs.View("/memories"))
        assert_type(result, memfs.Result)
        if result.ok:
            assert_type(result, memfs.Success)
            assert_type(result.value, memfs.Receipt)
            assert_type(result.error, None)
        else:
            assert_type(result, memfs.Failure)
            assert_type(result.error, memfs.PortError)
            assert_type(result.error.code, memfs.ErrorCode)
            assert_type(result.value, None)
        assert_type(result.ok, Literal[True] | Literal[False])
        assert_type(result.to_wire(), dict[str, object])


def test_the_types_refuse_what_would_fail() -> None:
    """mypy strict: an ignore that ignores nothing is an error, so each of these is one."""
    with memfs.open_memory("simple:") as memory:
        result = memory.execute(memfs.View("/memories/none.md"))
        with pytest.raises(AttributeError):
            result.value.to_wire()  # type: ignore[union-attr]
        assert not memory.execute("view").ok  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            result.command = "create"  # type: ignore[misc]
    with pytest.raises(memfs.OpenError):
        memfs.open_memory("simple:", scope=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        memfs.Create("/memories/a.md")  # type: ignore[call-arg]


def test_a_command_off_the_wire_may_be_any_mapping() -> None:
    command: Mapping[str, Any] = {"command": "view", "path": "/memories"}
    with memfs.open_memory("simple:") as memory:
        assert memory.execute(command).ok


@pytest.mark.parametrize("limit", ["max_file_bytes", "max_total_bytes", "max_files"])
def test_a_bad_limit_is_an_error_of_opening(limit: str) -> None:
    with pytest.raises(memfs.OpenError) as refused:
        memfs.Limits(**{limit: 0})
    assert refused.value.error.code is memfs.ErrorCode.INVALID_ARGUMENT
    assert str(refused.value) == refused.value.error.message


def test_every_public_name_is_there_and_listed() -> None:
    assert sorted(memfs.__all__) == dir(memfs) == sorted(set(memfs.__all__))
    for name in memfs.__all__:
        assert getattr(getattr(memfs, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="nonsense"):
        memfs.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import memfs", "memfs.port memfs.opening apsw trio pyfuse3 json"),
        ("import memfs; memfs.Limits; memfs.Create", "memfs.opening apsw trio pyfuse3"),
        ("import memfs; memfs.ensure_memory", "memfs.port memfs.opening apsw trio pyfuse3"),
        ("import memfs.layout", "memfs.port memfs.opening apsw trio pyfuse3"),
        ("import memfs; memfs.open_memory('simple:')", "apsw trio pyfuse3 memfs.mount"),
        (
            "import memfs, os; memfs.open_memory('sqlite:' + os.environ['HOME'] + '/s')",
            "trio pyfuse3 memfs.mount",
        ),
    ],
)
def test_only_what_is_used_is_imported(code: str, absent: str) -> None:
    code += f"; import sys; loaded = set({absent.split()!r}) & set(sys.modules); assert not loaded, loaded"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(memfs.__file__).parent / "py.typed").exists()
