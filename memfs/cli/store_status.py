"""``memfs store status``: what a store is, how much is in it, and how its server is."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import UTC, datetime
from typing import Any

from memfs.cli.complaint import Status
from memfs.cli.texts import on_one_line
from memfs.operating import status_of

_ROWS = {
    "store": "store",
    "server": "server",
    "format": "format",
    "scopes": "scopes",
    "files": "files",
    "bytes": "bytes",
    "disk_bytes": "on disk",
    "database_bytes": "database",
    "since": "history",
    "connections": "connections",
    "replication": "replication",
}
"""What is shown, and how it is called."""


def run(options: Namespace) -> int:
    """Print it; 1 if something lies there that is no scope."""
    found = status_of(options.url)
    since_ns = found.pop("since_ns", None)
    if since_ns is not None:
        found["since"] = datetime.fromtimestamp(since_ns / 1e9, UTC).isoformat(timespec="seconds")
    if options.json:
        print(json.dumps(found))
    else:
        for key, name in _ROWS.items():
            if key in found:
                print(f"{name:<12} {_told(key, found[key])}")
        for fault in found.get("faults", ()):
            print(f"{'fault':<12} {on_one_line(fault)}")
    return Status.REFUSED if found.get("faults") else Status.DONE


def _told(key: str, value: Any) -> str:
    if key == "since":
        return f"since {datetime.fromisoformat(value).astimezone():%Y-%m-%d %H:%M}"
    if key.endswith("bytes") and key != "bytes":
        return f"{value:,} bytes"
    return f"{value:,}" if isinstance(value, int) else on_one_line(str(value))
