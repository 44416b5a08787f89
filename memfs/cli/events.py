"""``memfs events``: why something was refused, what left or was overtaken; also of mounts that are down."""

from __future__ import annotations

import heapq
import json
from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from memfs.cli.choose import resolved
from memfs.cli.complaint import Complaint, Status
from memfs.cli.eventlog import EventLog, wait_for_more
from memfs.cli.running import State, recorded, recorded_at, state_of, states
from memfs.cli.streams import write
from memfs.cli.texts import on_one_line
from memfs.mount.lifecycle import is_mounted
from memfs.places import expanded, memfs_mount_above, resolve

SHOWN_BEFORE_NEW_ONES = 10


class Event(NamedTuple):
    """One line: as it stands in the file, and what it says. ``state`` is that of its mount."""

    line: bytes
    fields: dict[str, Any]
    state: State

    @property
    def time(self) -> str:
        """When it was, in a form that sorts."""
        return str(self.fields.get("time", ""))


def run(options: Namespace) -> int:
    """Print the events of one mount or of several; with ``--follow``, until Ctrl-C."""
    chosen = _chosen(options.directory)
    several = len({state.name for state in chosen}) > 1
    count = SHOWN_BEFORE_NEW_ONES if options.count is None and options.follow else options.count
    logs = [(EventLog(state.directory), state) for state in chosen]
    if count is not None:
        for log, _ in logs:
            log.seek_last(count)
    found: Iterable[Event] = heapq.merge(*(_events(*each) for each in logs), key=lambda event: event.time)
    for event in found if count is None else deque(found, maxlen=count):
        _print(event, options.json, several)
    if options.follow:
        for _ in wait_for_more([state.directory for state in chosen]):
            for each in logs:
                for event in _events(*each):
                    _print(event, options.json, several)
    return Status.DONE


def last_event(state: State) -> dict[str, Any] | None:
    """The newest event of a mount, if there is one."""
    log = EventLog(state.directory)
    try:
        log.seek_last(1)
        return next((event.fields for event in _events(log, state)), None)
    finally:
        log.close()


def told(event: dict[str, Any]) -> str:
    """An event as one line for a person."""
    try:
        moment = datetime.fromisoformat(event["time"]).astimezone()
        when = f"{moment:%Y-%m-%d %H:%M:%S}"
    except (KeyError, TypeError, ValueError):
        when = "?"
    who = f"{event.get('program') or 'a program'}[{event.get('pid') or '?'}]"
    told = (when, who, event.get("operation"), event.get("path"), event.get("message"))
    return "  ".join(on_one_line(str(part)) for part in told if part)


def _chosen(directory: str | None) -> list[State]:
    """The mount that is named, else the one that one is in, else the only one that is up, else all."""
    everything = list(states())
    if directory is not None:
        wanted: str | None = resolve(expanded(directory))
    else:
        up = [mount.mountpoint for mount in recorded() if is_mounted(mount.mountpoint)]
        wanted = memfs_mount_above(resolved(".")) or (up[0] if len(up) == 1 else None)
    if wanted is None:
        if not everything:
            raise Complaint("There are no events: nothing was mounted yet; `memfs mount` mounts a memory.")
        return everything
    mount = recorded_at(wanted)
    chosen = [state for state in everything if state.mountpoint == wanted]
    if mount is not None:  # that memory's, and not those of others that were mounted there before
        now = state_of(mount.mountpoint, mount.store, mount.scope)
        chosen = [state for state in chosen if state.directory == now]
    if not chosen:
        raise Complaint(f"{wanted} is not, and was not, a memfs mount of yours; `memfs status` lists them.")
    return chosen


def _events(log: EventLog, state: State) -> Iterator[Event]:
    """What *log* has from where it stands; a line that a crash has cut short is passed over."""
    for line in log.lines():
        try:
            fields: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            yield Event(line, fields, state)


def _print(event: Event, as_json: bool, several: bool) -> None:
    if as_json and several:
        write(json.dumps({"mountpoint": event.state.mountpoint, **event.fields}).encode() + b"\n")
    elif as_json:
        write(event.line + b"\n")
    else:
        where = f"{on_one_line(event.state.name)}  " if several else ""
        write(f"{where}{told(event.fields)}\n".encode())
