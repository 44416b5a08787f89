"""Which memory a command is about, and what its paths mean: the one place that decides it.

``memfs --help`` states the order (``parser.WHICH_MEMORY``). Mounts are looked up in the lists of
running mounts and never asked: one that is dead still says which memory it was.
"""

from __future__ import annotations

import os
import posixpath
from argparse import Namespace
from typing import Any, NamedTuple

from memfs.cli.complaint import Complaint
from memfs.cli.configuration import Settings, default_settings, settings_for
from memfs.cli.running import Mount, mount_holding
from memfs.opening import DEFAULT_SCOPE, canonical_url, files_of
from memfs.places import resolve
from memfs.port.errors import ErrorCode, OpenError
from memfs.port.names import ROOT


class Chosen(NamedTuple):
    """A memory, by the canonical URL of its store and its scope."""

    store: str
    scope: str

    def is_on(self, mount: Mount) -> bool:
        """Whether *mount* shows this memory."""
        return (mount.store, mount.scope) == self

    @property
    def ends_with_its_process(self) -> bool:
        """Whether nothing of this memory outlives the process that opens it."""
        return self.store == "simple:"


def memory_of(settings: Settings, makes: bool = True) -> Chosen:
    """The memory that *settings* describe: by default in the user's own store, the scope 'default'.

    That of an agent's workspace is made where it is missing, if this *makes* anything.
    """
    store = settings.get("store")
    if settings.get("workspace"):
        from memfs.cli.workspace import workspace_store

        store = workspace_store(store, makes)
    return Chosen(canonical_url(store), settings.get("scope") or DEFAULT_SCOPE)


def choose(options: Namespace, path: str | None = None) -> Chosen:
    """The memory a command is about; *path* is the one it was given, if it takes one."""
    return _choose(settings_for(options), path)[0]


def choose_with_rules(options: Namespace, path: str | None = None) -> tuple[Chosen, dict[str, Any]]:
    """As :func:`choose`, with the rules that somebody has set, for a scope that may be new.

    Raises OpenError where the store that was typed is not there, unless the command makes one: what only
    reads, or changes what is there, must not make a store of a path that was mistyped.
    """
    settings = settings_for(options)
    if not _makes_a_store(options):
        _check_typed(settings)
    return _choose(settings, path)


def _choose(settings: Settings, path: str | None) -> tuple[Chosen, dict[str, Any]]:
    if settings.name_a_memory:
        return memory_of(settings), settings.rules()
    mount = (_mount_at(path) if path else None) or _mount_at(".")
    if mount is None:
        settings = default_settings(settings)
        return memory_of(settings), settings.rules()
    chosen = Chosen(mount.store, mount.scope)
    if chosen.ends_with_its_process:
        raise Complaint(
            f"The memory on {mount.mountpoint} is kept in its mount's process only; work in the directory."
        )
    return chosen, settings.rules()


def _makes_a_store(options: Namespace) -> bool:
    match getattr(options, "command", None):
        case "place":
            return bool(options.create)
        case "policy":
            return bool(options.action == "set")
        case command:
            return command in ("create", "import", "mcp", "port")


def _check_typed(settings: Settings) -> None:
    """Raise OpenError where the store that the command line or the environment names is not there."""
    found = settings.found.get("store")
    if found is None or not found.is_typed or found.value == "simple:":
        return
    memory = memory_of(settings, makes=False)
    path = next(iter(files_of(memory.store, memory.scope)), None)
    if path is None:  # on a server, which says so itself
        return
    if not os.path.lexists(path.parent if settings.get("workspace") else path):
        sentence = f"There is no store at {memory.store}; check the path, or make one by `memfs create`."
        raise OpenError(ErrorCode.NOT_FOUND, sentence)


def port_path(path: str, chosen: Chosen) -> str:
    """What the port calls *path*. What fits nowhere is left as it is, for the port to refuse.

    A path into the memory's own mount means what it would mean to any program, ``..`` included. Any other
    is the memory's, which has no ``..``: it is not taken for the path that somebody may have meant. A
    relative one may still begin with ``./`` or end with a slash, as shells complete them.
    """
    if not path:  # a variable that is not set, say; it must not mean the directory one is in
        return path
    absolute = path.startswith("/")
    mount = _mount_at(path)
    if mount is not None and chosen.is_on(mount):
        if mount.mountpoint == ROOT and absolute:
            return path
        return ROOT + resolved(path)[len(mount.mountpoint) :]
    if absolute:
        if mount is not None and not f"{path}/".startswith(ROOT + "/"):
            raise Complaint(f"{path} lies in the mount of another memory than the one that was named.")
        return path
    joined = f"{ROOT}/{path}"
    return joined if ".." in path.split("/") else posixpath.normpath(joined)


def shown_path(path: str, chosen: Chosen) -> str:
    """The port's *path* as one in the mount that holds the working directory, where that is the memory's."""
    mount = _mount_at(".")
    return path if mount is None or not chosen.is_on(mount) else mount.mountpoint + path[len(ROOT) :]


def _mount_at(path: str) -> Mount | None:
    mount = mount_holding(resolved(path))
    if isinstance(mount, str):
        raise Complaint(
            f"{mount} is a memfs mount that this user's list of mounts does not have; "
            "name its memory with --store and --scope."
        )
    return mount


def resolved(path: str) -> str:
    """As ``places.resolve``, also where the working directory is gone."""
    try:
        return resolve(path)
    except FileNotFoundError:  # the working directory is gone; so nothing relative to it lies in a mount
        return "/"
