"""Texts that a command is given, as an argument, in a file, on standard input; and foreign ones it prints."""

from __future__ import annotations

import sys

from memfs.cli.complaint import Complaint, Status
from memfs.cli.streams import read_all
from memfs.port.errors import ErrorCode, PortError

MOST_BYTES = 256 << 20
"""Far beyond any sensible limit of a scope; it keeps an endless input from filling the machine."""


def text_from(argument: str | None, file: str | None, path: str, both: str) -> str | PortError:
    """The text for *path*: the *argument*, what *file* holds (``-``: standard input), or standard input.

    *both* names the two for the one who gave both. Bytes that are no UTF-8 are an error of the port.
    """
    if argument is not None:
        if file is not None:
            raise Complaint(f"Give one of {both}, not both.", Status.USAGE)
        return argument
    content, source = _read(file)
    if len(content) > MOST_BYTES:
        message = f"The text from {source} has more than {MOST_BYTES} bytes; split it."
        return PortError(ErrorCode.LIMIT_EXCEEDED, message, path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = (
            f"The text from {source} is not UTF-8 (byte {content[error.start]:#04x} at {error.start}); "
            "convert it first, for example with iconv."
        )
        return PortError(ErrorCode.INVALID_ARGUMENT, message, path)


def on_one_line(text: str) -> str:
    """*text* with whatever would move the cursor of a terminal spelled out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _read(file: str | None) -> tuple[bytes, str]:
    if file is None or file == "-":
        if sys.stdin is None:  # closed is not empty: an empty text would replace what is there
            raise Complaint("There is no standard input; give the text itself, or a file.", Status.USAGE)
        if sys.stdin.isatty():
            print("memfs: reading the text from the terminal; Ctrl-D ends it.", file=sys.stderr)
        return read_all(MOST_BYTES), "standard input"
    try:
        with open(file, "rb") as stream:
            return stream.read(MOST_BYTES + 1), file
    except OSError as error:
        raise Complaint(f"The file {file} cannot be read: {error.strerror}.", Status.USAGE) from None
