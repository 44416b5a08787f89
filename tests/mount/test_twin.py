"""The same random operations on the mount and on an ordinary directory: the same answers.

Only operations that mean the same on both: names that a memory can have, and no rename over a file.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.mount.harness import Mounted, eventually

QUICK = settings(
    max_examples=15,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
DEEP = settings(QUICK, max_examples=200, stateful_step_count=80, phases=[Phase.generate, Phase.shrink])

FILES = ["a.md", "b.md", "d/a.md", "d/e/a.md", "e/b.md"]
DIRECTORIES = ["d", "e", "d/e", "e/d"]
names = st.sampled_from(FILES + DIRECTORIES)
data = st.binary(max_size=30).map(lambda raw: raw.hex().encode()) | st.just(b"x" * 5000)
offsets = st.integers(0, 60) | st.sampled_from([4095, 4096, 9000])
flags = st.builds(
    lambda access, more: access | sum(more),
    st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR]),
    st.sets(st.sampled_from([os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND])),
)
Outcome = tuple[str, Any]


def outcome(action: Callable[[], Any]) -> Outcome:
    try:
        return "done", action()
    except OSError as error:
        return "refused", os.strerror(error.errno or 0)


class TwinMachine(RuleBasedStateMachine):
    """Two roots, and pairs of descriptors open below them."""

    mounted: ClassVar[Mounted]
    plain: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.roots = self.mounted.path, self.plain
        self.open: list[tuple[int, int]] = []
        for root in self.roots:
            for entry in os.scandir(root):
                shutil.rmtree(entry) if entry.is_dir() else os.unlink(entry)

    @initialize()
    def make_some(self) -> None:
        for root in self.roots:
            (root / "d").mkdir()
            (root / "a.md").write_bytes(b"abc")

    def teardown(self) -> None:
        for pair in self.open:
            for descriptor in pair:
                os.close(descriptor)

    def on_paths(self, action: Callable[[Path], Any]) -> Outcome:
        """Do the same below both roots; what came of it."""
        mount, plain = (outcome(lambda root=root: action(root)) for root in self.roots)  # type: ignore[misc]
        assert mount == plain
        return mount

    def has_no_extension(self, name: str) -> bool:
        """Whether there may be no file called so in the mount, and there is nothing else yet."""
        return name in DIRECTORIES and not (self.plain / name).exists()

    def on_descriptors(self, choice: int, action: Callable[[int], Any]) -> None:
        """Do the same with one of the open pairs."""
        if self.open:
            pair = self.open[choice % len(self.open)]
            mount, plain = (outcome(lambda fd=fd: action(fd)) for fd in pair)  # type: ignore[misc]
            assert mount == plain

    # Descriptors

    @rule(name=names, flags=flags)
    def open_file(self, name: str, flags: int) -> None:
        if flags & os.O_TRUNC and flags & os.O_ACCMODE == os.O_RDONLY:
            return  # unspecified
        if len(self.open) > 6 or (flags & os.O_CREAT and self.has_no_extension(name)):
            return
        mount, plain = (outcome(lambda root=root: os.open(root / name, flags)) for root in self.roots)  # type: ignore[misc]
        if mount[0] == plain[0] == "done":
            self.open.append((mount[1], plain[1]))
        else:
            assert mount == plain

    @rule(choice=st.integers(0, 9))
    def close(self, choice: int) -> None:
        if self.open:
            for descriptor in self.open.pop(choice % len(self.open)):
                os.close(descriptor)

    @rule(choice=st.integers(0, 9), offset=offsets, data=data)
    def write_at(self, choice: int, offset: int, data: bytes) -> None:
        self.on_descriptors(choice, lambda fd: os.pwrite(fd, data, offset))

    @rule(choice=st.integers(0, 9), data=data)
    def write(self, choice: int, data: bytes) -> None:
        self.on_descriptors(choice, lambda fd: (os.write(fd, data), os.lseek(fd, 0, os.SEEK_CUR)))

    @rule(choice=st.integers(0, 9), offset=offsets, size=offsets)
    def read_at(self, choice: int, offset: int, size: int) -> None:
        self.on_descriptors(choice, lambda fd: os.pread(fd, size, offset))

    @rule(choice=st.integers(0, 9), size=offsets)
    def read(self, choice: int, size: int) -> None:
        self.on_descriptors(choice, lambda fd: (os.read(fd, size), os.lseek(fd, 0, os.SEEK_CUR)))

    @rule(choice=st.integers(0, 9), size=offsets)
    def ftruncate(self, choice: int, size: int) -> None:
        self.on_descriptors(choice, lambda fd: os.ftruncate(fd, size))

    @rule(choice=st.integers(0, 9), call=st.sampled_from([os.fsync, os.fdatasync]))
    def sync(self, choice: int, call: Callable[[int], None]) -> None:
        self.on_descriptors(choice, call)

    @rule(choice=st.integers(0, 9))
    def duplicate_and_close(self, choice: int) -> None:
        self.on_descriptors(choice, lambda fd: os.close(os.dup(fd)))

    @invariant()
    def open_files_have_the_same_status(self) -> None:
        for pair in self.open:
            mount, plain = map(os.fstat, pair)
            if stat.S_ISDIR(plain.st_mode):
                continue  # the size of a directory means nothing, its links are tested elsewhere
            assert (mount.st_size, mount.st_nlink) == (plain.st_size, plain.st_nlink)

    # Paths

    @rule(name=names, size=offsets)
    def truncate(self, name: str, size: int) -> None:
        self.on_paths(lambda root: os.truncate(root / name, size))

    @rule(name=names, data=data)
    def save(self, name: str, data: bytes) -> None:
        if not self.has_no_extension(name):
            self.on_paths(lambda root: (root / name).write_bytes(data))

    @rule(name=st.sampled_from(FILES), data=data)
    def save_by_replacing(self, name: str, data: bytes) -> None:
        def replace(root: Path) -> None:
            temporary = root / (name + ".tmp")
            temporary.write_bytes(data)
            os.replace(temporary, root / name)

        self.on_paths(replace)

    @rule(name=names)
    def unlink(self, name: str) -> None:
        self.on_paths(lambda root: os.unlink(root / name))

    @rule(name=names)
    def mkdir(self, name: str) -> None:
        self.on_paths(lambda root: os.mkdir(root / name))

    @rule(name=names)
    def rmdir(self, name: str) -> None:
        self.on_paths(lambda root: os.rmdir(root / name))

    @rule(old=names, new=names)
    def rename(self, old: str, new: str) -> None:
        if old != new and (self.plain / new).exists():
            return  # a memory is never overwritten, also no empty directory
        if (self.plain / old).is_file() and new in DIRECTORIES:
            return  # no extension
        self.on_paths(lambda root: os.rename(root / old, root / new))

    @rule(name=names, mode=st.sampled_from([0o600, 0o640, 0o755]))
    def chmod(self, name: str, mode: int) -> None:
        self.on_paths(lambda root: os.chmod(root / name, mode))
        self.on_paths(lambda root: os.stat(root / name).st_mode)

    @rule(name=names, seconds=st.integers(0, 1 << 31))
    def utime(self, name: str, seconds: int) -> None:
        self.on_paths(lambda root: os.utime(root / name, (seconds, seconds)))
        self.on_paths(lambda root: os.stat(root / name).st_mtime_ns)

    @rule(name=names)
    def look(self, name: str) -> None:
        self.on_paths(lambda root: ((root / name).is_dir(), (root / name).read_bytes()))

    @invariant()
    def trees_are_the_same(self) -> None:
        self.on_paths(lambda root: sorted(described(root)))


def described(root: Path) -> Iterator[tuple[str, int | None]]:
    for path in root.rglob("*"):
        yield str(path.relative_to(root)), None if path.is_dir() else path.stat().st_size


@pytest.fixture
def twins(mount: Mounted, tmp_path: Path) -> Iterator[type[TwinMachine]]:
    """The machine, on the mount and a directory beside it."""
    TwinMachine.mounted, TwinMachine.plain = mount, tmp_path / "plain"
    TwinMachine.plain.mkdir()
    yield TwinMachine
    files = {
        f"/memories/{path.relative_to(TwinMachine.plain)}": path.read_text()
        for path in TwinMachine.plain.rglob("*")
        if path.is_file() and path.suffix != ".tmp"  # left where it could not replace a directory
    }
    eventually(lambda: stored(mount), files)


def stored(mount: Mounted) -> dict[str, str]:
    mount.memory.catch_up()
    return {file.path: mount.memory.read(file).decode() for file in mount.memory.snapshot().in_write_order()}


def test_the_mount_answers_as_an_ordinary_directory(twins: type[TwinMachine]) -> None:
    run_state_machine_as_test(twins, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_mount_answers_as_an_ordinary_directory_for_long(twins: type[TwinMachine]) -> None:
    run_state_machine_as_test(twins, settings=DEEP)
