"""What a service manager is told: that a mount is ready, what it serves, that it lives, that it ends.

It asks for that by variables of the environment (sd_notify(3)); where there are none, nothing is told.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from typing import Self

from memfs.cli.texts import on_one_line

log = logging.getLogger(__name__)

BEATS = 3
"""Signs of life in the time after which the service manager takes this process for stuck."""


class Supervisor:
    """The service manager that has started this process, if one has.

    *watchdog* is the time in seconds after which it wants another sign of life, or None.
    """

    def __init__(self, address: str | None, watchdog: float | None = None) -> None:
        self._address = address
        self._watchdog = watchdog
        self._ending = threading.Event()

    @classmethod
    def from_environment(cls) -> Self:
        """The one that the environment names."""
        address = os.environ.get("NOTIFY_SOCKET")
        microseconds = os.environ.get("WATCHDOG_USEC", "")
        meant = os.environ.get("WATCHDOG_PID")
        watchdog = None
        if microseconds.isascii() and microseconds.isdigit() and meant in (None, str(os.getpid())):
            watchdog = int(microseconds) / 1e6
        return cls(address or None, watchdog or None)

    def ready(self, answers: Callable[[float], bool], status: Callable[[], str]) -> None:
        """The mount is there; from now on it is asked again and again, and each answer is a sign of life.

        *answers* takes the seconds that an answer may take; *status* is one line about what is served.
        """
        self._tell("READY=1", status())
        if self._address is not None and self._watchdog is not None:
            arguments = (self._watchdog / BEATS, answers, status)
            threading.Thread(target=self._beat, args=arguments, name="memfs-watchdog", daemon=True).start()

    def ending(self) -> None:
        """The mount is going, and what is left is being stored."""
        self._ending.set()
        self._tell("STOPPING=1", "Storing what is left")

    def failed(self, sentence: str) -> None:
        """Why this process is about to end."""
        self._tell("", sentence)

    def _beat(self, seconds: float, answers: Callable[[float], bool], status: Callable[[], str]) -> None:
        while not self._ending.wait(seconds):
            if answers(seconds):
                self._tell("WATCHDOG=1", status())
            else:
                log.error("the mount does not answer; without an answer soon the service is started anew")

    def _tell(self, state: str, status: str) -> None:
        if self._address is None:
            return
        message = f"{state}\nSTATUS={on_one_line(status)}".lstrip()  # each line is an order of its own
        # A name that begins with @ is an abstract one.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as datagrams:
                datagrams.sendto(message.encode("utf-8", "backslashreplace"), address)
        except OSError as error:
            log.warning("the service manager cannot be told: %s", error.strerror)
