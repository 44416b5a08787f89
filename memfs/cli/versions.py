"""Versions of a memory as commands name and read them."""

from __future__ import annotations

import re
from typing import NamedTuple

from memfs.cli.complaint import Complaint, Status
from memfs.port.memory import Memory
from memfs.port.store import Record

_IN_HISTORY = re.compile(
    r"(?P<mount>(?:.*/)?)\.memfs/history/(?P<path>.+)/(?P<version>[0-9]{8,18})-[0-9]{4}-[^/]+", re.DOTALL
)
_AMONG_DELETED = re.compile(r"(?P<mount>(?:.*/)?)\.memfs/deleted/(?P<path>.+)", re.DOTALL)


class At(NamedTuple):
    """A path, and the version that is asked for, if one is."""

    path: str
    version: int | None


def at_version(argument: str) -> At:
    """``PATH@VERSION`` or ``PATH``; no path of a memory has an ``@``.

    Also the file in a mount that has the version, or the last content of what has left.
    """
    if file := _IN_HISTORY.fullmatch(argument):
        return At(file["mount"] + file["path"], int(file["version"]))
    if file := _AMONG_DELETED.fullmatch(argument):
        return At(file["mount"] + file["path"], None)
    path, at, version = argument.rpartition("@")
    if not at:
        return At(argument, None)
    if not version.isascii() or not version.isdigit() or len(version) > 18:
        raise Complaint(
            f"'{version}' is no version; write PATH@VERSION, with a number that `memfs log {path}` shows.",
            Status.USAGE,
        )
    return At(path, int(version))


def newest(memory: Memory, path: str) -> Record:
    """The newest record of what is or was at *path*."""
    record = next(memory.history(path), None)
    if record is None:
        raise Complaint(f"Nothing is recorded of {path}; `memfs log` shows what is.")
    return record
