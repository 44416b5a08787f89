"""The bytes of an open file that are not committed yet: one buffer for all of its handles."""

from __future__ import annotations

import errno
import time

import pyfuse3

from memfs.port.errors import PortError


class Staged:
    """A working copy of one file.

    ``pending`` says that the buffer differs from what was committed; ``written``, that some of it
    came by write(2), so that a flush may commit it: a shell flushes after its truncation and before
    it writes, and an emptiness in between must not become a version. ``saving`` says that a commit of
    it is under way. ``poison`` is the errno of a
    refused write: it is repeated until the file is truncated to nothing or closed by its last writer.
    """

    __slots__ = ("appended", "began", "buffer", "pending", "poison", "refusal", "saving", "written")

    def __init__(self, content: bytes) -> None:
        self.buffer = bytearray(content)
        self.began = time.monotonic()
        self.pending = False
        self.written = False
        self.saving = False
        self.appended = True
        self.poison = 0
        self.refusal: PortError | None = None

    def write(self, offset: int, data: bytes, limit: int, text: bool) -> None:
        """Write *data* at *offset*; raises FUSEError and poisons where that cannot be stored.

        *limit* is the largest size in bytes. With *text*, data that cannot be part of UTF-8 is
        refused at once; a character cut at either end may be completed by another write. Without it
        the file is scratch, which keeps what it has, as any file.
        """
        if self.poison:
            raise pyfuse3.FUSEError(self.poison)
        end = offset + len(data)
        if end > limit:
            raise self.poisoned(errno.EFBIG) if text else pyfuse3.FUSEError(errno.EFBIG)
        if text and not may_be_utf8(data):
            raise self.poisoned(errno.EILSEQ)
        size = len(self.buffer)
        if offset == size:
            self.buffer += data
        else:
            self.appended = False
            if offset > size:
                self.buffer.extend(bytes(offset - size))
            self.buffer[offset:end] = data
        self.pending = self.written = True

    def truncate(self, size: int) -> None:
        """Cut off or fill up with NULs; to nothing, it also takes a poison away."""
        if size == 0:
            self.poison, self.refusal = 0, None
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

    def poisoned(self, number: int, refusal: PortError | None = None) -> pyfuse3.FUSEError:
        """Remember that a write was refused with *number*, and return it to raise."""
        self.poison, self.refusal = number, refusal
        return pyfuse3.FUSEError(number)

    def committed(self) -> None:
        """The buffer is what the store holds."""
        self.pending = self.written = False


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
