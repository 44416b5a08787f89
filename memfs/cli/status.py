"""``memfs status``: every memory of this user on one screen, how it is, and how full."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from typing import Any

from memfs.cli.complaint import Complaint, Status
from memfs.cli.configuration import DEFAULT
from memfs.cli.events import last_event, told
from memfs.cli.installation import installed_names
from memfs.cli.known import Known, known_memories
from memfs.cli.running import State, log_of, state_of
from memfs.cli.systemd import unit_of, user_manager
from memfs.cli.terminal import BOLD, GREEN, RED, YELLOW, Screen, bar, columns, cut, painted, wrapped
from memfs.cli.texts import on_one_line
from memfs.cli.version import version
from memfs.mount.lifecycle import Health, is_mounted, own_report, probe
from memfs.places import expanded, resolve
from memfs.port.memory import Memory

WATCH_SECONDS = 2.0
PATIENCE = 2.0
"""How long to wait for a server that is away."""
LAST_WRITERS = 3
_INDENT = 11
"""Where what a row says begins."""
RECORDS_LOOKED_AT = 200
"""How far back to look for the last writers."""
_REPORTED = {
    "unnamed": ("beside", "{} with names that memfs cannot hold"),
    "unsafe": ("unsafe", "{} left alone (links, no UTF-8, too large); see the log"),
}
"""How a store's report of a folder that is the store is told; what is not here is told as it is."""
_COLOURS = {Health.ALIVE: GREEN, Health.DEAD: RED, Health.HUNG: RED, Health.DENIED: RED}


def run(options: Namespace) -> int:
    """Show one memory or all of them; 0 if each that is mounted answers."""
    wanted = None if options.directory is None else resolve(expanded(options.directory))
    if not options.watch:
        found = _memories(wanted)
        print(_in_json(found, indent=2) if options.json else _screen(found))
        healthy = all(memory.get("state", Health.ALIVE) == Health.ALIVE for memory in found)
        return Status.DONE if healthy else Status.REFUSED
    try:
        with Screen() as screen:
            going_on = True
            while going_on:
                found = _memories(wanted)
                screen.show(_in_json(found) if options.json else _screen(found))
                going_on = screen.wait(WATCH_SECONDS)
    except KeyboardInterrupt:
        pass
    return Status.DONE


def _memories(wanted: str | None) -> list[dict[str, Any]]:
    """What there is to say of each memory; of those on the directory *wanted*, if one is."""
    found = [memory for memory in known_memories() if wanted in (None, memory.mountpoint)]
    if wanted is not None and not any(memory.mount for memory in found):
        raise Complaint(f"{wanted} is no memfs mount of yours; `memfs status` lists those there are.")
    return [_described(memory) for memory in found]


def _described(memory: Known) -> dict[str, Any]:
    mount = memory.mount
    if memory.fault:
        return {"name": memory.name, "fault": memory.fault} | _service(memory.name)
    if mount is None:
        return {
            "name": memory.name,
            "mountpoint": memory.mountpoint,
            "store": memory.store,
            "scope": memory.scope,
            **_service(memory.name),
        } | _in_store(memory)
    state: str = probe(mount.mountpoint) if is_mounted(mount.mountpoint) else "starting or ending"
    shown = {"name": memory.name, **mount._asdict(), "state": state, "log": str(log_of(mount.mountpoint))}
    if state != Health.ALIVE:
        return shown
    report = _report(mount.mountpoint)
    newest = last_event(State(state_of(mount.mountpoint, mount.store, mount.scope)))
    away = _away(report)
    in_store = _use_reported(report) if memory.store == "simple:" or away else _in_store(memory)
    return shown | in_store | _reported(report) | away | {"last_event": newest}


def _service(name: str | None) -> dict[str, Any]:
    """What has become of the service of a memory that is down, where one was installed."""
    manager = user_manager() if name in installed_names() else None
    if name is None or manager is None:
        return {}
    shown = manager.properties(unit_of(name))
    return {"service": {"state": shown.get("ActiveState"), "status": shown.get("StatusText", "")}}


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


def _away(report: dict[str, Any]) -> dict[str, Any]:
    """That the mount does not reach its store; nothing where it does."""
    store = report.get("store")
    if not isinstance(store, dict) or store.get("state") != "away":
        return {}
    return {"away": str(store.get("message"))}


def _report(mountpoint: str) -> dict[str, Any]:
    """What the mount says about itself; nothing where it does not answer, or has another release's form."""
    content = own_report(mountpoint)
    try:
        report: object = {} if content is None else json.loads(content)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


def _in_store(memory: Known) -> dict[str, Any]:
    """How much the scope holds and may hold, what leaves next, and who wrote last, as the store says."""
    from memfs.opening import hurried, is_there, open_with
    from memfs.port.errors import OpenError, StoreError

    try:
        store = hurried(memory.store, PATIENCE)
        if not is_there(store, memory.scope):  # and it is not ours to make
            return {}
        with open_with(store, memory.scope, {}) as opened:
            told = {"last_writers": _last_writers(opened), "report": dict(opened.report())}
            return _use(opened) | _history(opened) | _redaction(opened) | told
    except OpenError as error:
        return {"fault": error.error.message}
    except StoreError as error:
        return {"fault": error.message}
    except OSError as error:
        return {"fault": f"{memory.store} cannot be looked at: {error.strerror}."}


def _use(memory: Memory) -> dict[str, Any]:
    scope, policy = memory.snapshot(), memory.policy
    leaves = None if policy.eviction == "refuse" else next(scope.live_in_write_order(), None)
    return {
        "files": scope.live_files,
        "max_files": policy.limits.max_files,
        "bytes": scope.live_bytes,
        "max_total_bytes": policy.limits.max_total_bytes,
        "archived_files": scope.archived_files,
        "archived_bytes": scope.archived_bytes,
        "scope_version": scope.version,
        "leaves_next": None if leaves is None else leaves.path,
    }


def _history(memory: Memory) -> dict[str, Any]:
    use = memory.history_use()
    if use is None:
        return {}
    since = None if use.since_ns is None else use.since_ns / 1e9
    return {"history_bytes": use.size, "history_since": since}


def _redaction(memory: Memory) -> dict[str, Any]:
    """Since when a redaction is pending: one that nothing holds back any more ends here."""
    if memory.unfinished_redaction_ns() is None:
        return {}
    memory.maintain()
    since_ns = memory.unfinished_redaction_ns()
    return {} if since_ns is None else {"redaction_pending_since": since_ns / 1e9}


def _last_writers(memory: Memory) -> list[dict[str, Any]]:
    """The programs behind the newest changes, each once."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record, _ in zip(memory.history(), range(RECORDS_LOOKED_AT), strict=False):
        who = (record.actor.user, record.actor.program)
        if who not in found:
            found[who] = {
                "user": record.actor.user,
                "program": record.actor.program,
                "time": record.time_ns / 1e9,
                "operation": record.operation,
                "path": record.path,
            }
            if len(found) == LAST_WRITERS:
                break
    return list(found.values())


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


def _in_json(memories: list[dict[str, Any]], indent: int | None = None) -> str:
    mounts = [memory for memory in memories if "state" in memory]
    down = [memory for memory in memories if "state" not in memory]
    return json.dumps({"version": version(), "mounts": mounts, "down": down}, indent=indent)


# --- for a person ----------------------------------------------------------------------------------


def _screen(memories: list[dict[str, Any]]) -> str:
    head = f"memfs {version()}"
    if not any("state" in memory for memory in memories):
        head += "\nNothing is mounted."
    return "\n".join([head, *map(_told, memories)])


def _told(memory: dict[str, Any]) -> str:
    lines = [f"\n{_title(memory)}"]
    if "store" in memory:
        lines.append(_row("store", f"{memory['store']}, scope {memory['scope']}"))
    if "pid" in memory:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(memory["started"]))
        lines.append(_row("process", f"{memory['pid']}, since {since}"))
    if memory.get("files") is not None:
        for name, limit in (("files", "max_files"), ("bytes", "max_total_bytes")):
            part, whole = memory[name], memory[limit]
            lines.append(_row(name, f"{bar(part, whole)} {part:,} of {whole:,}"))
    if memory.get("archived_files"):
        archived = f"{memory['archived_files']:,} files, {memory['archived_bytes']:,} bytes"
        lines.append(_row("archive", archived))
    if "away" in memory:
        lines.append(_row("away", memory["away"], YELLOW, whole=True))
    lines += _told_of_use(memory)
    if "service" in memory:
        service = memory["service"]
        state = f"{service['state']}: {service['status']}".removesuffix(": ")
        lines.append(_row("service", state, RED if service["state"] == "failed" else "", whole=True))
        lines.append(_row("down", f"`memfs service start {memory['name']}` starts it", whole=True))
    elif "state" not in memory and "fault" not in memory:
        words = "" if memory["name"] == DEFAULT else f" --memory {memory['name']}"
        lines.append(_row("down", f"`memfs mount{words}` mounts it", whole=True))
    if "fault" in memory:
        lines.append(_row("fault", memory["fault"], RED, whole=True))
    if memory.get("state", Health.ALIVE) != Health.ALIVE:
        lines.append(_row("log", memory["log"], whole=True))
    if memory.get("state") == Health.DEAD:
        lines.append("  its daemon has ended; `memfs mount` replaces it, `memfs unmount` takes it away")
    return "\n".join(lines)


def _title(memory: dict[str, Any]) -> str:
    name, where = memory["name"], memory.get("mountpoint", "")
    title = painted("  ".join(on_one_line(part) for part in (name, where) if part), BOLD)
    if "state" in memory:
        state = painted(memory["state"], _COLOURS.get(memory["state"], YELLOW))
        return f"{title}  {state}{', read-only' if memory['read_only'] else ''}"
    if not where:
        return f"{title}  {painted('wrong configuration', RED)}"
    return f"{title}  {painted('not mounted', YELLOW)}"


def _told_of_use(memory: dict[str, Any]) -> list[str]:
    lines = []
    if "scope_version" in memory:
        lines.append(_row("version", str(memory["scope_version"])))
    if memory.get("leaves_next"):
        lines.append(_row("next", f"{memory['leaves_next']} leaves first when room is needed"))
    for writer in memory.get("last_writers", ()):
        when = time.strftime("%m-%d %H:%M:%S", time.localtime(writer["time"]))
        lines.append(
            _row("writer", f"{when}  {writer['program'] or '?'} {writer['operation']} {writer['path']}")
        )
    if memory.get("history_since"):
        since = time.strftime("%Y-%m-%d", time.localtime(memory["history_since"]))
        lines.append(_row("history", f"{memory['history_bytes']:,} bytes, since {since}"))
    if "redaction_pending_since" in memory:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(memory["redaction_pending_since"]))
        held = f"redaction pending since {since}: something still holds the bytes; `memfs doctor` says more"
        lines.append(_row("pending", held, YELLOW, whole=True))
    for name, value in memory.get("report", {}).items():
        if value:
            title, sentence = _REPORTED.get(name, (name, "{}"))
            lines.append(_row(title, sentence.format(value), whole=True))  # a reference, to be copied
    if "open_files" in memory:
        written = "".join(f", {path} being written" for path in memory.get("being_written", ()))
        lines.append(_row("open", f"{memory['open_files']}{written}"))
    if memory.get("scratch_bytes"):
        use = bar(memory["scratch_bytes"], memory["max_scratch_bytes"])
        lines.append(_row("scratch", f"{use} {memory['scratch_bytes']:,} bytes"))
    if memory.get("rejected"):
        lines.append(
            _row("refused", f"{memory['rejected']} with their bytes; `memfs rejected` lists them", YELLOW)
        )
    if memory.get("last_event"):
        lines.append(_row("event", told(memory["last_event"]), whole=True))
    return lines


def _row(name: str, text: str, colour: str = "", whole: bool = False) -> str:
    """One line, cut to the terminal; of what has to be read or copied whole, as many as it takes."""
    text = on_one_line(text)
    lines = wrapped(text, _INDENT) if whole else [cut(text, max(columns() - _INDENT, 20))]
    shown = [painted(line, colour) if colour else line for line in lines]
    return f"\n{'':{_INDENT}}".join([f"  {name:9}{shown[0]}", *shown[1:]])
