"""One save, one record in the history: when the mount commits, and when it does not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mount.conftest import Mounting
from tests.mount.harness import Mounted, content, errno_of, eventually, open_fd, run, write

RDWR = os.O_RDWR | os.O_CREAT
CREATED = [("created", "a.md")]
MODIFIED = [*CREATED, ("modified", "a.md")]


def bash(command: str, directory: Path) -> None:
    subprocess.run(["bash", "-ec", command], cwd=directory, check=True, timeout=60)


def settled(mount: Mounted, here: Path) -> list[tuple[str, str]]:
    """The records below *here*, once everything that was released before is committed."""
    write(mount.path / f"{here.name}-sign.md", "x")
    return mount.records(here)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo new > a.md", "new\n"),
        ("printf new > a.md", "new"),
        ("{ echo one; echo two; } > a.md", "one\ntwo\n"),
        ("(echo one; (echo two)) > a.md", "one\ntwo\n"),
        ("exec 3> a.md; echo one >&3; exec 3>&-", "one\n"),
        ("cat > a.md <<< text", "text\n"),
        ("cat > a.md << END\none\nEND", "one\n"),
        ("seq 1000 > a.md", "".join(f"{number}\n" for number in range(1, 1001))),
        ("cp /proc/version a.md", None),
        ("dd if=/dev/zero of=a.md bs=100 count=3 status=none", "\0" * 300),
        ("echo piped | tee a.md > /dev/null", "piped\n"),
    ],
)
@pytest.mark.parametrize("existing", [False, True])
def test_a_shells_way_to_write_a_file_makes_one_version(
    mount: Mounted, here: Path, command: str, text: str | None, existing: bool
) -> None:
    if existing:
        write(here / "a.md", "an older and longer content" * 9)
    bash(command, here)
    expected = Path("/proc/version").read_text() if text is None else text
    eventually(lambda: mount.text(here / "a.md"), expected)
    assert settled(mount, here) == (MODIFIED if existing else CREATED)


def test_appending_makes_one_version_each_time(mount: Mounted, here: Path) -> None:
    for number in range(3):
        bash(f"echo {number} >> a.md", here)
    assert mount.text(here / "a.md") == "0\n1\n2\n"
    assert settled(mount, here) == [*MODIFIED, ("modified", "a.md")]


@pytest.mark.parametrize("command", ["touch a.md", ": > a.md", "> a.md", "cp /dev/null a.md"])
def test_a_new_empty_file_is_one_record(mount: Mounted, here: Path, command: str) -> None:
    bash(command, here)
    eventually(lambda: mount.text(here / "a.md"), "")
    assert settled(mount, here) == CREATED


def test_emptying_a_file_is_one_record(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    bash(": > a.md", here)
    eventually(lambda: mount.text(here / "a.md"), "")
    assert settled(mount, here) == MODIFIED


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND])
def test_opening_and_closing_makes_no_version(mount: Mounted, here: Path, flags: int) -> None:
    write(here / "a.md", "text")
    with open_fd(here / "a.md", flags) as fd:
        if not flags & os.O_WRONLY:
            os.read(fd, 100)
        os.fsync(fd)
    assert settled(mount, here) == CREATED


@pytest.mark.parametrize("how", ["in place", "over a truncation", "by replacing"])
def test_identical_bytes_make_no_version(mount: Mounted, here: Path, how: str) -> None:
    write(here / "a.md", "the same")
    match how:
        case "in place":
            with open_fd(here / "a.md", os.O_WRONLY) as fd:
                os.write(fd, b"the same")
        case "over a truncation":
            write(here / "a.md", "the same")
        case _:
            write(here / "a.md.tmp", "the same")
            os.rename(here / "a.md.tmp", here / "a.md")
    assert settled(mount, here) == CREATED
    assert (here / "a.md").read_text() == "the same"
    assert os.listdir(here) == ["a.md"]


@pytest.mark.slow
def test_identical_bytes_after_a_remount_make_no_version(mounting: Mounting) -> None:
    mounted = mounting()
    write(mounted.path / "a.md", "the same")
    mounted.remount()
    write(mounted.path / "a.md", "the same")
    assert mounted.records() == CREATED


def test_each_fsync_of_new_bytes_is_a_version(mount: Mounted, here: Path) -> None:
    with open_fd(here / "a.md", RDWR) as fd:
        for text in (b"one", b" two", b""):
            os.write(fd, text)
            os.fsync(fd)
    assert settled(mount, here) == MODIFIED


def test_a_chmod_or_a_time_makes_no_version(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    (here / "a.md").chmod(0o600)
    os.utime(here / "a.md", ns=(1, 1))
    assert settled(mount, here) == CREATED


def test_truncating_a_path_is_one_version(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    os.truncate(here / "a.md", 2)
    assert mount.records(here) == MODIFIED
    os.truncate(here / "a.md", 2)
    assert settled(mount, here) == MODIFIED


def test_an_editors_save_with_a_backup_copy_is_one_version(mount: Mounted, here: Path) -> None:
    """As nano -B, emacs with backup-by-copying and VS Code: copy, open O_TRUNC, write, fsync, close."""
    write(here / "a.md", "old")
    bash("cp -p a.md a.md~", here)
    with open_fd(here / "a.md", os.O_WRONLY | os.O_TRUNC) as fd:
        os.write(fd, b"new ")
        os.write(fd, b"text")
        os.fsync(fd)
    assert settled(mount, here) == MODIFIED
    assert (here / "a.md~").read_text() == "old"


def test_an_editors_save_by_truncating_what_is_open_is_one_version(mount: Mounted, here: Path) -> None:
    """As vim with backupcopy=yes: open without O_TRUNC, ftruncate, write, fsync, close."""
    write(here / "a.md", "an old and long content")
    with open_fd(here / "a.md", os.O_WRONLY | os.O_CREAT) as fd:
        os.ftruncate(fd, 0)
        os.write(fd, b"new")
        os.fsync(fd)
        os.fchmod(fd, 0o644)
    assert settled(mount, here) == MODIFIED
    assert mount.text(here / "a.md") == "new"


def test_the_history_names_the_program_and_its_user(mount: Mounted, here: Path) -> None:
    import pwd

    bash("cp /proc/version a.md; dd if=/dev/zero of=b.md bs=1 count=1 status=none; rm a.md", here)
    user = pwd.getpwuid(os.getuid()).pw_name
    prefix = mount.port_path(here)
    actors = [
        (record.operation, record.actor.program, record.actor.user)
        for record in mount.history()
        if record.path.startswith(prefix)
    ]
    assert actors == [("created", "cp", user), ("created", "dd", user), ("deleted", "rm", user)]


def test_unlinking_is_one_record_and_done_when_it_returns(mount: Mounted, here: Path) -> None:
    write(here / "a.md", "text")
    (here / "a.md").unlink()
    assert mount.records(here) == [*CREATED, ("deleted", "a.md")]


@pytest.mark.parametrize("later", [False, True])
def test_a_refused_save_that_began_with_a_deletion_leaves_the_old_memory(
    mounting: Mounting, later: bool
) -> None:
    """As tar(1) and unzip(1) save; but a deletion of long ago stands."""
    mounted = mounting(constants={"memfs.mount.saves:JOIN_SECONDS": 0.0 if later else 60.0})
    write(mounted.path / "a.md", "old")
    (mounted.path / "a.md").unlink()
    fd = os.open(mounted.path / "a.md", RDWR)
    os.write(fd, "é".encode()[:1])
    assert errno_of(lambda: os.close(fd)) == errno.EILSEQ
    write(mounted.path / "sign.md", "x")
    eventually(lambda: sorted(os.listdir(mounted.path)), ["sign.md"] if later else ["a.md", "sign.md"])
    assert mounted.text(mounted.path / "a.md") == (None if later else "old")


@pytest.fixture(scope="module")
def quick(shared_mounting: Mounting) -> Mounted:
    """A mount that does not wait for seconds."""
    return shared_mounting(constants={"memfs.mount.session:APPEND_SECONDS": 0.3})


class TestHeldOpen:
    """A log, a chat: a file that is held open and only appended to is committed now and then."""

    def test_what_was_appended_is_committed_in_passing(self, quick: Mounted) -> None:
        with open_fd(quick.path / "log.md", RDWR) as fd:
            os.write(fd, b"one\n")
            eventually(lambda: quick.text(quick.path / "log.md"), "one\n")
            os.write(fd, b"two\n")
            eventually(lambda: quick.text(quick.path / "log.md"), "one\ntwo\n")
        assert [operation for operation, name in quick.records() if name == "log.md"] == [
            "created",
            "modified",
        ]

    def test_only_whole_characters_are(self, quick: Mounted) -> None:
        data = "one€".encode()
        with open_fd(quick.path / "a.md", RDWR) as fd:
            os.write(fd, data[:-1])
            eventually(lambda: quick.text(quick.path / "a.md"), "one")
            assert (quick.path / "a.md").stat().st_size == len(data) - 1
            os.write(fd, data[-1:])
        assert quick.text(quick.path / "a.md") == "one€"

    def test_a_file_changed_in_the_middle_waits_for_its_close(self, quick: Mounted) -> None:
        write(quick.path / "a.md", "old content")
        with open_fd(quick.path / "a.md", os.O_RDWR) as fd, open_fd(quick.path / "b.md", RDWR) as other:
            os.pwrite(fd, b"new", 0)
            os.write(other, b"appended")
            eventually(lambda: quick.text(quick.path / "b.md"), "appended")
            assert quick.text(quick.path / "a.md") == "old content"
        assert quick.text(quick.path / "a.md") == "new content"

    @pytest.mark.slow
    def test_a_save_that_has_just_begun_is_not_committed_half(self, mounting: Mounting) -> None:
        quick = mounting(constants={"memfs.mount.session:APPEND_SECONDS": 1.5})
        write(quick.path / "a.md", "the old content")
        with open_fd(quick.path / "log.md", RDWR) as log:
            os.write(log, b"x")
            eventually(lambda: quick.text(quick.path / "log.md"), "x")
            os.write(log, b"y")  # the next round begins
            code = (
                "import os, sys, time; time.sleep(1.2); fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)\n"
                "os.write(fd, b'half'); time.sleep(0.6); os.write(fd, b' and half')"
            )
            run(sys.executable, "-S", "-c", code, quick.path / "a.md")
            eventually(lambda: quick.text(quick.path / "log.md"), "xy")
        eventually(lambda: content(quick.path / "a.md"), "half and half")
        assert [record for record in quick.records() if record[1] == "a.md"] == MODIFIED
