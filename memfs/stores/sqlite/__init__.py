"""The ``sqlite`` store: a directory with one database per scope. The default.

- ``database``: making, checking and opening a scope's database.
- ``failures``: SQLite's errors as the port's.
- ``store``: the :class:`~memfs.port.store.Store` itself, load to history.
- ``rows``: what a row of the history means, and older bytes kept as deltas.
- ``history``: reading it, from any version's bytes to the memories that have left.
- ``upkeep``: checkpoints and deltas, off the path of commits; ``retention`` and ``redaction``: forgetting.
- ``inspection``: looking for damage. ``listing``: which scopes there are.
- ``receiving``: a scope that comes from another store.
- ``notice``, ``watch``: how one process tells of its commits, and another learns of them.
"""

from memfs.stores.sqlite.store import SqliteStore, open_sqlite

__all__ = ["SqliteStore", "open_sqlite"]
