"""Why was I refused? Every refusal, eviction and conflict as one JSON object a line.

An errno cannot carry a sentence, so the sentence goes here: into the mount's state directory, from
where ``.memfs/events`` and ``memfs events`` show it, and into the log. The file only grows while
the mount is up, so that ``tail -f`` works; a new mount begins with the last KEPT events.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from errno import errorcode
from pathlib import Path

from memfs.mount.lines import begin_anew, lines_of
from memfs.port.change import Actor

log = logging.getLogger(__name__)

KEPT = 1_000
LARGEST_BYTES = 8 << 20
"""From here on the file begins anew also while mounted: something refuses in a loop."""


def events_file(state: Path) -> Path:
    """Where the events of the mount with this state directory are."""
    return state / "events.jsonl"


class Events:
    """The events of one mount, in its state directory."""

    def __init__(self, state: Path) -> None:
        self._path = events_file(state)
        self._descriptor = self._begin()
        self.size = os.fstat(self._descriptor).st_size

    def record(
        self,
        code: str,
        message: str,
        *,
        operation: str,
        path: str,
        actor: Actor,
        errno: int = 0,
        **details: object,
    ) -> None:
        """Add an event. *code* is the port's, or ``EVICTED``, ``OVERTAKEN``, ``REJECTED``, ``RETURNED``.

        An event that cannot be written is logged: it must never make a request fail.
        """
        event = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "program": actor.program,
            "pid": actor.pid,
            "operation": operation,
            "path": path,
            "code": code,
            "errno": errorcode.get(errno, ""),
            "message": message,
            **details,
        }
        told = ("program", "pid", "operation", "path", "code", "errno")
        log.info("%s: %s", code, message, extra={"event": {name: event[name] for name in told}})
        line = json.dumps(event).encode() + b"\n"
        try:
            if self.size + len(line) > LARGEST_BYTES:
                old, self._descriptor = self._descriptor, self._begin()
                os.close(old)
                self.size = os.fstat(self._descriptor).st_size
            os.write(self._descriptor, line)
            self.size += len(line)
        except OSError:
            log.exception("an event could not be written")

    def read(self, offset: int, size: int) -> bytes:
        """A part of the lines."""
        return os.pread(self._descriptor, size, offset)

    def last(self, count: int) -> list[bytes]:
        """The newest *count* lines."""
        return self.read(0, os.fstat(self._descriptor).st_size).splitlines()[-count:]

    def close(self) -> None:
        """Close the file; it stays."""
        os.close(self._descriptor)

    def _begin(self) -> int:
        """A new file with the newest lines of the old one."""
        kept = lines_of(self._path)[-KEPT:]
        while kept and sum(map(len, kept)) > LARGEST_BYTES // 2:
            del kept[: len(kept) // 2 + 1]
        return begin_anew(self._path, (line + b"\n" for line in kept))
