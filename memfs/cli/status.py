"""``memfs status``: the mounts of this user, how they are, and how full."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memfs.cli.complaint import Complaint, Status
from memfs.cli.events import last_event, told
from memfs.cli.running import Mount, State, is_served, log_of, recorded, state_of
from memfs.cli.version import version
from memfs.mount.lifecycle import Health, is_mounted, own_report, probe
from memfs.places import resolve

if TYPE_CHECKING:
    from memfs.port.memory import Memory


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
    if state != Health.ALIVE:
        return shown
    report = _report(mount.mountpoint)
    newest = last_event(State(state_of(mount.mountpoint, mount.store, mount.scope)))
    return shown | _use(mount, report) | _reported(report) | {"last_event": newest}


def _reported(report: dict[str, Any]) -> dict[str, Any]:
    """What only the mount itself can say."""
    names = {
        "scope_version": "version",
        "leaves_next": "leavesNext",
        "open_files": "openFiles",
        "being_written": "beingWritten",
        "parked": "parked",
        "rejected": "rejected",
    }
    found = {name: report[key] for name, key in names.items() if key in report}
    scratch = report.get("scratch")
    if isinstance(scratch, dict):
        found |= {"scratch_bytes": scratch.get("usedBytes"), "max_scratch_bytes": scratch.get("maxBytes")}
    return found


def _report(mountpoint: str) -> dict[str, Any]:
    """What the mount says about itself; nothing where it does not answer, or has another release's form."""
    content = own_report(mountpoint)
    try:
        report: object = {} if content is None else json.loads(content)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _use(mount: Mount, report: dict[str, Any]) -> dict[str, Any]:
    """How much the scope holds and may hold: as the store says, where it can be asked here."""
    from memfs.opening import open_with
    from memfs.port.errors import OpenError, StoreError

    if mount.store == "simple:":  # in the daemon only
        return _use_reported(report)
    try:
        with open_with(mount.store, mount.scope, {}) as memory:
            scope, limits = memory.snapshot(), memory.policy.limits
            return {
                "files": scope.live_files,
                "max_files": limits.max_files,
                "bytes": scope.live_bytes,
                "max_total_bytes": limits.max_total_bytes,
                "archived_files": scope.archived_files,
                "archived_bytes": scope.archived_bytes,
                "report": dict(memory.report()),
            } | _history(memory)
    except OpenError as error:
        return {"fault": error.error.message}
    except StoreError as error:
        return {"fault": error.message}


def _history(memory: Memory) -> dict[str, Any]:
    use = memory.history_use()
    if use is None:
        return {}
    since = None if use.since_ns is None else use.since_ns / 1e9
    return {"history_bytes": use.size, "history_since": since}


def _use_reported(report: dict[str, Any]) -> dict[str, Any]:
    use, policy = report.get("use"), report.get("policy")
    if not isinstance(use, dict) or not isinstance(policy, dict):
        return {}
    return {
        "files": use.get("files"),
        "max_files": policy.get("max_files"),
        "bytes": use.get("totalBytes"),
        "max_total_bytes": policy.get("max_total_bytes"),
    }


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
    if mount.get("archived_files"):
        lines.append(f"  archive  {mount['archived_files']} files, {mount['archived_bytes']} bytes")
    if mount.get("history_since"):
        since = time.strftime("%Y-%m-%d", time.localtime(mount["history_since"]))
        lines.append(f"  history  {mount['history_bytes']} bytes, since {since}")
    lines += _told_of_store(mount.get("report", {}))
    lines += _told_of_report(mount)
    if "fault" in mount:
        lines.append(f"  fault    {mount['fault']}")
    if mount["state"] != Health.ALIVE:
        lines.append(f"  log      {mount['log']}")
    if mount["state"] == Health.DEAD:
        lines.append("  its daemon has ended; `memfs mount` replaces it, `memfs unmount` takes it away")
    return "\n".join(lines)


def _told_of_store(report: dict[str, Any]) -> list[str]:
    """What the store has to say of itself; of a folder, what in it is no memory."""
    sentences = {
        "unnamed": ("beside", "with names that memfs cannot hold"),
        "unsafe": ("unsafe", "left alone (links, no UTF-8, too large); see the log"),
    }
    lines = []
    for label, value in report.items():
        shown, sentence = sentences.get(label, (label, ""))
        if value:
            lines.append(f"  {shown:8} {value} {sentence}".rstrip())
    return lines


def _told_of_report(mount: dict[str, Any]) -> list[str]:
    lines = []
    if "scope_version" in mount:
        lines.append(f"  version  {mount['scope_version']}")
    if mount.get("leaves_next"):
        lines.append(f"  next     {mount['leaves_next']} leaves first when room is needed")
    if "open_files" in mount:
        written = "".join(f", {path} being written" for path in mount.get("being_written", ()))
        lines.append(f"  open     {mount['open_files']}{written}")
    if "scratch_bytes" in mount:
        lines.append(f"  scratch  {mount['scratch_bytes']} of {mount['max_scratch_bytes']} bytes")
    if mount.get("rejected"):
        lines.append(f"  refused  {mount['rejected']} with their bytes; `memfs rejected` lists them")
    if mount.get("last_event"):
        lines.append(f"  event    {told(mount['last_event'])}")
    return lines
