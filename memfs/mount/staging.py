"""The bytes of an open file that are not committed yet: one buffer for all of its handles."""

from __future__ import annotations

import time

import pyfuse3

from memfs.port.errors import PortError

MOST_REJECTED = 4 << 20
"""How much of a refused save is collected."""


class Staged:
    """A working copy of one file.

    ``pending`` says that the buffer differs from what was committed; ``written``, that some of it
    came by write(2), so that a flush may commit it: a shell flushes after its truncation and before
    it writes, and an emptiness in between must not become a version. ``saving`` says that a commit of
    it is under way; ``appended``: nothing but the
    end has changed since. ``base`` is the version of the memory that the copy was taken from.

    ``poison`` is the errno of a refused write: it is repeated until the file is truncated to nothing
    or closed by its last writer.
    What arrives is collected even so in ``rejected``, up to ``MOST_REJECTED``, aside from what readers
    see, so that a person can find it again.
    """

    __slots__ = (
        "appended",
        "base",
        "began",
        "buffer",
        "pending",
        "poison",
        "refusal",
        "rejected",
        "saving",
        "written",
    )

    def __init__(self, content: bytes, base: int | None = None) -> None:
        self.buffer = bytearray(content)
        self.base = base
        self.began = time.monotonic()
        self.pending = False
        self.written = False
        self.saving = False
        self.appended = True
        self.poison = 0
        self.refusal: PortError | None = None
        self.rejected: bytearray | None = None

    def write(self, offset: int, data: bytes) -> None:
        """Write *data* at *offset*; raises the errno of a poison again, and collects all the same."""
        if self.poison:
            self.collect(offset, data)
            raise pyfuse3.FUSEError(self.poison)
        self.appended = self.appended and offset == len(self.buffer)
        _put(self.buffer, offset, data)
        self.pending = self.written = True

    def collect(self, offset: int, data: bytes) -> None:
        """Take in what will never be stored."""
        if self.rejected is None:
            self.rejected = bytearray(self.buffer)
        if offset + len(data) <= MOST_REJECTED:
            _put(self.rejected, offset, data)

    def truncate(self, size: int) -> None:
        """Cut off or fill up with NULs; to nothing, it also takes a poison away."""
        if size == 0:
            self.poison, self.refusal, self.rejected = 0, None, None
        elif self.poison:
            raise pyfuse3.FUSEError(self.poison)
        if size < len(self.buffer):
            del self.buffer[size:]
        else:
            self.buffer.extend(bytes(size - len(self.buffer)))
        self.appended = self.appended and size == 0
        self.pending = True
        if size == 0:
            self.written = False  # a shortened write is still one: `sort -o` sets the length last

    def poisoned(self, number: int, refusal: PortError) -> pyfuse3.FUSEError:
        """Remember that a write was refused with *number*, and return it to raise."""
        self.poison, self.refusal = number, refusal
        return pyfuse3.FUSEError(number)

    def committed(self) -> None:
        """The buffer is what the store holds."""
        self.pending = self.written = False


def _put(buffer: bytearray, offset: int, data: bytes) -> None:
    """Write *data* into *buffer*; a gap before it becomes NULs."""
    if offset > len(buffer):
        buffer.extend(bytes(offset - len(buffer)))
    buffer[offset : offset + len(data)] = data


def may_be_utf8(data: bytes) -> bool:
    """Whether *data* can be a part of UTF-8 text: a cut character at either end aside."""
    try:
        data.decode()
    except UnicodeDecodeError:
        pass
    else:
        return True
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return whole_characters(data[start:]) is not None


def whole_characters(data: bytes | bytearray) -> int | None:
    """How many bytes of *data* are whole characters, a last one that is cut aside; None for no UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # "unexpected end of data" is Python's word for a sequence that is right as far as it goes.
        if error.reason == "unexpected end of data" and error.end == len(data):
            return error.start
        return None
    return len(data)
