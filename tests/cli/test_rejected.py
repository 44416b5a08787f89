"""The bytes of refused saves: found again, shown, put back and dropped, with and without their mount."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.cli.conftest import Place, Shell

pytestmark = pytest.mark.slow

LATIN = b"caf\xe9"


def save(place: Place, name: str, content: bytes) -> None:
    """Save *content*, which is refused."""
    with pytest.raises(OSError), (place.directory / name).open("wb", buffering=0) as file:
        file.write(content)


def kept(shell: Shell) -> list[str]:
    """The names of everything that is kept."""
    return [each["name"] for each in shell("rejected", "--json").json["rejected"]]


def shown(shell: Shell, name: str) -> bytes:
    done = subprocess.run(
        shell.command("rejected", "show", name), env=shell.environment, capture_output=True, check=True
    )
    assert done.stderr == b""
    return done.stdout


@pytest.fixture
def refused(shell: Shell, place: Place) -> Place:
    """A mount with two refused saves: ``big.md`` (20 of at most 10 bytes), ``latin.md`` (no UTF-8)."""
    place.mount("--max-file-bytes", "10")
    save(place, "big.md", b"x" * 20)
    save(place, "latin.md", LATIN)
    return place


def test_the_list_says_what_came_when_and_why_it_was_refused(shell: Shell, refused: Place) -> None:
    big, latin = shell("rejected", "list", "--json").json["rejected"]
    assert (big["path"], big["size"], big["code"]) == ("/memories/big.md", 20, "LIMIT_EXCEEDED")
    assert (latin["path"], latin["size"], latin["complete"]) == ("/memories/latin.md", len(LATIN), True)
    assert big["mountpoint"] == str(refused.directory)
    assert (big["store"], big["scope"]) == (refused.record["store"], "default")
    printed = shell("rejected").done()
    for part in (big["name"], "20 bytes", "/memories/big.md", "a file may have 10", str(refused.directory)):
        assert part in printed
    assert "what arrived" in printed
    assert "complete" in printed
    assert time.strftime("%Y-%m-%d") in printed
    assert shell("rejected", "list", str(refused.directory)).done() == printed
    assert "not, and was not" in shell("rejected", "list", str(shell.home)).refusal()


def test_the_bytes_are_shown_as_they_are(shell: Shell, refused: Place) -> None:
    assert shown(shell, "latin.md") == LATIN
    assert shown(shell, "big.md") == b"x" * 20


def test_they_are_there_also_when_the_mount_is_not(shell: Shell, refused: Place) -> None:
    shell("unmount", str(refused.directory)).done()
    assert shown(shell, "latin.md") == LATIN
    shell("policy", "set", "--max-file-bytes", "20").done()
    assert "/memories/big.md, 20 bytes" in shell("rejected", "restore", "big.md").done()
    assert shell("view", "big.md").done() == "x" * 20


def test_a_restored_save_is_in_the_memory_and_no_longer_kept(shell: Shell, refused: Place) -> None:
    shell("policy", "set", "--max-file-bytes", "20").done()
    printed = shell("rejected", "restore", "big.md").done()
    assert printed.startswith("Created /memories/big.md, 20 bytes.\n")
    assert (refused.directory / "big.md").read_bytes() == b"x" * 20
    assert [name.partition("+")[2] for name in kept(shell)] == ["latin.md"]
    assert [path.name.partition("+")[2] for path in (refused.directory / ".memfs/rejected").iterdir()] == [
        "latin.md"
    ]


def test_nothing_that_is_there_is_overwritten_unasked(shell: Shell, refused: Place) -> None:
    shell("policy", "set", "--max-file-bytes", "20").done()
    (refused.directory / "big.md").write_text("mine")
    assert "--overwrite" in shell("rejected", "restore", "big.md").refusal()
    assert shell("view", "big.md").done() == "mine"
    assert "/memories/a/b.md, 20 bytes" in shell("rejected", "restore", "big.md", "--to", "a/b.md").done()
    assert shell("view", "big.md").done() == "mine"
    save(refused, "big.md", b"y" * 21)
    shell("policy", "set", "--max-file-bytes", "21").done()
    assert "Replaced" in shell("rejected", "restore", "big.md", "--overwrite").done()
    assert shell("view", "big.md").done() == "y" * 21


def test_a_path_in_the_mount_says_where_to(shell: Shell, refused: Place) -> None:
    shell("policy", "set", "--max-file-bytes", "20").done()
    shell("rejected", "restore", "big.md", "--to", str(refused.directory / "here.md")).done()
    assert (refused.directory / "here.md").read_bytes() == b"x" * 20


def test_what_is_refused_again_stays_and_the_way_out_is_named(shell: Shell, refused: Place) -> None:
    before = kept(shell)
    large = shell("rejected", "restore", "big.md").refusal()
    assert "a file may have 10" in large
    assert f"memfs rejected show {before[0]} > FILE" in large
    latin = shell("rejected", "restore", "latin.md").refusal()
    assert "no UTF-8 text (at byte 3)" in latin
    assert f"memfs rejected show {before[1]} > FILE" in latin
    assert "allowed are" in shell("rejected", "restore", "big.md", "--to", "big.png").refusal()
    assert kept(shell) == before


def test_a_beginning_or_an_end_is_name_enough_unless_several_have_it(shell: Shell, refused: Place) -> None:
    first, second = kept(shell)
    assert shown(shell, first[:26]) == shown(shell, "g.md") == b"x" * 20
    ambiguous = shell("rejected", "show", ".md").refusal()
    assert first in ambiguous
    assert second in ambiguous
    assert "no refused save nothing.md" in shell("rejected", "show", "nothing.md").refusal()
    shell("rejected", "drop", "big.md", ".md").refusal()
    assert kept(shell) == [first, second], "all names are looked up before anything is dropped"


def test_some_are_dropped_or_all(shell: Shell, refused: Place) -> None:
    save(refused, "third.md", b"x" * 30)
    first, second, third = kept(shell)
    assert shell("rejected", "drop", "big.md").done() == f"Dropped {first}.\n"
    assert kept(shell) == [second, third]
    shell("rejected", "drop", "--all").done()
    assert kept(shell) == []
    assert list((refused.directory / ".memfs/rejected").iterdir()) == []
    assert shell("rejected").done() == "No refused bytes are kept.\n"


def test_a_state_that_does_not_say_whose_it_is_is_listed_all_the_same(shell: Shell, refused: Place) -> None:
    shell("unmount", str(refused.directory)).done()
    (file,) = (shell.home / ".local/state/memfs/mounts").glob("*/state-*/memory.json")
    assert json.loads(file.read_bytes())["mountpoint"] == str(refused.directory)
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    assert len(kept(shell)) == 2
    assert shown(shell, "latin.md") == LATIN
    assert "not recorded" in shell("rejected", "restore", "big.md").refusal()
    refused.mount()
    assert shell("rejected", "--json").json["rejected"][0]["mountpoint"] == str(refused.directory)


def test_a_memory_in_its_daemon_only_is_reached_in_its_directory(shell: Shell, place: Place) -> None:
    place.mount("--store", "simple:", "--max-file-bytes", "10")
    save(place, "big.md", b"x" * 20)
    assert "mount's process only" in shell("rejected", "restore", "big.md").refusal()
    assert shown(shell, "big.md") == b"x" * 20


def test_bytes_of_several_mounts_are_in_one_list(shell: Shell, refused: Place) -> None:
    other = Place(shell, refused.directory.with_name("other"))
    shell("mount", str(other.directory), "--scope", "other", "--max-file-bytes", "10").done()
    save(other, "big.md", b"y" * 20)
    assert len(kept(shell)) == 3
    listed = shell("rejected", "list", str(other.directory), "--json").json["rejected"]
    assert [each["scope"] for each in listed] == ["other"]
    shell("policy", "set", "--scope", "other", "--max-file-bytes", "20").done()
    shell("rejected", "restore", listed[0]["name"]).done()
    assert (other.directory / "big.md").read_bytes() == b"y" * 20
    assert not (refused.directory / "big.md").exists()


def test_a_store_that_fails_keeps_them_and_ends_with_3(shell: Shell, refused: Place) -> None:
    shell("unmount", str(refused.directory)).done()
    (database,) = (shell.home / ".local/share/memfs/store").glob("*.db")
    database.write_bytes(b"somebody else's bytes" * 400)
    assert "left as it is" in shell("rejected", "restore", "big.md").refusal(3)
    assert len(kept(shell)) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "a", "b"],
        ["restore"],
        ["restore", ""],
        ["drop"],
        ["drop", "a", "--all"],
        ["drop", ""],
        ["list", "a", "b"],
        ["list", "--all"],
        ["show", "a", "--json"],
        ["drop", "a", "--to", "b"],
        ["show", "a", "--overwrite"],
        ["undo"],
    ],
)
def test_arguments_that_fit_nothing_are_wrong_usage(shell: Shell, arguments: list[str]) -> None:
    done = shell("rejected", *arguments)
    assert done.status == 2, done
    assert done.out == ""


def test_what_another_release_wrote_or_a_crash_cut_short_is_passed_over(shell: Shell, refused: Place) -> None:
    (directory,) = (shell.home / ".local/state/memfs/mounts").glob("*/state-*/rejected")
    (directory / "2020-01-01T00.00.00.000000Z+x.md.json").write_text('{"name": "x')
    assert len(kept(shell)) == 2
