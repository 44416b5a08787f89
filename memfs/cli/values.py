"""What is typed for an argument, as a value: the types of ``arguments``.

Each takes the word that was given, and raises ArgumentTypeError with what it is not.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from contextlib import suppress
from typing import TYPE_CHECKING

from memfs.cli.settings import INTEGER

if TYPE_CHECKING:
    from datetime import datetime

    from memfs.port.expected import Expected


def positive(text: str) -> int:
    """A number, 1 or more."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise ArgumentTypeError(f"{text!r} is not a number, 1 or more")
    return int(text)


def count(text: str) -> int:
    """A number, 0 or more."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return int(text)


def version(text: str) -> int:
    """A version, also with its ``@``."""
    if not re.fullmatch(r"[0-9]{1,18}", text.removeprefix("@")):
        raise ArgumentTypeError(f"{text!r} is not a version, a number that `memfs log` shows")
    return int(text.removeprefix("@"))


def moment(text: str) -> datetime:
    """A time, also one that says how long ago."""
    from datetime import datetime, timedelta

    now = datetime.now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if match := re.fullmatch(r"([0-9]{1,6})([mhdw])", text):
        ago = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[match[2]]
        with suppress(OverflowError):
            return (now - timedelta(**{ago: int(match[1])})).astimezone()
    if text in ("today", "yesterday"):
        return (today - timedelta(days=text == "yesterday")).astimezone()
    if re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text):
        return datetime.combine(today, datetime.strptime(text, "%H:%M").time()).astimezone()
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{text!r} is no time such as today, yesterday, 10:00, 2026-11-30, 2026-11-30T10:00, 90m, 12h, "
            "7d or 2w"
        ) from None


def since(text: str) -> int | datetime:
    """A version, or a time."""
    return version(text) if re.fullmatch(r"@?[0-9]{1,18}", text) else moment(text)


def seconds(text: str) -> float:
    """A time span in seconds, more than 0."""
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,3})?", text) or not float(text):
        raise ArgumentTypeError(f"{text!r} is not a number of seconds such as 2 or 0.5")
    return float(text)


def line_range(text: str) -> tuple[int, int]:
    """The first line and the last, which may be -1."""
    start, colon, end = text.partition(":")
    if not colon or not INTEGER.fullmatch(start) or not INTEGER.fullmatch(end):
        raise ArgumentTypeError(
            f"{text!r} is not a range of lines such as 2:5 (5:-1: from line 5 to the end)"
        )
    return int(start), int(end)


def expected(text: str) -> Expected:
    """What a command is to find, as ``--expected`` has it."""
    from memfs.port.expected import ABSENT, Expected

    form, _, value = text.partition(":")
    if text == "absent":
        return ABSENT
    if form == "sha256" and re.fullmatch(r"[0-9A-Fa-f]{64}", value):
        return Expected(sha256=value)
    if form == "version" and re.fullmatch(r"[1-9][0-9]{0,17}", value):
        return Expected(version=int(value))
    raise ArgumentTypeError(f"{text!r} is none of sha256:DIGEST (64 hexadecimal digits), version:N, absent")
