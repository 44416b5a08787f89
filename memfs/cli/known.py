"""Every memory that this user has to do with: those that are mounted, and those that are configured.

Nothing here asks a mount or opens a store.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memfs.cli.choose import memory_of
from memfs.cli.complaint import Complaint, Status
from memfs.cli.configuration import DEFAULT, Settings, configured, configured_names, file_of
from memfs.cli.mount import mountpoint_in
from memfs.cli.running import Mount, is_served, recorded, recorded_at
from memfs.mount.lifecycle import is_mounted
from memfs.places import expanded, resolve


class Known(NamedTuple):
    """One memory: what it is called, if it has a name, where it is mounted or would be, and its store.

    ``mount`` is the record of its mount, if there is one, in whatever health. ``fault`` is what is wrong
    with its configuration; of such a one nothing else is known.
    """

    name: str | None
    mountpoint: str = ""
    store: str = ""
    scope: str = ""
    mount: Mount | None = None
    fault: str = ""

    @property
    def title(self) -> str:
        """What tells it from the others for a person."""
        return self.name or self.mountpoint


def known_memories() -> list[Known]:
    """Those with a name first, in the order of names, and then other mounts."""
    mounts = [mount for mount in recorded() if is_mounted(mount.mountpoint) or is_served(mount.mountpoint)]
    found: list[Known] = []
    for memory in _configured():
        own = [mount for mount in mounts if (mount.store, mount.scope) == (memory.store, memory.scope)]
        found += [memory._replace(mountpoint=mount.mountpoint, mount=mount) for mount in own] or [memory]
    shown = {memory.mountpoint for memory in found if memory.mount is not None}
    for mount in mounts:
        if mount.mountpoint not in shown:
            found.append(Known(None, mount.mountpoint, mount.store, mount.scope, mount))
    return found


def known_as(name: str) -> list[Known]:
    """The memories that *name* means: a configured one, or what is mounted on a directory."""
    everything = known_memories()
    found = [memory for memory in everything if memory.name == name]
    if not found:
        directory = resolve(expanded(name))
        found = [memory for memory in everything if memory.mountpoint == directory]
    if not found:
        names = ", ".join(sorted({memory.title for memory in everything}))
        raise Complaint(f"There is no memory '{name}'; there are {names}.", Status.USAGE)
    return found


def refreshed(memory: Known) -> Known:
    """*memory* with the mount that it has now, if it has one."""
    mount = recorded_at(memory.mountpoint)
    is_up = is_mounted(memory.mountpoint) or is_served(memory.mountpoint)
    return memory._replace(mount=mount if is_up else None)


def _configured() -> Iterator[Known]:
    names = set(configured_names())
    for name in sorted(names | {DEFAULT}):
        file = file_of(name)
        try:
            settings = Settings(name, configured(name))
            yield Known(name, mountpoint_in(settings), *memory_of(settings, makes=False))
        except Complaint as complaint:
            yield Known(name, fault=str(complaint))
        except OSError as error:
            yield Known(name, fault=f"The configuration {file} cannot be read: {error.strerror}.")
