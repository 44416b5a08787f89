"""The daemon of a test's mount: mounts, says READY, and serves; faults can be planted in it.

It is started with its orders as JSON, see :class:`Orders`. When its standard input ends, the test
that held the other end has died: it takes the mount away and ends, so that none is left behind.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, TypedDict

from memfs.mount.session import MountOptions, serve
from memfs.opening import open_with


class Orders(TypedDict):
    """What to mount, and what to break."""

    url: str
    scope: str
    mountpoint: str
    state: str
    wanted: dict[str, Any]
    options: dict[str, Any]
    constants: dict[str, float]
    """Module-level numbers to run with, by ``module:NAME``."""
    faults: dict[str, str]
    """Functions, by ``module:Class.name``, that raise while the file named here exists."""
    slow_notices: float
    """Seconds that every notice to the kernel comes late."""


class PlantedError(Exception):
    """A bug that a test has put there."""


def main() -> None:
    orders: Orders = json.loads(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    for name, value in orders["constants"].items():
        module, _, attribute = name.partition(":")
        setattr(importlib.import_module(module), attribute, value)
    for name, flag in orders["faults"].items():
        plant(name, flag)
    if orders["slow_notices"]:
        slow_down_notices(orders["slow_notices"])
    threading.Thread(target=end_with_test, args=(orders["mountpoint"],), daemon=True).start()
    with open_with(orders["url"], orders["scope"], orders["wanted"], "memfs", relaxed=True) as memory:
        options = MountOptions(state=Path(orders["state"]), **orders["options"])
        serve(memory, orders["mountpoint"], options, lambda: print("READY", flush=True))
    names = sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("memfs"))
    print("ENDED", *names, flush=True)


def plant(name: str, flag: str) -> None:
    """Make the function *name* raise while the file *flag* exists."""
    module, _, attributes = name.partition(":")
    holder: Any = importlib.import_module(module)
    *classes, attribute = attributes.split(".")
    for each in classes:
        holder = getattr(holder, each)
    sound = getattr(holder, attribute)

    if inspect.iscoroutinefunction(sound):

        @functools.wraps(sound)
        async def faulty_later(*args: Any, **kwargs: Any) -> Any:
            if os.path.exists(flag):
                raise PlantedError(name)
            return await sound(*args, **kwargs)

        setattr(holder, attribute, faulty_later)
        return

    @functools.wraps(sound)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        if os.path.exists(flag):
            raise PlantedError(name)
        return sound(*args, **kwargs)

    setattr(holder, attribute, faulty)


def slow_down_notices(seconds: float) -> None:
    """Hold every notice back: what a program does meanwhile is based on what the kernel still believes."""
    import time

    import pyfuse3

    for name in ("invalidate_entry", "invalidate_inode"):
        sound = getattr(pyfuse3, name)

        def late(*args: Any, sound: Any = sound) -> None:
            time.sleep(seconds)
            sound(*args)

        setattr(pyfuse3, name, late)


def end_with_test(mountpoint: str) -> None:
    """Wait for the end of standard input, and then be gone."""
    os.read(0, 1)
    subprocess.run(["fusermount3", "-u", "-q", "-z", "--", mountpoint], check=False)
    os._exit(3)


if __name__ == "__main__":
    main()
