"""``memfs rejected``: the bytes of refused saves; from the mounts' state, so also where a mount is down."""

from __future__ import annotations

import json
import shlex
import time
from argparse import Namespace
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memfs.cli.choose import Chosen, port_path
from memfs.cli.complaint import Complaint, Status, status_of
from memfs.cli.running import State, states
from memfs.cli.streams import write
from memfs.mount.rejected import Rejected, RejectedFile
from memfs.opening import open_with
from memfs.places import expanded, resolve
from memfs.port.commands import Create
from memfs.port.errors import ErrorCode, PortError
from memfs.port.memory import Memory
from memfs.port.plan import Plan, plan
from memfs.port.receipts import Result
from memfs.port.scope import Scope
from memfs.port.telling import told


class Kept(NamedTuple):
    """One refused save, and the mount that has it."""

    file: RejectedFile
    state: State

    @property
    def all_of_them(self) -> Rejected:
        """Where it lies."""
        return Rejected(self.state.directory)

    @property
    def bytes_to_file(self) -> str:
        """The command that always gets at the bytes."""
        return f"`memfs rejected show {shlex.quote(self.file.name)} > FILE`"


def run(options: Namespace) -> int:
    """List the refused saves, print one, put one back, or drop some."""
    _check(options)
    match options.action:
        case "show":
            kept = _named(options.names[0])
            write(kept.all_of_them.read(kept.file.name))
            return Status.DONE
        case "restore":
            return _restore(_named(options.names[0]), options)
        case "drop":
            return _drop(_everything() if options.all else [_named(name) for name in options.names])
    return _list(options)


def _check(options: Namespace) -> None:
    """What argparse cannot say: which of the arguments an action takes."""
    action, names = options.action, options.names
    for given, option, owner in (
        (options.to is not None, "--to", "restore"),
        (options.overwrite, "--overwrite", "restore"),
        (options.all, "--all", "drop"),
        (options.json, "--json", "list"),
    ):
        if given and action != owner:
            raise Complaint(f"{option} belongs to `memfs rejected {owner}`.", Status.USAGE)
    if action == "list" and len(names) > 1:
        raise Complaint("Name one mount's directory, or none.", Status.USAGE)
    if action in ("show", "restore") and len(names) != 1:
        raise Complaint(f"Name the one to {action}; `memfs rejected list` has the names.", Status.USAGE)
    if action == "drop" and options.all == bool(names):
        raise Complaint("Name what to drop, or give --all.", Status.USAGE)
    if "" in names:  # a variable that is not set, say; it must not mean the only one there is
        raise Complaint("A name is empty.", Status.USAGE)


def _everything() -> list[Kept]:
    """All refused saves of all mounts, the oldest first."""
    found = (Kept(file, state) for state in states() for file in Rejected(state.directory))
    return sorted(found, key=lambda kept: kept.file.time_ns)


def _named(name: str) -> Kept:
    """The one that *name* is the name of, or its beginning or end."""
    everything = _everything()
    found = [kept for kept in everything if kept.file.name == name] or [
        kept for kept in everything if kept.file.name.startswith(name) or kept.file.name.endswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        which = ", ".join(f"{kept.file.name} ({kept.state.name})" for kept in found)
        raise Complaint(f"{len(found)} refused saves are called {name}: {which}; name one of them.")
    raise Complaint(f"There is no refused save {name}; `memfs rejected list` shows those there are.")


# --- list ------------------------------------------------------------------------------------------


def _list(options: Namespace) -> int:
    found = _everything()
    if options.names:
        wanted = resolve(expanded(options.names[0]))
        if not any(state.mountpoint == wanted for state in states()):
            raise Complaint(f"{wanted} is not, and was not, a memfs mount of yours.")
        found = [kept for kept in found if kept.state.mountpoint == wanted]
    if options.json:
        print(json.dumps({"rejected": [_described(kept) for kept in found]}, indent=2))
    else:
        print("\n\n".join(map(_shown, found)) if found else "No refused bytes are kept.")
    return Status.DONE


def _described(kept: Kept) -> dict[str, Any]:
    file, state = kept
    fields = file._asdict()
    moment = datetime.fromtimestamp(fields.pop("time_ns") / 1e9, UTC)
    whose = {"mountpoint": state.mountpoint, "store": state.store, "scope": state.scope}
    return {"time": moment.isoformat(timespec="milliseconds"), **fields, **whose}


def _shown(kept: Kept) -> str:
    file, state = kept
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(file.time_ns / 1e9))
    by = f", by {file.program or 'a program'}[{file.pid or '?'}]"
    what = "complete" if file.complete else "what arrived before the program gave up"
    return (
        f"{file.name}\n"
        f"  path   {file.path}\n"
        f"  holds  {file.size} bytes, {what}\n"
        f"  when   {when}{by}\n"
        f"  why    {file.message}\n"
        f"  mount  {state.name}"
    )


# --- restore and drop ------------------------------------------------------------------------------


def _restore(kept: Kept, options: Namespace) -> int:
    """Put the bytes back through the port; the refused copy goes when they are there."""
    chosen = _memory_of(kept)
    path = kept.file.path if options.to is None else port_path(options.to, chosen)
    try:
        text = kept.all_of_them.read(kept.file.name).decode()
    except UnicodeDecodeError as error:
        raise Complaint(
            f"The bytes of {kept.file.name} are no UTF-8 text (at byte {error.start}), and a memory holds "
            f"nothing else; {kept.bytes_to_file} writes them to a file to convert."
        ) from None
    with open_with(chosen.store, chosen.scope, {}, actor="memfs") as memory:
        result = _write(memory, path, text, options.overwrite)
    if result.error is not None:
        raise Complaint(f"{result.error.message} {_advice(result.error, kept)}", status_of(result.error))
    kept.all_of_them.drop(kept.file.name)
    write(told(result.value).encode())
    if not kept.file.complete:
        print("It holds what had arrived before the program gave up.")
    return Status.DONE


def _memory_of(kept: Kept) -> Chosen:
    store, scope = kept.state.store, kept.state.scope
    if store is None or scope is None:
        raise Complaint(
            f"Which memory {kept.file.name} was for is not recorded; "
            f"{kept.bytes_to_file} writes the bytes to a file."
        )
    chosen = Chosen(store, scope)
    if chosen.ends_with_its_process:
        raise Complaint(
            f"The memory on {kept.state.name} is kept in its mount's process only; "
            f"{kept.bytes_to_file} writes the bytes to a file, there or elsewhere."
        )
    return chosen


def _write(memory: Memory, path: str, text: str, overwrite: bool) -> Result:
    def planner(scope: Scope, now_ns: int) -> Plan:
        if not overwrite and scope.file(path) is not None:
            return PortError(ErrorCode.ALREADY_EXISTS, f"{path} exists.", path)
        return plan(scope, Create(path, text), memory.read, now_ns)

    return memory.perform("create", planner).result


def _advice(error: PortError, kept: Kept) -> str:
    if error.code is ErrorCode.ALREADY_EXISTS:
        return "Name another path with --to, or replace it with --overwrite."
    return f"The bytes stay here; {kept.bytes_to_file} writes them to a file."


def _drop(chosen: Iterable[Kept]) -> int:
    for kept in chosen:
        kept.all_of_them.drop(kept.file.name)
        print(f"Dropped {kept.file.name}.")
    return Status.DONE
