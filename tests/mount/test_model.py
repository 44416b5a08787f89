"""Random operations at both doors, compared with a plain model after every step.

The model is a dictionary of files in write order, a set of directories, and the scratch files.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.mount.harness import Mounted, errno_of, eventually, open_fd

MAX_FILES, MAX_FILE_BYTES, MAX_TOTAL_BYTES = 5, 100, 300
STEPS_BETWEEN_MOUNTS = 12
SECONDS = 5.0
"""After which a step counts as failed: shorter than elsewhere, for it is paid at each step of shrinking."""
QUICK = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
DEEP = settings(QUICK, max_examples=70, stateful_step_count=60, phases=[Phase.generate, Phase.shrink])

DIRECTORIES = ["", "d/", "e/", "d/e/", "a.md/", "missing/"]
MEMORIES = ["a.md", "b.md", "c.txt"]
SCRATCH = ["a.md.tmp", "b.md~"]
REFUSED = {"photo.png": errno.EINVAL, ".x.md": errno.EINVAL, "n" * 126 + ".md": errno.ENAMETOOLONG}

EVERY_NAME = [
    *filter(None, (directory.rstrip("/") for directory in DIRECTORIES)),
    *(directory + name for directory in DIRECTORIES for name in [*MEMORIES, *SCRATCH, *REFUSED]),
    "d/d",
]

memories = st.builds(str.__add__, st.sampled_from(DIRECTORIES), st.sampled_from(MEMORIES))
paths = st.builds(
    str.__add__, st.sampled_from(DIRECTORIES), st.sampled_from(MEMORIES + SCRATCH + list(REFUSED))
)
directories = st.sampled_from(["d", "e", "d/e", "a.md", "d/d"])
names = memories | directories | paths
texts = st.text(alphabet="ab\né€", max_size=40) | st.just("x" * MAX_FILE_BYTES)
contents = texts.map(str.encode) | st.sampled_from(
    [b"\xff", b"ab\xc3", b"x" * (MAX_FILE_BYTES + 1), b"y" * 90]
)


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_below(path: str, directory: str) -> bool:
    return path.startswith(directory + "/")


def refusal_of(path: str, data: bytes) -> int:
    """Why a memory cannot hold *data*; 0 for a scratch file, and where it can."""
    if os.path.basename(path) in SCRATCH:
        return 0
    if len(data) > MAX_FILE_BYTES:
        return errno.EFBIG
    try:
        data.decode()
    except UnicodeDecodeError:
        return errno.EILSEQ
    return 0


class MemoryMachine(RuleBasedStateMachine):
    """One mounted scope with small limits, and the port on the same scope."""

    mounted: ClassVar[Mounted]
    every_name: ClassVar[list[str]] = EVERY_NAME

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.directories: set[str] = set()
        self.scratch: dict[str, bytes] = {}
        self.steps = 0
        self.root = self.mounted.path
        self.begin_empty()

    def begin_empty(self) -> None:
        """Take away what the last example left; also where it left the mount in a state that is none."""
        for entry in os.scandir(self.root):
            with suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir() else os.unlink(entry)
        if list(self.shown()) or self.stored():
            self.mounted.kill()
            for name in {path.split("/")[0] for path, _ in self.stored()}:
                self.at_port(command="delete", path=f"/memories/{name}")
            shutil.rmtree(self.root.parent / "state")
            (self.root.parent / "state").mkdir()
            self.mounted.start()

    # What the model says

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.scratch or path in self.directories

    def walk_error(self, path: str) -> int:
        """What stands in the way to *path*."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above in self.files or above in self.scratch:
                return errno.ENOTDIR
            if above not in self.directories:
                return errno.ENOENT
        return 0

    def save(self, path: str, data: bytes) -> None:
        """*data* becomes the newest write, and the earliest leave for it; the same bytes are no write."""
        if os.path.basename(path) in SCRATCH:
            self.scratch[path] = data
        elif self.files.get(path) != data:
            self.files.pop(path, None)
            self.files[path] = data
            while len(self.files) > MAX_FILES or sum(map(len, self.files.values())) > MAX_TOTAL_BYTES:
                del self.files[next(earliest for earliest in self.files if earliest != path)]

    def move(self, old: str, new: str) -> None:
        """Everything at and below *old* is at *new*; what is there already stays where both have it."""

        def moved(path: str) -> str:
            return new + path[len(old) :] if path == old or is_below(path, old) else path

        self.files = {moved(path): data for path, data in self.files.items()}
        coming = {moved(path): data for path, data in self.scratch.items() if moved(path) != path}
        staying = {path: data for path, data in self.scratch.items() if moved(path) == path}
        self.scratch = coming | staying
        self.directories = {moved(path) for path in self.directories}

    def drop(self, path: str) -> None:
        """Everything at and below *path* is gone."""
        self.files = {
            each: data for each, data in self.files.items() if each != path and not is_below(each, path)
        }
        self.scratch = {each: data for each, data in self.scratch.items() if not is_below(each, path)}
        self.directories = {each for each in self.directories if each != path and not is_below(each, path)}

    def make_parents(self, path: str) -> None:
        while path := parent_of(path):
            self.directories.add(path)

    # Through the mount

    def expect(self, expected: int, action: Callable[[], Any]) -> None:
        assert os.strerror(errno_of(action)) == os.strerror(expected)

    @rule(path=paths, data=contents)
    def write(self, path: str, data: bytes) -> None:
        """Open with O_TRUNC, write, close: as most programs save."""
        name = os.path.basename(path)
        error = self.walk_error(path) or (errno.EISDIR if path in self.directories else 0)
        error = error or REFUSED.get(name, 0) or refusal_of(path, data)

        def save() -> None:
            with open_fd(self.root / path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
                os.write(fd, data)

        self.expect(error, save)
        if not error:
            self.save(path, data)

    @rule(path=paths, offset=st.integers(0, 120), data=contents)
    def write_at(self, path: str, offset: int, data: bytes) -> None:
        old = self.files.get(path, self.scratch.get(path))
        if old is None or (not data and not old):
            return
        new = bytearray(old.ljust(offset if data else 0, b"\0"))
        new[offset : offset + len(data)] = data
        error = refusal_of(path, bytes(new))

        def save() -> None:
            with open_fd(self.root / path, os.O_WRONLY) as fd:
                os.pwrite(fd, data, offset)

        if not error and path in self.files and refusal_of(path, data) == errno.EILSEQ:
            return  # whether bytes that complete a character are refused depends on how they are cut
        self.expect(error, save)
        if not error:
            self.save(path, bytes(new))

    @rule(path=paths, data=texts)
    def append(self, path: str, data: str) -> None:
        old = self.files.get(path, self.scratch.get(path))
        if old is None:
            return
        error = refusal_of(path, old + data.encode())

        def save() -> None:
            with open_fd(self.root / path, os.O_WRONLY | os.O_APPEND) as fd:
                os.write(fd, data.encode())

        self.expect(error if data else 0, save)
        if not error:
            self.save(path, old + data.encode())

    @rule(path=paths, size=st.integers(0, MAX_FILE_BYTES + 20))
    def truncate(self, path: str, size: int) -> None:
        error = self.walk_error(path) or (errno.EISDIR if path in self.directories else 0)
        old = self.files.get(path, self.scratch.get(path))
        error = error or (errno.ENOENT if old is None else 0)
        new = b"" if old is None else old[:size].ljust(size, b"\0")
        error = error or refusal_of(path, new)
        self.expect(error, lambda: os.truncate(self.root / path, size))
        if not error:
            self.save(path, new)

    @rule(path=names)
    def unlink(self, path: str) -> None:
        error = self.walk_error(path) or (errno.EISDIR if path in self.directories else 0)
        error = error or (0 if self.exists(path) else errno.ENOENT)
        self.expect(error, lambda: os.unlink(self.root / path))
        if not error:
            self.files.pop(path, None)
            self.scratch.pop(path, None)

    @rule(path=directories | st.sampled_from([".git", "a b", "d/.hidden"]))
    def mkdir(self, path: str) -> None:
        error = self.walk_error(path) or (errno.EEXIST if self.exists(path) else 0)
        error = error or {".git": errno.EPERM, "a b": errno.EINVAL, ".hidden": errno.EINVAL}.get(
            os.path.basename(path), 0
        )
        self.expect(error, lambda: os.mkdir(self.root / path))
        if not error:
            self.directories.add(path)

    @rule(path=names)
    def rmdir(self, path: str) -> None:
        error = self.walk_error(path)
        if not error and path not in self.directories:
            error = errno.ENOTDIR if self.exists(path) else errno.ENOENT
        everything = [*self.files, *self.scratch, *self.directories]
        error = error or (errno.ENOTEMPTY if any(is_below(each, path) for each in everything) else 0)
        self.expect(error, lambda: os.rmdir(self.root / path))
        self.directories -= set() if error else {path}

    @rule(old=names, new=names)
    def rename(self, old: str, new: str) -> None:
        if is_below(old, new) or is_below(new, old):
            return  # the kernel's own answers, in an order of its own
        error = self.walk_error(old) or self.walk_error(new)
        error = error or (0 if self.exists(old) else errno.ENOENT)
        error = error or (self.refusal_to_rename(old, new) if old != new else 0)
        self.expect(error, lambda: os.rename(self.root / old, self.root / new))
        if error or old == new:
            return
        if old in self.directories or (old in self.files and os.path.basename(new) not in SCRATCH):
            self.move(old, new)
        elif old in self.files:
            self.scratch[new] = self.files.pop(old)  # parked, and deleted as nothing takes the name
        else:
            self.save(new, self.scratch.pop(old))

    def refusal_to_rename(self, old: str, new: str) -> int:
        name = os.path.basename(new)
        if old in self.directories:
            if self.exists(new):
                return errno.EEXIST if new in self.directories else errno.ENOTDIR
            return errno.EINVAL if name in ("b.md~", ".x.md") else len(name) > 128 and errno.ENAMETOOLONG
        if new in self.directories:
            return errno.EISDIR
        if name not in MEMORIES + SCRATCH:
            return REFUSED.get(name, errno.EINVAL)
        if old in self.files:
            return errno.EEXIST if new in self.files else 0
        return refusal_of(new, self.scratch[old])

    # Through the port: whether it accepts a command is tested elsewhere, what follows here

    def at_port(self, **command: Any) -> Any:
        result = self.mounted.memory.execute(command)
        return result.value if result.ok else None

    @rule(path=memories, text=texts)
    def create_elsewhere(self, path: str, text: str) -> None:
        receipt = self.at_port(command="create", path=f"/memories/{path}", text=text)
        if receipt is not None:
            if path in self.directories:
                self.drop(path)  # one that only the mount had
            self.files.pop(path, None)  # also the same bytes are a write here
            self.save(path, text.encode())
            self.make_parents(path)

    @rule(path=names)
    def delete_elsewhere(self, path: str) -> None:
        if self.at_port(command="delete", path=f"/memories/{path}") is not None:
            self.drop(path)

    @rule(old=names, new=names)
    def rename_elsewhere(self, old: str, new: str) -> None:
        receipt = self.at_port(command="rename", oldPath=f"/memories/{old}", newPath=f"/memories/{new}")
        if receipt is not None:
            if receipt.kind == "file" and new in self.directories:
                self.drop(new)
            self.make_parents(new)
            self.move(old, new)

    # The daemon

    @precondition(lambda self: self.steps >= STEPS_BETWEEN_MOUNTS)
    @rule(how=st.sampled_from(["unmount", "kill"]))
    def mount_again(self, how: str) -> None:
        self.steps = 0
        if how == "unmount":
            self.mounted.remount()
        else:
            self.mounted.kill()
            self.mounted.start()

    # After every step

    @invariant()
    def both_doors_show_the_model(self) -> None:
        self.steps += 1
        tree = dict.fromkeys(self.directories) | self.scratch | self.files
        stored = list(self.files.items())
        absent = [path for path in self.every_name if path not in tree]
        eventually(
            lambda: (dict(self.shown()), self.stored(), self.remembered(absent)), (tree, stored, []), SECONDS
        )

    def remembered(self, absent: list[str]) -> list[str]:
        """What the kernel still takes for there: a walk through it would never ask the daemon."""
        return [path for path in absent if os.path.lexists(self.root / path)]

    def shown(self) -> Iterator[tuple[str, bytes | None]]:
        """What programs find below the mount: the bytes of files, None for a directory."""
        for directory, below, files in os.walk(self.root):
            for name in below:
                yield os.path.relpath(os.path.join(directory, name), self.root), None
            for name in files:
                path = os.path.join(directory, name)
                try:
                    with open_fd(path, os.O_RDONLY) as fd:
                        size, data = os.fstat(fd).st_size, os.read(fd, 1 << 20)
                        yield os.path.relpath(path, self.root), data if size == len(data) else b"wrong size"
                except FileNotFoundError:
                    pass

    def stored(self) -> list[tuple[str, bytes]]:
        """What the port has, in write order."""
        memory = self.mounted.memory
        memory.catch_up()
        files = list(memory.snapshot().in_write_order())
        return [(file.path.removeprefix("/memories/"), memory.read(file)) for file in files]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    """A mount with small limits, in which nothing that is delayed takes long."""
    mounted = Mounted(
        tmp_path_factory.mktemp("small"),
        max_files=MAX_FILES,
        max_file_bytes=MAX_FILE_BYTES,
        max_total_bytes=MAX_TOTAL_BYTES,
        constants={"memfs.mount.renames:PARKED_SECONDS": 0.01, "memfs.mount.saves:JOIN_SECONDS": 0},
    )
    try:
        mounted.start()
        yield mounted
    finally:
        mounted.close()


def test_both_doors_show_what_a_plain_model_says(small: Mounted) -> None:
    MemoryMachine.mounted = small
    run_state_machine_as_test(MemoryMachine, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_doors_show_what_a_plain_model_says_for_long(small: Mounted) -> None:
    MemoryMachine.mounted = small
    run_state_machine_as_test(MemoryMachine, settings=DEEP)
