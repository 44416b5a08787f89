"""``.memfs``: what the mount says about itself, as read-only files.

A directory at the root that is reachable by name and never listed, in the manner of ``.zfs``. What
lies in it is made when it is asked for; the kernel caches none of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from memfs.mount.events import Events
from memfs.mount.nodes import AnyNode, FileNode, VirtualDirectory, VirtualFile
from memfs.mount.past import Past
from memfs.mount.rejected import Rejected
from memfs.mount.scratch_area import MAX_TOTAL_BYTES, ScratchArea
from memfs.mount.tree import Tree
from memfs.port.memory import Memory
from memfs.port.scope import Scope

NAME = b".memfs"

README = b"""\
This directory is a memfs mount: an AI agent's memory as files. The agent and
you work on the same memory, under the same rules.

Was something refused? An errno cannot say why; these files can:

  .memfs/events      every refusal, eviction and conflict, one JSON object a
                     line with a sentence in "message"; try: tail .memfs/events
  .memfs/rejected/   the bytes of saves that were refused, nothing is lost:
                     cp one back, shortened or under another name
  .memfs/status      limits, use, and what leaves next, as JSON

What did it say before, and what has become of it?

  .memfs/history/    for each memory a directory with its versions, oldest
                     first; try: ls .memfs/history/notes.md
  .memfs/deleted/    the last content of what was deleted or evicted: cp it back

The rules:

  names        letters, digits, ".", "_" and "-", beginning with a letter, a
               digit or "_"; files end in an allowed extension (see status)
  text         UTF-8 only
  limits       one file, all files, number of files (see status); a new memory
               may make the earliest written one leave: it is in the events
  archive/     where a scope has an archive, what left is there; it is never
               written, and mv out of it brings a memory back
  renames      never overwrite: EEXIST; remove the target first
  links        there are none

Editors' temporary and backup files work as everywhere, and never reach the
store. The same in the shell: memfs status, memfs events, memfs rejected,
memfs log, memfs restore, memfs undo.
"""


class VirtualTree:
    """The nodes below ``.memfs``."""

    def __init__(
        self, memory: Memory, tree: Tree, area: ScratchArea, events: Events, rejected: Rejected, past: Past
    ) -> None:
        self._memory = memory
        self._tree = tree
        self._area = area
        self._rejected = rejected
        self.past = past
        self.root = self._directory()
        self.root.parent, self.root.name = tree.root, NAME
        self._text(self.root, b"README", lambda: README)
        self._text(self.root, b"status", self._status)
        self._add(self.root, b"events", lambda: events.size, events.read)
        kept = self._directory()
        kept.fill = partial(self._fill_rejected, kept)
        self._attach(self.root, b"rejected", kept)
        self._attach(self.root, b"history", past.history)
        self._attach(self.root, b"deleted", past.deleted)

    def _status(self) -> bytes:
        """The facts of the mount, as JSON."""
        scope, policy = self._memory.snapshot(), self._memory.policy
        files = [node for node in self._tree.by_inode.values() if isinstance(node, FileNode)]
        status = {
            "scope": self._memory.scope,
            "version": scope.version,
            "policy": policy.to_json(),
            "use": {"files": scope.live_files, "totalBytes": scope.live_bytes},
            "archive": {"files": scope.archived_files, "totalBytes": scope.archived_bytes},
            "leavesNext": self._leaves_next(scope),
            "openFiles": sum(1 for node in files if node.opens),
            "beingWritten": [self._tree.path_of(node) for node in files if node.writers and not node.is_gone],
            "parked": [self._tree.path_of_parked(parked) for parked in self._tree.parked],
            "scratch": {"usedBytes": self._area.used, "maxBytes": MAX_TOTAL_BYTES},
            "rejected": sum(1 for _ in self._rejected),
            "store": self._store(),
        }
        return json.dumps(status, indent=2).encode() + b"\n"

    def _store(self) -> dict[str, object]:
        away = self._memory.away()
        state = {"state": "ok"} if away is None else {"state": "away", "message": away}
        return {**state, "waits": self._memory.waits}

    def _leaves_next(self, scope: Scope) -> str | None:
        """The memory that the next eviction takes."""
        if scope.policy.eviction == "refuse":
            return None
        return next((file.path for file in scope.live_in_write_order()), None)

    def _fill_rejected(self, directory: VirtualDirectory) -> None:
        """Have exactly the refused saves that are kept now."""
        kept = {each.name.encode(): each for each in self._rejected}
        for name in [name for name in directory.children if name not in kept]:
            node = directory.children.pop(name)
            node.parent = None
            self._tree.forget_if_unused(node)
        for name, each in kept.items():
            if name not in directory.children:
                size, read = partial(int, each.size), partial(self._read_rejected, each.name)
                self._add(directory, name, size, read, each.time_ns)

    def _read_rejected(self, name: str, offset: int, size: int) -> bytes:
        return self._rejected.read(name)[offset : offset + size]

    def _text(self, parent: VirtualDirectory, name: bytes, make: Callable[[], bytes]) -> None:
        self._add(parent, name, lambda: len(make()), lambda offset, size: make()[offset : offset + size])

    def _add(
        self,
        parent: VirtualDirectory,
        name: bytes,
        size: Callable[[], int],
        read: Callable[[int, int], bytes],
        now_ns: int | None = None,
    ) -> None:
        self._attach(parent, name, VirtualFile(self._tree.new_inode(), self._tree.owner, size, read, now_ns))

    def _directory(self) -> VirtualDirectory:
        node = VirtualDirectory(self._tree.new_inode(), self._tree.owner)
        self._tree.by_inode[node.inode] = node
        return node

    def _attach(self, parent: VirtualDirectory, name: bytes, node: AnyNode) -> None:
        self._tree.by_inode[node.inode] = node
        parent.children[name] = node
        node.parent, node.name = parent, name
