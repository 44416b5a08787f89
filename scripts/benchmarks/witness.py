"""The other process: it answers when a change made on a mount has arrived where the mount keeps it.

A filesystem that answered first and stored later would win every benchmark of changes. So the next
operation's clock starts only when a second process has seen what the last one did: for memfs in
the store, through the memory port, for a passthrough in the directory beneath. That wait is not
part of any figure.

This file is both ends: :class:`Witness` in the benchmark, and the program it starts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

SEEN_WITHIN = 5.0
POLL = 0.0002

Outcome: TypeAlias = Mapping[str, bytes | None]
"""What an operation leaves: a file's bytes by its path in the mount, None for a name that is gone."""

Look: TypeAlias = Callable[[str], bytes | None]


class NotSeenError(Exception):
    """A change that another process did not get to see in time."""


class Witness:
    """The benchmark's end. ``arguments`` choose what is watched: see :func:`main`."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C ends the benchmark, and the benchmark ends this
        )
        self._answer()

    @property
    def pid(self) -> int:
        """The witness's process."""
        return self._process.pid

    def await_outcome(self, outcome: Outcome) -> None:
        """Return when all of *outcome* has been seen; raise :class:`NotSeenError` when it is not."""
        if outcome and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(_described(outcome)).encode() + b"\n")
            self._process.stdin.flush()
            self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> None:
        line = self._process.stdout.readline().decode().strip() if self._process.stdout is not None else ""
        if line != "seen":
            raise NotSeenError(line or "the witness ended")


def _described(outcome: Outcome) -> dict[str, list[int] | None]:
    return {path: None if content is None else _description(content) for path, content in outcome.items()}


def _description(content: bytes) -> list[int]:
    return [len(content), zlib.crc32(content)]


def look_in_directory(root: str) -> Look:
    """Files as they lie in a directory."""

    def look(path: str) -> bytes | None:
        try:
            return Path(root, path).read_bytes()
        except FileNotFoundError:
            return None

    return look


def look_in_scope(url: str, scope: str, limits: Mapping[str, int]) -> Look:
    """Files as the memory port shows them; the scope is made with these limits when it is new."""
    import memfs

    memory = memfs.open_memory(url, scope=scope, limits=memfs.Limits(**limits))

    def look(path: str) -> bytes | None:
        result = memory.execute({"command": "view", "path": f"/memories/{path}"})
        if isinstance(result, memfs.Failure):
            return None if result.error.code == "NOT_FOUND" else result.error.message.encode()
        return result.value.text.encode() if isinstance(result.value, memfs.FileView) else b""

    return look


def main(kind: str, *arguments: str) -> None:
    """Answer ``seen`` or what is wrong, one line for each line asked.

    ``directory PATH`` watches a directory, ``scope URL NAME LIMITS`` a scope, its limits as JSON.
    """
    look = (
        look_in_directory(arguments[0])
        if kind == "directory"
        else look_in_scope(arguments[0], arguments[1], json.loads(arguments[2]))
    )
    print("seen", flush=True)
    for line in sys.stdin:
        print(_watched(look, json.loads(line)), flush=True)


def _watched(look: Look, expected: Mapping[str, list[int] | None]) -> str:
    deadline = time.monotonic() + SEEN_WITHIN
    for path, wanted in expected.items():
        while (seen := _described({path: look(path)})[path]) != wanted:
            if time.monotonic() > deadline:
                return f"{path}: expected {wanted}, another process sees {seen} after {SEEN_WITHIN:.0f} s"
            time.sleep(POLL)
    return "seen"


if __name__ == "__main__":
    main(*sys.argv[1:])
