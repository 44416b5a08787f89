"""How a refusal is answered to the kernel: one map, and the decorators every handler wears.

Every request passes here, so here they are counted (see ``counters``).
"""

from __future__ import annotations

import errno
import functools
import logging
import types
from collections.abc import Callable, Coroutine
from time import perf_counter_ns
from typing import Any, ParamSpec, TypeVar, cast

import pyfuse3

from memfs.mount.counters import PROGRAMS, requests_of
from memfs.port.errors import ErrorCode, PortError
from memfs.port.names import MAX_PATH_BYTES

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_ERRNOS = {
    ErrorCode.INVALID_COMMAND: errno.EIO,
    ErrorCode.INVALID_ARGUMENT: errno.EINVAL,
    ErrorCode.INVALID_PATH: errno.EINVAL,
    ErrorCode.INVALID_EXTENSION: errno.EINVAL,
    ErrorCode.ROOT_PROTECTED: errno.EBUSY,
    ErrorCode.PATH_CONFLICT: errno.EEXIST,
    ErrorCode.NOT_FOUND: errno.ENOENT,
    ErrorCode.ALREADY_EXISTS: errno.EEXIST,
    ErrorCode.INVALID_RANGE: errno.EINVAL,
    ErrorCode.MATCH_NOT_FOUND: errno.EIO,
    ErrorCode.MATCH_NOT_UNIQUE: errno.EIO,
    # ENOSPC and not EDQUOT for a full scope: programs built on libuv cannot print EDQUOT.
    ErrorCode.LIMIT_EXCEEDED: errno.ENOSPC,
    ErrorCode.CONFLICT: errno.ESTALE,
    ErrorCode.UNSAFE_STORAGE: errno.EIO,
    ErrorCode.STORAGE_ERROR: errno.EIO,
}


def errno_of(error: PortError) -> int:
    """The errno that says *error* best."""
    if error.code is ErrorCode.LIMIT_EXCEEDED and "byteLength" in error.details:
        return errno.EFBIG  # the file itself is too large, whatever leaves
    if error.code is ErrorCode.ROOT_PROTECTED and "archived" in error.details:
        return errno.EROFS
    if error.code is ErrorCode.INVALID_ARGUMENT and "encoding" in error.details:
        return errno.EILSEQ
    if error.code is ErrorCode.INVALID_PATH and len(error.path or "") > MAX_PATH_BYTES:
        return errno.ENAMETOOLONG
    return _ERRNOS[error.code]


def answers(handler: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A handler that may wait, made safe: an internal fault answers EIO and is logged.

    pyfuse3 ends the whole mount for any exception but FUSEError.
    """
    requests = requests_of(handler.__name__)

    @functools.wraps(handler)
    async def answering(*args: P.args, **_: P.kwargs) -> T:
        requests.count = count = requests.count + 1
        try:
            if count < requests.next_timed:
                return await handler(*args)  # type: ignore[call-arg]  # pyfuse3 names no argument
            begun = _begin(args)
            answer = await handler(*args)  # type: ignore[call-arg]
            requests.timed(begun, perf_counter_ns())
            return answer
        except pyfuse3.FUSEError:
            requests.refused += 1
            raise
        except Exception:
            log.exception("internal fault in %s; answered EIO", handler.__name__)
            raise pyfuse3.FUSEError(errno.EIO) from None

    return answering


def answers_mostly_at_once(
    handler: Callable[P, T | Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """As :func:`answers_at_once`, for a handler that returns a coroutine where it has to wait after all."""
    requests = requests_of(handler.__name__)

    @functools.wraps(handler)
    async def answering(*args: P.args, **_: P.kwargs) -> T:
        requests.count = count = requests.count + 1
        try:
            begun = 0 if count < requests.next_timed else _begin(args)
            answer = handler(*args)  # type: ignore[call-arg]  # pyfuse3 names no argument
            if isinstance(answer, types.CoroutineType):
                answer = await answer
            if begun:
                requests.timed(begun, perf_counter_ns())
            return cast("T", answer)
        except pyfuse3.FUSEError:
            requests.refused += 1
            raise
        except Exception:
            log.exception("internal fault in %s; answered EIO", handler.__name__)
            raise pyfuse3.FUSEError(errno.EIO) from None

    return answering


def answers_at_once(handler: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """As :func:`answers`, for a handler that never waits: one coroutine less for each request."""
    requests = requests_of(handler.__name__)

    @functools.wraps(handler)
    async def answering(*args: P.args, **_: P.kwargs) -> T:
        requests.count = count = requests.count + 1
        try:
            if count < requests.next_timed:
                return handler(*args)  # type: ignore[call-arg]  # pyfuse3 names no argument
            begun = _begin(args)
            answer = handler(*args)  # type: ignore[call-arg]
            requests.timed(begun, perf_counter_ns())
            return answer
        except pyfuse3.FUSEError:
            requests.refused += 1
            raise
        except Exception:
            log.exception("internal fault in %s; answered EIO", handler.__name__)
            raise pyfuse3.FUSEError(errno.EIO) from None

    return answering


def _begin(request: tuple[Any, ...]) -> int:
    """Note who makes a request that is to be timed; when its answer begins."""
    now_ns = perf_counter_ns()
    if now_ns < PROGRAMS.next_ns:
        return now_ns
    operations, *fields = request
    operations.note_asker(fields)
    return perf_counter_ns()
