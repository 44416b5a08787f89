"""``memfs top``: what the programs ask of the mounts right now, and how long the answers take.

Two looks at a mount's counters make one view. The counters come from a socket (see
``memfs.mount.metrics``): the mount itself is asked nothing, and one that hangs is waited for in vain for
two seconds only.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memfs.cli.choose import resolved
from memfs.cli.complaint import Complaint, Status
from memfs.cli.running import Mount, is_served, recorded, state_of
from memfs.cli.terminal import BOLD, DIM, RED, Screen, columns, cut, painted
from memfs.cli.texts import on_one_line
from memfs.mount.counters import percentile
from memfs.mount.lifecycle import is_mounted
from memfs.mount.sockets import ask
from memfs.places import memfs_mount_above, resolve

PROGRAMS_SHOWN = 5
FIRST_SECONDS = 0.5
"""What the first view of several covers: somebody waits for it."""

_REPORTED = {
    "open_files": "openFiles",
    "files": "files",
    "max_files": "maxFiles",
    "bytes": "bytes",
    "max_bytes": "maxBytes",
    "version": "version",
}


class Look(NamedTuple):
    """The counters of one mount at one time; none, and why not, where it does not tell them."""

    report: dict[str, Any]
    fault: str = ""


def run(options: Namespace) -> int:
    """Show one view after another until Ctrl-C or ``q``; with ``--once`` a single one."""
    mounts = _chosen(options.directory)
    looks = [_look(mount) for mount in mounts]
    try:
        with Screen() as screen:
            seconds = options.interval if options.once else min(options.interval, FIRST_SECONDS)
            while screen.wait(seconds):
                seconds = options.interval
                before, looks = looks, [_look(mount) for mount in mounts]
                views = [_view(*each) for each in zip(mounts, before, looks, strict=True)]
                if options.json:
                    for view in views:
                        print(json.dumps(view), flush=True)
                else:
                    screen.show(_told(views, options))
                if options.once:
                    return max(Status.REFUSED if "fault" in view else Status.DONE for view in views)
    except KeyboardInterrupt:
        pass
    return Status.DONE


def _chosen(directory: str | None) -> list[Mount]:
    """The mount that is named, else the one that one is in, else all that are served."""
    running = [mount for mount in recorded() if is_served(mount.mountpoint) or is_mounted(mount.mountpoint)]
    wanted = resolve(directory) if directory is not None else memfs_mount_above(resolved("."))
    if wanted is not None:
        running = [mount for mount in running if mount.mountpoint == wanted]
        if not running:
            raise Complaint(f"{wanted} is no memfs mount of yours; `memfs status` lists those there are.")
    if not running:
        raise Complaint("Nothing is mounted; `memfs mount` mounts a memory.")
    return running


def _look(mount: Mount) -> Look:
    try:
        report: object = json.loads(ask(state_of(mount.mountpoint, mount.store, mount.scope)))
    except TimeoutError:
        return Look({}, "does not answer; `memfs doctor` says more")
    except (FileNotFoundError, ConnectionError):
        return Look({}, "is not served; `memfs status` says more")
    except (OSError, ValueError) as error:
        return Look({}, f"does not tell its counters ({error})")
    if not isinstance(report, dict) or not isinstance(report.get("requests"), dict):
        return Look({}, "is of another release, and does not tell its counters in this one's form")
    return Look(report)


def _view(mount: Mount, before: Look, now: Look) -> dict[str, Any]:
    """What happened between two looks at *mount*: numbers per second, times in microseconds."""
    view: dict[str, Any] = {"mountpoint": mount.mountpoint}
    if now.fault:
        return view | {"fault": now.fault}
    old, new = before.report, now.report
    if old.get("pid") != new["pid"]:  # another daemon than at the last look, or the first one
        old = {"monotonicNs": int(mount.started * 1e9) - time.time_ns() + new["monotonicNs"]}
    seconds = max((new["monotonicNs"] - old["monotonicNs"]) / 1e9, 1e-3)
    kinds = {
        kind: changed
        for kind, counters in new["requests"].items()
        if (changed := _kind(old.get("requests", {}).get(kind, {}), counters, seconds))
    }
    programs = _difference(old.get("programs", {}), new["programs"])
    glances = sum(programs.values())
    return view | {
        "seconds": round(seconds, 3),
        "requests_per_second": round(sum(each["per_second"] for each in kinds.values()), 1),
        "kinds": dict(sorted(kinds.items(), key=lambda each: -each[1]["per_second"])),
        "programs": {name: round(seen / glances, 3) for name, seen in programs.items()},
        **{name: new[reported] for name, reported in _REPORTED.items()},
    }


def _kind(old: Mapping[str, Any], new: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """One kind of request; empty where none came."""
    count = new["count"] - old.get("count", 0)
    if count <= 0:
        return {}
    timed = _difference(old.get("timed", {}), new["timed"])
    times = (percentile(timed, share) for share in (0.5, 0.99))
    p50, p99 = (None if nanoseconds is None else round(nanoseconds / 1_000, 1) for nanoseconds in times)
    refused = round((new["refused"] - old.get("refused", 0)) / seconds, 1)
    return {
        "per_second": round(count / seconds, 1),
        "refused_per_second": refused,
        "p50_us": p50,
        "p99_us": p99,
    }


def _difference(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    """What has been added, the most first."""
    added = {name: count - old.get(name, 0) for name, count in new.items() if count > old.get(name, 0)}
    return dict(sorted(added.items(), key=lambda each: -each[1]))


def _told(views: Sequence[dict[str, Any]], options: Namespace) -> str:
    head = f"memfs top  {time.strftime('%H:%M:%S')}"
    if not options.once:
        head += f"  every {options.interval:g} s; q ends it"
    return "\n".join([head, *(_told_of_one(view) for view in views)])


def _told_of_one(view: Mapping[str, Any]) -> str:
    name = painted(cut(on_one_line(view["mountpoint"]), columns() - 1), BOLD)
    if "fault" in view:
        return f"\n{name}\n  {painted(view['fault'], RED)}"
    files, size = (f"{view[of]:,} of {view['max_' + of]:,} {of}" for of in ("files", "bytes"))
    asked = f"  {view['requests_per_second']:,.1f} requests/s past the kernel's cache"
    asked += f", {view['open_files']} open"
    lines = [
        f"\n{name}",
        *(cut(line, columns() - 1) for line in (asked, f"  {files}, {size}")),
    ]
    if view["kinds"]:
        lines.append(painted(f"\n  {'request':12}{'per s':>10}{'refused':>10}{'p50':>10}{'p99':>10}", DIM))
    for kind, each in view["kinds"].items():
        times = f"{_duration(each['p50_us']):>10}{_duration(each['p99_us']):>10}"
        lines.append(f"  {kind:12}{each['per_second']:>10,.1f}{each['refused_per_second']:>10,.1f}{times}")
    if view["programs"]:
        lines.append(painted(f"\n  {'program':16}{'of the requests':>16}", DIM))
    for program, share in list(view["programs"].items())[:PROGRAMS_SHOWN]:
        lines.append(f"  {cut(on_one_line(program), 16):16}{share:>15.0%}")
    return "\n".join(lines)


def _duration(microseconds: float | None) -> str:
    if microseconds is None:
        return "-"
    for unit, factor in (("µs", 1.0), ("ms", 1e3)):
        if microseconds < 1_000 * factor:
            return f"{microseconds / factor:.3g} {unit}" if microseconds >= 1 else "<1 µs"
    return f"{microseconds / 1e6:.3g} s"
