"""The ``git`` store: a scope on a reference of its own in any repository, one commit a change.

- ``repository``: finding or making a repository, and reading it through libgit2.
- ``objects``, ``reference``: writing objects and moving the reference, durably.
- ``index``: what lies beside the memories in each tree, so that loading needs no walk.
- ``recorded``, ``commits``: a change as a commit's message, and commits as bytes.
- ``state``, ``foreign``, ``difference``: the scope at a commit; what others did to it with plain git.
- ``store``, ``history``, ``watch``: the :class:`~memfs.port.store.Store` itself.
"""
