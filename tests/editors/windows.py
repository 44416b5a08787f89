"""Editors with windows, and a screen of their own that nobody sees: Xvfb, driven by xdotool."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.editors.terminal_editors import Family

START_SECONDS = 40.0
PAUSE_SECONDS = 1.0
"""After a save, for a program whose window takes no keys until it has looked at the file again."""
TOOLS = {"Xvfb": "xvfb", "xdotool": "xdotool", "dbus-run-session": "dbus-daemon"}


@dataclass(frozen=True, kw_only=True)
class WindowProgram:
    """One editor: how it is started, and how it saves. It is driven by the keys that all of them share."""

    command: tuple[str, ...]
    package: str
    family: Family

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.command[0]

    @property
    def executable(self) -> str:
        """What the kernel, and so the history, calls it: no more than 15 bytes."""
        return self.command[0][:15]

    @property
    def missing(self) -> str:
        """What this machine lacks to run it; empty for nothing."""
        needed = TOOLS | {self.command[0]: self.package}
        lacking = [f"{name} ({package})" for name, package in needed.items() if shutil.which(name) is None]
        return ", ".join(lacking)


WINDOWS = (
    WindowProgram(command=("gedit", "--standalone", "{file}"), package="gedit", family=Family.REPLACE),
    WindowProgram(
        command=("gnome-text-editor", "--standalone", "--ignore-session", "{file}"),
        package="gnome-text-editor",
        family=Family.REPLACE,
    ),
    WindowProgram(
        command=("mousepad", "--disable-server", "{file}"), package="mousepad", family=Family.REPLACE
    ),
    WindowProgram(command=("geany", "-i", "-s", "-p", "{file}"), package="geany", family=Family.REPLACE),
    WindowProgram(command=("kate", "-n", "-b", "{file}"), package="kate", family=Family.IN_PLACE),
)


class Display:
    """A screen."""

    def __init__(self, name: str) -> None:
        self.name = name

    def window(self, title: str) -> bool:
        """Give the keyboard to the newest window with *title*; whether there is one."""
        found = self._xdotool("search", "--onlyvisible", "--name", title).split()
        if not found:
            return False
        self._xdotool("windowfocus", "--sync", found[-1])
        return True

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, by X's names."""
        for key in keys:
            self._xdotool("key", key)

    def type(self, text: str) -> None:
        """Type *text*."""
        self._xdotool("type", "--delay", "20", text)

    def _xdotool(self, *arguments: str) -> str:
        done = subprocess.run(
            ["xdotool", *arguments],
            env={**os.environ, "DISPLAY": self.name},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout


@contextmanager
def a_display() -> Iterator[Display]:
    """A screen as long as it is needed."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1024x768x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], START_SECONDS)
        number = os.read(reading, 16).decode().strip() if ready else ""
        assert number, "Xvfb did not start"
        yield Display(f":{number}")
    finally:
        os.close(reading)
        server.terminate()
        server.wait()


@contextmanager
def a_window(
    display: Display, program: WindowProgram, file: Path, environment: Mapping[str, str], home: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The program with a file, until it is of no use any more; its window has the keyboard."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["dbus-run-session", "--", *(part.replace("{file}", str(file)) for part in program.command)],
            env={
                **environment,
                "DISPLAY": display.name,
                "GSETTINGS_BACKEND": "memory",
                "NO_AT_BRIDGE": "1",
                "GTK_A11Y": "none",
                "GDK_BACKEND": "x11",
                "GSK_RENDERER": "cairo",
                "QT_QPA_PLATFORM": "xcb",
            },
            cwd=home,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    process = start()
    starts_left = 2  # on a busy machine a session bus or a display may come too late for it
    try:
        end = time.monotonic() + START_SECONDS
        while not display.window(file.name):
            assert time.monotonic() < end, f"{program.name} shows no window"
            if process.poll() is not None and starts_left:
                process, starts_left = start(), starts_left - 1
            assert process.poll() is None, f"{program.name} ended with {process.returncode}"
            time.sleep(0.1)
        time.sleep(PAUSE_SECONDS)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
