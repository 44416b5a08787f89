"""A faster wait for the next request, at the seam that pyfuse3's asyncio mode uses.

pyfuse3 takes a ``trio.Lock`` and awaits ``wait_readable`` before every request: two passes
through the scheduler and an epoll re-arm, even when the next request is already there; measured,
that is five sixths of a request. Here the descriptor is asked with poll(2) first, and other tasks
get their turn at least every BUDGET requests.

This touches what pyfuse3 does not promise, so the version is pinned and :func:`install` tries the
seam; where it is not as expected, pyfuse3 runs as it came, and a line in the log says so.
"""

from __future__ import annotations

import logging
import select
import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, cast

import pyfuse3
import trio

log = logging.getLogger(__name__)

KNOWN_VERSION = "3.5.0"
BUDGET = 32
"""Requests after which other tasks of the loop get their turn, however many more are waiting."""
LINGER_MS = 2
"""How long to wait in poll(2) itself for a client that pauses between requests: half the latency."""


class _Done:
    """An awaitable that is done before it is awaited: a coroutine less for each request."""

    def __await__(self) -> Generator[Any, Any, None]:
        return _NOTHING


# One iterator for all: at its end it stays. Awaiting asks for no more than that.
_NOTHING = cast("Generator[Any, Any, None]", iter(()))
_DONE = _Done()


class BargingLock:
    """A lock whose holder may take it again before the one it woke has run.

    A handler that never waits so keeps the descriptor for its own task; one that waits lets the
    parked task read the next request.
    """

    def __init__(self) -> None:
        self._held = False
        self._waking = False
        self._waiting = trio.lowlevel.ParkingLot()

    def __aenter__(self) -> Awaitable[None]:
        if self._held:
            return self._wait()
        self._held = True
        return _DONE

    def __aexit__(self, *_: object) -> Awaitable[None]:
        self._held = False
        if self._waiting and not self._waking:
            self._waking = True
            self._waiting.unpark()
        return _DONE

    async def _wait(self) -> None:
        while self._held:
            await self._waiting.park()
            self._waking = False
        self._held = True


def waiter(may_linger: Callable[[], bool]) -> Callable[[int], Awaitable[None]]:
    """A stand-in for ``trio.lowlevel.wait_readable`` on the FUSE descriptor.

    *may_linger* says whether no other task of the loop has anything to do.
    """
    polls: dict[int, Callable[[int], Any]] = {}
    left = BUDGET

    def wait_readable(descriptor: int) -> Awaitable[None]:
        nonlocal left
        poll = polls.get(descriptor)
        if poll is None:
            new = select.poll()
            new.register(descriptor, select.POLLIN)
            poll = polls[descriptor] = new.poll
        if left > 0:
            if poll(0) or (may_linger() and poll(LINGER_MS)):
                left -= 1
                return _DONE
        elif poll(0):
            left = BUDGET
            return trio.lowlevel.checkpoint()
        left = BUDGET
        return trio.lowlevel.wait_readable(descriptor)

    return wait_readable


def install(may_linger: Callable[[], bool]) -> bool:
    """Put the faster wait in place; whether that was possible. Call it before ``pyfuse3.main``."""
    version = getattr(pyfuse3, "__version__", "")
    if version != KNOWN_VERSION or getattr(pyfuse3, "trio", None) is not trio:
        log.warning("pyfuse3 %s is not the version that the faster loop knows; running its own", version)
        return False
    stand_in = types.SimpleNamespace(
        Lock=BargingLock,
        open_nursery=trio.open_nursery,
        ClosedResourceError=trio.ClosedResourceError,
        from_thread=trio.from_thread,
        lowlevel=types.SimpleNamespace(
            wait_readable=waiter(may_linger),
            current_task=trio.lowlevel.current_task,
            current_trio_token=trio.lowlevel.current_trio_token,
            notify_closing=trio.lowlevel.notify_closing,
        ),
    )
    setattr(pyfuse3, "trio", stand_in)  # noqa: B010 - the stubs do not know the attribute
    return True


def remove() -> None:
    """Give pyfuse3 its own loop back."""
    setattr(pyfuse3, "trio", trio)  # noqa: B010
