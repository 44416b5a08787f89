"""The mount: a translator between the kernel and the port.

It owns what only a filesystem has and turns everything lasting into port commands:

- ``operations``: the kernel's requests, one handler each; ``errnos``: how a refusal is answered.
- ``tree`` and ``nodes``: directories, files and their inodes, as the kernel knows them.
- ``staging`` and ``working``: the bytes of an open file that are not committed yet.
- ``saves`` and ``renames``: commands to the port, on the loop where nothing waits, else in a worker.
- ``following``: what a commit means for the tree; ``notices``: telling the kernel's cache of it.
- ``scratch`` and ``scratch_area``: which names are editors' temporary files, and where those lie.
- ``local``: what only this mount has, over a restart. ``rejected``: the bytes of refused saves.
- ``events`` and ``virtual``: what the mount says about itself, as files below ``.memfs``.
- ``counters`` and ``metrics``: what the kernel asked, and the sockets that tell it; ``prometheus``: as text.
- ``session``: serving and stopping; ``lifecycle``: mount points. ``fastloop``: the wait for a request.

Everything but the thread of ``notices`` and the workers runs on one trio thread, so that no
state here has a lock. It decides no rule of its own: it asks the port.
"""
