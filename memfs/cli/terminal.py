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
from types import FrameType
from typing import IO, Any

GREEN, YELLOW, RED, BOLD, DIM = "32", "33", "31", "1", "2"
WIDTH = 80
"""Columns, where nobody says how many there are."""
_INPUT = 0
_ENTER = "\x1b[?1049h\x1b[?25l"  # the other screen, and no cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at *stream*, on a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def columns() -> int:
    """How wide a line may be."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def painted(text: str, colour: str, stream: IO[str] | None = None) -> str:
    """*text* in a colour, where *stream* (by default standard output) shows colours."""
    shows = is_terminal(sys.stdout if stream is None else stream) and not os.environ.get("NO_COLOR")
    return f"\x1b[{colour}m{text}\x1b[0m" if shows else text


def bar(part: float, whole: float, width: int = 20) -> str:
    """How much *part* is of *whole*, as a bar of *width* characters between brackets."""
    share = min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
    filled = round(share * width)
    if part > 0 and not filled:
        filled = 1  # a little is not nothing
    return f"[{'#' * filled}{'.' * (width - filled)}]"


def cut(text: str, width: int) -> str:
    """*text*, at most *width* characters of it; what is left out in the middle shows as an ellipsis."""
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    return text[:head] + "…" + text[len(text) - (width - 1 - head) :]


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
