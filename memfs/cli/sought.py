"""What a redaction looks for outside of the history, and what mounts keep beside the store that may have it.

An editor's swap file has the lines of a text in an order of its own. So a line is enough to find such a file,
and not enough to remove it: that is for its owner, who is told how.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memfs.cli.choose import Chosen
from memfs.cli.running import State, states
from memfs.mount.lifecycle import is_mounted
from memfs.mount.rejected import Rejected
from memfs.port.errors import NotKept
from memfs.port.history import brings_bytes
from memfs.port.memory import Memory
from memfs.port.names import ROOT, extension_error, path_error
from memfs.port.store import Record

LEAST_WITHIN = 16
"""Bytes from which the content of a version is also looked for within others: a few could be anybody's."""
LEAST_LINE = 12
"""Bytes from which a line gives away the text it is of."""


class Sought(NamedTuple):
    """Contents that a file may have as a whole, texts that it may have within, and lines of either."""

    equal: frozenset[bytes]
    within: frozenset[bytes]
    lines: frozenset[bytes]

    def all_in(self, content: bytes) -> bool:
        """Whether *content* has the whole of something that is sought."""
        return content in self.equal or any(each in content for each in self.within)

    def part_in(self, content: bytes) -> bool:
        """Whether *content* has a line of it."""
        return any(line in content for line in self.lines)


class Beside(NamedTuple):
    """A file that a mount keeps beside the store: its name in a sentence, and how it is read and removed."""

    name: str
    read: Callable[[], bytes]
    drop: Callable[[], None]
    command: str


def sought_by_text(text: bytes) -> Sought:
    """To find *text* anywhere; of one with several lines, also these."""
    lines = _lines(text) if b"\n" in text else set()
    return Sought(frozenset(), frozenset({text}), frozenset(lines))


def sought_by_versions(memory: Memory, records: Iterable[Record]) -> Sought:
    """To find the contents of *records*, and those of their lines that no version beside them has.

    Raises StoreError, which is NotKept where one is not kept any more.
    """
    named = list(records)
    contents = {memory.read_record(record) for record in named} - {b""}
    lines: set[bytes] = set()
    for file_id in {record.id for record in named}:
        lines |= _telling_lines(memory, file_id, [record for record in named if record.id == file_id])
    within = {content for content in contents if len(content) >= LEAST_WITHIN}
    return Sought(frozenset(contents), frozenset(within), frozenset(lines))


def beside_the_store(memory: Memory, chosen: Chosen) -> Iterator[Beside]:
    """What the mounts of this memory, up or down, keep: refused saves, and editors' temporary files."""
    for state in states():
        if (state.store, state.scope) != chosen:
            continue
        rejected = Rejected(Path(state.directory))
        for kept in list(rejected):
            yield Beside(
                f"the refused save {kept.name}",
                partial(rejected.read, kept.name),
                partial(rejected.drop, kept.name),
                f"memfs rejected drop {shlex.quote(kept.name)}",
            )
        for path in _scratch(memory, state):
            drop = partial(path.unlink, missing_ok=True)
            yield Beside(str(path), path.read_bytes, drop, f"rm {shlex.quote(str(path))}")


def _scratch(memory: Memory, state: State) -> Iterator[Path]:
    """The temporary files of editors: through the mount where it is up, for it has them open.

    There, what can be no memory by its name: a memory that has come this instant must not be dropped.
    """
    mountpoint = state.mountpoint
    if mountpoint is None or not is_mounted(mountpoint):
        yield from (path for path in Path(state.directory, "scratch").glob("*") if path.is_file())
        return
    for directory, _, names in os.walk(mountpoint):
        for name in names:
            path = Path(directory, name)
            in_port = f"{ROOT}/{path.relative_to(mountpoint)}"
            cannot_be_one = path_error(in_port) or extension_error(in_port, memory.policy.extensions)
            if cannot_be_one and stat.S_ISREG(path.lstat().st_mode):
                yield path


def _telling_lines(memory: Memory, file_id: int, named: list[Record]) -> set[bytes]:
    """The lines of one memory's versions *named* that the versions next to them, which stay, have not."""
    chain = [each for each in memory.history_of(file_id) if brings_bytes(each)][::-1]
    brought = (
        max((at for at, each in enumerate(chain) if each.version <= of.version), default=-1) for of in named
    )
    going = set(brought) - {-1}
    staying = [at for at in range(len(chain)) if at not in going]
    lines: set[bytes] = set()
    for at in going:
        before, after = [each for each in staying if each < at], [each for each in staying if each > at]
        beside = [_kept(memory, chain[each]) for each in before[-1:] + after[:1]]
        lines |= {
            line for line in _lines(_kept(memory, chain[at])) if not any(line in each for each in beside)
        }
    return lines


def _kept(memory: Memory, record: Record) -> bytes:
    try:
        return memory.read_record(record)
    except NotKept:
        return b""


def _lines(content: bytes) -> set[bytes]:
    return {line for each in content.splitlines() if len(line := each.strip()) >= LEAST_LINE}
