"""A process that dies at the Nth step of a change, for every N: what the folder and its memory are then.

Run as ``python -m tests.stores.directory.dying SCENARIO FOLDER``; it prints how many steps there are.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from memfs import Limits, Memory
from memfs.stores.directory import aside, outside
from memfs.stores.directory import folder as folder_module
from memfs.stores.directory.syncing import Syncing
from memfs.stores.sqlite.store import SqliteStore
from tests.harness import must, texts
from tests.stores.directory.harness import files_in, open_folder, staged

BEFORE = {"a.md": "a", "d/b.md": "b", "d/e/c.md": "c", "f.md": "f"}
KILLED = 9


def evict(memory: Memory) -> None:
    must(memory, "create", path="/memories/new.md", text="n" * 99)


def rename(memory: Memory) -> None:
    must(memory, "rename", oldPath="/memories/d", newPath="/memories/x/y")


def delete(memory: Memory) -> None:
    must(memory, "delete", path="/memories/d")


def replace(memory: Memory) -> None:
    must(memory, "create", path="/memories/a.md", text="other")


def create(memory: Memory) -> None:
    must(memory, "create", path="/memories/p/q/new.md", text="new")


SCENARIOS: dict[str, tuple[Callable[[Memory], None], dict[str, str]]] = {
    "evict": (evict, {"new.md": "n" * 99, "f.md": "f"}),
    "rename": (rename, {"a.md": "a", "x/y/b.md": "b", "x/y/e/c.md": "c", "f.md": "f"}),
    "delete": (delete, {"a.md": "a", "f.md": "f"}),
    "replace": (replace, BEFORE | {"a.md": "other"}),
    "create": (create, BEFORE | {"p/q/new.md": "new"}),
}


def open_limited(folder: Path) -> Memory:
    return open_folder(folder, limits=Limits(max_total_bytes=100, max_file_bytes=100, max_files=50))[0]


def prepare(folder: Path) -> None:
    """A folder of four files, which are memories."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in BEFORE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    open_limited(folder).close()


def mortal_calls() -> Iterator[tuple[Any, str]]:
    """Every call by which a change gets to the folder or to the database."""
    for name in ("fsync", "fdatasync", "rename", "unlink", "rmdir", "mkdir", "write"):
        yield os, name
    yield folder_module, "_renameat2"
    for name in ("begin", "join"):
        yield Syncing, name
    for name in ("begin", "write", "finish", "sync", "release"):
        yield SqliteStore, name


def die_at(step: int) -> None:
    """End this process before or after its *step*-th call: before it for odd steps."""
    steps = count(1)

    def mortal(call: Callable[..., Any]) -> Callable[..., Any]:
        def calling(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                os._exit(KILLED)
            result = call(*arguments, **options)
            if next(steps) == step:
                os._exit(KILLED)
            return result

        return calling

    for owner, name in list(mortal_calls()):
        setattr(owner, name, mortal(getattr(owner, name)))


def dies(folder: Path, act: Callable[[Memory], None], step: int) -> bool:
    """Whether a process that acts on *folder* came to its *step*, where it was killed."""
    child = os.fork()
    if child == 0:
        memory = open_limited(folder)
        die_at(step)
        act(memory)
        os._exit(0)
    _, ended = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(ended)
    assert code in (0, KILLED), code
    return code == KILLED


def main() -> None:
    scenario, folder_name = sys.argv[1:]
    folder = Path(folder_name)
    for module, name in ((outside, "SETTLE"), (aside, "LINGER_SECONDS")):
        setattr(module, name, 0.0)  # nobody else writes here
    act, after = SCENARIOS[scenario]
    outcomes = set()
    for step in count(1):
        prepare(folder)
        died = dies(folder, act, step)
        with open_limited(folder) as memory:
            found = {path[len("/memories/") :]: text for path, text in texts(memory).items()}
            assert found in (BEFORE, after), (step, found)
            assert files_in(folder) == found, (step, found)
            assert staged(folder) == [], (step, staged(folder))
            must(memory, "create", path="/memories/z.md", text="goes on")
        outcomes.add(found == after)
        if not died:
            break
    assert outcomes == {False, True}
    print(step - 1)


if __name__ == "__main__":
    main()
