"""Which memory a command is about, and what its paths mean: the one place that decides it.

``memfs --help`` states the order (``parser.WHICH_MEMORY``). Mounts are looked up in the lists of
running mounts and never asked: one that is dead still says which memory it was.
"""

from __future__ import annotations

import posixpath
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from memfs.cli.arguments import UNBOUNDED
from memfs.cli.complaint import Complaint, Status
from memfs.cli.running import Mount, mount_holding
from memfs.opening import DEFAULT_SCOPE, canonical_url
from memfs.places import resolve
from memfs.port.names import ROOT

if TYPE_CHECKING:
    from memfs.cli.config import Configured

_RULES = (
    "max_files",
    "max_total_bytes",
    "max_file_bytes",
    "extensions",
    "layout",
    "eviction",
    "max_archive_bytes",
)


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


def configuration(options: Namespace) -> Configured | None:
    """What is configured for the memory that ``--memory`` names, or None."""
    if options.memory is None:
        return None
    if options.store is not None or options.scope is not None:
        raise Complaint("Name the memory by --memory, or by --store and --scope, not both.", Status.USAGE)
    from memfs.cli.config import configured

    return configured(options.memory)


def named(options: Namespace, found: Configured | None) -> Chosen | None:
    """The memory that ``--memory`` (with *found* configured), ``--store`` or ``--scope`` name, or None."""
    store, scope = options.store, options.scope
    in_workspace = getattr(options, "in_workspace", False)  # `memfs place` has no such option
    if found is not None:
        store, scope = found.store, found.scope or None
    elif store is None and scope is None and not in_workspace:
        return None
    if in_workspace:
        from memfs.cli.workspace import workspace_store

        store = workspace_store(store)
    return Chosen(canonical_url(store), DEFAULT_SCOPE if scope is None else scope)


def choose(options: Namespace, path: str | None = None) -> Chosen:
    """The memory a command is about; *path* is the one it was given, if it takes one."""
    explicit = named(options, configuration(options))
    if explicit is not None:
        return explicit
    mount = (_mount_at(path) if path else None) or _mount_at(".")
    if mount is None:
        return default_memory()
    chosen = Chosen(mount.store, mount.scope)
    if chosen.ends_with_its_process:
        raise Complaint(
            f"The memory on {mount.mountpoint} is kept in its mount's process only; work in the directory."
        )
    return chosen


def default_memory() -> Chosen:
    """The memory of those who name none."""
    return Chosen(canonical_url(None), DEFAULT_SCOPE)


def port_path(path: str, chosen: Chosen) -> str:
    """What the port calls *path*. What fits nowhere is left as it is, for the port to refuse."""
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
    tidy = posixpath.normpath(joined)
    return tidy if f"{tidy}/".startswith(ROOT + "/") else joined


def shown_path(path: str, chosen: Chosen) -> str:
    """The port's *path* as one in the mount that holds the working directory, where that is the memory's."""
    mount = _mount_at(".")
    return path if mount is None or not chosen.is_on(mount) else mount.mountpoint + path[len(ROOT) :]


def rules(options: Namespace) -> dict[str, Any]:
    """The rules that the options name, as ``Policy.changed`` takes them."""
    named = {name: value for name in _RULES if (value := getattr(options, name)) is not None}
    if named.get("max_archive_bytes") == UNBOUNDED:
        named["max_archive_bytes"] = None
    return named


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
