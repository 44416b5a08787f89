"""The database in ``.meta`` is reached by a descriptor, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from tests.harness import must, texts
from tests.stores.directory.harness import open_folder

A = "/memories/a.md"


def test_the_log_is_opened_where_the_database_was_also_if_a_link_took_its_name(fast_path: Path) -> None:
    folder, elsewhere = fast_path / "folder", fast_path / "elsewhere"
    elsewhere.mkdir()
    open_folder(folder)[0].close()

    # The store is open, and its log not: that comes with the first transaction, after the swap.
    from memfs.port.policy import Policy
    from memfs.stores.directory.folder import Folder
    from memfs.stores.directory.meta import VFS, SharedMeta
    from memfs.stores.gate import Gate
    from memfs.stores.sqlite.database import ScopeFiles
    from memfs.stores.sqlite.store import SqliteStore

    opened = Folder(folder)
    meta = SharedMeta(opened.meta)
    files = ScopeFiles(meta.path, "work", "memfs", vfs=VFS)
    (folder / ".meta").rename(folder / ".away")
    (folder / ".meta").symlink_to(elsewhere)
    ledger = SqliteStore(files, Gate(files.lock), "work", relaxed=True)
    assert ledger.policy() == Policy()
    assert os.listdir(elsewhere) == []
    assert (folder / ".away/memfs.db-wal").exists()
    ledger.close()
    meta.close()
    opened.close()


def test_two_stores_of_one_folder_close_in_any_order(fast_path: Path) -> None:
    first, _ = open_folder(fast_path)
    must(first, "create", path=A, text="one")
    second, _ = open_folder(fast_path)
    must(second, "create", path=A, text="two")
    descriptors = len(os.listdir("/proc/self/fd"))
    first.close()
    other, _ = open_folder(fast_path / "other")  # takes the numbers that the first gave back
    must(second, "create", path=A, text="three")
    must(other, "create", path=A, text="elsewhere")
    second.close()
    must(other, "create", path=A, text="still there")
    assert texts(other) == {A: "still there"}
    other.close()
    assert len(os.listdir("/proc/self/fd")) < descriptors
    third, _ = open_folder(fast_path)
    with third:
        assert texts(third)[A] == "three"
    assert not list((fast_path / ".meta").glob("*-shm"))
