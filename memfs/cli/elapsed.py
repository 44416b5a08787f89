"""How long something takes of which nobody knows how far it is: a step of the store, a program that runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memfs.progress import DRAWN_SECONDS, Progress


@contextmanager
def elapsed(what: str) -> Iterator[None]:
    """Show for how long *what* has been going on; as ``Progress``, only after a second."""
    ended = threading.Event()
    began = time.monotonic()

    def tell(progress: Progress) -> None:
        while not ended.wait(DRAWN_SECONDS):
            progress.step(f"{time.monotonic() - began:.0f} s")

    with Progress(what) as progress:
        thread = threading.Thread(target=tell, args=(progress,), name="memfs-elapsed", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
