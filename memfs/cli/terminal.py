"""What is shown to a person: colours, bars, and a text that takes the place of the one before.

Colours and movement are for a terminal only, and colours not where ``NO_COLOR`` is set or the terminal
is a dumb one. In a pipe everything is plain text, one thing below the other.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import tty
from textwrap import wrap
from types import FrameType
from typing import IO, Any

from memfs.progress import WIDTH, bar, columns, cut, is_terminal

__all__ = [
    "BOLD",
    "DIM",
    "GREEN",
    "RED",
    "YELLOW",
    "Screen",
    "bar",
    "columns",
    "cut",
    "is_terminal",
    "painted",
]

GREEN, YELLOW, RED, BOLD, DIM = "32", "33", "31", "1", "2"
_INPUT = 0
_ENTER = "\x1b[?1049h\x1b[?25l"  # the other screen, and no cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"


def painted(text: str, colour: str, stream: IO[str] | None = None) -> str:
    """*text* in a colour, where *stream* (by default standard output) shows colours."""
    shows = is_terminal(sys.stdout if stream is None else stream) and not os.environ.get("NO_COLOR")
    return f"\x1b[{colour}m{text}\x1b[0m" if shows else text


def wrapped(text: str, indent: int) -> list[str]:
    """*text* in lines that fit a terminal behind an *indent*; in a pipe, where it is searched, in one."""
    if not is_terminal(sys.stdout):
        return [text]
    width = max(columns() - indent, 20)
    return wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


class Screen:
    """Shows a text in the place of the last one, until somebody presses ``q``; to be used in a ``with``.

    What a kill would leave behind (a terminal that shows no typing) is undone.
    """

    def __init__(self) -> None:
        self._moves = is_terminal(sys.stdout)
        self._keys: list[Any] | None = None
        self._shown = False

    def __enter__(self) -> Screen:
        if self._moves:
            signal.signal(signal.SIGTERM, _end)
            if sys.stdin is not None and sys.stdin.isatty():
                self._keys = termios.tcgetattr(_INPUT)
                tty.setcbreak(_INPUT)
            self._write(_ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        if self._moves:
            self._write(_LEAVE)
        if self._keys is not None:
            termios.tcsetattr(_INPUT, termios.TCSADRAIN, self._keys)

    def show(self, text: str) -> None:
        """Show *text*: as much of it as fits on a terminal, all of it in a pipe."""
        if self._moves:
            lines = text.split("\n")[: shutil.get_terminal_size((WIDTH, 24)).lines - 1]
            # Line by line, so that nothing flickers: each is written over, and its rest cleared.
            self._write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        else:
            self._write(("\n" if self._shown else "") + text + "\n")
        self._shown = True

    def wait(self, seconds: float) -> bool:
        """Wait; whether to go on."""
        watched = [_INPUT] if self._keys is not None else []
        if not select.select(watched, [], [], seconds)[0]:
            return True
        return os.read(_INPUT, 64) not in (b"q", b"Q", b"\x04", b"")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
