"""The ``git`` store: a scope on a reference of its own in any repository, one commit a change.

- ``repository``: finding or making a repository, and reading it through libgit2.
- ``objects``, ``reference``: writing objects and moving the reference, durably.
- ``index``: what lies beside the memories in each tree, so that loading needs no walk.
- ``recorded``, ``commits``: a change as a commit's message, and commits as bytes.
- ``state``, ``foreign``, ``difference``: the scope at a commit; what others did to it with plain git.
- ``log``, ``history``, ``usage``: what led to the scope, and the room that this takes.
- ``redaction``, ``rewriting``, ``pack``, ``superseded``, ``removal``: taking bytes out of it for good.
- ``listing``: which scopes there are.
- ``line``, ``receiving``: a history that comes from elsewhere.
- ``program``: git itself, where libgit2 is not enough.
- ``store``, ``watch``: the :class:`~memfs.port.store.Store` itself.
"""
