"""One scope mounted twice: two directories, one memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mount.harness import Mounted, content, eventually, open_fd, run, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mounted, Mounted]]:
    directory = tmp_path_factory.mktemp("pair")
    one = Mounted(directory / "one", max_files=10_000, max_total_bytes=1 << 30)
    two = Mounted(directory / "two", url=f"sqlite:{directory / 'one' / 'store'}")
    try:
        one.start()
        two.start()
        yield one, two
    finally:
        one.close()
        two.close()


@pytest.fixture
def one(pair: tuple[Mounted, Mounted], request: pytest.FixtureRequest) -> Path:
    """A test's own directory in the first mount."""
    directory = pair[0].path / str(request.node.name)
    directory.mkdir()
    write(directory / "first.md", "x")
    eventually((pair[1].path / request.node.name / "first.md").exists)
    return directory


@pytest.fixture
def two(pair: tuple[Mounted, Mounted], one: Path) -> Path:
    """The same directory in the second mount."""
    return pair[1].path / one.name


def test_what_one_writes_the_other_reads(one: Path, two: Path) -> None:
    write(one / "a.md", "from one")
    eventually(lambda: content(two / "a.md"), "from one")
    write(two / "a.md", "from two, longer")
    eventually(lambda: content(one / "a.md"), "from two, longer")


def test_what_one_deletes_and_renames_the_other_loses_and_finds(one: Path, two: Path) -> None:
    write(one / "a.md", "a")
    write(one / "b.md", "b")
    eventually((two / "b.md").exists)
    os.rename(two / "a.md", two / "c.md")
    (one / "b.md").unlink()
    eventually(lambda: sorted(os.listdir(one)), ["c.md", "first.md"])
    eventually(lambda: sorted(os.listdir(two)), ["c.md", "first.md"])


def test_copying_a_file_onto_itself_keeps_its_content(one: Path, two: Path) -> None:
    """cp(1) cannot see that both are one file: it truncates the one before it reads the other."""
    write(one / "a.md", "precious " * 1000)
    eventually(lambda: content(two / "a.md"), "precious " * 1000)
    run("cp", one / "a.md", two / "a.md")
    assert (two / "a.md").read_text() == "precious " * 1000
    assert (one / "a.md").read_text() == "precious " * 1000


def test_two_appenders_in_turn_lose_nothing(one: Path, two: Path) -> None:
    expected = ""
    for number in range(20):
        line = f"line {number}\n"
        place, other = (one, two) if number % 2 else (two, one)
        with open_fd(place / "a.md", os.O_WRONLY | os.O_CREAT | os.O_APPEND) as fd:
            os.write(fd, line.encode())
        expected += line
        eventually(lambda other=other: content(other / "a.md"), expected)  # type: ignore[misc]


def test_writers_of_many_files_at_once_end_up_with_the_same(one: Path, two: Path) -> None:
    def work(directory: Path, mark: str) -> None:
        for number in range(60):
            write(directory / f"n{number % 15}.md", f"{mark}{number}")

    threads = [threading.Thread(target=work, args=args) for args in ((one, "a"), (two, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def shown(directory: Path) -> dict[str, str | None]:
        return {name: content(directory / name) for name in sorted(os.listdir(directory))}

    write(one / "last.md", "done")
    eventually((two / "last.md").exists)
    eventually(lambda: shown(two) == shown(one))


def test_each_shows_the_limits_of_the_scope(one: Path, two: Path) -> None:
    assert os.statvfs(one).f_files == os.statvfs(two).f_files == 10_000
