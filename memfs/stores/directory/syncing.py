"""An fsync that the kernel carries out while its caller goes on, without a thread of ours.

A thread would hand Python's lock to and fro for each wait, which takes longer than what it spares. These
are Linux's own asynchronous requests, io_submit(2); where they are not to be had, the wait comes at the end.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from contextlib import suppress

_FSYNC = 2  # IOCB_CMD_FSYNC
_MACHINE = platform.machine()
# The numbers of io_setup, io_destroy, io_submit and io_getevents, which the C library has no functions for.
_CALLS = {"x86_64": (206, 207, 209, 208), "aarch64": (0, 1, 2, 4), "riscv64": (0, 1, 2, 4)}.get(_MACHINE)

_syscall = ctypes.CDLL(None, use_errno=True).syscall


class _Request(ctypes.Structure):  # struct iocb, linux/aio_abi.h; what is not named here is nothing for us
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("key_and_flags", ctypes.c_uint32 * 2),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("descriptor", ctypes.c_uint32),
        ("rest", ctypes.c_uint64 * 5),
    ]


class _Event(ctypes.Structure):  # struct io_event
    _fields_ = [
        ("data", ctypes.c_uint64),
        ("request", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result_2", ctypes.c_int64),
    ]


class Syncing:
    """One fsync at a time: :meth:`begin` it, do something else, and :meth:`join` it."""

    def __init__(self) -> None:
        self._context = ctypes.c_ulong(0)
        self._is_refused = _CALLS is None
        self._request = _Request(opcode=_FSYNC)
        self._requests = (ctypes.POINTER(_Request) * 1)(ctypes.pointer(self._request))
        self._event = _Event()
        self._descriptor = -1
        self._is_under_way = False

    def begin(self, descriptor: int) -> None:
        """Have what *descriptor* names brought to the disk; :meth:`join` closes it."""
        self._descriptor = descriptor
        self._is_under_way = self._submit(descriptor)

    def join(self) -> None:
        """Wait for the end of what was begun, if anything was. Raises OSError."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if self._is_under_way:
                self._await()
            else:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def abandon(self) -> None:
        """As :meth:`join`, whatever becomes of it: something else has failed already."""
        with suppress(OSError):
            self.join()

    def close(self) -> None:
        """Give back what the kernel holds for this."""
        self.abandon()
        if self._context.value and _CALLS is not None:
            _syscall(ctypes.c_long(_CALLS[1]), self._context)

    def _submit(self, descriptor: int) -> bool:
        if self._is_refused or _CALLS is None:
            return False
        setup, _, submit, _ = _CALLS
        one = ctypes.c_long(1)
        if not self._context.value and _syscall(ctypes.c_long(setup), one, ctypes.byref(self._context)):
            self._is_refused = True
            return False
        self._request.descriptor = descriptor
        # Refused by file systems without it, and in a child of the process that has the context.
        return bool(_syscall(ctypes.c_long(submit), self._context, one, self._requests) == 1)

    def _await(self) -> None:
        assert _CALLS is not None
        one = ctypes.c_long(1)
        wait = (ctypes.c_long(_CALLS[3]), self._context, one, one, ctypes.byref(self._event), None)
        while _syscall(*wait) != 1:
            number = ctypes.get_errno()
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number))
        if self._event.result:
            raise OSError(-self._event.result, os.strerror(-self._event.result))
