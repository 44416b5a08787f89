"""A daemon that dies at a chosen step: imported by the one that is to die, before it mounts.

It is named in a mount's ``constants``: ``{"tests.editors.dying:AT": 3}`` has the process killed when the
kernel asks for the third step of a save, before that step is made. 0 is never.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from memfs.mount.operations import Operations

AT = 0.0
STEPS = ("create", "write", "setattr", "flush", "fsync", "release", "rename", "unlink", "mkdir", "rmdir")
_count = 0


def _dying(handler: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(handler)
    async def step(*args: Any, **kwargs: Any) -> Any:
        global _count
        _count += 1
        if _count == AT:
            os.kill(os.getpid(), signal.SIGKILL)
        return await handler(*args, **kwargs)

    return step


for _name in STEPS:
    setattr(Operations, _name, _dying(getattr(Operations, _name)))
