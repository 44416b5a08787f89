"""Scratch that nobody comes back for leaves, by the age that ``scratch`` gives its name.

Locks go when a mount begins: who held them held them in another mount. The rest goes by the time of
its last write, at the beginning and once an hour, but never while it is open.
"""

from __future__ import annotations

import time

import trio

from memfs.mount.nodes import AnyNode, Directory, FileNode, LinkNode
from memfs.mount.notices import Notices
from memfs.mount.rejected import Rejected
from memfs.mount.scratch import Kept, kept_for
from memfs.mount.tree import Tree

SWEEP_SECONDS = 3600.0


class Sweeping:
    """Takes old scratch away, and refused saves that are too old."""

    def __init__(self, tree: Tree, notices: Notices, rejected: Rejected) -> None:
        self._tree = tree
        self._notices = notices
        self._rejected = rejected

    def begin(self) -> None:
        """Before the mount is there: what an earlier one has left."""
        self._sweep(locks=True)

    async def go_on(self) -> None:
        """While the mount is there; forever, in a task."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            self._sweep(locks=False)

    def _sweep(self, locks: bool) -> None:
        self._rejected.sweep()
        now_ns = time.time_ns()
        for node, made_ns in self._tree.scratch():  # what a directory holds comes before it
            kept = _kept(node)
            if kept is Kept.ALWAYS or (kept is Kept.LOCK and not locks):
                continue
            if node.opens or (isinstance(node, Directory) and node.children):
                continue
            if made_ns + kept.value * 10**9 <= now_ns:
                self._drop(node, now_ns)

    def _drop(self, node: AnyNode, now_ns: int) -> None:
        parent, name = node.parent, node.name
        assert parent is not None, "scratch that is listed has a name"
        self._tree.remove(node, now_ns)
        if isinstance(node, FileNode):
            node.vanished = True
        self._notices.removed(parent.inode, name, node.inode)
        self._notices.attributes(parent.inode)


def _kept(node: FileNode | LinkNode | Directory) -> Kept:
    """The outermost scratch directory says it for all that lies in it, else the name."""
    name, above = node.name, node.parent
    while above is not None and above.holds_scratch:
        name, above = above.name, above.parent
    return kept_for(name.decode("utf-8", "surrogateescape"))
