"""Lines for systemd's journal: with a priority, and events with a field for each thing they say.

``journalctl --user -u memfs@work MEMFS_CODE=EVICTED`` then finds what it names.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any

SOCKET = "/run/systemd/journal/socket"
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7


def is_standard_error() -> bool:
    """Whether the journal reads what this process writes to standard error."""
    stream = os.environ.get("JOURNAL_STREAM")
    if not stream or sys.stderr is None:
        return False
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return stream == f"{status.st_dev}:{status.st_ino}"


class JournalHandler(logging.Handler):
    """Sends records to the journal by its own protocol; to standard error where it does not take them."""

    def __init__(self) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = self.format(record)
            priority = next((number for level, number in _PRIORITIES if record.levelno >= level), _DEBUG)
            fields: dict[str, Any] = {
                "MESSAGE": message,
                "PRIORITY": priority,
                "SYSLOG_IDENTIFIER": "memfs",
                "LOGGER": record.name,
            }
            event: dict[str, Any] = getattr(record, "event", {})
            fields |= {f"MEMFS_{name.upper()}": value for name, value in event.items() if value}
            try:
                self._socket.sendto(b"".join(_field(*each) for each in fields.items()), SOCKET)
            except OSError:  # no journal any more, or a message larger than a datagram
                print(f"<{priority}>{message}", file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001  as every handler: a line that cannot be written ends nothing
            self.handleError(record)

    def close(self) -> None:
        self._socket.close()
        super().close()


def _field(name: str, value: object) -> bytes:
    """One field; with its length before it where it may hold the end of a line."""
    content = str(value).encode("utf-8", "backslashreplace")
    if b"\n" not in content:
        return b"%s=%s\n" % (name.encode(), content)
    return b"%s\n%s%s\n" % (name.encode(), len(content).to_bytes(8, "little"), content)
