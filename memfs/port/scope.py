"""The state of a scope in memory: metadata only, and every question answered in constant time.

A scope is changed in one place, :meth:`Scope.apply`, by one owner; whoever plans only reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from memfs.port.buckets import is_archived, standing_directories
from memfs.port.change import Commit, File
from memfs.port.names import ROOT, parent_of
from memfs.port.policy import Policy


class Scope:
    """The files of a scope, by path and in write order, and the directories they make.

    A file is *live*, and counts against the limits, or it is archived. The live ones are counted and
    ordered apart, so that no number of archived files makes planning dearer.
    """

    def __init__(self, policy: Policy, version: int, files: Iterable[File] = ()) -> None:
        """*files* come in write order, the earliest write first."""
        self.version = version
        self._set_up(policy, files)

    def _set_up(self, policy: Policy, files: Iterable[File]) -> None:
        self.policy = policy
        self.live_bytes = 0
        self.archived_bytes = 0
        self._standing = frozenset(standing_directories(policy.layout))
        self._files: dict[str, File] = {}
        self._children: dict[str, dict[str, bool]] = {directory: {} for directory in self._standing}
        for directory in self._standing - {ROOT}:
            parent = parent_of(directory)
            self._children[parent][directory[len(parent) + 1 :]] = True
        # An OrderedDict and not a dict: next(iter()) of a dict slows down with every deletion at its front.
        self._write_order: OrderedDict[int, str] = OrderedDict()
        self._live: OrderedDict[int, None] = OrderedDict()
        for file in files:
            self._add(file)

    def __len__(self) -> int:
        return len(self._files)

    @property
    def live_files(self) -> int:
        """How many files count against the limits."""
        return len(self._live)

    @property
    def archived_files(self) -> int:
        """How many files are archived."""
        return len(self._files) - len(self._live)

    def file(self, path: str) -> File | None:
        """The file at *path*, or None."""
        return self._files.get(path)

    def file_by_id(self, file_id: int) -> File | None:
        """The file with this id, wherever it is now, or None."""
        path = self._write_order.get(file_id)
        return None if path is None else self._files[path]

    def is_directory(self, path: str) -> bool:
        """Whether a file lies below *path*, or the layout has it always: the root, at least."""
        return path in self._children

    def is_standing(self, path: str) -> bool:
        """Whether the layout has the directory *path* always, with files in it or without."""
        return path in self._standing

    def children(self, path: str) -> dict[str, bool]:
        """The names in a directory; the value says whether the child is itself a directory."""
        return self._children[path]

    def files_below(self, path: str) -> Iterator[File]:
        """Every file below the directory *path*, at any depth."""
        directories = [path]
        while directories:  # not recursive: a path may be five hundred names deep
            directory = directories.pop()
            for name, is_directory in self._children[directory].items():
                child = f"{directory}/{name}"
                if is_directory:
                    directories.append(child)
                else:
                    yield self._files[child]

    def in_write_order(self) -> Iterator[File]:
        """Every file, the earliest write first."""
        for path in self._write_order.values():
            yield self._files[path]

    def live_in_write_order(self) -> Iterator[File]:
        """Every live file, the earliest write first: the order of eviction."""
        for file_id in self._live:
            yield self._files[self._write_order[file_id]]

    def file_above(self, path: str) -> str | None:
        """The path of a file among the parents of *path*, or None."""
        parent = parent_of(path)
        while parent not in self._children:
            if parent in self._files:
                return parent
            parent = parent_of(parent)
        return None

    def apply(self, commit: Commit) -> None:
        """Take in a change that the store holds; commits come one by one, in version order."""
        change = commit.change
        if change.policy is not None:
            self._set_up(change.policy, list(self.in_write_order()))
        for remove in change.removes:
            self._drop(self._files[remove.file.path])
            self._forget_place(remove.file.id)
        moved = [(self._files[move.file.path], move) for move in change.moves]
        for file, _ in moved:
            self._drop(file)
        for file, move in moved:
            if move.operation == "restored":
                self._forget_place(file.id)
            self._add(file._replace(path=move.new_path))
        for put in change.puts:
            earlier = self._files.get(put.path)
            if earlier is not None:
                self._drop(earlier)
                self._forget_place(earlier.id)
            mtime_ns = commit.origin.time_ns if put.mtime_ns is None else put.mtime_ns
            self._add(File(put.id, put.path, put.size, mtime_ns, commit.version))
        self.version = commit.version

    def _add(self, file: File) -> None:
        """Enter *file*: at the end of the write order, or in the place it already has there."""
        path = file.path
        self._files[path] = file
        self._write_order[file.id] = path
        if is_archived(path, self.policy):
            self._live.pop(file.id, None)
            self.archived_bytes += file.size
        else:
            self._live[file.id] = None
            self.live_bytes += file.size
        is_directory = False
        while True:
            cut = path.rfind("/")
            parent, name = path[:cut], path[cut + 1 :]
            siblings = self._children.get(parent)
            if siblings is not None:
                siblings[name] = is_directory
                return
            self._children[parent] = {name: is_directory}
            path, is_directory = parent, True

    def _drop(self, file: File) -> None:
        """Take *file* out, and every directory that is empty without it; not from the write order."""
        path = file.path
        del self._files[path]
        if is_archived(path, self.policy):
            self.archived_bytes -= file.size
        else:
            self.live_bytes -= file.size
        while True:
            cut = path.rfind("/")
            parent = path[:cut]
            siblings = self._children[parent]
            del siblings[path[cut + 1 :]]
            if siblings or parent in self._standing:
                return
            del self._children[parent]
            path = parent

    def _forget_place(self, file_id: int) -> None:
        """Take a file out of the write order: it leaves, or is about to get the newest place."""
        del self._write_order[file_id]
        self._live.pop(file_id, None)
