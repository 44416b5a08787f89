"""``memfs status``: the mounts of this user, how they are, and how full."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from memfs.cli.complaint import Complaint, Status
from memfs.cli.running import Mount, is_served, log_of, recorded
from memfs.cli.version import version
from memfs.mount.lifecycle import Health, is_mounted, probe
from memfs.places import resolve


def run(options: Namespace) -> int:
    """Show one mount or all of them; 0 if each that is shown answers."""
    wanted = None if options.directory is None else resolve(os.path.expanduser(options.directory))
    found = [_described(mount, state) for mount, state in _running() if wanted in (None, mount.mountpoint)]
    if wanted is not None and not found:
        raise Complaint(f"{wanted} is no memfs mount of yours; `memfs status` lists those there are.")
    if options.json:
        print(json.dumps({"version": version(), "mounts": found}, indent=2))
    else:
        print(f"memfs {version()}")
        print("\n".join(map(_told, found)) if found else "Nothing is mounted; `memfs mount` mounts a memory.")
    return Status.DONE if all(mount["state"] == Health.ALIVE for mount in found) else Status.REFUSED


def _running() -> Iterator[tuple[Mount, str]]:
    """Every mount that the kernel has or a daemon holds, and its state."""
    for mount in recorded():
        if is_mounted(mount.mountpoint):
            yield mount, probe(mount.mountpoint)
        elif is_served(mount.mountpoint):
            yield mount, "starting or ending"


def _described(mount: Mount, state: str) -> dict[str, Any]:
    shown = mount._asdict() | {"state": str(state), "log": str(log_of(mount.mountpoint))}
    return shown | (_use(mount) if state == Health.ALIVE else {})


def _use(mount: Mount) -> dict[str, Any]:
    """How much the scope holds and may hold, where its store can be asked."""
    from memfs.opening import open_with
    from memfs.port.errors import OpenError

    if mount.store == "simple:":  # in the daemon only
        return {}
    try:
        with open_with(mount.store, mount.scope, {}) as memory:
            scope, limits = memory.snapshot(), memory.policy.limits
            return {
                "files": len(scope),
                "max_files": limits.max_files,
                "bytes": scope.total_bytes,
                "max_total_bytes": limits.max_total_bytes,
            }
    except OpenError as error:
        return {"fault": error.error.message}


def _told(mount: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(mount["started"]))
    lines = [
        f"\n{mount['mountpoint']}  {mount['state']}{', read-only' if mount['read_only'] else ''}",
        f"  store    {mount['store']}",
        f"  scope    {mount['scope']}",
        f"  process  {mount['pid']}, since {since}",
    ]
    if "files" in mount:
        lines.append(f"  holds    {mount['files']} of {mount['max_files']} files")
        lines.append(f"           {mount['bytes']} of {mount['max_total_bytes']} bytes")
    if "fault" in mount:
        lines.append(f"  fault    {mount['fault']}")
    if mount["state"] != Health.ALIVE:
        lines.append(f"  log      {mount['log']}")
    if mount["state"] == Health.DEAD:
        lines.append("  its daemon has ended; `memfs mount` replaces it, `memfs unmount` takes it away")
    return "\n".join(lines)
