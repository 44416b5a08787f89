"""The model of ``test_model``, for a scope whose earliest writes move to the archive."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
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
    QUICK,
    SCRATCH,
    MemoryMachine,
    contents,
    is_below,
    names,
)
from tests.port.model import Model

ARCHIVE = f"archive/{datetime.now(UTC).year}"
ARCHIVED = [
    *("archive", ARCHIVE, "archive/a.md", f"{ARCHIVE}/d", f"{ARCHIVE}/a.md", f"{ARCHIVE}/a-2.md"),
    *(f"{ARCHIVE}/d/a.md", f"{ARCHIVE}/b.md", f"{ARCHIVE}/a.md.tmp"),
]
archived = st.sampled_from(ARCHIVED)


class ArchivingMachine(MemoryMachine):
    """What leaves is in the archive, where it counts no more and is not written."""

    every_name: ClassVar[list[str]] = [*EVERY_NAME, *ARCHIVED]

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

    @rule(old=names | archived, new=names | archived)
    def rename_archived(self, old: str, new: str) -> None:
        self.rename(old, new)

    @rule(old=names | archived, new=names | archived)
    def rename_archived_elsewhere(self, old: str, new: str) -> None:
        self.rename_elsewhere(old, new)

    @rule(path=archived)
    def unlink_archived(self, path: str) -> None:
        self.unlink(path)

    @rule(path=archived)
    def delete_archived_elsewhere(self, path: str) -> None:
        self.delete_elsewhere(path)

    @rule(path=archived.filter(lambda path: path.endswith(".md")), data=contents)
    def write_archived(self, path: str, data: bytes) -> None:
        error = self.walk_error(path) or (errno.EISDIR if path in self.directories else errno.EROFS)

        def save() -> None:
            with open_fd(self.root / path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
                os.write(fd, data)

        self.expect(error, save)

    @rule(path=archived.filter(lambda path: path.endswith(".md")), size=st.integers(0, MAX_FILE_BYTES))
    def truncate_archived(self, path: str, size: int) -> None:
        error = self.walk_error(path) or (errno.EISDIR if path in self.directories else 0)
        error = error or (errno.EROFS if path in self.files else errno.ENOENT)
        self.expect(error, lambda: os.truncate(self.root / path, size))


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


def test_both_doors_show_what_a_model_with_an_archive_says(archiving: Mounted) -> None:
    ArchivingMachine.mounted = archiving
    run_state_machine_as_test(ArchivingMachine, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_doors_show_what_a_model_with_an_archive_says_for_long(archiving: Mounted) -> None:
    ArchivingMachine.mounted = archiving
    run_state_machine_as_test(ArchivingMachine, settings=DEEP)
