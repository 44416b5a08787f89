"""What memfs keeps beside the memories in each commit's tree, so that loading a scope needs no walk.

``.memfs.json`` holds the scope's name, version and policy, and names the trees it was written with.
``.memfs/`` holds a line for each file (id, path, write order, blob), in small pages by id: a commit
writes the pages it touches, whatever the number of files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import starmap
from typing import Any, NamedTuple

from memfs.port.change import VERSION_BITS, File
from memfs.port.errors import OpenError, UnsafeStorage
from memfs.port.names import ROOT, path_error
from memfs.port.policy import Policy
from memfs.stores.git.objects import DIRECTORY, FILE, Batch, Tree, TreeEntry, parse_tree
from memfs.stores.git.recorded import REDACTED, Blob, Recorded

HEAD_NAME = b".memfs.json"
INDEX_NAME = b".memfs"
MEMORIES_NAME = ROOT[1:].encode()
FORMAT = 1
PAGE_BITS = 6
PRIVATE = "refs/memfs/"
"""Below it are the scopes that have a reference of their own."""


def ref_of(scope_name: str) -> str:
    """The private reference of a scope."""
    return f"{PRIVATE}{hashlib.sha256(scope_name.encode()).hexdigest()}"


class Head(NamedTuple):
    """``.memfs.json``: the scope as its latest change left it, and what that change was.

    ``memories`` and ``files`` are the ids of the trees of the same commit, None where there is nothing.
    ``base`` is the commit of memfs before this one, None for a scope's first; ``taken`` are the changes
    in between, which others made with plain git.
    """

    scope: str
    policy: Policy
    memories: str | None
    files: str | None
    change: Recorded
    taken: tuple[Recorded, ...]
    base: str | None

    @property
    def version(self) -> int:
        """The version of the scope."""
        return self.change.version

    def to_bytes(self) -> bytes:
        """The file as it is committed: a line for each of its parts."""
        parts = {
            "format": FORMAT,
            **self._asdict(),
            "change": self.change.to_json(),
            "taken": [each.to_json() for each in self.taken],
        }
        texts = {name: json.dumps(part) for name, part in parts.items() if name != "policy"}
        lines = [f' "{name}": {texts.get(name) or _policy_to(self.policy)}' for name in parts]
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        """The inverse of :meth:`to_bytes`. Raises UnsafeStorage."""
        try:
            parts = json.loads(data)
            written_format = parts.pop("format")
            if written_format > FORMAT:
                raise UnsafeStorage("The scope was written by a newer memfs; upgrade this one.")
            parts["policy"] = _policy_from(json.dumps(parts["policy"]))
            parts["change"] = Recorded.from_json(parts["change"])
            parts["taken"] = tuple(Recorded.from_json(each) for each in parts["taken"])
            head = cls(**parts)
            if [type(head.scope), type(head.version)] != [str, int] or head.version < 0:
                raise ValueError(head)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OpenError):
            raise UnsafeStorage(f"{HEAD_NAME.decode()} is not as memfs wrote it.") from None
        return head


@lru_cache(maxsize=64)
def _policy_to(policy: Policy) -> str:
    """The policy as JSON."""
    return json.dumps(policy.to_json())


@lru_cache(maxsize=64)
def _policy_from(text: str) -> Policy:
    """The policy in JSON; one after the other, the commits of a scope say the same of it."""
    return Policy.from_json(json.loads(text))


class Entry(NamedTuple):
    """A file of the scope. ``written`` is its place in write order: a version, and a number within it."""

    path: str
    size: int
    mtime_ns: int
    content: int
    written: tuple[int, int]
    blob: Blob

    def file(self, file_id: int) -> File:
        """The port's view of it."""
        return File(file_id, self.path, self.size, self.mtime_ns, self.content)


class Index:
    """The files of the scope by id, and the pages that hold them."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self._pages: dict[int, set[int]] = {}
        self._page_oids: dict[int, str] = {}
        self._group_oids: dict[int, str] = {}
        self._touched: set[int] = set()
        self._lines: dict[int, str] = {}

    @classmethod
    def load(cls, oid: str | None, read: Callable[[str, str], bytes]) -> Index:
        """The index whose tree is *oid*; *read* gives an object's bytes. Raises UnsafeStorage."""
        index = cls()
        if oid is None:
            return index
        try:
            for group, entry in parse_tree(read(oid, "tree")).items():
                index._group_oids[int(group, 16)] = entry.oid
                for name, page in parse_tree(read(entry.oid, "tree")).items():
                    number = int(group, 16) << PAGE_BITS | int(name, 16)
                    index._page_oids[number] = page.oid
                    for key, line in json.loads(read(page.oid, "blob")).items():
                        index._enter(int(key), _entry_from(line))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise UnsafeStorage(f"{INDEX_NAME.decode()}/ is not as memfs wrote it.") from None
        index._touched.clear()
        _check(index.entries)
        return index

    def put(self, file_id: int, entry: Entry) -> None:
        """Enter a file, or what it has become."""
        self._enter(file_id, entry)

    def drop(self, file_id: int) -> None:
        """Take a file out."""
        del self.entries[file_id]
        self._lines.pop(file_id, None)
        page = _page_of(file_id)
        self._pages[page].discard(file_id)
        self._touched.add(page)

    def files(self) -> Iterable[File]:
        """The files in write order."""
        ordered = sorted(self.entries.items(), key=lambda item: (item[1].written, item[1].path))
        return [entry.file(file_id) for file_id, entry in ordered]

    def write(self, batch: Batch) -> str | None:
        """Put the pages that were touched since the last call into *batch*; the id of the whole tree."""
        groups = {page >> PAGE_BITS for page in self._touched}
        for page in self._touched:
            ids = self._pages.get(page)
            if ids:
                self._page_oids[page] = batch.add("blob", self._page_bytes(ids))
            else:
                self._page_oids.pop(page, None)
                self._pages.pop(page, None)
        for group in groups:
            first = group << PAGE_BITS
            tree: Tree = {
                b"%02x" % (page - first): TreeEntry(FILE, self._page_oids[page])
                for page in range(first, first + (1 << PAGE_BITS))
                if page in self._page_oids
            }
            if tree:
                self._group_oids[group] = batch.add_tree(tree)
            else:
                self._group_oids.pop(group, None)
        self._touched.clear()
        if not self._group_oids:
            return None
        return batch.add_tree(
            {b"%x" % group: TreeEntry(DIRECTORY, oid) for group, oid in self._group_oids.items()}
        )

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Every page, by its path in the tree."""
        for page, ids in sorted(self._pages.items()):
            if ids:
                yield f"{page >> PAGE_BITS:x}/{page & (1 << PAGE_BITS) - 1:02x}", self._page_bytes(ids)

    def _enter(self, file_id: int, entry: Entry) -> None:
        self.entries[file_id] = entry
        self._lines.pop(file_id, None)
        page = _page_of(file_id)
        self._pages.setdefault(page, set()).add(file_id)
        self._touched.add(page)

    def _page_bytes(self, ids: Iterable[int]) -> bytes:
        return _page_from(map(self._line, sorted(ids)))

    def _line(self, file_id: int) -> str:
        """A file's line, which most commits that write its page find as it was."""
        line = self._lines.get(file_id)
        if line is None:
            line = self._lines[file_id] = _line_of(file_id, _entry_to(self.entries[file_id]))
        return line


class RewrittenPage(NamedTuple):
    """A page without certain bytes, and the paths of the files that had them."""

    data: bytes
    paths: list[str]


def page_names(file_id: int) -> tuple[bytes, bytes]:
    """The names of the group and of the page in it that hold a file's line."""
    page = _page_of(file_id)
    return b"%x" % (page >> PAGE_BITS), b"%02x" % (page & (1 << PAGE_BITS) - 1)


def without_bytes(data: bytes, targets: Collection[tuple[int, int]]) -> RewrittenPage | None:
    """The page *data* without the bytes that a memory (its id) got with a change (its version).

    None where it names none of *targets*.
    """
    lines = json.loads(data)
    paths = []
    for file_id, content in targets:
        line = lines.get(str(file_id))
        entry = None if line is None else _entry_from(line)
        if entry is not None and entry.content == content:
            lines[str(file_id)] = _entry_to(entry._replace(blob=REDACTED))
            paths.append(entry.path)
    return RewrittenPage(_page_from(starmap(_line_of, lines.items())), paths) if paths else None


def _page_from(lines: Iterable[str]) -> bytes:
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _line_of(file_id: int | str, entry: list[Any]) -> str:
    return f'"{file_id}": {json.dumps(entry)}'


def _page_of(file_id: int) -> int:
    # Files that one change created differ in their upper bits only, and must not take a page each.
    return ((file_id & (1 << VERSION_BITS) - 1) + (file_id >> VERSION_BITS)) >> PAGE_BITS


def _entry_to(entry: Entry) -> list[Any]:
    return [entry.path, entry.size, entry.mtime_ns, entry.content, *entry.written, *entry.blob]


def _entry_from(line: list[Any]) -> Entry:
    path, size, mtime_ns, content, version, number, oid, digest = line
    if not all(isinstance(value, int) for value in (size, mtime_ns, content, version, number)):
        raise ValueError(line)
    return Entry(path, size, mtime_ns, content, (version, number), Blob(oid, digest))


def _check(entries: Mapping[int, Entry]) -> None:
    """What is loaded must be a state that commands can lead to."""
    paths = {entry.path for entry in entries.values()}
    if len(paths) < len(entries):
        raise UnsafeStorage("The scope lists two files at one path.")
    for file_id, entry in entries.items():
        if file_id < 1 or entry.size < 0 or path_error(entry.path) is not None or entry.path == ROOT:
            raise UnsafeStorage("The scope lists a file that memfs cannot have written.")
        parent = entry.path
        while (parent := parent[: parent.rfind("/")]) != ROOT:
            if parent in paths:
                raise UnsafeStorage(f"The scope lists {parent} both as a file and as a directory.")
