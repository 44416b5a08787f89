"""Import: all that can come in as one change, in its order, and each thing that cannot by its name."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from memfs import Limits, Memory, open_memory
from memfs.port.errors import StoreError, UnsafeStorage
from memfs.port.importing import Incoming, plan_import
from memfs.port.receipts import Imported
from memfs.transfer.git_sources import from_git, from_memhtml, from_obversa
from memfs.transfer.sources import Source, from_folder, from_tar
from memfs.transfer.to_files import export_to_directory, export_to_tar
from tests.harness import must, texts
from tests.stores.git.harness import git

A, B, C = (f"/memories/{name}.md" for name in "abc")
LIMITS = Limits()


def bring_in(memory: Memory, files: list[Incoming]) -> Imported:
    result = memory.perform("import", lambda scope, _now_ns: plan_import(scope, files)).result
    assert isinstance(result.value, Imported), result
    return result.value


def in_order(memory: Memory) -> list[str]:
    return [file.path for file in memory.snapshot().in_write_order()]


def named(source: Source) -> dict[str, str]:
    return dict(source.left)


def test_many_files_come_in_as_one_change_in_their_order(lasting_url: str) -> None:
    with open_memory(lasting_url) as memory:
        files = [Incoming(path, path.encode(), 10**18 + at) for at, path in enumerate((C, A, B))]
        assert bring_in(memory, files) == Imported((C, A, B), ())
        must(memory, "create", path="/memories/z.md", text="after")
        assert in_order(memory) == [C, A, B, "/memories/z.md"]
        assert len({file.id for file in memory.snapshot().in_write_order()}) == 4
        assert {record.version for record in memory.history() if record.path != "/memories/z.md"} == {1}
    with open_memory(lasting_url) as memory:
        assert in_order(memory) == [C, A, B, "/memories/z.md"]
        assert texts(memory)[A] == A
        assert [file.mtime_ns for file in memory.snapshot().in_write_order()][:3] == [
            10**18 + n for n in range(3)
        ]


def test_what_cannot_come_in_is_named_and_the_rest_comes(memory: Memory) -> None:
    must(memory, "create", path=A, text="mine")
    must(memory, "create", path="/memories/d/a.md", text="mine")
    wrong = {
        A: "already exists",
        "/memories/d": "no extension",
        "/memories/a.md/b.md": "is a file",
        "/memories/x.exe": "extension",
        "/memories/../x.md": "'..'",
        "/memories//etc/passwd.md": "empty segment",
        "/memories/-x.md": "begins with",
        "/memories/big.md": "70000 bytes",
        "/memories/latin.md": "no UTF-8",
        "/memories/n.md": "already exists",
        "/memories/n.md/m.md": "directory on the other",
    }
    contents = {"/memories/big.md": b"x" * 70_000, "/memories/latin.md": b"caf\xe9"}
    files = [Incoming("/memories/n.md", b"first")]
    files += [Incoming(path, contents.get(path, b"x")) for path in wrong]
    receipt = bring_in(memory, files)
    assert receipt.paths == ("/memories/n.md",)
    assert [path for path, _ in receipt.refused] == list(wrong)
    for path, reason in receipt.refused:
        assert wrong[path] in reason
    assert texts(memory) == {A: "mine", "/memories/d/a.md": "mine", "/memories/n.md": "first"}


def test_what_does_not_fit_as_a_whole_changes_nothing(sqlite_url: str) -> None:
    with open_memory(sqlite_url, limits=Limits(max_files=3)) as memory:
        must(memory, "create", path=A, text="mine")
        files = [Incoming(f"/memories/{number}.md", b"x") for number in range(3)]
        result = memory.perform("import", lambda scope, _now_ns: plan_import(scope, files)).result
        assert result.error is not None
        assert result.error.code == "LIMIT_EXCEEDED"
        assert texts(memory) == {A: "mine"}
        assert memory.snapshot().version == 1


def test_a_folder_is_read_by_time_and_no_link_is_followed(place: Path) -> None:
    folder = place / "notes"
    (folder / "d" / ".git").mkdir(parents=True)
    (folder / "d" / ".git" / "config").write_text("x")
    (folder / "d" / "old.md").write_text("old")
    (folder / "new.md").write_text("new")
    (folder / "big.md").write_text("x" * 70_000)
    os.utime(folder / "new.md", (2, 2))
    os.utime(folder / "d" / "old.md", (1, 1))
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "elsewhere").symlink_to("/etc")
    os.mkfifo(folder / "pipe.md")
    source = from_folder(folder, LIMITS)
    assert source.files == [
        Incoming("/memories/d/old.md", b"old", 10**9),
        Incoming("/memories/new.md", b"new", 2 * 10**9),
    ]
    assert named(source) == {
        "d/.git": "is a hidden directory",
        "link.md": "is a symbolic link",
        "elsewhere": "is a symbolic link",
        "pipe.md": "is no ordinary file",
        "big.md": "has 70000 bytes; a file may have 65536",
    }


def member(
    name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, target: str = ""
) -> tuple[Any, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mtime = kind, target, 7
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def test_the_names_in_a_tar_are_hostile(memory: Memory, place: Path) -> None:
    with tarfile.open(place / "t.tar", "w") as tar:
        for info, content in (
            member("/etc/passwd.md"),
            member("../../escape.md"),
            member("d/../../escape.md"),
            member("a.md", b"first"),
            member("\x1b]0;title\x07.md"),
            member("link.md", kind=tarfile.SYMTYPE, target="/etc/passwd"),
            member("hard.md", kind=tarfile.LNKTYPE, target="a.md"),
            member("device.md", kind=tarfile.CHRTYPE),
            member("big.md", b"x" * 70_000),
            member("d", kind=tarfile.DIRTYPE),
            member("./d/b.md", b"b"),
            member("a.md", b"last"),
        ):
            tar.addfile(info, io.BytesIO(content))
    source = from_tar(place / "t.tar", LIMITS)
    assert named(source).keys() == {"link.md", "hard.md", "device.md", "big.md"}
    receipt = bring_in(memory, source.files)
    assert receipt.paths == ("/memories/d/b.md", A)
    assert len(receipt.refused) == 4
    assert texts(memory) == {"/memories/d/b.md": "b", A: "last"}


@pytest.mark.parametrize("content", [b"", b"no tar", b"\x1f\x8b" + b"\0" * 40])
def test_what_is_no_tar_is_refused(place: Path, content: bytes) -> None:
    (place / "t.tar").write_bytes(content)
    with pytest.raises(StoreError, match="tar"):
        from_tar(place / "t.tar", LIMITS)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("damage", ["short", "cut in a header", "without its end", "a damaged header"])
def test_a_tar_that_is_cut_short_or_damaged_is_refused_as_a_whole(
    place: Path, suffix: str, damage: str
) -> None:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as tar:
        for name in "ab":
            info, content = member(f"{name}.md")
            tar.addfile(info, io.BytesIO(content))
    whole = memory.getvalue()
    data = {
        "short": whole[:1300],
        "cut in a header": whole[:1024] + whole[1024:1100],
        "without its end": whole[:2048],
        "a damaged header": whole[:1024] + b"?" + whole[1025:],
    }[damage]
    packed = {"": data, ".gz": gzip.compress(data), ".xz": lzma.compress(data)}[suffix]
    (place / "t.tar").write_bytes(packed)
    with pytest.raises(StoreError, match="cut short or damaged; fetch it again"):
        from_tar(place / "t.tar", LIMITS)


@pytest.mark.parametrize(
    "junk",
    [
        {"GNU.sparse.map": "1,x", "GNU.sparse.size": "4"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
        {"size": "-5"},
        {"size": "99999999999"},
    ],
    ids=str,
)
def test_junk_in_the_headers_of_a_tar_is_one_sentence(place: Path, junk: dict[str, str]) -> None:
    with pytest.raises(StoreError) as refusal:
        from_tar(tar_with(place, junk), LIMITS)
    assert refusal.value.message == (
        f"{place}/junk.tar cannot be read as a tar: it is none, or cut short or damaged; fetch it again."
    )


@pytest.mark.parametrize("time", ["1e400", "nan", "-1e30", "1e30", "nonsense"])
def test_a_file_of_no_possible_time_is_of_now(memory: Memory, place: Path, time: str) -> None:
    assert bring_in(memory, from_tar(tar_with(place, {"mtime": time}), LIMITS).files).paths == (A, B)
    assert texts(memory) == {A: "hi", B: "hi"}


def tar_with(place: Path, headers: dict[str, str]) -> Path:
    """A tar of two files, the first of which has these extended headers."""
    with tarfile.open(place / "junk.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("a.md", "b.md"):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = 2, 1000
            member.pax_headers = headers if name == "a.md" else {}
            tar.addfile(member, io.BytesIO(b"hi"))
    return place / "junk.tar"


@pytest.mark.parametrize("name", ["t.tar", "t.tar.gz", "t.tgz", "t.tar.xz"])
def test_a_tar_brings_a_memory_back_as_it_was(memory: Memory, place: Path, name: str) -> None:
    for path in (C, "/memories/memories/a.md", B):
        must(memory, "create", path=path, text=path)
    assert export_to_tar(memory, place / name) == 3
    with pytest.raises(StoreError, match="never overwrites"):
        export_to_tar(memory, place / name)
    with open_memory(f"sqlite:{place / 'back'}") as back:
        bring_in(back, from_tar(place / name, LIMITS).files)
        assert in_order(back) == in_order(memory)
        assert texts(back) == texts(memory)
    assert sorted(path.name for path in place.iterdir()) == sorted(["back", name])


def test_a_directory_brings_a_memory_back(memory: Memory, place: Path) -> None:
    for path in (C, "/memories/d/e/a.md", B):
        must(memory, "create", path=path, text=path)
    assert export_to_directory(memory, place / "out") == 3
    with pytest.raises(StoreError, match="not empty"):
        export_to_directory(memory, place / "out")
    assert (place / "out" / "d" / "e" / "a.md").read_text() == "/memories/d/e/a.md"
    with open_memory(f"sqlite:{place / 'back'}") as back:
        bring_in(back, from_folder(place / "out", LIMITS).files)
        assert in_order(back) == in_order(memory)
        assert texts(back) == texts(memory)


def repository(place: Path, files: dict[str, str]) -> Path:
    """A work tree with a commit for each of *files*."""
    git(place, "init", "-q", "-b", "main", "theirs")
    for name, text in files.items():
        path = place / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git(place / "theirs", "add", "-A")
        git(place / "theirs", "commit", "-q", "-m", name)
    return place / "theirs"


def test_a_branch_is_read_in_the_order_of_its_commits(memory: Memory, place: Path) -> None:
    path = repository(place, {"z.md": "1", "d/a.md": "2", "m.md": "3"})
    (path / "z.md").write_text("4")
    (path / "caf\u00e9.md").write_text("5")
    (path / "l.md").symlink_to("z.md")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "more")
    (path / "m.md").write_text("not committed")
    source = from_git(path, "refs/heads/main", LIMITS)
    assert named(source) == {"l.md": "is a symbolic link"}
    receipt = bring_in(memory, source.files)
    assert receipt.paths == ("/memories/d/a.md", "/memories/m.md", "/memories/z.md")
    assert [name for name, _ in receipt.refused] == ["/memories/caf\u00e9.md"]
    assert texts(memory)["/memories/m.md"] == "3"
    with pytest.raises(StoreError):
        from_git(path, "--help", LIMITS)


def test_a_git_store_brings_its_memories_back_in_write_order(memory: Memory, place: Path) -> None:
    with open_memory(f"git:{place / 'r'}") as other:
        for path in (C, A, B, A):
            must(other, "create", path=path, text=path)
        times = [file.mtime_ns for file in other.snapshot().in_write_order()]
    ref = git(place / "r", "for-each-ref", "--format=%(refname)")
    bring_in(memory, from_git(place / "r", ref, LIMITS).files)
    assert in_order(memory) == [C, B, A]
    assert [file.mtime_ns for file in memory.snapshot().in_write_order()] == times


def test_a_reference_that_is_not_there_is_named(place: Path) -> None:
    git(place, "init", "--bare", "r.git")
    tree = git(place / "r.git", "mktree")
    with pytest.raises(StoreError, match="has no commit yet"):
        from_git(place / "r.git", "HEAD", LIMITS)
    git(
        place / "r.git",
        "update-ref",
        "refs/heads/notes",
        git(place / "r.git", "commit-tree", tree, "-m", "x"),
    )
    for name in ("HEAD", "refs/heads/none", "0" * 40, tree):
        with pytest.raises(StoreError, match=f"has no reference or commit '{name}'; name one that it has"):
            from_git(place / "r.git", name, LIMITS)
    with pytest.raises(StoreError, match="not a git repository"):
        from_git(place, "HEAD", LIMITS)


def test_a_memhtml_repository_is_read_at_its_head(place: Path) -> None:
    path = repository(
        place,
        {
            "README.md": "x",
            "projects/atlas/plan.html": "<p>plan</p>",
            "areas/inbox/a.html": "<p>a</p>",
            "archive/2025/areas/old.html": "<p>old</p>",
            ".memhtml/config.json": "{}",
            "areas/notes.txt": "x",
        },
    )
    source = from_memhtml(path, LIMITS)
    assert named(source).keys() == {"README.md", ".memhtml/config.json", "areas/notes.txt"}
    with open_memory(f"sqlite:{place / 's'}", layout="para") as memory:
        receipt = bring_in(memory, source.files)
        assert receipt.refused == ()
        assert in_order(memory) == [
            "/memories/projects/atlas/plan.html",
            "/memories/areas/inbox/a.html",
            "/memories/archive/2025/areas/old.html",
        ]


def obversa(place: Path, files: dict[str, str], change: dict[str, Any], objects: str = "sha1") -> Path:
    """A reference as Obversa writes it: at a tree, with the write order beside the memories."""
    path = place / "theirs"
    git(place, "init", "-q", f"--object-format={objects}", "theirs")
    digest = hashlib.sha256(b"my scope").hexdigest()
    about = {
        "format": 1,
        "scopeDigest": digest,
        "nextWrite": len(files) + 1,
        "totalBytes": sum(map(len, files.values())),
        "entries": [
            {"path": f"/memories/{name}", "byteLength": len(text), "written": at}
            for at, (name, text) in enumerate(files.items(), 1)
        ],
    }
    for name, text in files.items():
        (path / "memories" / name).parent.mkdir(parents=True, exist_ok=True)
        (path / "memories" / name).write_text(text)
    (path / ".obversa-memory.json").write_text(json.dumps(about | change))
    git(path, "add", "-A")
    git(path, "update-ref", f"refs/obversa/memory/v1/{digest}", git(path, "write-tree"))
    return path


@pytest.mark.parametrize("objects", ["sha1", "sha256"])
def test_a_memory_of_obversa_keeps_its_write_order(memory: Memory, place: Path, objects: str) -> None:
    path = obversa(place, {"z.md": "1", "d/a.md": "2", "b.md": "3"}, {}, objects)
    bring_in(memory, from_obversa(path, "my scope", LIMITS).files)
    assert in_order(memory) == ["/memories/z.md", "/memories/d/a.md", "/memories/b.md"]
    assert texts(memory)["/memories/d/a.md"] == "2"
    with pytest.raises(StoreError, match="and 1 of other scopes; name one with --from-scope"):
        from_obversa(path, "no such", LIMITS)


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"entries": []}, {"entries": None}, {"scopeDigest": "0"}]
    + [{"entries": [{"path": "/memories/a.md", "written": "1"}]}]
    + [{"entries": [{"path": "/memories/a.md", "written": 1}] * 2}],
)
def test_a_memory_of_obversa_that_does_not_add_up_is_refused(place: Path, change: dict[str, Any]) -> None:
    with pytest.raises(UnsafeStorage):
        from_obversa(obversa(place, {"a.md": "1"}, change), "my scope", LIMITS)
