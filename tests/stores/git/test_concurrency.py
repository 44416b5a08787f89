"""Several processes, and plain git, at one reference: nothing acknowledged is lost, no update overtaken."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode
from memfs.port.memory import MAX_TRIES
from tests.harness import failure, must, texts
from tests.stores.git.harness import REF, Clone, damage_of, git, open_pair
from tests.stores.harness import ENDLESS, start_python
from tests.stores.working import COUNTER, lines_of, paths_of

WORKER = """
import sys
from pathlib import Path
from tests.stores.git.harness import open_pair
from tests.stores.working import append_lines, count_up, create_files

memory, _ = open_pair(Path(sys.argv[1]))
with memory:
    sys.stdin.readline()  # all begin together
    create_files(memory, sys.argv[2], 8)
    count_up(memory, 8)
    append_lines(memory, sys.argv[2], 8)
"""


@pytest.mark.slow
def test_processes_lose_nothing_of_each_other_nor_of_a_pusher(repository: Path, place: Path) -> None:
    with open_pair(repository, ENDLESS)[0] as memory:
        must(memory, "create", path=COUNTER, text="count 0\n")
        must(memory, "create", path="/memories/log.md", text="")
        clone = Clone(repository, place / "clone")
        names = ["one", "two", "three"]
        workers = [start_python(WORKER, str(repository), name, stdin=-1) for name in names]
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        pushed, tries = 0, 0
        while any(worker.poll() is None for worker in workers):
            tries += 1
            clone.write(f"memories/pushed/{pushed}.md", f"the try {tries}")
            clone.commit()
            clone.pull()
            try:
                clone.push()
            except AssertionError:
                continue  # a worker was faster, as is to be expected
            pushed += 1
        for worker in workers:
            worker.communicate(timeout=60)
        assert [worker.returncode for worker in workers] == [0, 0, 0]
        found = texts(memory)
        assert found.pop(COUNTER) == "count 24\n"
        log = found.pop("/memories/log.md").splitlines()
        for name in names:
            assert [line for line in log if line.split()[0] == name] == lines_of(name, 8)
        assert {path for name in names for path in paths_of(name, 8)} <= found.keys()
        assert {f"/memories/pushed/{number}.md" for number in range(pushed)} <= found.keys()
    assert damage_of(repository) == ""


@pytest.mark.slow
def test_who_never_wins_is_told_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git program that moves the reference between every look at it and every swap."""
    memory, store = open_pair(repository)
    with memory:
        must(memory, "create", path="/memories/a.md", text="a")
        tree = git(repository, "rev-parse", f"{REF}^{{tree}}")
        write, moved = store._writer.write, []

        def overtaken(objects: dict[str, bytes]) -> None:
            write(objects)
            newer = git(repository, "commit-tree", "-p", REF, "-m", "theirs", tree)
            git(repository, "update-ref", REF, newer)
            moved.append(newer)

        monkeypatch.setattr(store._writer, "write", overtaken)
        error = failure(memory, "create", path="/memories/b.md", text="b")
        assert error.code is ErrorCode.CONFLICT
        assert len(moved) == MAX_TRIES
        monkeypatch.undo()
        must(memory, "create", path="/memories/b.md", text="b")
        assert len(texts(memory)) == 2


def test_threads_share_one_store(repository: Path) -> None:
    memory, store = open_pair(repository, ENDLESS)
    with memory:
        must(memory, "create", path="/memories/a.md", text="0")
        done = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            while not done.is_set():
                for record in store.history():
                    content = store.read(record.id, record.version)
                    if len(content) != record.size:
                        wrong.append(record)

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(40):
            must(memory, "create", path="/memories/a.md", text="x" * number)
        done.set()
        for reader in readers:
            reader.join()
        assert wrong == []
