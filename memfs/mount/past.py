"""``.memfs/history`` and ``.memfs/deleted``: the versions of every memory, and what has left, as files.

Each directory stands for a path of the port. It is read from the store when it is listed, or when a
name in it is looked up, and never as a whole tree; the bytes of a version when it is opened. All of that
may wait for the store, so it runs in a worker.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from pyfuse3 import FUSEError

from memfs.mount.errnos import errno_of
from memfs.mount.nodes import AnyNode, VirtualDirectory, VirtualFile
from memfs.mount.tree import Tree
from memfs.port.change import File
from memfs.port.errors import NotKept, PortError, StoreError
from memfs.port.history import brings_bytes
from memfs.port.memory import Memory
from memfs.port.names import ROOT, extension_of, is_segment
from memfs.port.store import Record

Entries: TypeAlias = dict[str, Record | None]
"""What a directory holds, by name: the record whose bytes a file has, or None for a directory."""
Work: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_PROGRAM = 40


class PastDirectory(VirtualDirectory):
    """What lies at *path* in the history, or among what has left."""

    __slots__ = ("is_history", "path")

    def __init__(self, inode: int, owner: tuple[int, int], path: str, is_history: bool) -> None:
        super().__init__(inode, owner)
        self.path = path
        self.is_history = is_history
        self.attributes.st_nlink = 1  # it is not known how many there are below


class PastFile(VirtualFile):
    """The bytes that a memory had after the change of *record*; at hand while it is open."""

    __slots__ = ("content", "record")

    def __init__(self, inode: int, owner: tuple[int, int], record: Record) -> None:
        super().__init__(inode, owner, self._size, self._read, record.time_ns)
        self.record = record
        self.content: bytes | None = None
        self.refresh()

    def _size(self) -> int:
        return 0 if self.record.redacted else self.record.size

    def _read(self, offset: int, size: int) -> bytes:
        return (self.content or b"")[offset : offset + size]


class Past:
    """The nodes below the two directories."""

    def __init__(self, memory: Memory, tree: Tree, work: Work) -> None:
        """*work* runs a function in a worker thread."""
        self._memory = memory
        self._tree = tree
        self._work = work
        self.history = PastDirectory(tree.new_inode(), tree.owner, ROOT, is_history=True)
        self.deleted = PastDirectory(tree.new_inode(), tree.owner, ROOT, is_history=False)

    async def fill(self, directory: PastDirectory) -> None:
        """Have exactly the entries that there are now. Raises FUSEError."""
        if directory.is_history:
            scope, path = self._memory.snapshot(), directory.path
            here = list(scope.children(path)) if scope.is_directory(path) else []
            entries = await self._asked(partial(self._versions_and_below, path, here, scope.file(path)))
        else:
            entries = await self._asked(partial(self._deleted_in, directory.path))
        for name in [name for name in directory.children if name.decode() not in entries]:
            self._drop(directory.children[name])
        for name, record in entries.items():
            self._enter(directory, name, record)
        newest = max((child.attributes.st_mtime_ns for child in directory.children.values()), default=None)
        if newest is not None:
            directory.set_time(newest)

    async def look_up(self, directory: PastDirectory, name: bytes) -> AnyNode | None:
        """The node called *name*, or None. Raises FUSEError."""
        text = name.decode("utf-8", "replace")
        if not is_segment(text):
            return None
        known, path = directory.children.get(name), f"{directory.path}/{text}"
        if not directory.is_history:
            entries: Entries = await self._asked(partial(self._deleted_at, path))
            if not entries:
                return None
            return self._enter(directory, text, entries[text])
        if known is not None:
            return known  # a version is what it is, and a path with a history keeps it
        scope = self._memory.snapshot()
        if scope.file(path) or scope.is_directory(path) or await self._asked(partial(self._has_left, path)):
            return self._enter(directory, text, None)
        await self.fill(directory)
        return directory.children.get(name)

    async def load(self, file: PastFile) -> None:
        """Have the bytes at hand for an open file. Raises FUSEError.

        They are asked for at each opening, also where another program has the file open: what was redacted
        since is there for nobody new.
        """
        if not file.record.redacted:
            file.content = await self._asked(partial(self._memory.read_record, file.record))

    def let_go(self, node: AnyNode) -> None:
        """Forget what nobody uses: the directories may have more entries than is good to keep."""
        if isinstance(node, PastFile) and not node.opens:
            node.content = None
        if isinstance(node, PastDirectory) and not node.opens:
            for child in list(node.children.values()):
                self._drop_if_unused(child)
        self._drop_if_unused(node)

    def _drop_if_unused(self, node: AnyNode) -> None:
        if node in (self.history, self.deleted) or not isinstance(node, PastFile | PastDirectory):
            return
        listed = node.parent is not None and node.parent.opens
        if not (node.lookups or node.opens or listed or (isinstance(node, PastDirectory) and node.children)):
            self._drop(node)

    def _drop(self, node: AnyNode) -> None:
        if node.parent is not None:
            del node.parent.children[node.name]
            node.parent = None
        self._tree.forget_if_unused(node)

    def _enter(self, directory: PastDirectory, name: str, record: Record | None) -> AnyNode:
        known = directory.children.get(name.encode())
        if isinstance(known, PastDirectory) and record is None:
            return known
        if isinstance(known, PastFile) and known.record == record:
            return known
        if known is not None:
            self._drop(known)
        inode, owner = self._tree.new_inode(), self._tree.owner
        node: PastFile | PastDirectory
        if record is None:
            node = PastDirectory(inode, owner, f"{directory.path}/{name}", directory.is_history)
        else:
            node = PastFile(inode, owner, record)
        self._tree.by_inode[inode] = node
        directory.children[name.encode()] = node
        node.parent, node.name = directory, name.encode()
        return node

    async def _asked(self, question: Callable[[], Any]) -> Any:
        try:
            return await self._work(question)
        except NotKept:  # it was pruned or redacted since it was listed
            raise FUSEError(errno.ENOENT) from None
        except StoreError as error:
            raise FUSEError(errno_of(PortError(error.code, error.message))) from error

    # What follows runs in a worker, and touches no node.

    def _versions_and_below(self, path: str, here: list[str], file: File | None) -> Entries:
        entries: Entries = dict.fromkeys([*here, *self._memory.gone_children(path)])
        for record in self._versions(path, file):
            entries[version_name(record)] = record
        return entries

    def _versions(self, path: str, file: File | None) -> Iterator[Record]:
        """Every record that brought bytes: of the memory at *path*, else of those that were last there."""
        ids = [file.id] if file else [left.id for left in self._memory.gone(path) if left.path == path]
        for each in ids:
            for record in self._memory.history_of(each):
                if brings_bytes(record):
                    yield record

    def _deleted_in(self, path: str) -> Entries:
        entries: Entries = {}
        for name in self._memory.gone_children(path):
            entries |= self._deleted_at(f"{path}/{name}")
        return entries

    def _deleted_at(self, path: str) -> Entries:
        """One entry or none: what was last at *path*, or the directory where something was below it.

        None where it was redacted: an empty file would be taken for what it was. What it was earlier is in
        the history.
        """
        name = path[path.rfind("/") + 1 :]
        if self._memory.gone_children(path):
            return {name: None}
        left = [record for record in self._memory.gone(path) if record.path == path]
        last = max(left, key=lambda record: record.version, default=None)
        return {} if last is None or last.redacted else {name: last}

    def _has_left(self, path: str) -> bool:
        return next(self._memory.gone(path), None) is not None


def version_name(record: Record) -> str:
    """The name of a version's file: it sorts by version, says when and by whom, and has the extension."""
    when = datetime.fromtimestamp(record.time_ns / 1e9, UTC)
    who = "redacted" if record.redacted else record.actor.program or record.actor.user
    shown = _UNFIT.sub("_", who)[:_LONGEST_PROGRAM].strip("._-") or "unknown"
    return f"{record.version:08}-{when:%Y-%m-%dT%H.%M.%SZ}-{shown}{extension_of(record.path)}"
