"""The model of ``test_model``, for a scope whose earliest writes move to the archive."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.mount.harness import Mounted, open_fd
from tests.mount.test_model import (
    DEEP,
    EVERY_NAME,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    MEMORIES,
    QUICK,
    SCRATCH,
    MemoryMachine,
    contents,
    directories,
    is_below,
    memories,
    names,
    texts,
)
from tests.port.model import Model

ARCHIVE = f"archive/{datetime.now(UTC).year}"
ARCHIVED = [
    *("archive", ARCHIVE, "archive/a.md", f"{ARCHIVE}/d", f"{ARCHIVE}/a.md", f"{ARCHIVE}/d/a.md"),
    *(f"{ARCHIVE}/b.md", f"{ARCHIVE}/a.md.tmp"),
]
archived = st.sampled_from(ARCHIVED)
LIVE = ["a.md", "b.md", "c.txt", "d/a.md", "d/b.md", "d/c.txt", "e/a.md"]
numbers = st.integers(0, 99)


class ArchivingMachine(MemoryMachine):
    """What leaves is in the archive, where it counts no more and is not written."""

    every_name: ClassVar[list[str]] = [*EVERY_NAME, *ARCHIVED, f"{ARCHIVE}/a-2.md"]

    def __init__(self) -> None:
        self.writes = 0
        self.written: dict[str, int] = {}
        """When the bytes of a memory were written: what is restored together keeps its order by it."""
        super().__init__()

    def save(self, path: str, data: bytes) -> None:
        is_write = os.path.basename(path) not in SCRATCH and self.files.get(path) != data
        if not is_write:
            super().save(path, data)
            return
        self.files.pop(path, None)
        self.files[path] = data
        self.writes += 1
        self.written[path] = self.writes
        self.make_room({path})

    def make_room(self, written: set[str]) -> None:
        taken = Model()
        taken.files_before = {f"/memories/{path}": "" for path in self.files}
        while not self.fits(live := [path for path in self.files if not is_below(path, "archive")]):
            earliest = next(path for path in live if path not in written)
            place = taken.free_place(f"/memories/{ARCHIVE}/{earliest}").removeprefix("/memories/")
            taken.files_before[f"/memories/{place}"] = ""
            if place in self.directories:
                self.drop(place)  # one that only the mount had
            self.make_parents(place)
            self.files = {place if each == earliest else each: data for each, data in self.files.items()}
            self.written[place] = self.written.pop(earliest)

    def fits(self, paths: list[str]) -> bool:
        return len(paths) <= MAX_FILES and sum(len(self.files[path]) for path in paths) <= MAX_TOTAL_BYTES

    def move(self, old: str, new: str) -> None:
        destinations = {
            path: new + path[len(old) :] for path in self.files if path == old or is_below(path, old)
        }
        restored = self.restored(old, new)
        super().move(old, new)
        self.written = {destinations.get(path, path): stamp for path, stamp in self.written.items()}
        for path in restored:
            self.files[destinations[path]] = self.files.pop(destinations[path])
        self.make_room({destinations[path] for path in restored})

    def restored(self, old: str, new: str) -> list[str]:
        """The memories that a rename takes out of the archive, in the order of their bytes."""
        if is_below(new, "archive") or new == "archive":
            return []
        coming = [
            path for path in self.files if (path == old or is_below(path, old)) and is_below(path, "archive")
        ]
        return sorted(coming, key=lambda path: (self.written[path], path))

    def refusal_to_rename(self, old: str, new: str) -> int:
        error = super().refusal_to_rename(old, new)
        if error:
            return error
        if old in self.scratch and is_below(new, "archive") and os.path.basename(new) not in SCRATCH:
            return 0 if self.files.get(new) == self.scratch[old] else errno.EROFS
        if os.path.basename(new) in SCRATCH:
            return 0
        return 0 if self.fits(self.restored(old, new)) else errno.ENOSPC

    # Rules that meet what is there: most random names lead nowhere

    def one_of(self, paths: Iterable[str], number: int) -> str:
        """One of *paths*, or a name at which nothing is."""
        there = sorted(paths)
        return there[number % len(there)] if there else "nothing.md"

    @rule(data=texts, first=st.integers(0, len(LIVE) - 1), count=st.integers(2, MAX_FILES + 1))
    def write_many(self, data: str, first: int, count: int) -> None:
        for number in range(count):
            path = LIVE[(first + number) % len(LIVE)]
            if self.walk_error(path) == errno.ENOENT:
                self.mkdir(os.path.dirname(path))
            self.write(path, f"{data}{number}".encode())

    @rule(number=numbers, new=names | archived)
    def rename_a_memory(self, number: int, new: str) -> None:
        self.rename(self.one_of(self.files, number), new)

    @rule(number=numbers, new=memories | directories)
    def rename_out_of_the_archive(self, number: int, new: str) -> None:
        below = [path for path in (*self.files, *self.directories) if is_below(path, "archive")]
        self.rename(self.one_of(below, number), new)

    @rule(number=numbers, new=names | archived)
    def rename_anything_elsewhere(self, number: int, new: str) -> None:
        self.rename_elsewhere(self.one_of([*self.files, *self.directories], number), new)

    @rule(number=numbers)
    def unlink_a_memory(self, number: int) -> None:
        self.unlink(self.one_of(self.files, number))

    @rule(number=numbers)
    def delete_anything_elsewhere(self, number: int) -> None:
        self.delete_elsewhere(self.one_of([*self.files, *self.directories], number))

    @rule(number=numbers, name=st.none() | st.sampled_from(MEMORIES), data=contents)
    def write_in_the_archive(self, number: int, name: str | None, data: bytes) -> None:
        path = self.one_of((path for path in self.files if is_below(path, "archive")), number)
        if name is not None:
            path = os.path.join(os.path.dirname(path), name)
        if not is_below(path, "archive") or path in self.directories:
            return

        def save() -> None:
            with open_fd(self.root / path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
                os.write(fd, data)

        self.expect(errno.EROFS, save)
        if path in self.files:
            self.expect(errno.EROFS, lambda: os.truncate(self.root / path, len(data)))


@pytest.fixture(scope="module")
def archiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mounted]:
    """A mount with small limits that archives, in which nothing that is delayed takes long."""
    mounted = Mounted(
        tmp_path_factory.mktemp("archiving"),
        max_files=MAX_FILES,
        max_file_bytes=MAX_FILE_BYTES,
        max_total_bytes=MAX_TOTAL_BYTES,
        eviction="archive",
        constants={"memfs.mount.renames:PARKED_SECONDS": 0.01, "memfs.mount.saves:JOIN_SECONDS": 0},
    )
    try:
        mounted.start()
        yield mounted
    finally:
        mounted.close()


@pytest.mark.slow
def test_both_doors_show_what_a_model_with_an_archive_says(archiving: Mounted) -> None:
    ArchivingMachine.mounted = archiving
    run_state_machine_as_test(ArchivingMachine, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_doors_show_what_a_model_with_an_archive_says_for_long(archiving: Mounted) -> None:
    ArchivingMachine.mounted = archiving
    run_state_machine_as_test(ArchivingMachine, settings=DEEP)
