"""The checks of ``memfs doctor``, in tables: a check is a row with a name, and a function that looks.

- ``finding``: what a check is, and what it finds. ``machine``: the machine. Of each memory:
- ``files``: configuration, state of the mount, owners, room. ``mounts``: the mount. ``stores``: the store.
"""
