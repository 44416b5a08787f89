"""Work that several threads or processes do on one scope at once, so that a lost update would show."""

from __future__ import annotations

import sys
from pathlib import Path

from memfs import Memory
from memfs.port.errors import ErrorCode
from tests.harness import must
from tests.stores.harness import open_pair

COUNTER = "/memories/counter.md"


def count_up(memory: Memory, times: int) -> None:
    """Read a number and write the next one, by a replacement that fails if another was faster."""
    done = 0
    while done < times:
        text = must(memory, "view", path=COUNTER).text
        following = f"count {int(text.split()[1]) + 1}\n"
        result = memory.execute(
            {"command": "str_replace", "path": COUNTER, "oldText": text, "newText": following}
        )
        if result.ok:
            done += 1
        else:
            assert result.error.code is ErrorCode.MATCH_NOT_FOUND


def create_files(memory: Memory, worker: str, count: int) -> None:
    """Files of this worker's own; each text is its path."""
    for path in paths_of(worker, count):
        must(memory, "create", path=path, text=path)


def paths_of(worker: str, count: int) -> list[str]:
    return [f"/memories/{worker}/{number}.md" for number in range(count)]


def append_lines(memory: Memory, worker: str, count: int) -> None:
    """Lines to a file that all append to."""
    for number in range(count):
        must(memory, "insert", path="/memories/log.md", insertLine=0, text=f"{worker} {number}")


def lines_of(worker: str, count: int) -> list[str]:
    return [f"{worker} {number}" for number in reversed(range(count))]


def main() -> None:
    """One process: KIND DIRECTORY WORKER COUNT relaxed|durable."""
    kind, directory, worker, count, mode = sys.argv[1:]
    memory, _ = open_pair(Path(directory), relaxed=mode == "relaxed", kind=kind)
    with memory:
        sys.stdin.readline()  # all begin together
        create_files(memory, worker, int(count))
        count_up(memory, int(count))
        append_lines(memory, worker, int(count))


if __name__ == "__main__":
    main()
