"""kill -9 at any moment, and locks that are left: what was acknowledged is there, and nothing is blocked."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from memfs.port.errors import ErrorCode
from memfs.stores.git import reference
from tests.harness import failure, must, texts
from tests.stores.git.harness import REF, damage_of, git, open_pair
from tests.stores.harness import ENDLESS, rest_of, start_python

A, B = "/memories/a.md", "/memories/b.md"
ROUNDS = 30
WRITER = """
import sys
from pathlib import Path
from tests.harness import must
from tests.stores.git.harness import open_pair

memory, _ = open_pair(Path(sys.argv[1]))
name = sys.argv[2]
for number in range(10_000):
    path = f"/memories/{name}/{number}.md"
    must(memory, "create", path=path, text=path)
    must(memory, "create", path=f"/memories/{name}.md", text=f"{number}\\n" + "a line\\n" * 300)
    print(path, flush=True)
"""
# The n-th of the calls that a commit makes on its way to the disk is its last.
KILLED_AT = """
import os, sys
from pathlib import Path
from tests.harness import must
from tests.stores.git.harness import open_pair

memory, _ = open_pair(Path(sys.argv[1]))
calls = iter(range(int(sys.argv[2])))
def counted(call):
    def count(*arguments, **options):
        if next(calls, None) is None:
            os._exit(9)
        return call(*arguments, **options)
    return count
for name in ("open", "rename", "link", "fsync", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
must(memory, "create", path="/memories/b.md", text="b")
print("acknowledged", flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("writers", [1, 3])
def test_what_was_acknowledged_survives_a_kill(repository: Path, writers: int) -> None:
    dice = random.Random(7)
    open_pair(repository, ENDLESS)[0].close()
    expected: set[str] = set()
    for number in range(ROUNDS):
        processes = [start_python(WRITER, str(repository), f"r{number}w{each}") for each in range(writers)]
        for process in processes:
            assert process.stdout is not None
            expected.add(process.stdout.readline().strip())
        time.sleep(dice.random() * 0.1)
        for process in processes:
            process.kill()
        for process in processes:
            expected.update(rest_of(process))
        with open_pair(repository)[0] as memory:
            must(memory, "create", path="/memories/after.md", text=str(number))
            assert all(path in texts(memory, path.rpartition("/")[0]) for path in expected)
    assert damage_of(repository) == ""
    with open_pair(repository)[0] as memory:
        found = texts(memory)
    assert [path for path in expected if found.get(path) != path] == []


@pytest.mark.slow
def test_a_commit_that_ends_at_any_of_its_steps_blocks_nobody(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="a")
    acknowledged, step = False, 0
    while not acknowledged:
        with start_python(KILLED_AT, str(repository), str(step)) as process:
            output, _ = process.communicate(timeout=60)
        acknowledged = output == "acknowledged\n"
        assert process.returncode == (0 if acknowledged else 9)
        with open_pair(repository)[0] as memory:
            found = texts(memory)
            assert found in ({A: "a"}, {A: "a", B: "b"})
            must(memory, "create", path=A, text="a")
            if B in found:
                must(memory, "delete", path=B)
        step += 4 if step > 8 else 1
    assert acknowledged
    assert damage_of(repository) == ""
    assert git(repository, "for-each-ref", "--format=%(refname)") == REF


def test_the_lock_of_another_program_is_left_and_named(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "PATIENCE", 0.05)
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="a")
        lock = repository / f"{REF}.lock"
        lock.write_text("")
        error = failure(memory, "create", path=B, text="b")
        assert error.code is ErrorCode.STORAGE_ERROR
        assert str(lock) in error.message
        assert lock.exists()
        lock.unlink()
        must(memory, "create", path=B, text="b")
        assert texts(memory) == {A: "a", B: "b"}


def test_a_lock_that_is_given_up_in_time_is_waited_for(repository: Path) -> None:
    with open_pair(repository)[0] as memory:
        must(memory, "create", path=A, text="a")
        lock = repository / f"{REF}.lock"
        code = "import os, sys, time; print(flush=True); time.sleep(0.3); os.unlink(sys.argv[1])"
        lock.write_text("")
        with start_python(code, str(lock)) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            must(memory, "create", path=B, text="b")
        assert not os.path.lexists(lock)
