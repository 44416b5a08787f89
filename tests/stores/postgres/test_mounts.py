"""One scope mounted three times, by a daemon each: what one directory is told, all show."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memfs import Limits, open_memory
from tests.mount.harness import Mounted, content, eventually, open_fd, write
from tests.stores.harness import ENDLESS
from tests.stores.postgres.conftest import STORE
from tests.stores.postgres.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("watchdog"), pytest.mark.timeout(400)]
MOUNTS = 3
_numbers = count()
SMALL = Limits(max_files=6, max_file_bytes=200, max_total_bytes=600)


def mount_three(directory: Path, url: str, scope: str, limits: Limits) -> Iterator[list[Mounted]]:
    open_memory(url, scope=scope, limits=limits).close()
    mounts = [Mounted(directory / f"mount{number}", url=url, scope=scope) for number in range(MOUNTS)]
    try:
        for mounted in mounts:
            mounted.start()
        yield mounts
    finally:
        for mounted in mounts:
            mounted.close()


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory, postgres: Server) -> Iterator[list[Mounted]]:
    """Three mounts of a scope that no file leaves, for several tests."""
    yield from mount_three(tmp_path_factory.mktemp("roomy"), postgres.url(STORE), "roomy", ENDLESS)


@pytest.fixture
def roots(roomy: list[Mounted]) -> list[Path]:
    """A directory of the test's own, in each of them."""
    name = f"t{next(_numbers)}"
    for mounted in roomy:
        (mounted.path / name).mkdir()
    return [mounted.path / name for mounted in roomy]


@pytest.fixture
def small(tmp_path: Path, postgres_url: str, scope: str) -> Iterator[list[Mounted]]:
    """Three mounts of a scope that files leave for others."""
    yield from mount_three(tmp_path, postgres_url, scope, SMALL)


def shown(root: Path) -> dict[str, str]:
    """Every file below *root* as programs find it: listed, opened, as long as its size says."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            try:
                with open_fd(path, os.O_RDONLY) as fd:
                    data = os.read(fd, 1 << 20)
                    right = os.fstat(fd).st_size == len(data) == os.stat(path).st_size
            except FileNotFoundError:
                continue
            found[os.path.relpath(path, root)] = data.decode() if right else "its size is another"
    return found


def remembered(root: Path, absent: list[str]) -> list[str]:
    """What the kernel still takes for there: a walk through it would never ask the daemon."""
    return [name for name in absent if os.path.lexists(root / name)]


NAMES = ["a.md", "b.md", "c.md", "d/a.md", "d/b.md", "d/e/a.md"]
names = st.sampled_from(NAMES)
words = st.text(alphabet="ab\né€", max_size=60)
mount_numbers = st.integers(0, MOUNTS - 1)


class ThreeMounts(RuleBasedStateMachine):
    """Steps at any of the mounts and at the port, and a model: the files, in write order."""

    mounts: ClassVar[list[Mounted]]

    @initialize()
    def begin_empty(self) -> None:
        self.files: dict[str, str] = {}
        self.directories = 0
        for name in shown(self.mounts[0].path):
            (self.mounts[0].path / name).unlink()
        self.all_show_the_model()

    def at(self, number: int, name: str) -> Path:
        return self.mounts[number].path / name

    def save(self, name: str, text: str) -> None:
        if self.files.get(name) == text:
            return
        self.files.pop(name, None)
        self.files[name] = text
        while len(self.files) > SMALL.max_files or self.size() > SMALL.max_total_bytes:
            del self.files[next(each for each in self.files if each != name)]

    def size(self) -> int:
        return sum(len(text.encode()) for text in self.files.values())

    @rule(number=mount_numbers, name=names, text=words)
    def write(self, number: int, name: str, text: str) -> None:
        path = self.at(number, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, text)
        self.save(name, text)

    @rule(number=mount_numbers, name=names, text=words)
    def append(self, number: int, name: str, text: str) -> None:
        if name not in self.files or len((self.files[name] + text).encode()) > SMALL.max_file_bytes:
            return
        with open_fd(self.at(number, name), os.O_WRONLY | os.O_APPEND) as fd:
            os.write(fd, text.encode())
        self.save(name, self.files[name] + text)

    @rule(number=mount_numbers, name=names, text=words)
    def save_as_editors_do(self, number: int, name: str, text: str) -> None:
        path = self.at(number, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(path.name + ".tmp")
        write(scratch, text)
        os.replace(scratch, path)
        self.save(name, text)

    @rule(number=mount_numbers, name=names)
    def unlink(self, number: int, name: str) -> None:
        if name in self.files:
            self.at(number, name).unlink()
            del self.files[name]

    @rule(number=mount_numbers, old=names, new=names)
    def rename(self, number: int, old: str, new: str) -> None:
        if old in self.files and new not in self.files:
            self.at(number, new).parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.at(number, old), self.at(number, new))
            self.files = {new if name == old else name: text for name, text in self.files.items()}

    @rule(number=mount_numbers)
    def rename_directory_and_back(self, number: int) -> None:
        if not any(name.startswith("d/") for name in self.files):
            return
        self.directories += 1
        away = f"away{self.directories}"
        before = self.files
        os.rename(self.at(number, "d"), self.at(number, away))
        self.files = {f"{away}{name[1:]}" if name.startswith("d/") else name: before[name] for name in before}
        self.all_show_the_model()
        for mounted in self.mounts:  # an empty one that only this mount has shown stays there
            for directory, _, _ in os.walk(mounted.path / "d", topdown=False):
                os.rmdir(directory)
        os.rename(self.at((number + 1) % MOUNTS, away), self.at((number + 1) % MOUNTS, "d"))
        self.files = before

    @rule(name=names, text=words)
    def create_at_the_port(self, name: str, text: str) -> None:
        self.mounts[0].execute("create", path=f"/memories/{name}", text=text)
        self.files.pop(name, None)  # also the same bytes are a write here
        self.save(name, text)

    @invariant()
    def all_show_the_model(self) -> None:
        absent = [name for name in NAMES if name not in self.files]
        for mounted in self.mounts:
            eventually(lambda root=mounted.path: (shown(root), remembered(root, absent)), (self.files, []))  # type: ignore[misc]


def test_three_mounts_show_what_a_plain_model_says(small: list[Mounted]) -> None:
    ThreeMounts.mounts = small
    steps = settings(
        max_examples=12,
        stateful_step_count=25,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    run_state_machine_as_test(ThreeMounts, settings=steps)


def test_writers_at_all_three_at_once_end_up_with_the_same(roots: list[Path]) -> None:
    def work(root: Path, mark: str) -> None:
        for number in range(40):
            write(root / f"n{number % 8}.md", f"{mark}{number}")
            if number % 10 == 9:
                (root / mark).mkdir(exist_ok=True)
                write(root / mark / f"{number}.md", mark)

    threads = [
        threading.Thread(target=work, args=(root, mark)) for root, mark in zip(roots, "abc", strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    write(roots[0] / "last.md", "done")
    for root in roots[1:]:
        eventually(lambda root=root: content(root / "last.md"), "done")  # type: ignore[misc]
    first = shown(roots[0])
    assert len(first) == 8 + 3 * 4 + 1
    for root in roots[1:]:
        eventually(lambda root=root: shown(root), first)  # type: ignore[misc]


def test_what_was_opened_after_a_change_elsewhere_is_new_whatever_the_kernel_had(
    roots: list[Path],
) -> None:
    """A reader that never stops looking, so that each page, size and missing name is in its cache."""
    writer, reader = roots[0], roots[1]
    seen: list[tuple[int, int]] = []
    wrong: list[str] = []
    stopped = threading.Event()

    def look() -> None:
        while not stopped.is_set():
            try:
                with open_fd(reader / "a.md", os.O_RDONLY) as fd:
                    data = os.read(fd, 1 << 16)
            except FileNotFoundError:
                continue
            number, _, rest = data.decode().partition(" ")
            if rest != "x" * int(number):
                wrong.append(data.decode())
            seen.append((int(number), os.path.lexists(reader / f"new{number}.md")))

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(30):
        write(writer / "a.md", f"{number} " + "x" * number)
        write(writer / f"new{number}.md", "x")
        eventually(lambda number=number: content(reader / f"new{number}.md"), "x")  # type: ignore[misc]
        assert content(reader / "a.md") == f"{number} " + "x" * number
    stopped.set()
    thread.join()
    assert not wrong
    assert [number for number, _ in seen] == sorted(number for number, _ in seen), "an older one came back"


def test_a_file_that_is_open_keeps_what_it_was_opened_with_or_gets_the_new_whole(
    roots: list[Path],
) -> None:
    one, other = roots[0], roots[2]
    write(one / "a.md", "old " * 100)
    eventually(lambda: content(other / "a.md"), "old " * 100)
    with open_fd(other / "a.md", os.O_RDONLY) as fd:
        assert os.read(fd, 4) == b"old "
        write(one / "a.md", "new " * 200)
        eventually(lambda: content(other / "a.md"), "new " * 200)
        assert os.pread(fd, 1 << 16, 0).decode() in ("old " * 100, "new " * 200)


def test_a_directory_that_one_renames_is_renamed_for_all(roots: list[Path], roomy: list[Mounted]) -> None:
    one, two, three = roots
    (one / "d" / "e").mkdir(parents=True)
    for number in range(5):
        write(one / "d" / "e" / f"{number}.md", str(number))
    eventually(lambda: shown(two), {f"d/e/{number}.md": str(number) for number in range(5)})
    os.rename(two / "d", two / "moved")
    for root in (one, three):
        eventually(lambda root=root: shown(root), {f"moved/e/{n}.md": str(n) for n in range(5)})  # type: ignore[misc]
        eventually(lambda root=root: os.path.lexists(root / "d"), False)  # type: ignore[misc]
    operations = [operation for operation, _ in roomy[0].records(one)]
    assert operations == ["created"] * 5 + ["renamed"] * 5
