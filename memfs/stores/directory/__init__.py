"""The ``directory`` store: a folder of plain files that already is someone's memory.

- ``folder``: the folder's files, by steps that follow no link.
- ``meta``: the way to ``.meta``, whatever takes the place of its name.
- ``opening``: the folder becomes a scope, with rules that have room for what is there.
- ``store``: the :class:`~memfs.port.store.Store` itself; the history is a ``sqlite`` store's, in ``.meta``.
- ``placement``, ``steps``: a change carried out in the folder as renames, each of which can be taken back.
- ``aside``: what a change has replaced, and other programs may still be writing into.
- ``syncing``: the disk's part of that, while the record is prepared.
- ``pages``: how each file looked when it was last in step with its memory.
- ``dirt``: where somebody may have changed something, told by inotify.
- ``outside``: what they changed, as a commit.
- ``titles``, ``pageindex``: ``.meta/index.json``, for other programs.
- ``listing``: the scope as a list shows it. ``receiving``: one that comes from another store.
- ``failures``: the system's errors as the port's.
"""

from memfs.stores.directory.opening import open_directory
from memfs.stores.directory.store import DirectoryStore

__all__ = ["DirectoryStore", "open_directory"]
