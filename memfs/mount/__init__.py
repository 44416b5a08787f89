"""The mount: a translator between the kernel and the port.

It owns what only a filesystem has and turns everything lasting into port commands:

- ``operations``: the kernel's requests, one handler each; ``errnos``: how a refusal is answered.
- ``tree`` and ``nodes``: directories, files and their inodes, as the kernel knows them.
- ``staging``: the bytes of an open file that are not committed yet.
- ``saves``: commands to the port, on the loop where nothing waits, else in a worker.
- ``notices``: telling the kernel's cache what somebody else changed.
- ``scratch``: which names are editors' temporary files. ``empty``: directories without files.
- ``session``: mounting, serving, stopping. ``fastloop``: the wait for the next request.

Everything but the thread of ``notices`` and the workers runs on one trio thread, so that no
state here has a lock. It decides no rule of its own: it asks the port.
"""
